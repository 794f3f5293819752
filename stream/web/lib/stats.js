// SPDX-License-Identifier: MIT
// What is counted for the HUD, for scripts (window.framewire.stats()) and the age of the picture.

import { FrameTrace } from './frame-trace.js';
import { Lately } from './histogram.js';

const WINDOW_MS = 1000;
const BEACON_LATE_MS = 1500;
const PENDING_MAX = 256;
const RAMP_STEPS_MAX = 32;
const LEARNED_MS = 250;

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
    this.trace = new FrameTrace(clock);
    this.ages = new Lately(); // weighted by time
    this.inputToScreen = new Lately(); // one value for each input
    this.aged = -1; // up to when `ages` knows
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
  }

  /** @param {import('./wire.js').VideoMessage} message @param {number} bytes @param {number} now */
  onReceived(message, bytes, now) {
    this.trace.onReceived(message, now);
    this.received++;
    if (message.codec) this.codec = message.codec;
    this.traffic.add(now, bytes);
    this.pending.push({ frameId: message.frameId, changeNs: message.changeNs });
    if (this.pending.length > PENDING_MAX) this.pending.shift();
  }

  /** @param {number} frameId @param {number} now */
  onDecoded(frameId, now) {
    this.decoded++;
    this.trace.onDecoded(frameId, now);
  }

  /** @param {number} frameId @param {import('./frame-trace.js').DropReason} reason @param {number} now */
  onDropped(frameId, reason, now) {
    this.dropped++;
    this.trace.onDropped(frameId, reason, now);
  }

  /** @param {FrameInfo} info @param {number} now */
  onPresented(info, now) {
    this.countAge(now);
    this.presented++;
    this.frames.add(now, 0);
    this.shown = info;
    this.shownMs = now;
    this.pending = this.pending.filter((p) => p.frameId > info.frameId);
    const inputs = this.trace.onPresented(info.frameId, now);
    for (const { sentMs, count } of inputs) this.inputToScreen.add(now, now - sentMs, count);
    if (info.inputId <= this.lastInputId) return;
    this.lastInputId = info.inputId;
    const newest = inputs[inputs.length - 1];
    if (newest?.id !== info.inputId) return;
    this.inputDelays.push(now - newest.sentMs);
    if (this.inputDelays.length > 120) this.inputDelays.shift();
  }

  /** @param {import('./wire.js').BeaconMessage} beacon @param {number} now */
  onBeacon(beacon, now) {
    this.countAge(now);
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
    this.trace.reset();
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
    // A picture that was begun after the server said so shows what had changed by then.
    return since(Math.max(this.staleSinceNs || beacon.serverNs, shown.begunNs));
  }

  /**
   * Sums up the age since the last call: to be called before anything that changes it. Between two
   * such moments it is 0, or rises with the time. That a picture is no longer current is learned
   * when the next one comes: "current" counts once that could be here.
   * @param {number} now
   */
  countAge(now) {
    const age = this.age(now);
    const until = age === 0 ? Math.max(this.aged, now - LEARNED_MS) : now;
    const passed = this.aged < 0 ? 0 : until - this.aged;
    this.aged = until;
    if (age < 0 || !(passed > 0)) return;
    const ramp = Math.min(passed, age);
    if (passed > ramp) this.ages.add(now, 0, passed - ramp);
    const steps = Math.min(RAMP_STEPS_MAX, Math.ceil(ramp));
    for (let i = 0; i < steps; i++)
      this.ages.add(now, age - ((i + 0.5) / steps) * ramp, ramp / steps);
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
