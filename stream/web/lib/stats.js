// SPDX-License-Identifier: MIT
// What is counted for the HUD, for scripts (window.framewire.stats()) and the age of the picture.

const WINDOW_MS = 1000;
const BEACON_LATE_MS = 1500;
const PENDING_MAX = 256;

/** Things per second over the last second, and their bytes. */
class Rate {
  constructor() {
    /** @type {{at: number, bytes: number}[]} */
    this.events = [];
  }

  /** @param {number} at @param {number} bytes */
  add(at, bytes) {
    this.events.push({ at, bytes });
    if (this.events.length > 2000) this.events.splice(0, 1000);
  }

  /** @param {number} now */
  read(now) {
    const first = this.events.findIndex((e) => now - e.at < WINDOW_MS);
    this.events = first < 0 ? [] : this.events.slice(first);
    const bytes = this.events.reduce((sum, e) => sum + e.bytes, 0);
    return { perSecond: this.events.length, kbps: (bytes * 8) / 1000 };
  }
}

/** @typedef {import('./decoder.js').FrameInfo} FrameInfo */

export class Stats {
  /** @param {import('./clock.js').Clock} clock */
  constructor(clock) {
    this.clock = clock;
    this.received = 0;
    this.decoded = 0;
    this.presented = 0;
    this.dropped = 0;
    this.keyframeRequests = 0;
    this.decoderErrors = 0;
    this.lastInputId = 0;
    this.codec = '';
    /** @type {FrameInfo | null} the picture on screen */
    this.shown = null;
    this.shownMs = 0;
    /** What the newest picture that was drawn took; one that is only sent sharper draws nothing. */
    this.cost = { renderUs: -1, encodeUs: -1 };
    /** @type {{frameId: number, changeNs: number}[]} received, not yet on screen */
    this.pending = [];
    /** @type {{newestFrame: number, current: boolean, animating: boolean, serverNs: number} | null} */
    this.beacon = null;
    this.beaconMs = 0;
    /** Server time at which the newest picture ceased to be all there is; 0 = it is. */
    this.staleSinceNs = 0;
    this.frames = new Rate();
    this.traffic = new Rate();
    /** @type {number[]} input → on screen, ms, newest last */
    this.inputDelays = [];
    /** @type {Map<number, number>} session-wide input id → when it was sent, ms */
    this.inputs = new Map();
  }

  /** @param {import('./wire.js').VideoMessage} message @param {number} bytes @param {number} now */
  onReceived(message, bytes, now) {
    this.received++;
    if (message.codec) this.codec = message.codec;
    this.traffic.add(now, bytes);
    this.pending.push({ frameId: message.frameId, changeNs: message.changeNs });
    if (this.pending.length > PENDING_MAX) this.pending.shift();
  }

  /** @param {FrameInfo} info @param {number} now */
  onPresented(info, now) {
    this.presented++;
    this.frames.add(now, 0);
    this.shown = info;
    this.shownMs = now;
    if (info.renderUs > 0) this.cost = { renderUs: info.renderUs, encodeUs: info.encodeUs };
    this.pending = this.pending.filter((p) => p.frameId > info.frameId);
    if (info.inputId > this.lastInputId) {
      this.lastInputId = info.inputId;
      const sent = this.inputs.get(info.inputId);
      if (sent !== undefined) {
        this.inputDelays.push(now - sent);
        if (this.inputDelays.length > 120) this.inputDelays.shift();
      }
      for (const id of this.inputs.keys()) if (id <= info.inputId) this.inputs.delete(id);
    }
  }

  /**
   * @param {number} inputId
   * @param {number} sentMs
   */
  onInputStamp(inputId, sentMs) {
    this.inputs.set(inputId, sentMs);
    if (this.inputs.size > 1024)
      this.inputs.delete(/** @type {number} */ (this.inputs.keys().next().value));
  }

  /** @param {import('./wire.js').BeaconMessage} beacon @param {number} now */
  onBeacon(beacon, now) {
    const fresh = !this.beacon || beacon.newestFrame !== this.beacon.newestFrame;
    if (beacon.current) this.staleSinceNs = 0;
    else if (!this.staleSinceNs || fresh) this.staleSinceNs = beacon.serverNs;
    this.beacon = beacon;
    this.beaconMs = now;
  }

  /** A new connection: what was on its way is not coming. */
  onReconnect() {
    this.pending = [];
    this.beacon = null;
    this.staleSinceNs = 0;
    this.inputs.clear();
  }

  /**
   * The age of the picture in ms as docs/protocol.md defines it; -1 = no picture or no clock yet.
   * @param {number} now
   */
  age(now) {
    const { shown, beacon, clock } = this;
    if (!shown || !clock.known) return -1;
    const since = (/** @type {number} */ ns) => Math.max(0, now - clock.toLocalMs(ns));
    if (!beacon) return since(shown.begunNs);
    const late = now - this.beaconMs > BEACON_LATE_MS;
    const next = this.pending[0];
    const newest = !next && shown.frameId >= beacon.newestFrame;
    if (shown.animating || beacon.animating) return since(shown.begunNs);
    if (newest && beacon.current) return late ? now - this.beaconMs : 0;
    if (next) return since(next.changeNs);
    return since(this.staleSinceNs || beacon.serverNs);
  }

  /** What scripts see: counts since the page opened. */
  snapshot() {
    const now = performance.now();
    const round = (/** @type {number} */ v) => Math.round(v * 100) / 100;
    return {
      received: this.received,
      decoded: this.decoded,
      presented: this.presented,
      lastFrameId: this.shown?.frameId ?? 0,
      lastInputId: this.lastInputId,
      width: this.shown?.width ?? 0,
      height: this.shown?.height ?? 0,
      codec: this.codec,
      ageMs: round(this.age(now)),
      rttMs: round(this.clock.rttMs),
      dropped: this.dropped,
      keyframeRequests: this.keyframeRequests,
      decoderErrors: this.decoderErrors,
    };
  }
}
