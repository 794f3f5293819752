// SPDX-License-Identifier: MIT
// What the figures over the picture cost the picture: one page, one session, the figures off, small and
// full by turns, so that all three see the same machine. Part of `./test bench`.
//   node tests/bench/hud.mjs
// FW_HUD_ROUNDS (8) and FW_HUD_SECONDS (4) change its length, FW_HUD_FPS (30) what is asked for.
import process from 'node:process';
import { chromium } from 'playwright-core';
import { Checks, Server, freePort, sleep } from '../tools/server.mjs';
import { bootstrap, cpuSeconds, median } from './measure.mjs';

const ROUNDS = Number(process.env.FW_HUD_ROUNDS ?? 8);
const SECONDS = Number(process.env.FW_HUD_SECONDS ?? 4);
const FPS = Number(process.env.FW_HUD_FPS ?? 30);
const SIZES = ['off', 'small', 'full'];
const FPS_GOAL = 0.97; // of what is shown with them off
const AGE_GOAL = 1.05;

/** In the page: everything from now on counts. */
function begin(size) {
  const { hud, session } = window.framewire;
  if (hud.size !== size) hud.toggle(size);
  return new Promise((resolve) =>
    setTimeout(() => {
      for (const slice of session.stats.ages.slices) slice.clear();
      hud.cost.clear();
      window.began = { at: performance.now(), presented: session.stats.presented };
      resolve(null);
    }, 600),
  );
}

function end() {
  const { hud, session } = window.framewire;
  const seconds = (performance.now() - window.began.at) / 1000;
  const age = session.stats.ages.read(performance.now());
  return {
    fps: (session.stats.presented - window.began.presented) / seconds,
    age: age.meanMs,
    age99: age.quantile(0.99),
    drawn: hud.cost.count / seconds,
    cost: hud.cost.quantile(0.5),
    cost99: hud.cost.quantile(0.99),
  };
}

const checks = new Checks('hud');
const server = new Server({ port: await freePort(), env: { FW_VALIDATION: '0' } });
const launched = await chromium.launchServer({
  executablePath: process.env.FW_CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'],
});
try {
  if (!checks.check(await server.ready(), 'the server runs', server.log)) throw new Error('none');
  const browser = await chromium.connect(launched.wsEndpoint());
  const page = await (
    await browser.newContext({ viewport: { width: 1280, height: 720 } })
  ).newPage();
  const request = { source: 'testcard', width: 1280, height: 720, fps: FPS };
  const { body } = await server.api('POST', '/sessions', request);
  await page.goto(server.base + body.page);
  await page.waitForFunction(() => window.framewire?.stats().presented > 30, null, {
    timeout: 30_000,
  });
  await sleep(4000); // what the page learns of its browser is learned
  const { pid } = launched.process();
  const runs = { off: [], small: [], full: [] };
  for (let round = 0; round < ROUNDS; round++) {
    for (let i = 0; i < SIZES.length; i++) {
      const size = SIZES[(round + i) % SIZES.length];
      await page.evaluate(begin, size);
      const cpu = cpuSeconds(pid);
      await sleep(SECONDS * 1000);
      const run = await page.evaluate(end);
      runs[size].push({ ...run, cpu: (cpuSeconds(pid) - cpu) / SECONDS });
    }
  }
  const of = (size, key) => median(runs[size].map((run) => run[key]));
  const ratios = (size, key) => runs[size].map((run, i) => run[key] / runs.off[i][key]);
  const told = (list) => {
    const [low, high] = bootstrap(list);
    return `${median(list).toFixed(3)} (${low.toFixed(3)} … ${high.toFixed(3)})`;
  };
  console.log(
    `\n| figures, ${ROUNDS} rounds of ${SECONDS} s, ${FPS} fps asked for | off | small | full |`,
  );
  console.log('| --- | --- | --- | --- |');
  for (const [key, name] of [
    ['fps', 'frames shown a second'],
    ['age', 'age of picture, mean, ms'],
    ['age99', '… P99, ms'],
    ['cpu', 'CPU of the browser, cores'],
    ['drawn', 'drawn, times a second'],
    ['cost', 'one drawing, P50, ms'],
    ['cost99', '… P99, ms'],
  ])
    console.log(
      `| ${name} | ${SIZES.map((s) => (of(s, key) < 0 ? '–' : of(s, key).toFixed(2))).join(' | ')} |`,
    );
  for (const [key, name] of [
    ['fps', '**frames shown** / off'],
    ['age', '**age** / off'],
    ['cpu', 'CPU / off'],
  ])
    console.log(`| ${name} | 1 | ${told(ratios('small', key))} | ${told(ratios('full', key))} |`);
  for (const size of ['small', 'full']) {
    const fps = median(ratios(size, 'fps'));
    const age = median(ratios(size, 'age'));
    checks.check(fps >= FPS_GOAL, `${size}: the same frames are shown`, fps.toFixed(3));
    checks.check(age <= AGE_GOAL, `${size}: they are no older`, age.toFixed(3));
  }
} finally {
  await launched.close();
  await server.stop();
}
process.exitCode = checks.finish();
