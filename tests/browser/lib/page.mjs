// SPDX-License-Identifier: MIT
// What tests ask of an open session page.

import { assert, until } from './check.mjs';

/** @param {any} page */
export function stats(page) {
  return page.evaluate(() => window.framewire?.stats());
}

/** @param {any} page @param {number} [count] pictures since now @param {number} [timeoutMs] */
export async function pictures(page, count = 1, timeoutMs = 15_000) {
  const before = (await stats(page))?.presented ?? 0;
  return until(
    `${count} more picture(s)`,
    async () => {
      const now = await stats(page);
      return now && now.presented >= before + count && now;
    },
    timeoutMs,
  );
}

/** Waits for the first picture. @param {any} page @param {number} [timeoutMs] */
export function firstPicture(page, timeoutMs = 20_000) {
  return until(
    'the first picture',
    async () => {
      const now = await stats(page);
      return now?.presented > 0 && now;
    },
    timeoutMs,
  );
}

/** @param {any} page @param {number} width @param {number} height @param {number} [timeoutMs] */
export function pictureOfSize(page, width, height, timeoutMs = 15_000) {
  return until(
    `a picture of ${width}x${height}`,
    async () => {
      const now = await stats(page);
      return now && now.width === width && now.height === height && now;
    },
    timeoutMs,
  );
}

/**
 * Pixels of the shown picture, averaged over a small square around each point.
 * @param {any} page
 * @param {{x: number, y: number}[]} points in picture pixels
 * @param {number} [radius] 0 = one pixel
 * @returns {Promise<number[][]>} [r, g, b] each
 */
export async function pixels(page, points, radius = 0) {
  return page.evaluate(
    ({ points, radius }) => {
      const screen = document.getElementById('screen');
      const width = screen.videoWidth ?? screen.width;
      const height = screen.videoHeight ?? screen.height;
      const canvas = document.createElement('canvas');
      canvas.width = width;
      canvas.height = height;
      const context = canvas.getContext('2d', { willReadFrequently: true });
      context.drawImage(screen, 0, 0, width, height);
      return points.map(({ x, y }) => {
        const size = 2 * radius + 1;
        const { data } = context.getImageData(x - radius, y - radius, size, size);
        const sum = [0, 0, 0];
        for (let i = 0; i < data.length; i += 4) for (let c = 0; c < 3; c++) sum[c] += data[i + c];
        return sum.map((v) => v / (size * size));
      });
    },
    { points, radius },
  );
}

/** The size of the element's own picture, whatever the header said. @param {any} page */
export function elementSize(page) {
  return page.evaluate(() => {
    const screen = document.getElementById('screen');
    return {
      width: screen.videoWidth ?? screen.width,
      height: screen.videoHeight ?? screen.height,
    };
  });
}

/** What the page says is wrong. @param {any} page */
export function status(page) {
  return page.evaluate(() => ({
    level: document.getElementById('status').dataset.level,
    title: document.getElementById('status-title').textContent,
    text: document.getElementById('status-text').textContent,
  }));
}

/** @param {any} page @param {RegExp} pattern @param {number} [timeoutMs] */
export function says(page, pattern, timeoutMs = 15_000) {
  return until(
    `the page to say ${pattern}`,
    async () => {
      const now = await status(page);
      return now.level !== 'ok' && pattern.test(`${now.title} ${now.text}`) && now;
    },
    timeoutMs,
  );
}

/** @param {any} page */
export function fine(page, timeoutMs = 15_000) {
  return until('the page to be fine', async () => (await status(page)).level === 'ok', timeoutMs);
}

/**
 * @param {number[]} got
 * @param {number[]} want
 * @param {number} tolerance
 * @param {string} what
 */
export function near(got, want, tolerance, what) {
  const off = Math.max(...got.map((v, i) => Math.abs(v - want[i])));
  assert.ok(off <= tolerance, `${what}: ${got.map((v) => v.toFixed(1))} instead of ${want}`);
}

/** Makes a page believe it is hidden or shown (headless Chromium never hides one by itself).
 * @param {any} page
 * @param {boolean} hidden
 */
export function pretendHidden(page, hidden) {
  return page.evaluate(
    (state) => {
      Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => state });
      Object.defineProperty(document, 'hidden', {
        configurable: true,
        get: () => state === 'hidden',
      });
      document.dispatchEvent(new Event('visibilitychange'));
    },
    hidden ? 'hidden' : 'visible',
  );
}
