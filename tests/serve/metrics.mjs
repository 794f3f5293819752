// SPDX-License-Identifier: MIT
// /metrics of a real server with real sessions, and all that reads it: Debian's promtool and
// Prometheus, the alerts, the dashboard and docs/metrics.md. The GPUs are those of the unit tests'
// made-up management library.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { counters, parse, value } from '../tools/exposition.mjs';
import { Checks, Server, Viewer, freePort, sleep, until } from '../tools/server.mjs';

const TOKEN = 'prometheus-0123456789';
const BUDGET = 1 << 30;
const FOLDER = 'deploy/prometheus';
const checks = new Checks('metrics');
const slow = Number(process.env.FW_SLOW ?? 1);
const tmp = fs.mkdtempSync(path.join(os.tmpdir(), 'framewire-metrics-'));
const port = await freePort();

function startServer() {
  const build = path.dirname(process.env.FW_BINARY ?? path.resolve('build/framewire'));
  const library = path.join(build, 'tests/unit/session/libfake_nvml.so');
  const tokens = path.join(tmp, 'tokens');
  fs.copyFileSync(library, path.join(tmp, 'libnvidia-ml.so.1'));
  fs.writeFileSync(tokens, `prometheus:${TOKEN}\n`, { mode: 0o600 });
  return new Server({
    port,
    args: ['--static', 'stream/web', '--token-file', tokens, '--max-sessions', '1'],
    env: {
      LD_LIBRARY_PATH: tmp,
      VK_LAYER_PATH: path.join(build, 'tests/layer'), // gives the device a memory budget
      VK_INSTANCE_LAYERS: 'VK_LAYER_framewire_fault',
      FW_FAULT_BUDGET: `${BUDGET},${BUDGET * 0.75}`,
      FW_VALIDATION: '0',
    },
  });
}
const server = startServer();

async function get(token) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  const response = await fetch(`${server.base}/metrics`, { headers });
  return {
    status: response.status,
    type: response.headers.get('content-type') ?? '',
    text: await response.text(),
  };
}

async function scrape() {
  const { text } = await get(TOKEN);
  return { text, families: parse(text) };
}

/** The first scrape of which `probe` is true, or the last one there was time for. */
async function scrapeUntil(probe) {
  let last;
  await until(
    async () => {
      last = await scrape();
      return probe(last.families);
    },
    20000 * slow,
    250,
  );
  return last;
}

function promtool(args, input) {
  const run = spawnSync('promtool', args, { input, encoding: 'utf8' });
  return { ok: run.status === 0, said: `${run.stdout}${run.stderr}${run.error ?? ''}` };
}

function checkText(text, when) {
  const { ok, said } = promtool(['check', 'metrics'], text);
  checks.check(ok && !said.trim(), `promtool takes the text ${when}`, said);
}

async function checkAccess() {
  const none = await get('');
  checks.check(none.status === 401, 'a token is needed', `${none.status}`);
  const made = await server.api('POST', '/sessions', { source: 'testcard' }, TOKEN);
  const guest = await get(made.body.token);
  checks.check(guest.status === 403, "a session's own token does not do", `${guest.status}`);
  const full = await server.api('POST', '/sessions', { source: 'testcard' }, TOKEN);
  checks.check(full.status === 503, 'a second session is one too many', `${full.status}`);
  await server.api('DELETE', `/sessions/${made.body.id}`, null, TOKEN);
  const own = await get(TOKEN);
  checks.check(
    own.status === 200 && own.type === 'text/plain; version=0.0.4; charset=utf-8',
    'a token of the file does',
    `${own.status} ${own.type}`,
  );
}

async function startSession() {
  const args = { source: 'testcard', width: 320, height: 180 };
  const made = await server.api('POST', '/sessions', args, TOKEN);
  const viewer = new Viewer({
    url: `${server.base.replace('http', 'ws')}/s/${made.body.id}/ws`,
    token: TOKEN,
    width: 320,
    height: 180,
    presents: true,
  });
  await until(() => viewer.frames > 0, 15000 * slow);
  return { id: made.body.id, viewer };
}

const FRAMES = { source: 'testcard', encoder: 'x264' };

function checkRunning(families) {
  const has = (name, labels, least, what) => {
    const found = value(families, name, labels);
    checks.check(found >= least, what, `${name} ${JSON.stringify(labels)}: ${found}`);
  };
  has('framewire_sessions', { state: 'running' }, 1, 'a running session is counted');
  has('framewire_workers', { state: 'busy' }, 1, 'its worker is');
  has('framewire_viewers', { visible: 'yes' }, 1, 'its viewer is');
  has('framewire_frames_total', { outcome: 'presented', ...FRAMES }, 20, 'its pictures are');
  for (const stage of ['submit', 'render', 'encode', 'network', 'decode', 'present']) {
    has('framewire_stage_seconds_count', { stage, ...FRAMES }, 20, `time in ${stage} is`);
  }
  has('framewire_input_to_photon_seconds_count', FRAMES, 1, 'its inputs are');
  has('framewire_age_seconds_count', FRAMES, 1000, 'the time somebody watched is');
  has('framewire_key_frames_total', FRAMES, 1, 'key frames are');
  has('framewire_egress_bytes_total', { connection: 'media' }, 1000, 'bytes to viewers are');
  has('framewire_viewer_rtt_seconds_count', {}, 1, 'the way to viewers is');
  has('framewire_video_memory_bytes', { use: 'target' }, 320 * 180 * 4, 'video memory is');
  has('framewire_video_memory_budget_bytes', {}, BUDGET, "so is the driver's budget");
  has('framewire_video_memory_budget_used_bytes', {}, BUDGET * 0.75, 'and what is used of it');
  has('framewire_worker_cpu_seconds_total', {}, 0.01, "workers' time is");
  has('framewire_worker_resident_bytes', {}, 1 << 20, "workers' memory is");
  has('framewire_refusals_total', { reason: 'max_sessions' }, 1, 'a refused session is');
  has('framewire_refusals_total', { reason: 'unauthorized', what: 'request' }, 1, 'a request is');
  has('framewire_http_requests_total', { route: '/metrics', status: '401' }, 1, 'so is its status');
  has('framewire_machine_memory_total_bytes', {}, 1 << 26, 'the machine is told');
  has('framewire_gpu_use_ratio', { gpu: 'Made-up 0' }, 0.25, 'so is its GPU');
  has('framewire_gpu_throttled', { gpu: 'Made-up 0', reason: 'thermal' }, 1, 'and what slows it');
  checks.check(
    Number.isNaN(value(families, 'framewire_gpu_use_ratio', { gpu: 'Made-up 1' })),
    'what a driver does not tell has no sample',
  );
  const sum = (name) => value(families, name, FRAMES);
  const stages = sum('framewire_stage_seconds_sum');
  checks.check(
    stages >= sum('framewire_frame_seconds_sum') * 0.999,
    'the stages make up the total',
    `${stages} of ${sum('framewire_frame_seconds_sum')}`,
  );
}

async function loseWorker(id) {
  const { body } = await server.api('GET', `/sessions/${id}`, null, TOKEN);
  process.kill(body.workerPid, 'SIGKILL');
  const { families } = await scrapeUntil(
    (f) =>
      value(f, 'framewire_worker_restarts_total') === 1 &&
      value(f, 'framewire_sessions', { state: 'running' }) === 1,
  );
  checks.check(
    value(families, 'framewire_worker_restarts_total') === 1 &&
      value(families, 'framewire_workers_lost_total', { reason: 'crashed' }) === 1,
    'a killed worker is counted, and why',
  );
}

/** Nothing that was counted is lost with the session, and no sample is left over or missing. */
function checkEnded(before, after) {
  const then = counters(before);
  const now = counters(after);
  const fell = [...then].filter(([name, was]) => !(now.get(name) >= was));
  checks.check(fell.length === 0, 'no counter falls when a session ends', fell.slice(0, 3).join());
  const fresh = [...now.keys()].filter(
    (name) => !then.has(name) && !name.startsWith('framewire_http_request'),
  );
  checks.check(fresh.length === 0, 'nor does a sample come with it', fresh.slice(0, 3).join());
  checks.check(
    value(after, 'framewire_sessions') === 0 &&
      value(after, 'framewire_sessions_ended_total') ===
        value(after, 'framewire_sessions_started_total'),
    'the session is gone',
  );
}

function checkDocs(families) {
  const rows = new Map();
  for (const line of fs.readFileSync('docs/metrics.md', 'utf8').split('\n')) {
    const m = /^\| `([a-z_]+)` *\| (\w+) *\| ([^|]*?) *\| (.*?) *\|$/.exec(line);
    if (m) {
      const labels = [...m[3].matchAll(/`(\w+)`/g)].map(([, name]) => name).sort();
      rows.set(m[1], { type: m[2], labels: labels.join(), help: m[4] });
    }
  }
  const wrong = [];
  for (const { name, type, help, samples } of families.values()) {
    const row = rows.get(name);
    const labels = [...new Set(samples.flatMap((s) => Object.keys(s.labels)))]
      .filter((label) => label !== 'le')
      .sort()
      .join();
    if (!row || row.type !== type || row.help !== help || (labels && row.labels !== labels)) {
      wrong.push(`${name} (${type}; ${labels}; ${help})`);
    }
  }
  checks.check(wrong.length === 0, 'docs/metrics.md has all names', wrong.join('\n'));
  const gone = [...rows.keys()].filter((name) => !families.has(name));
  checks.check(gone.length === 0, 'and no other', gone.join());
}

/** Names of ours in expressions, as families. */
function namesIn(text) {
  const names = text.match(/\b(framewire|process)_[a-z_]+\b/g) ?? [];
  return new Set(names.map((name) => name.replace(/_(bucket|sum|count)$/, '')));
}

function expressions(dashboard) {
  const found = [];
  const walk = (node) => {
    if (node && typeof node === 'object') {
      if (typeof node.expr === 'string') {
        found.push(node.expr);
      }
      Object.values(node).forEach(walk);
    }
  };
  walk(dashboard);
  return found;
}

function checkNames(families, dashboard) {
  const alerts = fs.readFileSync(`${FOLDER}/alerts.yml`, 'utf8');
  const exprs = [...alerts.matchAll(/expr: \|-\n((?: {10}.*\n)+)/g)].map(([, expr]) => expr);
  checks.check(exprs.length >= 40, 'the alerts have expressions', `${exprs.length}`);
  const missing = (names) => [...names].filter((name) => !families.has(name));
  checks.check(
    missing(namesIn(exprs.join())).length === 0,
    'alerts name what there is',
    missing(namesIn(exprs.join())).join(),
  );
  const shown = namesIn(expressions(dashboard).join());
  checks.check(missing(shown).length === 0, 'so does the dashboard', missing(shown).join());
  const info = /_info$/;
  const unseen = [...families.keys()].filter((name) => !shown.has(name) && !info.test(name));
  checks.check(
    unseen.every((name) => /^(process_|framewire_(ready|connections_accepted))/.test(name)),
    'and it leaves nothing out that matters',
    unseen.join(),
  );
}

/** Both severities of each alert, with a threshold, a way out and a test. */
function checkAlerts() {
  const alerts = fs.readFileSync(`${FOLDER}/alerts.yml`, 'utf8');
  const thresholds = fs.readFileSync(`${FOLDER}/thresholds.yml`, 'utf8');
  const tests = fs.readFileSync(`${FOLDER}/rules_test.yml`, 'utf8');
  const wrong = [];
  for (const severity of ['warning', 'critical']) {
    const found = [...alerts.matchAll(/- alert: (\w+)\n([^]*?)(?=\n {6}- |\n {2}[#-]|$)/g)]
      .map(([, name, rest]) => ({ name, rest }))
      .filter(({ rest }) => rest.includes(`severity: ${severity} }`));
    checks.check(found.length >= 21, `alerts: ${severity}`, `${found.length}`);
    for (const { name, rest } of found) {
      const of = /threshold\{of="(\w+)", severity="(\w+)"\}/.exec(rest);
      const tested = `{alertname="${name}", instance="crit", severity="${severity}"}`;
      if (
        !tests.includes(tested) ||
        (of &&
          (of[2] !== severity ||
            !thresholds.includes(`labels: { of: ${of[1]}, severity: ${severity} }`))) ||
        (severity === 'warning' && !/runbook: '.{30,}'/.test(rest))
      ) {
        wrong.push(`${name} ${severity}`);
      }
    }
  }
  checks.check(wrong.length === 0, 'each has a threshold, a runbook and a test', wrong.join());
  const yml = ['alerts.yml', 'thresholds.yml'].map((name) => `${FOLDER}/${name}`);
  const rules = promtool(['check', 'rules', ...yml]);
  checks.check(rules.ok, 'promtool takes the rules', rules.said);
  const config = promtool(['check', 'config', '--syntax-only', `${FOLDER}/prometheus.yml`]);
  checks.check(config.ok, 'and the example of a configuration', config.said);
}

// ---- a Prometheus of our own

/** The example's second half, as its comments say to use it. */
function configure() {
  const example = fs.readFileSync(`${FOLDER}/prometheus.yml`, 'utf8');
  const [head, rest] = example.split('  # - job_name: framewire\n');
  const job = `  - job_name: framewire\n${rest.replace(/^ {2}# /gm, '  ')}`
    .replace('scheme: https', 'scheme: http')
    .replace('/etc/prometheus/framewire.token', `${tmp}/token`)
    .replace(/ {4}tls_config:\n.*\n/, '')
    .replace(/targets: .*/, `targets: ['127.0.0.1:${port}']`);
  const config = head
    .replace(/ {2}- job_name[^]*/, '')
    .replaceAll('15s', '1s')
    .replace(/- (\w+\.yml)/g, `- ${path.resolve(FOLDER)}/$1`);
  fs.writeFileSync(`${tmp}/token`, `${TOKEN}\n`);
  fs.writeFileSync(`${tmp}/prometheus.yml`, config + job);
}

async function startPrometheus() {
  const webPort = await freePort();
  configure();
  const child = spawn(
    'prometheus',
    [
      `--config.file=${tmp}/prometheus.yml`,
      `--storage.tsdb.path=${tmp}/data`,
      `--web.listen-address=127.0.0.1:${webPort}`,
      '--log.level=error',
    ],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  );
  return { child, base: `http://127.0.0.1:${webPort}` };
}

async function query(prometheus, expr) {
  const url = `${prometheus.base}/api/v1/query?query=${encodeURIComponent(expr)}`;
  return fetch(url).then(
    (r) => r.json(),
    () => ({ status: 'down' }),
  );
}

/** What may well be empty here: nothing has gone wrong, no driver tells it, or it takes longer. */
const MAY_BE_EMPTY = /failed_total|decoder_use|> 0$|restarts_total\{/;

async function checkDashboard(prometheus, dashboard) {
  const scraped = await until(
    async () => {
      const { data } = await query(prometheus, 'count_over_time(up{job="framewire"}[1m]) >= 3');
      return data?.result?.length === 1;
    },
    40000 * slow,
    500,
  );
  checks.check(scraped, 'Prometheus scrapes it with the token, by the example');
  const bad = [];
  for (const expr of expressions(dashboard)) {
    const plain = expr
      .replaceAll('$__rate_interval', '30s')
      .replaceAll(/"\$(instance|source|encoder)"/g, '".*"');
    const { status, error, data } = await query(prometheus, plain);
    const empty = status === 'success' && data.result.length === 0 && !MAY_BE_EMPTY.test(plain);
    if (status !== 'success' || empty) {
      bad.push(`${error ?? 'nothing found'}: ${plain}`);
    }
  }
  checks.check(bad.length === 0, 'every panel of the dashboard shows something', bad.join('\n'));
  const alerts = await query(prometheus, 'count(framewire:threshold)');
  checks.check(
    Number(alerts.data?.result?.[0]?.value[1]) === 42,
    'Prometheus has the thresholds',
    JSON.stringify(alerts.data),
  );
}

let prometheus;
try {
  const dashboard = JSON.parse(fs.readFileSync('deploy/grafana/framewire.json', 'utf8'));
  checks.check(await server.ready(), 'server starts', server.log);
  await checkAccess();
  prometheus = await startPrometheus();
  const { id, viewer } = await startSession();
  const moving = setInterval(() => viewer.move(), 100);
  const running = await scrapeUntil(
    (f) =>
      value(f, 'framewire_age_seconds_count', FRAMES) >= 1000 &&
      value(f, 'framewire_frames_total', { outcome: 'presented', ...FRAMES }) >= 20 &&
      value(f, 'framewire_viewer_rtt_seconds_count') >= 1 &&
      value(f, 'framewire_worker_resident_bytes') > 0 &&
      value(f, 'framewire_video_memory_bytes', { use: 'target' }) > 0,
  );
  checkText(running.text, 'while a session runs');
  checkRunning(running.families);
  checkDocs(running.families);
  checkNames(running.families, dashboard);
  checkAlerts();
  await checkDashboard(prometheus, dashboard);
  await loseWorker(id);
  clearInterval(moving);
  const before = await scrape();
  await server.api('DELETE', `/sessions/${id}`, null, TOKEN);
  await sleep(100);
  const after = await scrapeUntil((f) => value(f, 'framewire_viewers') === 0);
  checkText(after.text, 'when it has ended');
  checkEnded(before.families, after.families);
  let best = Infinity;
  for (let i = 0; i < 10; i++) {
    best = Math.min(best, value((await scrape()).families, 'framewire_scrape_seconds'));
  }
  checks.check(best < 0.005, 'a scrape holds up the loop for less than 5 ms', `${best * 1e3} ms`);
  console.log(`a scrape: ${after.text.length} bytes, made in ${(best * 1e3).toFixed(2)} ms`);
  const rules = promtool(['test', 'rules', `${FOLDER}/rules_test.yml`]);
  checks.check(rules.ok, 'the alerts fire when they should, and only then', rules.said);
} catch (error) {
  checks.check(false, 'the script runs through', `${error.stack}\n${server.log.slice(-2000)}`);
} finally {
  prometheus?.child.kill('SIGTERM');
  await server.stop();
  if (prometheus) {
    await until(() => prometheus.child.exitCode !== null || prometheus.child.signalCode, 5000);
  }
  fs.rmSync(tmp, { recursive: true, force: true });
}
process.exit(checks.finish());
