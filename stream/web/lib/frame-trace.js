// SPDX-License-Identifier: MIT
// What became of each frame that reached this page, and how long each stage of its way took. The
// stages tile the total: from the input that a frame is the first to show, or else from its
// beginning, to the screen; what none explains is a stage of its own. Everything on this page's
// clock: the server's stamps are placed by `clock`, and moved to the nearest moment that does not
// contradict what the page saw itself. Pure, fixed in size.

import { STAGE, STAGES } from './stages.js';

export const FRAMES_KEPT = 600;
const OPEN_MAX = 256;
const INPUTS_MAX = 1024;
const STAMP_WAIT_MS = 400; // stamps are told within 100 ms, or with the next beacon
const DRAWN_KEPT = 32;
const COUNT = STAGES.length;

/**
 * @typedef {{frameId: number, inputId: number, begunNs: number, encodedNs: number, renderUs: number,
 *   convertUs: number, encodeUs: number}} Head what the header of a frame tells
 * @typedef {{head: Head, receivedMs: number, decodedMs: number, presentedMs: number, handedNs: number,
 *   acceptedNs: number, input: Input | null}} Open
 * @typedef {{id: number, sentMs: number, receivedNs: number, count: number}} Input a batch, by its newest
 * @typedef {'newer' | 'needs_key' | 'hidden' | 'decoder' | 'screen' | 'server'} DropReason
 */

/** @type {Record<DropReason, string>} */
export const DROP_WORDS = {
  newer: 'overtaken by a newer picture',
  needs_key: 'waiting for a key frame',
  hidden: 'this tab was hidden',
  decoder: 'the decoder failed',
  screen: 'could not be shown',
  server: 'left out by the server',
};

/**
 * How much of `from` to `to` lies within the spans.
 * @param {number} from
 * @param {number} to
 * @param {{from: number, to: number}[]} spans
 */
function overlap(from, to, spans) {
  let sum = 0;
  for (const span of spans) sum += Math.max(0, Math.min(to, span.to) - Math.max(from, span.from));
  return sum;
}

export class FrameTrace {
  /** @param {{known: boolean, toLocalMs: (ns: number) => number}} clock */
  constructor(clock) {
    this.clock = clock;
    /** @type {Map<number, Open>} */
    this.open = new Map();
    /** @type {Input[]} told by the server, not yet on screen, oldest first */
    this.inputs = [];
    this.shownInput = 0;
    this.newestFrame = 0;
    /** @type {Record<DropReason, number>} */
    this.drops = { newer: 0, needs_key: 0, hidden: 0, decoder: 0, screen: 0, server: 0 };
    /** @type {{from: number, to: number}[]} when the page drew its figures */
    this.drawn = [];
    // --- those that have come to an end: number n stands at n % FRAMES_KEPT
    this.ended = 0;
    this.stageMs = new Float32Array(FRAMES_KEPT * COUNT);
    this.totalMs = new Float32Array(FRAMES_KEPT); // NaN = dropped
    this.endMs = new Float64Array(FRAMES_KEPT); // when it was presented or dropped
    this.frameIds = new Float64Array(FRAMES_KEPT);
    this.fromInput = new Uint8Array(FRAMES_KEPT); // the total starts at an input
  }

  /** @param {Head} head @param {number} now */
  onReceived(head, now) {
    // Ids between: the server drew or encoded them, but not for this page.
    if (this.newestFrame && head.frameId > this.newestFrame + 1)
      this.drops.server += head.frameId - this.newestFrame - 1;
    this.newestFrame = Math.max(this.newestFrame, head.frameId);
    this.open.set(head.frameId, {
      head,
      receivedMs: now,
      decodedMs: 0,
      presentedMs: 0,
      handedNs: 0,
      acceptedNs: 0,
      input: null,
    });
    if (this.open.size > OPEN_MAX)
      this.open.delete(/** @type {number} */ (this.open.keys().next().value));
  }

  /** @param {number} frameId @param {number} now */
  onDecoded(frameId, now) {
    const open = this.open.get(frameId);
    if (open) open.decodedMs = now;
  }

  /** @param {{frameId: number, handedNs: number, acceptedNs: number}[]} stamps */
  onStamps(stamps) {
    for (const { frameId, handedNs, acceptedNs } of stamps) {
      const open = this.open.get(frameId);
      if (open) Object.assign(open, { handedNs, acceptedNs });
    }
  }

  /** @param {Input} input */
  onInput(input) {
    this.inputs.push(input);
    if (this.inputs.length > INPUTS_MAX) this.inputs.shift();
  }

  /**
   * @param {number} frameId
   * @param {number} now
   * @returns {Input[]} the inputs it is the first to show
   */
  onPresented(frameId, now) {
    const open = this.open.get(frameId);
    if (!open) return [];
    open.presentedMs = now;
    /** @type {Input[]} */
    let shown = [];
    if (open.head.inputId > this.shownInput) {
      this.shownInput = open.head.inputId;
      const after = this.inputs.findIndex((i) => i.id > this.shownInput);
      shown = this.inputs.splice(0, after < 0 ? this.inputs.length : after);
      open.input = shown.find((i) => i.id === this.shownInput) ?? shown[shown.length - 1] ?? null;
    }
    this.settle(now);
    return shown;
  }

  /** @param {number} frameId @param {DropReason} reason @param {number} now */
  onDropped(frameId, reason, now) {
    this.drops[reason]++;
    if (!this.open.delete(frameId)) return;
    const row = this.nextRow(frameId, now);
    this.totalMs[row] = NaN;
    this.stageMs.fill(0, row * COUNT, (row + 1) * COUNT);
  }

  /** The page drew its figures. @param {number} from @param {number} to */
  onDrawn(from, to) {
    this.drawn.push({ from, to });
    if (this.drawn.length > DRAWN_KEPT) this.drawn.shift();
  }

  /** A new connection: what was on its way is not coming. */
  reset() {
    this.open.clear();
    this.inputs = [];
    this.newestFrame = 0;
  }

  /** Frames on screen whose stamps are here, or are no longer waited for. @param {number} now */
  settle(now) {
    for (const [id, open] of this.open) {
      if (!open.presentedMs) continue;
      if (!open.acceptedNs && now - open.presentedMs < STAMP_WAIT_MS) continue;
      this.open.delete(id);
      if (this.clock.known) this.finish(open);
    }
  }

  /** @param {number} frameId @param {number} endMs */
  nextRow(frameId, endMs) {
    const row = this.ended++ % FRAMES_KEPT;
    this.frameIds[row] = frameId;
    this.endMs[row] = endMs;
    this.fromInput[row] = 0;
    return row;
  }

  /** @param {Open} open */
  finish({ head, receivedMs, decodedMs, presentedMs, handedNs, acceptedNs, input }) {
    const row = this.nextRow(head.frameId, presentedMs);
    const out = this.stageMs.subarray(row * COUNT, (row + 1) * COUNT);
    const local = (/** @type {number} */ ns) => Math.min(this.clock.toLocalMs(ns), receivedMs);
    const begun = local(head.begunNs);
    const converted = Math.min(begun + head.renderUs / 1000, receivedMs);
    const encoded = Math.max(converted, local(head.encodedNs));
    const encBegin = Math.max(converted, encoded - head.encodeUs / 1000);
    out.fill(0);
    let start = begun;
    if (input) {
      start = Math.min(input.sentMs, begun);
      const arrived = Math.min(Math.max(this.clock.toLocalMs(input.receivedNs), start), begun);
      out[STAGE.uplink] = arrived - start;
      out[STAGE.wait] = begun - arrived;
      this.fromInput[row] = 1;
    }
    const convert = Math.min(head.convertUs / 1000, converted - begun);
    out[STAGE.render] = converted - begun - convert;
    out[STAGE.convert] = convert;
    out[STAGE.wait] += encBegin - converted;
    out[STAGE.encode] = encoded - encBegin;
    if (handedNs) {
      // That the kernel has taken it may be noticed later than it arrived here: then it took it at once.
      const late = this.clock.toLocalMs(acceptedNs) > receivedMs;
      const gone = Math.max(encoded, local(acceptedNs && !late ? acceptedNs : handedNs));
      out[STAGE.send] = gone - encoded;
      out[STAGE.network] = receivedMs - gone;
    }
    if (decodedMs) {
      const busy = overlap(receivedMs, decodedMs, this.drawn);
      const busier = overlap(decodedMs, presentedMs, this.drawn);
      out[STAGE.decode] = decodedMs - receivedMs - busy;
      out[STAGE.present] = presentedMs - decodedMs - busier;
      out[STAGE.hud] = busy + busier;
    }
    const total = presentedMs - start;
    let known = 0;
    for (let i = 0; i < COUNT; i++) known += out[i];
    out[STAGE.rest] = Math.max(0, total - known);
    this.totalMs[row] = total;
  }

  // ---- reading

  /** How many of the newest are kept. */
  get kept() {
    return Math.min(this.ended, FRAMES_KEPT);
  }

  /** @param {number} back 0 = the newest that has ended @returns {number} its row */
  row(back) {
    return (this.ended - 1 - back) % FRAMES_KEPT;
  }

  /**
   * Calls `each` with the row of every presented frame of the last `ms`, newest first.
   * @param {number} since ms of this page's clock
   * @param {(row: number) => void} each
   */
  forEachSince(since, each) {
    for (let back = 0; back < this.kept; back++) {
      const row = this.row(back);
      if (this.endMs[row] < since) break;
      if (!Number.isNaN(this.totalMs[row])) each(row);
    }
  }
}
