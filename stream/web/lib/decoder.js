// SPDX-License-Identifier: MIT
// One WebCodecs VideoDecoder at a time, replaced when it fails: exactly one key frame is asked for,
// a new decoder takes over there. Nothing is decoded while the tab is hidden.

import { LOCAL, backoffDelay } from './backoff.js';

// More undecoded chunks than this and "received" is held back, so that the server's window closes.
const QUEUE_SOFT = 3;
// A decoder this far behind never catches up by itself.
const QUEUE_HARD = 32;
const KEY_RETRY_MS = 3000;
const SWALLOW_MS = 4000;
const HEALTHY_MS = 10_000;

/**
 * @typedef {import('./wire.js').VideoMessage} VideoMessage
 * @typedef {Omit<VideoMessage, 'data'> & {receivedMs: number, bytes: number}} FrameInfo
 * @typedef {{
 *   frame: (frame: VideoFrame, info: FrameInfo) => void,
 *   keyframe: (reason: string) => void,
 *   received: (frameId: number, atMs: number) => void,
 *   dropped: (frameId: number, reason: import('./frame-trace.js').DropReason) => void,
 *   unsupported: (codec: string, width: number, height: number) => void,
 *   trouble: (message: string) => void,
 * }} DecoderHost
 */

export class Decoder {
  /**
   * @param {DecoderHost} host
   * @param {number} fps for the chunks' duration
   */
  constructor(host, fps = 60) {
    this.host = host;
    this.fps = fps;
    this.delayMs = 0; // a drill: pictures come out that much later
    /** @type {VideoDecoder | null} */
    this.codec = null;
    this.config = '';
    this.needKey = true;
    this.asked = false; // a key frame was asked for and has not come
    this.paused = false;
    this.failures = 0;
    this.failedMs = 0;
    this.blockedUntilMs = 0;
    this.preferSoftware = false;
    this.lastTimestamp = 0;
    this.lastFedMs = 0;
    this.lastOutputMs = 0;
    this.decoded = 0;
    this.configured = 0;
    /** @type {Map<number, FrameInfo>} by chunk timestamp */
    this.inside = new Map();
    /** @type {{frameId: number, receivedMs: number}[]} whose "received" is held back */
    this.held = [];
    this.wakeTimer = 0;
    this.keyTimer = 0;
    this.watchdog = window.setInterval(() => this.watch(), 1000);
  }

  /** @param {VideoMessage} message @param {number} receivedMs */
  feed(message, receivedMs) {
    const { frameId } = message;
    if (this.paused || (this.needKey && !message.key) || receivedMs < this.blockedUntilMs) {
      this.host.received(frameId, receivedMs);
      this.host.dropped(frameId, this.paused ? 'hidden' : 'needs_key');
      if (!this.paused && receivedMs >= this.blockedUntilMs) this.ask('no key frame yet');
      return;
    }
    if (message.key && !this.prepare(message)) {
      this.host.received(frameId, receivedMs);
      this.host.dropped(frameId, 'decoder');
      return;
    }
    this.decode(message, receivedMs);
  }

  /**
   * A decoder for what starts with this key frame.
   * @param {VideoMessage} message
   */
  prepare(message) {
    this.needKey = false;
    this.asked = false;
    clearTimeout(this.keyTimer);
    const { codec, codedWidth, codedHeight } = message;
    const config = `${codec} ${codedWidth}x${codedHeight}`;
    if (this.codec?.state === 'configured' && config === this.config) return true;
    try {
      if (!this.codec || this.codec.state === 'closed') this.codec = this.build();
      this.codec.configure({
        codec,
        codedWidth,
        codedHeight,
        optimizeForLatency: true,
        hardwareAcceleration: this.preferSoftware ? 'prefer-software' : 'no-preference',
      });
      this.config = config;
      this.configured++;
      void this.check(codec, codedWidth, codedHeight);
      return true;
    } catch (error) {
      this.fail(error);
      return false;
    }
  }

  /** configure() reports an impossible codec only as a decoding error: ask plainly as well.
   * @param {string} codec
   * @param {number} codedWidth
   * @param {number} codedHeight
   */
  async check(codec, codedWidth, codedHeight) {
    const answer = await VideoDecoder.isConfigSupported({ codec, codedWidth, codedHeight }).catch(
      () => null,
    );
    if (answer && !answer.supported) this.host.unsupported(codec, codedWidth, codedHeight);
  }

  build() {
    /** @type {VideoDecoder} */
    const codec = new VideoDecoder({
      output: (frame) => {
        if (this.delayMs > 0) window.setTimeout(() => this.take(codec, frame), this.delayMs);
        else this.take(codec, frame);
      },
      error: (error) => codec === this.codec && this.fail(error),
    });
    return codec;
  }

  /** @param {VideoDecoder} codec @param {VideoFrame} frame */
  take(codec, frame) {
    if (codec === this.codec) this.onOutput(frame);
    else frame.close(); // of one that has been replaced
  }

  /** @param {VideoMessage} message @param {number} receivedMs */
  decode(message, receivedMs) {
    if (!this.codec || this.codec.state !== 'configured') {
      this.host.received(message.frameId, receivedMs);
      this.host.dropped(message.frameId, 'decoder');
      this.fail(new Error('the decoder was closed'));
      return;
    }
    // Microseconds of the server's clock: rising over worker restarts, unique by construction.
    const timestamp = Math.max(this.lastTimestamp + 1, Math.round(message.begunNs / 1000));
    this.lastTimestamp = timestamp;
    const { data, ...rest } = message;
    this.inside.set(timestamp, { ...rest, receivedMs, bytes: data.byteLength });
    try {
      this.codec.decode(
        new EncodedVideoChunk({
          type: message.key ? 'key' : 'delta',
          timestamp,
          duration: Math.round(1e6 / this.fps),
          data,
        }),
      );
    } catch (error) {
      this.host.received(message.frameId, receivedMs);
      this.fail(error);
      return;
    }
    this.lastFedMs = receivedMs;
    if (this.inside.size > QUEUE_SOFT) this.held.push({ frameId: message.frameId, receivedMs });
    else this.host.received(message.frameId, receivedMs);
    if (this.inside.size > QUEUE_HARD) this.fail(new Error('the decoder is too slow'));
  }

  /** The oldest held back "received" is said, with the time that it is of. */
  release() {
    const held = this.held.shift();
    if (held) this.host.received(held.frameId, held.receivedMs);
  }

  /** @param {VideoFrame} frame */
  onOutput(frame) {
    const info = this.inside.get(frame.timestamp);
    this.decoded++;
    this.lastOutputMs = performance.now();
    if (this.failures && this.lastOutputMs - this.failedMs > HEALTHY_MS) this.failures = 0;
    for (const timestamp of this.inside.keys()) {
      if (timestamp > frame.timestamp) break; // in order: what is older never comes out
      this.inside.delete(timestamp);
    }
    while (this.held.length && this.inside.size - this.held.length < QUEUE_SOFT) this.release();
    if (!info || this.paused) frame.close();
    else this.host.frame(frame, info);
  }

  /**
   * The decoder is gone: one request for a key frame, a new decoder there, later each time.
   * @param {unknown} error
   */
  fail(error) {
    const reclaimed = error instanceof DOMException && error.name === 'QuotaExceededError';
    this.teardown();
    if (this.paused) return; // reclaimed while hidden: showing the tab again starts anew
    const now = performance.now();
    // The first failure may be anything; a second one is blamed on the hardware decoder.
    if (this.failures >= 1 && !reclaimed) this.preferSoftware = true;
    const wait = this.failures === 0 ? 0 : 100 + backoffDelay(this.failures, LOCAL);
    this.failures++;
    this.failedMs = now;
    this.host.trouble(error instanceof Error ? error.message : String(error));
    this.blockedUntilMs = now + wait;
    clearTimeout(this.wakeTimer);
    this.wakeTimer = window.setTimeout(() => {
      this.blockedUntilMs = 0;
      this.ask('decoder-error');
    }, wait);
  }

  /** @param {string} reason */
  ask(reason) {
    if (this.asked || this.paused || !this.needKey) return;
    this.asked = true;
    this.host.keyframe(reason);
    // The server may coalesce or lose it in a restart: ask again, slowly, until one comes.
    this.keyTimer = window.setTimeout(() => {
      this.asked = false;
      this.ask('none came');
    }, KEY_RETRY_MS);
  }

  /** A decoder that takes chunks and gives nothing is as bad as one that fails. */
  watch() {
    if (!this.inside.size || this.needKey || this.paused) return;
    const since = performance.now() - Math.max(this.lastOutputMs, this.oldestInsideMs());
    if (since > SWALLOW_MS) this.fail(new Error('the decoder gives no pictures'));
  }

  oldestInsideMs() {
    for (const info of this.inside.values()) return info.receivedMs;
    return 0;
  }

  teardown() {
    clearTimeout(this.keyTimer);
    clearTimeout(this.wakeTimer);
    this.needKey = true;
    this.asked = false;
    while (this.held.length) this.release();
    const reason = this.paused ? 'hidden' : 'decoder';
    for (const info of this.inside.values()) this.host.dropped(info.frameId, reason);
    this.inside.clear();
    const { codec } = this;
    this.codec = null;
    if (codec && codec.state !== 'closed') codec.close();
  }

  /** The stream starts anew (new connection): the next picture is a key frame by itself. */
  restart() {
    this.needKey = true;
    this.asked = true; // the server sends one on join; ask only if it does not
    this.held = [];
    this.inside.clear();
    clearTimeout(this.keyTimer);
    this.keyTimer = window.setTimeout(() => {
      this.asked = false;
    }, KEY_RETRY_MS);
  }

  /** @param {boolean} paused */
  setPaused(paused) {
    if (paused === this.paused) return;
    this.paused = paused;
    if (paused) this.teardown();
    else {
      this.failures = 0;
      this.blockedUntilMs = 0;
      this.ask('shown again');
    }
  }

  destroy() {
    this.paused = true;
    this.teardown();
    clearInterval(this.watchdog);
  }
}
