// SPDX-License-Identifier: MIT
// Small words for tests.

import assert from 'node:assert/strict';

export { assert };

/** Thrown where hardware or a program is absent. */
export class Skip extends Error {}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Polls until `probe` gives something true, and gives it back.
 * @template T
 * @param {string} what for the message
 * @param {() => T | Promise<T>} probe
 * @param {number} [timeoutMs]
 * @param {number} [everyMs]
 * @returns {Promise<T>}
 */
export async function until(what, probe, timeoutMs = 10_000, everyMs = 40) {
  const end = Date.now() + timeoutMs;
  let last;
  for (;;) {
    last = await probe();
    if (last) return last;
    if (Date.now() > end) throw new Error(`waited ${timeoutMs} ms for: ${what}`);
    await sleep(everyMs);
  }
}

/**
 * What must be done within `limitMs`. A machine that is busy with something else gets another four
 * tries, none of which may take for ever.
 * @param {number} limitMs
 * @param {() => Promise<number | void>} attempt gives its time where not all of it counts
 */
export async function within(limitMs, attempt) {
  const took = [];
  do {
    const begin = performance.now();
    const own = await attempt();
    took.push(Math.round(own ?? performance.now() - begin));
    assert.ok(took.at(-1) < 6 * limitMs, `took ${took} ms`);
  } while (took.at(-1) >= limitMs && took.length < 5);
  assert.ok(took.at(-1) < limitMs, `took ${took} ms, not once less than ${limitMs}`);
}
