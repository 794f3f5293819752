// SPDX-License-Identifier: MIT
// The two WebSockets of one viewer, kept alive: hello and welcome, watchdogs for silence and wake,
// back-off with jitter. Knows the protocol's envelope, nothing of pictures.

import { LOCAL, RECONNECT, backoffDelay } from './backoff.js';
import { Clock } from './clock.js';
import { SUBPROTOCOL, Type, VERSION, WireError, decode, encodePing, nowUs } from './wire.js';

const SILENT_MS = 3000;
const DEAD_MS = 8000;
const OPEN_TIMEOUT_MS = 8000;
const WAKE_GRACE_MS = 1500;
const TICK_MS = 500;
const PING_EVERY_MS = 2000;
const PING_BURST = 5;
const SEND_BUFFER_MAX = 64 << 10;
const PROTOCOL_ERROR = 4002; // our own close code for "your message makes no sense"

// Close codes of the server after which trying again by itself is pointless.
const FINAL = new Map([
  [4401, 'unauthorized'],
  [4404, 'no_such_session'],
  [4406, 'unsupported_version'],
  [4409, 'closed'],
]);

/** Whether trying again after this error is pointless. @param {string} code */
export function isFinal(code) {
  return [...FINAL.values()].includes(code);
}

/**
 * @typedef {{phase: 'connecting' | 'open' | 'waiting' | 'ended', attempt: number, retryAtMs: number,
 *   silent: boolean, code: string, message: string}} LinkState
 * @typedef {{type: string, [key: string]: any}} TextMessage
 * @typedef {{
 *   hello: () => {token?: string, viewport: {width: number, height: number},
 *     devicePixelRatio: number, visible: boolean, codecs: string[]},
 *   link: (state: LinkState) => void,
 *   welcome: (message: TextMessage) => void,
 *   text: (message: TextMessage) => void,
 *   message: (message: import('./wire.js').Message, bytes: number) => void,
 *   mediaOpen: () => void,
 * }} ConnectionHost
 */

export class Connection {
  /**
   * @param {string} url ws(s)://…/s/{id}/ws
   * @param {ConnectionHost} host
   */
  constructor(url, host) {
    this.url = url;
    this.host = host;
    this.clock = new Clock();
    /** @type {WebSocket | null} */
    this.control = null;
    /** @type {WebSocket | null} */
    this.media = null;
    this.viewer = '';
    this.mediaAttempt = 0;
    this.mediaTimer = 0;
    this.retryTimer = 0;
    this.lastMessageMs = 0;
    this.lastPingMs = -Infinity;
    this.lastTickMs = 0;
    this.probeUntilMs = 0;
    this.openedMs = 0;
    this.received = 0; // messages, both connections
    /** @type {LinkState} */
    this.state = { phase: 'ended', attempt: 0, retryAtMs: 0, silent: false, code: '', message: '' };
    this.abort = new AbortController();
    const { signal } = this.abort;
    window.addEventListener('online', () => this.nudge(), { signal });
    window.addEventListener('offline', () => this.probe(), { signal });
    window.addEventListener('pageshow', (e) => e.persisted && this.nudge(), { signal });
    this.ticker = window.setInterval(() => this.tick(), TICK_MS);
  }

  /** @param {Partial<LinkState>} change */
  update(change) {
    this.state = { ...this.state, ...change };
    this.host.link(this.state);
  }

  /** Opens (again) at once. */
  open() {
    this.drop();
    clearTimeout(this.retryTimer);
    this.openedMs = performance.now();
    this.update({ phase: 'connecting', retryAtMs: 0, silent: false, code: '', message: '' });
    let socket;
    try {
      socket = new WebSocket(this.url, SUBPROTOCOL);
    } catch (error) {
      this.retry(String(error));
      return;
    }
    socket.binaryType = 'arraybuffer';
    this.control = socket;
    socket.onopen = () => {
      const hello = { type: 'hello', version: VERSION, channel: 'control', ...this.host.hello() };
      socket.send(JSON.stringify(hello));
    };
    socket.onmessage = (event) => socket === this.control && this.onControl(event.data);
    socket.onclose = (event) => socket === this.control && this.onClose(event);
  }

  /** @param {string | ArrayBuffer} data */
  onControl(data) {
    this.lastMessageMs = performance.now();
    this.probeUntilMs = 0;
    this.received++;
    if (this.state.silent) this.update({ silent: false });
    if (typeof data === 'string') this.onText(data);
    else this.onBinary(data);
  }

  /** @param {string} data */
  onText(data) {
    /** @type {TextMessage} */
    let message;
    try {
      message = JSON.parse(data);
    } catch {
      return;
    }
    if (message?.type === 'welcome') {
      this.viewer = String(message.viewer ?? '');
      this.clock.reset();
      this.update({ phase: 'open', attempt: 0, code: '', message: '' });
      this.host.welcome(message);
      for (let i = 0; i < PING_BURST; i++) this.ping();
      this.mediaAttempt = 0;
      this.openMedia();
    } else if (message?.type === 'error') {
      const error = message.error ?? {};
      this.state.code = String(error.code ?? '');
      this.state.message = String(error.message ?? '');
      this.host.text(message);
    } else if (message && typeof message.type === 'string') {
      this.host.text(message);
    }
  }

  /** @param {ArrayBuffer} data */
  onBinary(data) {
    try {
      const message = decode(data);
      if (message.type === Type.PONG) this.onPong(message);
      else if (message.type === Type.BEACON) this.maybePing();
      this.host.message(message, data.byteLength);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      this.drop(PROTOCOL_ERROR);
      this.retry(`the server sent something unreadable: ${error.message}`);
    }
  }

  /** @param {import('./wire.js').PongMessage} pong */
  onPong(pong) {
    this.clock.add({
      sentMs: pong.clientUs / 1000,
      receivedNs: pong.receivedNs,
      repliedNs: pong.sentNs,
      nowMs: performance.now(),
    });
    // The burst has given an estimate: the server is told at once, not seconds later.
    if (this.clock.samples.length === PING_BURST) this.ping();
  }

  openMedia() {
    clearTimeout(this.mediaTimer);
    if (this.media) closeQuietly(this.media, 1000);
    const socket = new WebSocket(this.url, SUBPROTOCOL);
    socket.binaryType = 'arraybuffer';
    this.media = socket;
    const { viewer } = this;
    socket.onopen = () => {
      socket.send(JSON.stringify({ type: 'hello', version: VERSION, channel: 'media', viewer }));
      this.host.mediaOpen();
    };
    socket.onmessage = (event) => {
      if (socket !== this.media) return;
      this.received++;
      this.mediaAttempt = 0;
      if (typeof event.data !== 'string') this.onBinary(event.data);
    };
    socket.onclose = (event) => {
      if (socket !== this.media) return;
      this.media = null;
      if (this.state.phase !== 'open') return;
      // The control connection lives, so the viewer does: only this one is opened again. A viewer
      // the server no longer knows starts from the beginning.
      if (event.code === 4404 || event.code === 4401 || this.mediaAttempt >= 6) {
        this.drop();
        this.retry('the picture connection was refused');
        return;
      }
      const wait = backoffDelay(this.mediaAttempt++, LOCAL);
      this.mediaTimer = window.setTimeout(() => this.openMedia(), wait);
    };
  }

  /** @param {CloseEvent} event */
  onClose(event) {
    const code = FINAL.get(event.code);
    this.drop();
    if (code) {
      const message = this.state.message || event.reason;
      this.update({ phase: 'ended', code: this.state.code || code, message, attempt: 0 });
      return;
    }
    this.retry(event.reason);
  }

  /** @param {string} message */
  retry(message) {
    clearTimeout(this.retryTimer);
    const wait = backoffDelay(this.state.attempt, RECONNECT);
    this.update({
      phase: 'waiting',
      attempt: this.state.attempt + 1,
      retryAtMs: performance.now() + wait,
      silent: false,
      message,
    });
    this.retryTimer = window.setTimeout(() => this.open(), wait);
  }

  /** Something suggests that trying now is worth it (network is back, a person asked). */
  nudge() {
    if (this.state.phase === 'waiting') this.open();
    else if (this.state.phase === 'open') this.probe();
  }

  /** Is the link still there? Silence for a short while from now on means no. */
  probe() {
    if (this.state.phase !== 'open' || this.probeUntilMs) return;
    this.probeUntilMs = performance.now() + WAKE_GRACE_MS;
    this.ping();
  }

  tick() {
    const now = performance.now();
    const slept = this.lastTickMs > 0 && now - this.lastTickMs > TICK_MS + 4000;
    this.lastTickMs = now;
    if (this.state.phase === 'connecting') {
      if (now - this.openedMs > OPEN_TIMEOUT_MS && !slept) {
        this.drop();
        this.retry('no answer');
      }
      return;
    }
    if (this.state.phase !== 'open') return;
    const quiet = now - this.lastMessageMs;
    // After a sleep the silence says nothing yet: messages may be waiting behind this timer.
    if (slept && quiet > SILENT_MS) {
      this.probe();
      return;
    }
    if ((this.probeUntilMs && now > this.probeUntilMs) || (quiet > DEAD_MS && !this.probeUntilMs)) {
      this.drop();
      this.retry('the connection went silent');
    } else if (quiet > SILENT_MS && !this.state.silent) {
      this.update({ silent: true });
    }
  }

  ping() {
    this.lastPingMs = performance.now();
    this.send(encodePing(nowUs(), this.clock.estimate(this.lastPingMs)));
  }

  maybePing() {
    if (performance.now() - this.lastPingMs >= PING_EVERY_MS) this.ping();
  }

  get full() {
    return !this.control || this.control.bufferedAmount > SEND_BUFFER_MAX;
  }

  /**
   * @param {ArrayBuffer | object} message binary, or an object that is sent as JSON
   * @returns {boolean} false = there is no link to send it on
   */
  send(message) {
    if (this.state.phase !== 'open' || this.control?.readyState !== WebSocket.OPEN) return false;
    this.control.send(message instanceof ArrayBuffer ? message : JSON.stringify(message));
    return true;
  }

  /** @param {number} [code] */
  drop(code = 1000) {
    const { control, media } = this;
    this.control = null;
    this.media = null;
    this.viewer = '';
    this.probeUntilMs = 0;
    clearTimeout(this.mediaTimer);
    if (control) closeQuietly(control, code);
    if (media) closeQuietly(media, code);
  }

  /** Ends for good: says bye. */
  close() {
    this.send({ type: 'bye' });
    this.drop();
    this.abort.abort();
    clearInterval(this.ticker);
    clearTimeout(this.retryTimer);
    this.update({ phase: 'ended', code: 'left', message: '' });
  }
}

/**
 * @param {WebSocket} socket
 * @param {number} code
 */
function closeQuietly(socket, code) {
  socket.onopen = socket.onmessage = socket.onclose = null;
  try {
    socket.close(code);
  } catch {
    // not open yet: the browser drops it all the same
  }
}
