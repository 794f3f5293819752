// SPDX-License-Identifier: MIT
// What the trace costs: CPU per frame of a build with it against one in which all of it is compiled
// to nothing (meson -Dtrace=false). Both serve the same at the same time, so that whatever else the
// machine does slows both alike; each span of a few seconds gives one ratio.
import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { Checks, Server, Viewer, freePort, sleep, until } from '../tools/server.mjs';
import { bootstrap, median, scheduled } from './measure.mjs';

const SPANS = Number(process.env.FW_BENCH_SPANS ?? 16);
const SECONDS = Number(process.env.FW_BENCH_SECONDS ?? 4);
const GOAL = 1.01;
const builds = {
  with: process.env.FW_BINARY ?? 'build/framewire',
  without: process.env.FW_BINARY_OFF ?? 'build-notrace/framewire',
};

const checks = new Checks('bench-trace-cost');

/** CPU seconds of the threads of one process, without those below it. */
function own(pid) {
  return fs
    .readdirSync(`/proc/${pid}/task`)
    .map((task) => fs.readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'latin1'))
    .reduce((sum, text) => sum + Number(text.split(' ')[0]) / 1e9, 0);
}

async function serve(binary, scene) {
  const port = await freePort();
  process.env.FW_BINARY = path.resolve(binary); // as Server takes it
  const server = new Server({ port, args: ['--static', 'stream/web', '--warm', '0'] });
  if (!(await server.ready())) throw new Error(`${binary}: ${server.log}`);
  const { body } = await server.api('POST', '/sessions', scene);
  const url = `${server.base.replace('http', 'ws')}/s/${body.id}/ws`;
  const viewer = new Viewer({ url, width: scene.width, height: scene.height, presents: true });
  await until(() => viewer.frames > 60, 60000);
  return { server, viewer, pid: server.child.pid };
}

const now = (side) => ({
  all: scheduled([side.pid]).seconds,
  front: own(side.pid),
  frames: side.viewer.frames,
});

async function span(sides) {
  const before = sides.map(now);
  await sleep(SECONDS * 1000);
  const after = sides.map(now);
  const cost = (what) => {
    const each = sides.map(
      (_, i) => (after[i][what] - before[i][what]) / (after[i].frames - before[i].frames),
    );
    return { ratio: each[0] / each[1], us: each.map((s) => s * 1e6) };
  };
  return { all: cost('all'), front: cost('front') };
}

function told(name, list) {
  const ratios = list.map((entry) => entry.ratio);
  const us = [0, 1].map((i) => median(list.map((entry) => entry.us[i])));
  const [low, high] = bootstrap(ratios);
  const ratio = median(ratios);
  console.log(
    `  ${name}: ${us[0].toFixed(1)} us a frame with, ${us[1].toFixed(1)} without: ` +
      `ratio ${ratio.toFixed(4)} (${low.toFixed(4)} to ${high.toFixed(4)}, ${ratios.length} spans)`,
  );
  return { ratio, low, high, us };
}

async function compare(name, scene) {
  const spans = [];
  // Who is started first may have the better place: each half the time.
  for (const order of [
    ['with', 'without'],
    ['without', 'with'],
  ]) {
    const made = {};
    for (const which of order) made[which] = await serve(builds[which], scene);
    const sides = [made.with, made.without];
    for (let i = 0; i < SPANS / 2; i++) {
      for (const { viewer } of sides) viewer.move();
      spans.push(await span(sides));
    }
    for (const { server, viewer } of sides) {
      viewer.close();
      await server.stop();
    }
  }
  const all = told(
    `${name}, server and worker`,
    spans.map((s) => s.all),
  );
  told(
    `${name}, the server's own part`,
    spans.map((s) => s.front),
  );
  // Slower only if the whole interval says so: on a machine at rest it is some tenths of a percent.
  checks.check(
    all.low <= GOAL,
    `${name}: CPU per frame with the trace over without: ${all.ratio.toFixed(4)}`,
    `above ${GOAL} for sure`,
  );
}

const size = { width: 1280, height: 720 };
const scenes = {
  testcard: { source: 'testcard', args: {}, ...size, fps: 20 },
  scene: { source: 'scene', args: {}, ...size, fps: 8 },
};
for (const [name, scene] of Object.entries(scenes))
  if (!process.argv[2] || process.argv[2] === name) await compare(name, scene);
process.exit(checks.finish());
