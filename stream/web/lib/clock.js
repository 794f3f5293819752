// SPDX-License-Identifier: MIT
// The server's clock as seen from here: offset from the exchange with the smallest round trip.

const KEEP = 16;
const STALE_MS = 60_000;

export class Clock {
  constructor() {
    /** @type {{at: number, rttMs: number, offsetMs: number}[]} */
    this.samples = [];
    this.rttMs = 0;
    this.offsetMs = 0;
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
    const best = this.samples.reduce((a, b) => (b.rttMs < a.rttMs ? b : a));
    this.rttMs = rttMs;
    this.offsetMs = best.offsetMs;
    this.known = true;
  }

  /** The smallest round trip of late, in ms; 0 = unknown. */
  get minRttMs() {
    return this.samples.length ? Math.min(...this.samples.map((s) => s.rttMs)) : 0;
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
