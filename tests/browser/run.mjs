// SPDX-License-Identifier: MIT
// The browser suite: node tests/browser/run.mjs [filter …]. One line per test, one line of sums.
// First, side by side, the tests that mostly wait (a module's `patient`); then, one after another,
// those of its `default`, which may look at times.
// FW_BINARY names the server (default build/framewire), FW_MODELS the folder of real models.

import { readdirSync } from 'node:fs';
import { env } from './lib/env.mjs';
import { closeBrowsers } from './lib/browsers.mjs';
import { Skip } from './lib/check.mjs';

const filters = process.argv.slice(2);
const LIMIT_MS = 90_000;
const SIDE_BY_SIDE = 3;

/** @typedef {{name: string, run: () => Promise<void>}} Test */
/** @type {Test[]} */
const patient = [];
/** @type {Test[]} */
const tests = [];
for (const file of readdirSync(new URL('./cases/', import.meta.url)).sort()) {
  if (!file.endsWith('.mjs')) continue;
  const group = file.replace(/^\d+-|\.mjs$/g, '');
  const module = await import(`./cases/${file}`);
  for (const [list, cases] of [
    [patient, module.patient ?? {}],
    [tests, module.default],
  ])
    for (const [name, run] of Object.entries(cases)) list.push({ name: `${group}: ${name}`, run });
}

const wanted = (/** @type {Test} */ t) =>
  !filters.length || filters.some((f) => t.name.includes(f));
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

const waiting = patient.filter(wanted);
const chosen = tests.filter(wanted);
const total = waiting.length + chosen.length;
await Promise.all(
  Array.from({ length: SIDE_BY_SIDE }, async () => {
    for (let test = waiting.shift(); test; test = waiting.shift()) await one(test);
  }),
);
for (const test of chosen) await one(test);
await closeBrowsers();
await env.finish();
console.log(`browser: ${sums.passed} passed, ${sums.failed} failed, ${sums.skipped} skipped`);
process.exit(sums.failed || !total ? 1 : 0);
