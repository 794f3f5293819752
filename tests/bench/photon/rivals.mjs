// SPDX-License-Identifier: MIT
// `./test rivals`: from a click to the pixel, framewire beside its floors and its rivals, all looked
// at by one observer outside of them, each alone on the machine, in turn. docs/performance.md says
// how to read it. Rounds are kept in tests/out/rivals.json; FW_RIVALS_APPEND=1 adds to those there.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { Checks, sleep } from '../../tools/server.mjs';
import { scheduled } from '../measure.mjs';
import { measureOne } from './measure-one.mjs';
import { report } from './report.mjs';
import { starts } from './starts.mjs';
import { awaitPatch, browse, observe, programs, stop, viewerDisplay } from './stage.mjs';
import { floors, ours, rivals } from './systems.mjs';

const ROUNDS = Number(process.env.FW_RIVALS_ROUNDS ?? 6);
const CLICKS = Number(process.env.FW_RIVALS_CLICKS ?? 15);
const SETTLE_MS = 2500; // our page, which looks at its browser first, gets longer
const IDLE_S = Number(process.env.FW_RIVALS_IDLE ?? 60);
const STARTS = Number(process.env.FW_RIVALS_STARTS ?? 100);
const FILE = 'tests/out/rivals.json';

/** The bare parts after a pause, and what has to be opened before the first picture. */
function parts(content) {
  const out = execFileSync(path.join(programs, 'bench_floor'), ['testcard', `animate=${content}`], {
    env: { ...process.env, FLOOR_RHYTHM: '1', FLOOR_FRAMES: `${CLICKS}` },
  });
  return JSON.parse(out.toString());
}

async function round(screen, there, contents) {
  const results = { at: Date.now(), load: os.loadavg()[0], parts: parts('0'), runs: {} };
  for (const content of contents) {
    const systems = content === '0' ? [...floors, ours, ...there] : [ours, ...there];
    for (const system of systems) {
      const name = `${system.name}|${content}`;
      const look = path.join('tests/out', `rivals-${name.replace(/\W+/g, '-')}.png`);
      const settle = system === ours ? {} : { settleMs: SETTLE_MS };
      const run = await measureOne(screen, system, content, { clicks: CLICKS, look, ...settle });
      results.runs[name] = run;
      const sorted = [...run.ms].sort((a, b) => a - b);
      const middle = sorted[sorted.length >> 1].toFixed(1);
      console.log(
        `  ${system.name}, ${content === '0' ? 'at rest' : 'moving'}: ${middle} ms ` +
          `(${sorted[0].toFixed(1)} to ${sorted[sorted.length - 1].toFixed(1)}), ` +
          `${run.cores.toFixed(2)} cores, lost ${run.lost}`,
      );
    }
  }
  results.partsAfter = parts('0');
  return results;
}

/** All of them at once over a picture at rest that nobody touches; then the first click. */
async function idle(systems) {
  const held = [];
  try {
    for (const system of systems) {
      const screen = await viewerDisplay();
      const target = await system.start('0');
      const browser = await browse(screen);
      held.push({ system, screen, target, browser });
      await browser.page.goto(target.url, { waitUntil: 'commit' });
      await awaitPatch(screen, 30);
    }
    await sleep(15000); // starts are over
    const before = held.map(({ target }) => scheduled(target.pids));
    await sleep(IDLE_S * 1000);
    const after = held.map(({ target }) => scheduled(target.pids));
    const figures = [];
    for (const [i, { system, screen }] of held.entries()) {
      const [first] = await observe(screen, 1);
      figures.push({
        name: system.name,
        percent: ((after[i].seconds - before[i].seconds) / IDLE_S) * 100,
        wakeups: (after[i].wakeups - before[i].wakeups) / IDLE_S,
        firstMs: first.ms > 0 ? first.ms : 3000,
      });
    }
    return figures;
  } finally {
    for (const { screen, target, browser } of held) {
      await browser.close();
      await target.stop();
      await stop(screen.job);
    }
  }
}

const checks = new Checks('rivals');
const there = rivals.filter((rival) => {
  const missing = rival.missing();
  if (missing) {
    checks.skipped += 1;
    console.log(`skipped: ${rival.name} (${missing} not installed)`);
  }
  return !missing;
});
const kept = process.env.FW_RIVALS_APPEND && fs.existsSync(FILE);
const all = kept ? JSON.parse(fs.readFileSync(FILE, 'utf8')) : { rounds: [], idle: [] };
const save = () => {
  fs.mkdirSync('tests/out', { recursive: true });
  fs.writeFileSync(FILE, JSON.stringify(all, null, 1));
};
const screen = await viewerDisplay();
try {
  all.versions = there.map((rival) => rival.versions());
  for (let i = 0; i < ROUNDS; i++) {
    console.log(`round ${all.rounds.length + 1}`);
    all.rounds.push(await round(screen, there, ['0', 'full']));
    save();
  }
  if (IDLE_S > 0) {
    all.idle = await idle([ours, ...there]);
    save();
  }
  if (STARTS > 0) {
    all.starts = await starts(STARTS);
    save();
  }
  report(all, checks);
} catch (error) {
  checks.check(false, 'the measurement itself', error.stack);
} finally {
  await stop(screen.job);
}
process.exit(checks.finish());
