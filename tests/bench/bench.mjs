// SPDX-License-Identifier: MIT
// `./test bench`: what the streamed session costs against the floors, in one run, at 1280x720.
// Floors and session alternate (ABAB…); a ratio is the median of the ratios of the pairs, with a
// bootstrap interval. Figures go to tests/out/bench.json, docs/performance.md explains them.
import { execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { Checks, Server, sleep } from '../tools/server.mjs';
import { bootstrap, cpuSeconds, median } from './measure.mjs';

const PORT = Number(process.env.FW_TEST_PORT ?? 8441);
const PAIRS = Number(process.env.FW_BENCH_PAIRS ?? 6);
const SECONDS = Number(process.env.FW_BENCH_SECONDS ?? 4);
const INPUTS = Number(process.env.FW_BENCH_INPUTS ?? 30);
const FRAMES = Number(process.env.FW_BENCH_FRAMES ?? 200);
const FPS = 240; // more than two cores give: uncapped
const CORES = os.cpus().length;
const programs = process.env.FW_BENCH_DIR ?? 'build/tests/bench';
const models = process.env.FW_MODELS ?? 'models';

function floor(scene, rhythm) {
  const args = Object.entries(rhythm ? scene.floorStill : scene.floorArgs).map(
    ([key, value]) => `${key}=${value}`,
  );
  return new Promise((resolve, reject) => {
    execFile(
      path.join(programs, 'bench_floor'),
      [scene.source, ...args],
      {
        timeout: 180000,
        env: {
          ...process.env,
          FLOOR_FPS: String(rhythm ? 60 : FPS),
          FLOOR_FRAMES: String(rhythm ? INPUTS : scene.frames),
          FLOOR_RHYTHM: rhythm ? '1' : '0',
          FLOOR_DRAG: scene.drag ? '1' : '0',
        },
      },
      (error, stdout, stderr) =>
        error
          ? reject(new Error(`bench_floor: ${error.message} ${stderr}`))
          : resolve(JSON.parse(stdout)),
    );
  });
}

/** How many threads draw in the worker that draws: lavapipe's, of the busiest process below. */
function drawingThreads(pid) {
  let busiest = { ticks: -1, threads: 0 };
  for (const name of fs.readdirSync('/proc')) {
    try {
      const text = fs.readFileSync(`/proc/${name}/stat`, 'latin1');
      const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
      const ticks = Number(fields[11]) + Number(fields[12]);
      if (Number(fields[1]) !== pid || ticks <= busiest.ticks) {
        continue;
      }
      const threads = fs
        .readdirSync(`/proc/${name}/task`)
        .map((id) => fs.readFileSync(`/proc/${name}/task/${id}/comm`, 'latin1'))
        .filter((comm) => comm.startsWith('llvmpipe-')).length;
      busiest = { ticks, threads };
    } catch {
      // no process, or it has just ended
    }
  }
  return busiest.threads;
}

/** Runs bench_client; with `pid`, CPU seconds of that tree between `begin` and the end. */
function client(session, words, pid) {
  const child = spawn(
    path.join(programs, 'bench_client'),
    ['127.0.0.1', String(PORT), session.ws, session.token ?? '', ...words.map(String)],
    { stdio: ['ignore', 'pipe', 'inherit'], timeout: 240000 },
  );
  return new Promise((resolve, reject) => {
    let before = 0;
    let result = null;
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line === 'begin') {
        before = pid ? cpuSeconds(pid) : 0;
      } else {
        result = JSON.parse(line);
        result.cpuSeconds = pid ? cpuSeconds(pid) - before : 0;
        result.threads = pid ? drawingThreads(pid) : 0;
      }
    });
    child.on('error', reject);
    child.on('close', (code) =>
      result && code === 0 ? resolve(result) : reject(new Error(`bench_client: exit ${code}`)),
    );
  });
}

async function create(server, scene, fps) {
  const body = { source: scene.source, args: scene.args, width: 1280, height: 720, fps };
  const { status, body: session } = await server.api('POST', '/sessions', body);
  if (status !== 201) {
    throw new Error(`no session: ${status} ${JSON.stringify(session)}`);
  }
  return session;
}

async function oneSession(server, scene, fps, words, counted) {
  const session = await create(server, scene, fps);
  try {
    return await client(session, words, counted ? server.child.pid : 0);
  } finally {
    await server.api('DELETE', `/sessions/${session.id}`);
    await sleep(700); // the next spare worker gets ready outside the measurements
  }
}

async function measure(server, scene) {
  const pairs = [];
  const rounds = scene.goals ? PAIRS : Math.ceil(PAIRS / 2);
  for (let i = 0; i < rounds; i++) {
    const load = os.loadavg()[0];
    const alone = await floor(scene, false);
    const words = ['throughput', SECONDS, ...(scene.drag ? ['drag'] : [])];
    const stream = await oneSession(server, scene, FPS, words, true);
    const [r, c, e] = ['render', 'convert', 'encode'].map((part) => alone[part].cpuMs);
    const cpu = (stream.cpuSeconds * 1000) / stream.frames;
    pairs.push({
      load,
      alone,
      stream,
      r,
      c,
      e,
      cpu,
      throughput: stream.fps / (CORES / ((r + c + e) / 1000)),
      overlapped: stream.fps / alone.pipelineFps,
      overlappedTax: cpu / alone.pipelineCpuMs,
      tax: cpu / (r + e),
    });
    console.log(
      `  ${scene.name} ${i + 1}/${rounds}: render ${r.toFixed(2)} convert ${c.toFixed(2)} ` +
        `encode ${e.toFixed(2)} overlapped ${alone.pipelineFps.toFixed(1)} fps | session ${cpu.toFixed(2)} CPU-ms, ${stream.fps.toFixed(1)} fps ` +
        `(load ${load.toFixed(1)})`,
    );
  }
  const latency = [];
  for (let i = 0; i < (scene.goals ? PAIRS : 0); i++) {
    const load = os.loadavg()[0];
    const alone = await floor(scene, true);
    const stream = await oneSession(server, scene.still, 60, ['latency', INPUTS], false);
    latency.push({
      load,
      alone,
      stream,
      p50: stream.total.p50Ms / alone.total.p50Ms,
      p99: stream.total.p99Ms / alone.total.p50Ms,
    });
    console.log(
      `  ${scene.name} latency ${i + 1}/${PAIRS}: parts ${alone.total.p50Ms.toFixed(2)} ms | ` +
        `input to last byte ${stream.total.p50Ms.toFixed(2)} (p99 ${stream.total.p99Ms.toFixed(2)}) ms, ` +
        `lost ${stream.lost} (load ${load.toFixed(1)})`,
    );
  }
  return { pairs, latency };
}

/** One line of a table in Markdown; gives the median. */
function row(name, values, digits = 2) {
  const [low, high] = bootstrap(values);
  const text = (value) => value.toFixed(digits);
  console.log(`| ${name} | ${text(median(values))} | ${text(low)} … ${text(high)} |`);
  return median(values);
}

function reportLatency(latency) {
  const of = (pick) => latency.map(pick);
  row(
    'parts after a pause (render + convert + encode), ms',
    of((p) => p.alone.total.p50Ms),
  );
  row(
    'input to last byte p50, ms',
    of((p) => p.stream.total.p50Ms),
  );
  row(
    'input to last byte p99, ms',
    of((p) => p.stream.total.p99Ms),
  );
  for (const [span, name] of Object.entries({
    toBegin: 'to the begun frame',
    render: 'render and conversion',
    toEncoder: 'to the encoder',
    encode: 'encode',
    toSocket: 'to the socket',
    toKernel: 'to the kernel',
    roundTrip: '(round trip, by the clock of the client)',
  })) {
    row(
      `… ${name}, ms`,
      of((p) => p.stream[span].p50Ms),
      3,
    );
  }
}

/** Prints one scene's table, to be pasted into docs/performance.md; gives the ratios. */
function report(scene, { pairs, latency }) {
  const of = (pick) => pairs.map(pick);
  const sums = of((p) => p.r + p.c + p.e);
  const drift = Math.abs(sums[sums.length - 1] / sums[0] - 1);
  const loads = [...pairs, ...latency].map((p) => p.load);
  console.log(`\n| 1280x720, ${scene.name}, ${pairs.length} pairs | median | 95 % interval |`);
  console.log('| --- | --- | --- |');
  row(
    'raw render, CPU-ms a frame',
    of((p) => p.r),
  );
  row(
    'convert alone, CPU-ms',
    of((p) => p.c),
    3,
  );
  row(
    'raw x264 alone, CPU-ms',
    of((p) => p.e),
  );
  row(
    'streamed session, all of the server, CPU-ms a frame',
    of((p) => p.cpu),
  );
  row(
    'streamed, frames a second',
    of((p) => p.stream.fps),
    1,
  );
  row(
    `cores / (render + convert + encode), frames a second (${FPS} asked for)`,
    of((p) => (CORES * 1000) / (p.r + p.c + p.e)),
    1,
  );
  row(
    'the bare parts overlapped in two threads, frames a second',
    of((p) => p.alone.pipelineFps),
    1,
  );
  row(
    '… CPU-ms a frame of those two',
    of((p) => p.alone.pipelineCpuMs),
  );
  row(
    'threads that draw in the worker',
    of((p) => p.stream.threads),
    0,
  );
  row(
    'bytes a frame, session',
    of((p) => p.stream.bytesPerFrame),
    0,
  );
  row(
    'bytes a frame, raw x264',
    of((p) => p.alone.bytesPerFrame),
    0,
  );
  if (latency.length) {
    reportLatency(latency);
  }
  const result = { drift };
  result.throughput = row(
    '**1 throughput ratio**',
    of((p) => p.throughput),
  );
  result.overlapped = row(
    '1b streamed / bare parts overlapped',
    of((p) => p.overlapped),
  );
  result.tax = row(
    '**2 overhead tax**',
    of((p) => p.tax),
  );
  result.overlappedTax = row(
    '2b server CPU / CPU of the bare parts overlapped',
    of((p) => p.overlappedTax),
  );
  if (latency.length) {
    result.p50 = row(
      '**3 input to last byte p50 / parts**',
      latency.map((p) => p.p50),
    );
    result.p99 = row(
      '3 input to last byte p99 / parts',
      latency.map((p) => p.p99),
    );
  }
  console.log(
    `\nLoad average ${Math.min(...loads).toFixed(2)} to ${Math.max(...loads).toFixed(2)}; the floors ` +
      `moved by ${(drift * 100).toFixed(1)} % from the first to the last pair.`,
  );
  return result;
}

const still = { name: 'test card', source: 'testcard', args: { animate: '0' } };
const scenes = [
  {
    name: 'test card',
    source: 'testcard',
    args: {},
    floorArgs: {},
    floorStill: { animate: '0' },
    frames: FRAMES,
    drag: false,
    still,
    goals: true,
  },
];
const helmet = path.join(models, 'DamagedHelmet.glb');
if (fs.existsSync(helmet)) {
  const scene = { name: 'DamagedHelmet', source: 'scene', args: { model: 'DamagedHelmet.glb' } };
  scenes.push({
    ...scene,
    floorArgs: { model: helmet },
    floorStill: { model: helmet },
    frames: Math.ceil(FRAMES / 5),
    drag: true,
    still: scene,
  });
}

const checks = new Checks('bench');
const server = new Server({
  port: PORT,
  args: ['--log-level', 'warn'],
  env: { FW_VALIDATION: '0' },
});
try {
  if (checks.check(await server.ready(), 'the server runs', server.log)) {
    const all = {};
    for (const scene of scenes) {
      const figures = await measure(server, scene);
      const result = report(scene, figures);
      all[scene.name] = { ...figures, result };
      if (!scene.goals) {
        continue;
      }
      console.log('');
      checks.check(result.drift <= 0.15, 'the floors held still', `${result.drift}`);
      // Where the machine does not give that much to the bare parts overlapped either, what they
      // reach is the bound.
      checks.check(
        Math.max(result.throughput, result.overlapped) >= 0.85,
        'throughput >= 0.85 of the CPU, or of the bare parts overlapped',
        `${result.throughput}, ${result.overlapped}`,
      );
      checks.check(
        Math.min(result.tax, result.overlappedTax) <= 1.1,
        'overhead tax <= 1.10 of the CPU alone, or of the bare parts overlapped',
        `${result.tax}, ${result.overlappedTax}`,
      );
      checks.check(
        result.p50 <= 1.25,
        'input to last byte p50 <= 1.25 of its parts',
        `${result.p50}`,
      );
    }
    fs.mkdirSync('tests/out', { recursive: true });
    fs.writeFileSync('tests/out/bench.json', JSON.stringify(all, null, 1));
  }
} catch (error) {
  checks.check(false, 'the benchmark itself', error.stack);
} finally {
  await server.stop();
}
process.exit(checks.finish());
