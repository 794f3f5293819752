// SPDX-License-Identifier: MIT
// The server's clock as seen from here: the offset is that of the exchange with the smallest bound
// on its error, half its round trip and what two clocks may have drifted apart since.

const KEEP = 16;
const STALE_MS = 60_000;
const DRIFT = 100e-6; // of two quartz clocks against one another, generously
const GRAIN_MS = 0.1; // performance.now() of a page that is not isolated

export class Clock {
  constructor() {
    /** @type {{at: number, rttMs: number, offsetMs: number}[]} */
    this.samples = [];
    this.rttMs = 0;
    this.offsetMs = 0;
    this.bestMs = 0; // when the exchange took place that gave it
    this.bestRttMs = 0;
    this.known = false;
  }

  /**
   * Takes one ping/pong. Times of the server in ns, times of the client in ms.
   * @param {{sentMs: number, receivedNs: number, repliedNs: number, nowMs: number}} exchange
   */
  add({ sentMs, receivedNs, repliedNs, nowMs }) {
    const serverMs = (repliedNs - receivedNs) / 1e6;
    const rttMs = nowMs - sentMs - serverMs;
    if (!(rttMs >= 0) || !(serverMs >= 0)) return;
    const offsetMs = (receivedNs + repliedNs) / 2e6 - (sentMs + nowMs) / 2;
    this.samples.push({ at: nowMs, rttMs, offsetMs });
    this.samples = this.samples.filter((s) => nowMs - s.at < STALE_MS).slice(-KEEP);
    const bound = (/** @type {{at: number, rttMs: number}} */ s) =>
      s.rttMs / 2 + (nowMs - s.at) * DRIFT;
    const best = this.samples.reduce((a, b) => (bound(b) < bound(a) ? b : a));
    this.rttMs = rttMs;
    this.offsetMs = best.offsetMs;
    this.bestMs = best.at;
    this.bestRttMs = best.rttMs;
    this.known = true;
  }

  /** The smallest round trip of late, in ms; 0 = unknown. */
  get minRttMs() {
    return this.samples.length ? Math.min(...this.samples.map((s) => s.rttMs)) : 0;
  }

  /** How much round trips differ from one to the next, on average, in ms. */
  get jitterMs() {
    const { samples } = this;
    let sum = 0;
    for (let i = 1; i < samples.length; i++)
      sum += Math.abs(samples[i].rttMs - samples[i - 1].rttMs);
    return samples.length > 1 ? sum / (samples.length - 1) : 0;
  }

  /**
   * For the server: how its clock stands to this one (server − client), and the bound of the error.
   * @param {number} nowMs
   */
  estimate(nowMs) {
    if (!this.known) return undefined;
    const errorMs = this.bestRttMs / 2 + Math.max(0, nowMs - this.bestMs) * DRIFT + GRAIN_MS;
    return { offsetNs: this.offsetMs * 1e6, errorUs: errorMs * 1000 };
  }

  /**
   * @param {number} serverNs
   * @returns {number} the same moment on this page's clock, ms
   */
  toLocalMs(serverNs) {
    return serverNs / 1e6 - this.offsetMs;
  }

  reset() {
    this.samples = [];
    this.known = false;
  }
}
