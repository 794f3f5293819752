// SPDX-License-Identifier: MIT
// The test card as a picture to be read: places and colours from render/source/testcard.h itself.

import { readFileSync } from 'node:fs';
import { assert, sleep } from './check.mjs';
import { env } from './env.mjs';
import { near, pixels } from './page.mjs';

const header = readFileSync(`${env.root}render/source/testcard.h`, 'utf8');
const ENTRY =
  /\[FW_TESTCARD_(\w+)\] = \{ (\d+), (\d+), (\d+), (\d+), \{ (\d+), (\d+), (\d+) \} \}/g;

/** @type {Record<string, {place: number[], color: number[]}>} */
export const PATCHES = {};
for (const [, name, ...numbers] of header.matchAll(ENTRY)) {
  const n = numbers.map(Number);
  PATCHES[name] = { place: n.slice(0, 4), color: n.slice(4) };
}
assert.ok(Object.keys(PATCHES).length >= 14, 'testcard.h is not laid out as expected');

const color = (name) =>
  new RegExp(`fw_testcard_${name}\\[3\\] = \\{ (\\d+), (\\d+), (\\d+) \\}`)
    .exec(header)
    .slice(1)
    .map(Number);
export const CLICKED = color('clicked');
export const LIT = color('lit');

/** Those whose colour does not change. */
export const STILL = Object.keys(PATCHES).filter(
  (n) => !['CLICK', 'KEY', 'METER', 'TRACK'].includes(n),
);

/** The middle of a patch. @param {string} name @param {number} width @param {number} height */
export function middle(name, width, height) {
  const [x0, y0, x1, y1] = PATCHES[name].place;
  const at = (permille, size) => Math.floor((size * permille) / 1000);
  return {
    x: (at(x0, width) + at(x1, width)) >> 1,
    y: (at(y0, height) + at(y1, height)) >> 1,
  };
}

/**
 * Every patch has its colour, all in one look; the first looks may find a picture not sharp yet.
 * @param {any} page
 * @param {{width: number, height: number}} size
 * @param {number} [tolerance]
 */
export async function checkColors(page, { width, height }, tolerance = 3) {
  const points = STILL.map((name) => middle(name, width, height));
  const off = (rgb, i) => Math.max(...rgb.map((v, c) => Math.abs(v - PATCHES[STILL[i]].color[c])));
  let got;
  for (let look = 0; look < 8; look++) {
    got = await pixels(page, points, 1);
    if (got.every((rgb, i) => off(rgb, i) <= tolerance)) return;
    await sleep(150);
  }
  got.forEach((rgb, i) =>
    near(rgb, PATCHES[STILL[i]].color, tolerance, `${page.kind} ${STILL[i]}`),
  );
}

/**
 * The colour of one patch now, off its middle: the pointer may stand there.
 * @param {any} page
 * @param {string} name
 * @param {{width: number, height: number}} size
 */
export async function patch(page, name, { width, height }) {
  const [x0, y0, x1, y1] = PATCHES[name].place;
  const x = Math.floor((width * (3 * x0 + x1)) / 4000);
  const y = Math.floor((height * (2.5 * y0 + 13.5 * y1)) / 16_000); // within a step of the meter
  return (await pixels(page, [{ x, y }], 1))[0];
}

/** Reads the frame id out of the picture. @param {any} page @param {{width: number, height: number}} size */
export async function readFrameId(page, { width, height }) {
  const less = Math.min(width, height);
  const edge = Math.min(Math.max(Math.floor(less / 24), 1), 16);
  const margin = Math.floor(less / 20) & ~15;
  const y0 = (height - margin - 8 * edge) & ~15;
  const points = Array.from({ length: 64 }, (_, i) => ({
    x: margin + (i % 8) * edge + (edge >> 1),
    y: y0 + (i >> 3) * edge + (edge >> 1),
  }));
  const got = await pixels(page, points);
  return Number(got.reduce((id, rgb, i) => id | (BigInt(rgb[1] > 126) << BigInt(i)), 0n));
}

/**
 * How far apart neighbouring one-pixel lines are, 0 to 255, in the card's box of upright lines.
 * @param {any} page
 * @param {{width: number, height: number}} size
 */
export async function lineContrast(page, { width, height }) {
  const side = Math.floor((width * 126) / 1000);
  const w = Math.min(side, 128);
  const h = Math.min(Math.floor((height * 110) / 1000), 96);
  const x0 = Math.floor((width * 300) / 1000) + ((side - w) >> 1);
  const y = Math.floor((height * 665) / 1000) + (h >> 1);
  const points = Array.from({ length: w & ~1 }, (_, i) => ({ x: x0 + i, y }));
  const got = await pixels(page, points);
  const mean = (odd) => {
    const values = got.filter((_, i) => i % 2 === odd).map((rgb) => rgb[1]);
    return values.reduce((a, b) => a + b, 0) / values.length;
  };
  return mean(0) - mean(1);
}
