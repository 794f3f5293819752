// SPDX-License-Identifier: MIT
// `framewire bench` against a real server: the figures and their shape, painted numbers against
// headers, an end in order on Ctrl-C, the search for the capacity, the go-live check, and words for
// what goes wrong. FW_LOAD_FRAMES: how many pictures must be decoded and found right.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { Checks, Server, freePort, until } from '../tools/server.mjs';

const checks = new Checks('load');
const wantedFrames = Number(process.env.FW_LOAD_FRAMES ?? 500);
const LIMIT_MS = 120_000;
const SESSIONS_MAX = 3;
const STAGES =
  'deliver wait submit render convert queue encode ring pickup hand accept network decode present rest';
const SMALL = ['--size', '160x120', '--fps', '120', '--warmup', '0'];

const port = await freePort();
const server = new Server({
  port,
  args: ['--static', 'stream/web', '--max-sessions', String(SESSIONS_MAX), '--allow-faults'],
  env: { FW_VALIDATION: '0' }, // what is measured here is bench
});
const file = (name) => path.join(server.state, name);
const json = (name) => JSON.parse(fs.readFileSync(file(name), 'utf8'));

/** Starts bench; `{child, text(), done}`: `done` resolves to its exit code or signal. */
function begin(args) {
  const binary = process.env.FW_BINARY ?? path.resolve('build/framewire');
  const child = spawn(binary, ['bench', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  child.stdout.on('data', (chunk) => (text += chunk));
  child.stderr.on('data', (chunk) => (text += chunk));
  const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
  const done = new Promise((resolve) =>
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve(signal ?? code);
    }),
  );
  return { child, text: () => text, done };
}

async function bench(...args) {
  const run = begin(args);
  const exit = await run.done;
  return { exit, text: run.text() };
}

const sessions = async () => (await server.api('GET', '/sessions')).body.sessions;

// ---- a plain run

function checkShape(report) {
  const names = Object.keys(report.stages).join(' ');
  checks.check(names === STAGES, 'json: every stage, in order', names);
  const span = ({ count, p50_ms: a, p95_ms: b, p99_ms: c, p999_ms: d, max_ms: e }) =>
    count > 0 && a <= b && b <= c && c <= d && d <= e * 1.02 + 0.01;
  const spans = { ...report.stages, ...report };
  for (const name of ['encode', 'network', 'total_ms', 'aoi_ms', 'input_to_photon_ms'])
    checks.check(span(spans[name]), `json: percentiles of ${name}`, JSON.stringify(spans[name]));
  for (const [name, { count }] of Object.entries(report.stages)) {
    const raw = report.histograms_us[name].reduce((sum, [, n]) => sum + n, 0);
    if (raw !== count) checks.check(false, `json: the histogram of ${name} is whole`, `${raw}`);
  }
  const { aoi } = report.histograms_us;
  const total = aoi.reduce((sum, [, n]) => sum + n, 0) / 1000;
  const seconds = report.seconds * report.sessions.length;
  checks.check(
    Math.abs(total - seconds) < 0.05 * seconds,
    'json: the age is known all of the time',
    `${total} of ${seconds} s`,
  );
  checks.check(report.fps > 0 && report.bytes > 0, 'json: rates', `${report.fps}`);
  checks.check(
    report.cpu.server_percent_per_session > 0 && report.cpu.client_percent_per_session > 0,
    'json: what a session costs on both sides',
    JSON.stringify(report.cpu),
  );
}

async function checkRun() {
  let frames = 0;
  let worst = '';
  let report;
  let run;
  // How long that takes is up to the machine: windows until there are enough.
  for (let i = 0; i < 60 && frames < wantedFrames && !worst; i++) {
    run = await bench(
      server.base,
      ...SMALL,
      '--sessions',
      '3',
      '--decode',
      '--seconds',
      wantedFrames > 2000 ? '30' : '2',
      '--json',
      file('run.json'),
    );
    report = json('run.json');
    const c = report.checks;
    frames += c.painted_ids;
    if (c.painted_ids_wrong || c.decode_errors || c.stage_sums_wrong || !c.stage_sums)
      worst = JSON.stringify(c);
    if (run.exit !== 0) worst = `exit ${run.exit}: ${run.text}`;
  }
  checks.check(
    frames >= wantedFrames && !worst,
    `run: painted number = header in ${frames} pictures, stages sum up to the total`,
    worst,
  );
  checks.check(/\n {2}encode( +[\d.]+){5}/.test(run.text), 'run: a table', run.text);
  checkShape(report);
  checks.check((await sessions()).length === 0, 'run: its sessions are gone');
  const still = await bench(
    server.base,
    ...SMALL,
    '--arg',
    'animate=0',
    '--input',
    'clicks',
    '--seconds',
    '2',
    '--json',
    file('still.json'),
  );
  const rest = json('still.json');
  checks.check(
    still.exit === 0 && rest.inputs.sent > 0 && rest.inputs.not_seen === 0,
    'run: every click on a still picture is seen',
    JSON.stringify(rest.inputs),
  );
  checks.check(
    rest.aoi_ms.p50_ms === 0,
    'run: an idle picture is not old',
    `${rest.aoi_ms.p50_ms}`,
  );
  const ratios = await bench(file('run.json'), '--compare', file('run.json'));
  checks.check(
    ratios.exit === 0 && /encode P50 +([\d.]+) +\1 +1\.00/.test(ratios.text),
    'compare: a run with itself',
    ratios.text,
  );
}

async function checkInterrupt() {
  const run = begin([
    server.base,
    ...SMALL,
    '--sessions',
    '2',
    '--seconds',
    '1000',
    '--json',
    file('interrupted.json'),
  ]);
  const busy = await until(async () => {
    const list = await sessions();
    return list.length === 2 && list.every((s) => s.frames > 50);
  }, LIMIT_MS / 2);
  run.child.kill('SIGINT');
  const exit = await run.done;
  checks.check(busy && exit === 130, 'ctrl-c: ends', `exit ${exit}`);
  const report = fs.existsSync(file('interrupted.json')) ? json('interrupted.json') : {};
  checks.check(
    report.interrupted === true && report.presented > 0 && report.stages.encode.count > 0,
    'ctrl-c: results so far',
    run.text(),
  );
  checks.check((await sessions()).length === 0, 'ctrl-c: its sessions are gone');
}

async function checkCapacity() {
  // A promise that nothing breaks: the seats are what ends the search.
  const run = await bench(
    server.base,
    ...SMALL,
    '--find-capacity',
    '--slo',
    'fps>=0.1',
    '--step-seconds',
    '1',
    '--json',
    file('capacity.json'),
  );
  checks.check(
    run.exit === 0 && run.text.includes(`${SESSIONS_MAX} sessions at fps ≥ 0.1 on `),
    'capacity: as many as there are seats',
    run.text,
  );
  checks.check(
    json('capacity.json').limit === 'admission' && /limited by admission: /.test(run.text),
    'capacity: names what limits',
    run.text,
  );
}

// ---- the go-live check

async function checkVerify() {
  // The plan that ships, shortened, with a promise for machines that are busy with something else.
  const plan = fs
    .readFileSync('deploy/plans/cpu.yaml', 'utf8')
    .replace(/size: \S+/, 'size: 320x180')
    .replace(/frames: \S+/, 'frames: 20')
    .replace(/\bseconds: \S+/, 'seconds: 2')
    .replace(/warmup: \S+/, 'warmup: 0')
    .replace(/promise: \S.*?"/, 'promise: "aoi_p99<=20s"')
    .replace(/capacity_max: \S+/, 'capacity_max: 2')
    .replace(/step_seconds: \S+/, 'step_seconds: 1')
    .replace(/cpu_max: \S+/, 'cpu_max: 100')
    .replace(/memory_max: \S+/, 'memory_max: 100')
    .replace(/soak: \S+/, 'soak: 3s')
    .replace(/recovery_max: \S+/, 'recovery_max: 60s');
  fs.writeFileSync(file('plan.yaml'), plan);
  const run = await bench(
    server.base,
    '--verify',
    file('plan.yaml'),
    '--json',
    file('verify.json'),
    '--html',
    file('verify.html'),
  );
  checks.check(run.exit === 0 && /ready to go live/.test(run.text), 'verify: passes', run.text);
  const report = json('verify.json');
  const verdict = (name) => report.checks.find((c) => c.name.startsWith(name))?.verdict;
  for (const name of [
    'number painted',
    'colours',
    'input moves',
    'sessions at a time',
    'promise of',
    'processor',
    'encoder',
    'drill',
    'soak',
    'workers and sessions',
  ])
    checks.check(
      ['pass', 'warn'].includes(verdict(name)),
      `verify: ${name}`,
      JSON.stringify(report.checks.find((c) => c.name.startsWith(name))),
    );
  const html = fs.readFileSync(file('verify.html'), 'utf8');
  checks.check(
    /<\/html>\s*$/.test(html) &&
      html.includes('picture again after') &&
      !/https?:\/\/(?!127)/.test(html),
    'verify: a page of its own',
  );
  fs.writeFileSync(
    file('hard.yaml'),
    'load: {size: 320x180}\nperformance: {seconds: 1, warmup: 0, promise: "total_p50<=0.001ms"}\n',
  );
  const hard = await bench(server.base, '--verify', file('hard.yaml'));
  checks.check(
    hard.exit === 1 && /FAIL {2}promise/.test(hard.text) && /not ready/.test(hard.text),
    'verify: a broken promise is told, and by the exit code',
    hard.text,
  );
  checks.check((await sessions()).length === 0, 'verify: its sessions are gone');
}

// ---- what goes wrong, and who is let in

async function checkWords() {
  const expect = async (name, args, exit, words) => {
    const run = await bench(...args);
    checks.check(run.exit === exit && words.test(run.text), `words: ${name}`, run.text);
  };
  await expect('nobody there', [`http://127.0.0.1:${await freePort()}`], 1, /framewire serve/);
  await expect(
    'no such source',
    [server.base, '--source', 'moon'],
    1,
    /no source 'moon'.*testcard/,
  );
  await expect(
    'refused',
    [server.base, ...SMALL, '--sessions', String(SESSIONS_MAX + 1)],
    1,
    new RegExp(`takes ${SESSIONS_MAX} sessions.*--max-sessions`),
  );
  await expect('no TLS there', [server.base.replace('http', 'https')], 1, /--tls-ca/);
  await expect('a wrong promise', [server.base, '--find-capacity', '--slo', 'aoi<5'], 2, /_p99/);
  fs.writeFileSync(file('bad.yaml'), 'function:\n  frames: many\n');
  await expect(
    'a wrong plan',
    [server.base, '--verify', file('bad.yaml')],
    1,
    /bad\.yaml:2: .*many/,
  );
}

async function checkTokens() {
  const tlsPort = await freePort();
  const tokens = file('tokens');
  fs.writeFileSync(tokens, 'ann:0123456789abcdef0123\n', { mode: 0o600 });
  fs.writeFileSync(file('wrong'), 'ann:ffffffffffffffffffff\n');
  const secure = new Server({
    port: tlsPort,
    args: ['--static', 'stream/web', '--tls-self-signed', '--token-file', tokens],
    env: { FW_VALIDATION: '0' },
  });
  const url = `https://127.0.0.1:${tlsPort}`;
  const up = await until(() => /framewire.*https|https:\/\//.test(secure.log), 30_000);
  const found = fs
    .readdirSync(secure.state, { recursive: true, encoding: 'utf8' })
    .find((name) => /cert.*\.pem$|\.crt$/.test(name));
  const ca = ['--tls-ca', path.join(secure.state, found ?? 'missing')];
  const good = await bench(
    url,
    ...SMALL,
    '--seconds',
    '1',
    ...ca,
    '--token-file',
    tokens,
    '--json',
    file('tls.json'),
  );
  checks.check(
    up && good.exit === 0 && json('tls.json').presented > 0,
    'tls: with its certificate and a token',
    good.text,
  );
  const none = await bench(url, ...ca);
  checks.check(
    none.exit === 1 && /--token-file/.test(none.text),
    'tls: without a token',
    none.text,
  );
  const bad = await bench(url, ...ca, '--token-file', file('wrong'));
  checks.check(bad.exit === 1 && /does not know/.test(bad.text), 'tls: a wrong token', bad.text);
  const blind = await bench(url, '--token-file', tokens);
  checks.check(blind.exit === 1 && /--tls-ca/.test(blind.text), 'tls: not trusted', blind.text);
  await secure.stop();
}

try {
  if (checks.check(await server.ready(), 'the server starts', server.log)) {
    await checkRun();
    // That one has a server of its own, and mostly waits for it.
    const tokens = checkTokens().catch((error) =>
      checks.check(false, 'tls: no surprise', String(error?.stack)),
    );
    await checkInterrupt();
    await checkCapacity();
    await checkVerify();
    await checkWords();
    await tokens;
  }
} catch (error) {
  checks.check(false, 'no surprise', String(error?.stack));
}
checks.check((await server.stop()) === 0, 'the server ends in order', server.log.slice(-500));
process.exit(checks.finish());
