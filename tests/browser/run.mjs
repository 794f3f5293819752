// SPDX-License-Identifier: MIT
// The browser suite: node tests/browser/run.mjs [filter …]. One line per test, one line of sums.
// Three rounds: side by side the tests that mostly wait (a module's `patient`), two at a time those that
// work (its `default`), and alone those that look at times or at all that a server does (its `timed`).
// FW_BINARY names the server (default build/framewire), FW_MODELS the folder of real models.

import { readdirSync } from 'node:fs';
import { env } from './lib/env.mjs';
import { closeBrowsers } from './lib/browsers.mjs';
import { Skip } from './lib/check.mjs';

const filters = process.argv.slice(2);
const LIMIT_MS = 90_000;

/** @typedef {{name: string, run: () => Promise<void>}} Test */
/** @type {{sideBySide: number, tests: Test[]}[]} */
const rounds = [
  { sideBySide: 4, tests: [] },
  { sideBySide: 2, tests: [] },
  { sideBySide: 1, tests: [] },
];
const wanted = (/** @type {string} */ name) =>
  !filters.length || filters.some((f) => name.includes(f));
for (const file of readdirSync(new URL('./cases/', import.meta.url)).sort()) {
  if (!file.endsWith('.mjs')) continue;
  const group = file.replace(/^\d+-|\.mjs$/g, '');
  const module = await import(`./cases/${file}`);
  [module.patient, module.default, module.timed].forEach((cases, i) => {
    for (const [title, run] of Object.entries(cases ?? {})) {
      const name = `${group}: ${title}`;
      if (wanted(name)) rounds[i].tests.push({ name, run });
    }
  });
}
const sums = { passed: 0, failed: 0, skipped: 0 };

function limit(promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done within ${LIMIT_MS / 1000} s`)), LIMIT_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** @param {Test} test */
async function one({ name, run }) {
  const begin = Date.now();
  const took = () => `${((Date.now() - begin) / 1000).toFixed(1)} s`;
  try {
    await env.scope(() => limit(run()));
    sums.passed++;
    console.log(`pass  ${name} (${took()})`);
  } catch (error) {
    if (error instanceof Skip) {
      sums.skipped++;
      console.log(`skip  ${name}: ${error.message}`);
    } else {
      sums.failed++;
      console.log(`FAIL  ${name} (${took()})`);
      console.log(String(error?.stack ?? error).replace(/^/gm, '      '));
    }
  }
}

/** Ctrl-C and the like: browsers and servers go as well. */
async function breakOff() {
  setTimeout(() => process.exit(130), 5000);
  await Promise.allSettled([closeBrowsers(), env.finish()]);
  process.exit(130);
}
process.once('SIGINT', breakOff);
process.once('SIGTERM', breakOff);

const total = rounds.reduce((sum, { tests }) => sum + tests.length, 0);
for (const { sideBySide, tests } of rounds)
  await Promise.all(
    Array.from({ length: sideBySide }, async () => {
      for (let test = tests.shift(); test; test = tests.shift()) await one(test);
    }),
  );
await closeBrowsers();
await env.finish();
console.log(`browser: ${sums.passed} passed, ${sums.failed} failed, ${sums.skipped} skipped`);
process.exit(sums.failed || !total ? 1 : 0);
