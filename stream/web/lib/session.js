// SPDX-License-Identifier: MIT
// One session as a page sees it: the link, the decoder, the presenter, the input and the counters,
// wired together. The page around it only shows what `changed` says and forwards what a person asks.

import { blueFaults } from './color.js';
import { Connection, isFinal } from './connection.js';
import { Decoder } from './decoder.js';
import { Input, pictureBox } from './input.js';
import { Presenter, availablePaths } from './presenter.js';
import { forget, measurePaths, probeDecoder, recall } from './probe.js';
import { Stats } from './stats.js';
import { Viewport } from './viewport.js';
import { ACK_BATCH_MAX, Ack, Type, encodeAcks, encodeInput, nowUs } from './wire.js';

const MEASURE_AFTER_MS = 2500;

/**
 * @typedef {import('./connection.js').LinkState} LinkState
 * @typedef {import('./presenter.js').PathName} PathName
 * @typedef {'link' | 'server' | 'picture' | 'decoder' | 'info' | 'notice'} Change
 * @typedef {{state: string, code: string, message: string}} ServerState
 */

export class Session {
  /**
   * @param {{id: string, stage: HTMLElement, token: () => string, present: string,
   *   changed: (what: Change) => void, shown?: () => void}} params `shown`: after each picture
   */
  constructor({ id, stage, token, present, changed, shown = () => {} }) {
    this.id = id;
    this.stage = stage;
    this.token = token;
    this.forced = present;
    this.changed = changed;
    this.shown = shown;
    /** @type {ServerState} */
    this.server = { state: 'starting', code: '', message: '' };
    this.progress = { percent: -1, what: '' };
    this.info = { title: '', source: '', gpu: '', encoder: '', fps: 60 };
    this.notice = '';
    this.decoderTrouble = '';
    /** @type {{path: PathName | '', how: string, times: Record<string, number>}} */
    this.choice = { path: '', how: '', times: {} };
    /** @type {string[]} */
    this.codecs = [];
    this.ended = false;
    this.hidden = document.visibilityState === 'hidden';
    /** @type {import('./wire.js').AckData[]} */
    this.acks = [];
    this.flushing = false;
    /** @type {{seq: number, at: number, count: number}[]} last event of each batch on its way */
    this.sentInputs = [];

    const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:';
    this.connection = new Connection(
      `${scheme}//${location.host}/s/${encodeURIComponent(id)}/ws`,
      this.linkHost(),
    );
    this.stats = new Stats(this.connection.clock);
    this.viewport = new Viewport(stage, (size) => {
      this.connection.send({ type: 'viewport', ...size });
      this.fit();
    });
    this.presenter = new Presenter(stage, {
      presented: (info) => this.onPresented(info),
      dropped: (info, reason) => this.drop(info.frameId, reason),
      trouble: (message) => this.note(`Showing pictures differently: ${message}`),
    });
    this.decoder = new Decoder(this.decoderHost());
    this.input = new Input(stage, {
      box: () => this.box(),
      send: (events) => this.sendInput(events),
    });
    this.abort = new AbortController();
    document.addEventListener('visibilitychange', () => this.onVisibility(), {
      signal: this.abort.signal,
    });
  }

  /**
   * Probes the decoder unless this browser is known, and connects. Resolves false when it can't show
   * the stream.
   */
  async start() {
    const forced = availablePaths().find((name) => name === this.forced);
    const known = recall();
    this.decoder.setPaused(this.hidden);
    if (known) {
      this.codecs = known.codecs;
      this.presenter.faults = known.faults;
      this.connection.open();
      this.show(forced ?? known.path, forced ? 'forced' : 'remembered');
      return true;
    }
    const probe = await probeDecoder();
    if (!probe.frame) {
      this.decoderTrouble = probe.reason;
      return false;
    }
    this.codecs = probe.codecs;
    this.connection.open();
    const faults = (this.presenter.faults = await blueFaults(probe.frame));
    this.show(forced ?? availablePaths()[0], forced ? 'forced' : 'assumed');
    if (forced) probe.frame.close();
    else this.measureLater(probe, faults);
    return true;
  }

  /** @param {PathName} path @param {string} how @param {Record<string, number>} [times] */
  show(path, how, times = {}) {
    this.choice = { path, how, times };
    this.presenter.use(path);
  }

  /**
   * Nobody has measured this browser yet: done when the first pictures are through.
   * @param {import('./probe.js').Probe} probe its frame is taken over
   * @param {import('./probe.js').Faults} faults
   */
  measureLater(probe, faults) {
    setTimeout(async () => {
      const measured = this.ended ? null : await measurePaths(probe, faults, this.stage);
      probe.frame?.close();
      if (measured && !this.ended) this.show(measured.path, 'measured', measured.times);
    }, MEASURE_AFTER_MS);
  }

  /** @returns {import('./connection.js').ConnectionHost} */
  linkHost() {
    return {
      hello: () => ({
        ...(this.token() ? { token: this.token() } : {}),
        viewport: this.viewport.size,
        devicePixelRatio: window.devicePixelRatio || 1,
        visible: !this.hidden,
        codecs: this.codecs,
      }),
      link: () => this.changed('link'),
      welcome: (message) => this.onWelcome(message),
      text: (message) => this.onText(message),
      message: (message, bytes) => this.onMessage(message, bytes),
      mediaOpen: () => this.decoder.restart(),
    };
  }

  /** @returns {import('./decoder.js').DecoderHost} */
  decoderHost() {
    return {
      frame: (frame, info) => {
        this.stats.onDecoded(info.frameId, performance.now());
        this.ack(info.frameId, Ack.DECODED);
        this.presenter.present(frame, info);
      },
      keyframe: (reason) => this.requestKeyframe(reason),
      received: (frameId, atMs) => this.ack(frameId, Ack.RECEIVED, atMs),
      dropped: (frameId, reason) => this.drop(frameId, reason),
      unsupported: (codec, width, height) => this.onUnsupported(codec, width, height),
      trouble: () => {
        this.stats.decoderErrors++;
        if (this.stats.decoded === 0) forget(); // what was remembered may no longer hold
      },
    };
  }

  /** @param {import('./connection.js').TextMessage} message */
  onWelcome(message) {
    this.stats.onReconnect();
    this.input.reset();
    this.sentInputs = [];
    this.acks = [];
    this.onInfo({ ...message.session, gpu: message.gpu, encoder: message.encoder });
    const state = String(message.session?.state ?? 'running');
    this.server = { state, code: '', message: '' };
    this.changed('server');
  }

  /** @param {Record<string, any>} info */
  onInfo(info) {
    for (const key of /** @type {const} */ (['title', 'source', 'gpu', 'encoder']))
      if (typeof info[key] === 'string') this.info[key] = info[key];
    if (info.fps > 0) this.info.fps = this.decoder.fps = Number(info.fps);
    this.decoder.delayMs = Number(info.decodeDelayMs) || 0;
    this.changed('info');
  }

  /** @param {import('./connection.js').TextMessage} message */
  onText(message) {
    if (message.type === 'state') {
      const { state = 'running', code = '', message: words = '' } = message;
      // What has failed is cleared away after a while: why it failed is still what there is to say.
      if (this.server.state === 'failed' && state === 'closing') return;
      this.server = { state: String(state), code: String(code), message: String(words) };
      if (state !== 'starting') this.progress = { percent: -1, what: '' };
      this.changed('server');
    } else if (message.type === 'info') {
      this.onInfo({ ...message, ...message.session });
    } else if (message.type === 'progress') {
      this.progress = { percent: Number(message.percent), what: String(message.what ?? '') };
      this.changed('server');
    } else if (message.type === 'error') {
      // What ends the session here is said by the page at large, once.
      const { code = 'error', message: words = code } = message.error ?? {};
      if (!isFinal(String(code))) this.note(String(words));
    }
  }

  /** @param {import('./wire.js').Message} message @param {number} bytes */
  onMessage(message, bytes) {
    const now = performance.now();
    if (message.type === Type.VIDEO) {
      this.stats.onReceived(message, bytes, now);
      this.decoder.feed(message, now);
    } else if (message.type === Type.BEACON) {
      this.stats.onBeacon(message, now);
    } else if (message.type === Type.STAMP) {
      this.stats.trace.onStamps(message.stamps);
    } else if (message.type === Type.INPUT_STAMP) {
      this.onInputStamp(message);
    }
  }

  /** @param {import('./wire.js').InputStampMessage} stamp */
  onInputStamp({ seq, inputId, receivedNs }) {
    while (this.sentInputs.length && this.sentInputs[0].seq < seq) this.sentInputs.shift();
    const sent = this.sentInputs[0];
    if (sent?.seq !== seq) return;
    this.stats.trace.onInput({ id: inputId, sentMs: sent.at, receivedNs, count: sent.count });
  }

  /** @param {import('./decoder.js').FrameInfo} info */
  onPresented(info) {
    const first = this.stats.presented === 0;
    const resized =
      this.stats.shown?.width !== info.width || this.stats.shown?.height !== info.height;
    this.stats.onPresented(info, performance.now());
    this.ack(info.frameId, Ack.PRESENTED);
    if (resized) this.fit();
    // The renderer answers again, whatever of that the server has said so far.
    const slow = this.server.code === 'slow';
    if (slow) this.server = { ...this.server, code: '', message: '' };
    if (first || slow || this.server.state === 'restarting') this.changed('picture');
    this.shown();
  }

  /** @param {string} codec @param {number} width @param {number} height */
  onUnsupported(codec, width, height) {
    if (width > 1920 || height > 1088) {
      this.viewport.setLimit(1920, 1080);
      this.note(
        `This browser can't decode ${width} × ${height}: the picture is smaller and scaled.`,
      );
    } else {
      forget();
      this.decoderTrouble = `${codec} at ${width} × ${height}`;
      this.changed('decoder');
    }
  }

  /** Pixel for pixel where the picture has the stage's size, scaled to fit where not (yet). */
  fit() {
    const { width, height } = this.presenter;
    this.stage.classList.toggle('exact', this.viewport.matches(width, height));
  }

  box() {
    const rect = this.stage.getBoundingClientRect();
    const { width, height } = this.presenter;
    return pictureBox(rect, width, height, this.stage.classList.contains('exact'));
  }

  /** @param {import('./wire.js').InputEventData[]} events */
  sendInput(events) {
    if (this.hidden || this.connection.full) return false;
    if (!this.connection.send(encodeInput(events))) return false;
    const { seq, timeUs } = events[events.length - 1];
    this.sentInputs.push({ seq, at: timeUs / 1000, count: events.length });
    if (this.sentInputs.length > 512) this.sentInputs.shift();
    return true;
  }

  /** @param {number} frameId @param {import('./frame-trace.js').DropReason} reason */
  drop(frameId, reason) {
    this.stats.onDropped(frameId, reason, performance.now());
    this.ack(frameId, Ack.DROPPED);
  }

  /** @param {number} frameId @param {number} what @param {number} [atMs] when, if not now */
  ack(frameId, what, atMs) {
    const timeUs = atMs === undefined ? nowUs() : Math.round(atMs * 1000);
    this.acks.push({ frameId, what, timeUs });
    // What was decoded is presented or dropped next: told along with that.
    if (what === Ack.DECODED || this.flushing) return;
    this.flushing = true;
    queueMicrotask(() => this.flushAcks());
  }

  flushAcks() {
    this.flushing = false;
    while (this.acks.length) {
      const batch = this.acks.splice(0, ACK_BATCH_MAX);
      this.connection.send(encodeAcks(batch));
    }
  }

  /** @param {string} reason */
  requestKeyframe(reason) {
    this.stats.keyframeRequests++;
    this.connection.send({ type: 'keyframe', reason });
  }

  onVisibility() {
    const hidden = document.visibilityState === 'hidden';
    if (hidden === this.hidden) return;
    this.hidden = hidden;
    this.connection.send({ type: 'visibility', visible: !hidden });
    this.decoder.setPaused(hidden);
    if (hidden) this.presenter.discard('hidden');
    else this.connection.probe();
  }

  /** @param {string} text */
  note(text) {
    this.notice = text;
    this.changed('notice');
  }

  reconnect() {
    this.connection.open();
  }

  close() {
    this.ended = true;
    this.abort.abort();
    this.input.destroy();
    this.viewport.destroy();
    this.connection.close();
    this.decoder.destroy();
    this.presenter.destroy();
  }
}
