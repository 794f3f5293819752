// SPDX-License-Identifier: MIT
// What the trace costs: CPU per frame of a build with it against one in which all of it is compiled
// to nothing (meson -Dtrace=false). Both serve the same at the same time, so that whatever else the
// machine does slows both alike; each span of a few seconds gives one ratio.
import fs from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { Checks, Server, Viewer, freePort, sleep, until } from '../tools/server.mjs';
import { bootstrap, median, scheduled } from './measure.mjs';

const SPANS = Number(process.env.FW_BENCH_SPANS ?? 24);
const SECONDS = Number(process.env.FW_BENCH_SECONDS ?? 2);
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
  const us = [0, 1].map((i) => median(list.map((entry) => entry.us[i])));
  const costs = list.map((entry) => entry.us[0] - entry.us[1]);
  const ratios = list.map((entry) => entry.ratio);
  const [low, high] = bootstrap(costs);
  const [lowRatio, highRatio] = bootstrap(ratios);
  const [cost, ratio] = [median(costs), median(ratios)];
  console.log(
    `| ${name} | ${us[0].toFixed(0)} | ${us[1].toFixed(0)} | ` +
      `${cost.toFixed(1)} (${low.toFixed(1)} … ${high.toFixed(1)}) | ` +
      `${ratio.toFixed(4)} (${lowRatio.toFixed(4)} … ${highRatio.toFixed(4)}) |`,
  );
  return { ratio, lowRatio, cost, low, high, without: us[1] };
}

async function compare(name, scene, count) {
  const spans = [];
  // Who is started first may have the better place: each half the time.
  for (const order of [
    ['with', 'without'],
    ['without', 'with'],
  ]) {
    const made = {};
    for (const which of order) made[which] = await serve(builds[which], scene);
    const sides = [made.with, made.without];
    for (let i = 0; i < count / 2; i++) {
      for (const { viewer } of sides) viewer.move();
      spans.push(await span(sides));
    }
    for (const { server, viewer } of sides) {
      viewer.close();
      await server.stop();
    }
  }
  told(
    `${name}, the server alone`,
    spans.map((s) => s.front),
  );
  return told(
    `${name}, with its worker`,
    spans.map((s) => s.all),
  );
}

const size = { width: 1280, height: 720 };
console.log('| | CPU-us a frame with the trace | without | more | ratio |');
console.log('| --- | --- | --- | --- | --- |');
// A record costs the same whatever the picture: of a tiny one, whose drawing is next to nothing, it is
// seen to the microsecond. Of a real one it drowns in what drawing varies by.
const tiny = { source: 'testcard', args: {}, width: 64, height: 48, fps: 60 };
const small = await compare('64x48', tiny, SPANS);
const real = await compare(
  '1280x720',
  { source: 'testcard', args: {}, ...size, fps: 20 },
  SPANS / 2,
);
const most = 1 + small.high / real.without;
checks.check(
  most <= GOAL,
  `what the tiny picture's trace costs, of the real one's CPU: ${(1 + small.cost / real.without).toFixed(4)}, at most ${most.toFixed(4)}`,
  `above ${GOAL}`,
);
checks.check(
  real.lowRatio <= GOAL,
  `the real one measured itself: ${real.ratio.toFixed(4)}`,
  `above ${GOAL}, all of the interval`,
);
process.exit(checks.finish());
