// SPDX-License-Identifier: MIT
// From the click on a card to the first picture on the screen, in Chromium, on a warm server.
//   node tests/bench/start.mjs [demo | end of a card's file name …]
// FW_START_RUNS (5) sets the runs of each, FW_START_LOGS=1 prints what the server says of each load.
// Part of `./test bench`. The goal is the product's: a second.
import process from 'node:process';
import { chromium } from 'playwright-core';
import { Checks, Server, sleep, until } from '../tools/server.mjs';

const PORT = Number(process.env.FW_TEST_PORT ?? 8443);
const RUNS = Number(process.env.FW_START_RUNS ?? 5);
const GOAL_MS = 1000;
const SETTLE_MS = 2200; // for the page to learn its browser, and the next worker to get warm
const CARDS = ['demo', 'Duck.glb', 'DamagedHelmet.glb', 'FlightHelmet.gltf'];

/** Runs in both pages: when the click was, and when what was seen first, as epoch milliseconds. */
function watch() {
  const now = () => performance.timeOrigin + performance.now();
  if (location.pathname === '/') {
    addEventListener('click', () => sessionStorage.setItem('clicked', String(now())), {
      capture: true,
    });
    return;
  }
  const seen = { clicked: Number(sessionStorage.getItem('clicked')), page: 0 };
  seen.page = performance.timeOrigin;
  window.seen = seen;
  const look = () => {
    const stats = window.framewire?.stats();
    if (stats) {
      seen.script ??= now();
      if (stats.received > 0) seen.received ??= now();
      if (stats.decoded > 0) seen.decoded ??= now();
      if (stats.presented > 0) seen.presented ??= now();
    }
    if (!seen.presented) setTimeout(look, 2);
  };
  look();
}

const selectorOf = (card) => (card === 'demo' ? '.card-demo' : `.card[title$="${card}"]`);

/** @param {import('playwright-core').Page} page @param {string} card */
async function once(server, page, card) {
  await page.goto(`${server.base}/`);
  const selector = selectorOf(card);
  await page.locator(selector).waitFor();
  await sleep(SETTLE_MS);
  await page.click(selector, { noWaitAfter: true });
  await page.waitForURL('**/s/*');
  const seen = await until(
    () => page.evaluate(() => window.seen?.presented && window.seen).catch(() => null),
    20000,
    100,
  );
  for (const session of (await server.api('GET', '/sessions')).body.sessions)
    await server.api('DELETE', `/sessions/${session.id}`);
  return seen;
}

const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];

const checks = new Checks('start');
const server = new Server({ port: PORT, env: { FW_VALIDATION: '0' } });
const browser = await chromium.launch({
  executablePath: process.env.FW_CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'],
});
try {
  if (!checks.check(await server.ready(), 'the server runs', server.log)) throw new Error('none');
  const context = await browser.newContext({ viewport: { width: 1280, height: 720 } });
  const page = await context.newPage();
  await page.addInitScript(watch);
  await once(server, page, 'demo'); // the browser's own caches, and what the page learns of it
  const given = process.argv.slice(2);
  const there = async (card) => (await page.locator(selectorOf(card)).count()) > 0;
  const cards = [];
  await page.goto(`${server.base}/`);
  await page.locator(selectorOf('demo')).waitFor();
  for (const card of given.length ? given : CARDS) if (await there(card)) cards.push(card);
  console.log(
    '| click to … (ms, median) | page | script | received | decoded | **picture** | all |',
  );
  console.log('| --- | --- | --- | --- | --- | --- | --- |');
  for (const card of cards) {
    const runs = [];
    const logs = [];
    for (let i = 0; i < RUNS; i++) {
      const from = server.log.length;
      const seen = await once(server, page, card);
      if (seen) runs.push(seen);
      logs.push(/loaded in .*/.exec(server.log.slice(from))?.[0] ?? '');
    }
    const of = (key) => Math.round(median(runs.map((seen) => seen[key] - seen.clicked)));
    const all = runs.map((seen) => Math.round(seen.presented - seen.clicked)).join(' ');
    const stages = ['page', 'script', 'received', 'decoded', 'presented'].map(of);
    console.log(`| ${card} | ${stages.join(' | ')} | ${all} |`);
    if (process.env.FW_START_LOGS) console.log(logs.join('\n'));
    checks.check(runs.length === RUNS && stages[4] <= GOAL_MS, `${card} within ${GOAL_MS} ms`, all);
  }
} finally {
  await browser.close();
  await server.stop();
}
process.exitCode = checks.finish();
