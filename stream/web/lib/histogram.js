// SPDX-License-Identifier: MIT
// The histogram of base/histogram.h for the browser: power-of-two rows of 64 linear steps each, so
// that any time from 1 us to 64 s is kept within 1.6 %. Pure.

const SUB = 64;
const ROWS = 21;

/** @param {number} us whole, not negative */
function indexOf(us) {
  if (us < SUB) return us;
  const row = Math.floor(Math.log2(us)) - 5; // 64..127 → row 1
  if (row >= ROWS) return ROWS * SUB - 1;
  return row * SUB + Math.floor(us / 2 ** (row - 1)) - SUB;
}

/** @param {number} index */
function upperEdge(index) {
  const row = Math.floor(index / SUB);
  const step = index % SUB;
  return row === 0 ? step : (SUB + step + 1) * 2 ** (row - 1) - 1;
}

export class Histogram {
  constructor() {
    this.buckets = new Float64Array(ROWS * SUB);
    this.count = 0;
    this.sumMs = 0;
    this.maxMs = 0;
  }

  /** @param {number} ms below 0 counts as 0 @param {number} [weight] */
  add(ms, weight = 1) {
    const us = ms > 0 ? Math.floor(ms * 1000) : 0;
    this.buckets[indexOf(us)] += weight;
    this.count += weight;
    this.sumMs += Math.max(0, ms) * weight;
    if (ms > this.maxMs) this.maxMs = ms;
  }

  /** @param {Histogram} other */
  merge(other) {
    for (let i = 0; i < this.buckets.length; i++) this.buckets[i] += other.buckets[i];
    this.count += other.count;
    this.sumMs += other.sumMs;
    this.maxMs = Math.max(this.maxMs, other.maxMs);
  }

  clear() {
    this.buckets.fill(0);
    this.count = this.sumMs = this.maxMs = 0;
  }

  get meanMs() {
    return this.count ? this.sumMs / this.count : -1;
  }

  /**
   * The value in ms that a share `q` of the weight does not exceed, upper edge of its step; -1 = empty.
   * @param {number} q 0 to 1
   */
  quantile(q) {
    if (!this.count) return -1;
    const rank = q * this.count;
    let seen = 0;
    for (let i = 0; i < this.buckets.length; i++) {
      seen += this.buckets[i];
      if (this.buckets[i] && seen >= rank - 1e-9) return Math.min(upperEdge(i) / 1000, this.maxMs);
    }
    return this.maxMs;
  }
}

/** Of the last seconds only: a ring of slices, the oldest is emptied as time goes on. */
export class Lately {
  /** @param {number} [seconds] @param {number} [slices] */
  constructor(seconds = 10, slices = 10) {
    this.sliceMs = (seconds * 1000) / slices;
    this.slices = Array.from({ length: slices }, () => new Histogram());
    this.newest = -1; // number of the slice that is filled now
  }

  /** @param {number} now ms */
  turn(now) {
    const number = Math.floor(now / this.sliceMs);
    const { length } = this.slices;
    if (this.newest < 0 || number - this.newest >= length) {
      this.slices.forEach((slice) => slice.clear());
      this.newest = number;
    }
    while (this.newest < number) this.slices[++this.newest % length].clear();
  }

  /** @param {number} now @param {number} ms @param {number} [weight] */
  add(now, ms, weight = 1) {
    this.turn(now);
    this.slices[this.newest % this.slices.length].add(ms, weight);
  }

  /** @param {number} now */
  read(now) {
    this.turn(now);
    const sum = new Histogram();
    for (const slice of this.slices) if (slice.count) sum.merge(slice);
    return sum;
  }
}
