// SPDX-License-Identifier: MIT
// When to try again. Full jitter over the capped delay, from the first try on: after a server
// restart the pages must not come back in step, neither at once nor later at the cap.

/** @typedef {{baseMs: number, capMs: number}} BackoffShape */

/** Coming back to a server that everybody has lost at the same time. */
export const RECONNECT = Object.freeze({ baseMs: 2000, capMs: 10_000 });
/** One decoder or one socket of this page alone. */
export const LOCAL = Object.freeze({ baseMs: 150, capMs: 4000 });

/**
 * @param {number} attempt 0 for the first
 * @param {BackoffShape} shape
 * @param {() => number} [random] in [0, 1)
 * @returns {number} ms to wait
 */
export function backoffDelay(attempt, shape, random = Math.random) {
  const exponent = Math.min(Math.max(attempt, 0), 30);
  return random() * Math.min(shape.capMs, shape.baseMs * 2 ** exponent);
}
