// SPDX-License-Identifier: MIT
// The trace of a real session: streams for a while as a viewer that presents, fetches the trace in
// each format, and holds it to its promises: stages tile the total, nearly nothing is unexplained,
// input leads to a picture, what is dropped has a reason.
import process from 'node:process';
import { Checks, Server, Viewer, freePort, sleep, until } from '../tools/server.mjs';

const checks = new Checks('trace');
const slow = Number(process.env.FW_SLOW ?? 1);
const port = await freePort();
const server = new Server({ port, args: ['--static', 'stream/web'] });

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

/** One row as an object, by the names of the first line. */
function parseCsv(text) {
  const [head, ...lines] = text.trimEnd().split('\r\n');
  const names = head.split(',');
  return lines.map((line) => {
    const cells = line.split(',');
    if (cells.length !== names.length) {
      throw new Error(`${cells.length} cells for ${names.length} columns: ${line}`);
    }
    return Object.fromEntries(names.map((name, i) => [name, cells[i]]));
  });
}

async function fetchTrace(id, query) {
  const response = await fetch(`${server.base}/api/v1/sessions/${id}/trace${query}`);
  return {
    status: response.status,
    type: response.headers.get('content-type') ?? '',
    disposition: response.headers.get('content-disposition') ?? '',
    text: await response.text(),
  };
}

async function start(source, args) {
  const made = await server.api('POST', '/sessions', { source, args, width: 640, height: 360 });
  const url = `${server.base.replace('http', 'ws')}/s/${made.body.id}/ws`;
  const viewer = new Viewer({ url, width: 640, height: 360, presents: true });
  await until(() => viewer.frames > 0, 10000 * slow);
  return { id: made.body.id, viewer };
}

/** Times in the CSV have three decimals of a µs. */
function checkTiling(rows, stages) {
  const shown = rows.filter((row) => row.outcome === 'presented' && row.total_us !== '');
  let worst = 0;
  for (const row of shown) {
    const sum = stages.reduce((all, stage) => all + Number(row[`${stage}_us`] || 0), 0);
    worst = Math.max(worst, Math.abs(sum - Number(row.total_us)));
  }
  checks.check(shown.length > 30, 'csv: pictures were presented', `${shown.length}`);
  checks.check(worst <= 1, 'csv: stages and rest sum up to the total', `off by ${worst} us`);
  const rest = median(shown.map((row) => Number(row.rest_us) / Number(row.total_us)));
  checks.check(rest <= 0.05, 'csv: at most 5 % of the total is unexplained at P50', `${rest}`);
  const placed = shown.filter((row) => row.clock === 'estimate' && row.clock_error_us !== '');
  checks.check(placed.length > 10, "csv: the client's estimate is used", `${placed.length}`);
  const decode = median(placed.map((row) => Number(row.decode_us)));
  checks.check(
    decode >= 2000 && decode < 20000 * slow,
    "csv: decode is the viewer's 3 ms",
    `${decode}`,
  );
}

function checkInputs(rows) {
  const led = rows.filter((row) => row.shows_input === '1' && row.input_to_presented_us !== '');
  checks.check(led.length >= 5, 'csv: inputs were shown', `${led.length}`);
  checks.check(
    led.every(
      (row) => row.deliver_us !== '' && row.wait_us !== '' && row.start_ns === row.input_ns,
    ),
    'csv: those frames start at their input',
  );
}

function checkJson(text, rows) {
  const json = JSON.parse(text);
  checks.check(json.stages.at(-1).name === 'rest', 'json: names its stages in order');
  checks.check(
    json.frames.length >= rows.length,
    'json: has the frames of the csv',
    `${json.frames.length}`,
  );
  const { summary } = json;
  checks.check(summary.frames === json.frames.length, 'json: sums them up');
  const { p50_ms: p50, p95_ms: p95, p99_ms: p99, max_ms: max } = summary.stages.encode;
  checks.check(p50 > 0 && p50 <= p95 && p95 <= p99 && p99 <= max, 'json: encode has percentiles');
  const times = json.frames.map((frame) => frame.encode_us).filter((us) => us !== null);
  const exact = median(times) / 1000;
  checks.check(
    Math.abs(p50 - exact) <= 0.02 * exact + 0.01,
    'json: P50 of encode',
    `${p50}, exactly ${exact}`,
  );
  checks.check(
    json.since_start.input_to_presented.count >= 5 && json.since_start.frames >= summary.frames,
    'json: and since the start',
  );
  return json.stages.map((stage) => stage.name);
}

function checkPerfetto(text, stages) {
  const { traceEvents: events } = JSON.parse(text);
  const named = events.filter((e) => e.name === 'thread_name').map((e) => e.args.name);
  checks.check(
    stages.slice(0, -1).every((stage) => named.includes(stage)),
    'perfetto: a track for each stage',
    named.join(),
  );
  const ends = new Map();
  let overlaps = 0;
  const slices = events.filter((e) => e.ph === 'X');
  for (const e of slices) {
    overlaps += e.ts < (ends.get(e.tid) ?? 0) - 0.001 ? 1 : 0;
    ends.set(e.tid, e.ts + e.dur);
  }
  checks.check(
    slices.length > 300 && !overlaps,
    'perfetto: slices of a track do not overlap',
    `${overlaps} of ${slices.length}`,
  );
  const flows = new Map();
  for (const e of events.filter((event) => 'stf'.includes(event.ph))) {
    flows.set(e.id, [...(flows.get(e.id) ?? []), e]);
  }
  const inside = (e) =>
    slices.some((s) => s.tid === e.tid && e.ts >= s.ts - 0.001 && e.ts <= s.ts + s.dur + 0.001);
  const whole = [...flows.values()].filter(
    (f) => f.map((e) => e.ph).join('') === 'stf' && f.every(inside),
  );
  checks.check(
    whole.length >= 5 && whole.length === flows.size,
    'perfetto: arrows from input to screen',
    `${whole.length} of ${flows.size}`,
  );
}

async function moving() {
  const { id, viewer } = await start('testcard', {});
  for (let i = 0; i < 12; i++) {
    viewer.move();
    await sleep(100);
  }
  await sleep(1500 * slow); // the second beacon brings the estimate
  const csv = await fetchTrace(id, '?format=csv&last=60s');
  checks.check(
    csv.status === 200 && csv.type.startsWith('text/csv'),
    'csv: served as such',
    csv.type,
  );
  checks.check(
    /filename="framewire-.*\.csv"/.test(csv.disposition),
    'csv: has a name',
    csv.disposition,
  );
  const rows = parseCsv(csv.text);
  const json = await fetchTrace(id, '');
  checks.check(json.type === 'application/json', 'json: served as such', json.type);
  const stages = checkJson(json.text, rows);
  checkTiling(rows, stages);
  checkInputs(rows);
  const perfetto = await fetchTrace(id, '?format=perfetto&last=600');
  checks.check(/perfetto\.json"/.test(perfetto.disposition), 'perfetto: has a name');
  checkPerfetto(perfetto.text, stages);
  const little = parseCsv((await fetchTrace(id, '?format=csv&last=1s')).text);
  checks.check(
    little.length > 0 && little.length < rows.length,
    'last=1s: fewer frames',
    `${little.length}`,
  );
  viewer.send({ type: 'visibility', visible: false });
  viewer.close();
  return id;
}

async function replaced(id) {
  const before = (await server.api('GET', `/sessions/${id}`)).body.workerPid;
  process.kill(before, 'SIGKILL');
  await until(async () => {
    const { body } = await server.api('GET', `/sessions/${id}`);
    return body.state === 'running' && body.workerPid !== before;
  }, 8000 * slow);
  const url = `${server.base.replace('http', 'ws')}/s/${id}/ws`;
  const viewer = new Viewer({ url, width: 640, height: 360, presents: true });
  await until(() => viewer.frames > 20, 10000 * slow);
  const rows = parseCsv((await fetchTrace(id, '?format=csv')).text);
  const ids = rows.map((row) => Number(row.frame_id));
  checks.check(
    ids.every((frame, i) => !i || frame > ids[i - 1]) && rows.at(-1).encode_us !== '',
    'after a new worker: the records go on',
  );
  viewer.close();
}

async function refusals(id) {
  for (const query of [
    '?format=xml',
    '?last=0s',
    '?last=601s',
    '?last=-1',
    '?last=',
    '?nope=1',
    '?format',
  ]) {
    const { status, text } = await fetchTrace(id, query);
    const { error } = JSON.parse(text);
    checks.check(status === 400 && error.code === 'invalid_argument', `refused: ${query}`, text);
  }
  checks.check((await fetchTrace('nothing', '')).status === 404, 'no such session');
}

try {
  if (checks.check(await server.ready(), 'the server starts', server.log)) {
    const id = await moving();
    await replaced(id);
    await refusals(id);
  }
} catch (error) {
  checks.check(false, 'no surprise', String(error?.stack));
}
checks.check((await server.stop()) === 0, 'the server ends in order', server.log.slice(-500));
process.exit(checks.finish());
