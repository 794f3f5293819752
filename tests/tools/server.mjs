// SPDX-License-Identifier: MIT
// For tests in node: starts a server, talks to its API, and watches a session as a viewer that
// only acknowledges (no decoding), by docs/protocol.md.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { Clock } from '../../stream/web/lib/clock.js';
import {
  Ack,
  Type,
  decode,
  encodeAcks,
  encodeInput,
  encodePing,
} from '../../stream/web/lib/wire.js';

// Tests in other folders use this file, so `ws` is looked up from here.
const WebSocket = createRequire(import.meta.url)('ws');

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits until `probe` gives something true, at most `ms`; gives what it gave last. */
export async function until(probe, ms, step = 50) {
  const end = Date.now() + ms;
  for (;;) {
    const value = await probe();
    if (value || Date.now() >= end) {
      return value;
    }
    await sleep(step);
  }
}

/** A port of this machine that nobody listens on: suites run side by side. */
export function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
      server.close(() => resolve(port));
    });
  });
}

export class Server {
  /** @param {{port: number, args?: string[], env?: Record<string, string>, prefix?: string[],
   *      base?: string}} options `prefix`: a command in front, e.g. ip netns exec NAME */
  constructor(options) {
    this.state = fs.mkdtempSync(path.join(os.tmpdir(), 'framewire-test-'));
    this.base = options.base ?? `http://127.0.0.1:${options.port}`;
    this.log = '';
    this.exit = null;
    const binary = process.env.FW_BINARY ?? path.resolve('build/framewire');
    const models = process.env.FW_MODELS ? ['--models', process.env.FW_MODELS] : [];
    const listen = options.args?.includes('--listen')
      ? []
      : ['--listen', `127.0.0.1:${options.port}`];
    const validation = (options.env?.FW_VALIDATION ?? process.env.FW_VALIDATION) === '1';
    const command = [
      ...(options.prefix ?? []),
      binary,
      'serve',
      ...listen,
      ...models,
      '--state',
      this.state,
      '--encoder',
      'x264',
      ...(validation ? ['--validation'] : []),
      ...(options.args ?? []),
    ];
    this.child = spawn(command[0], command.slice(1), {
      env: { ...process.env, ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const keep = (chunk) => {
      this.log = (this.log + chunk).slice(-(1 << 20));
    };
    this.child.stdout.on('data', keep);
    this.child.stderr.on('data', keep);
    this.child.on('exit', (code, signal) => {
      this.exit = signal ?? code;
    });
    this.child.on('error', (error) => {
      this.exit = error.message;
    });
  }

  /** True once /healthz answers; false when the server ended or 20 s are over. */
  async ready() {
    const ok = await until(async () => {
      if (this.exit !== null) {
        return 'ended';
      }
      return fetch(`${this.base}/healthz`).then(
        (r) => r.ok,
        () => false,
      );
    }, 20000);
    return ok === true;
  }

  /** One API call; `{status, body}` with the JSON body or null. */
  async api(method, route, body, token) {
    const response = await fetch(`${this.base}/api/v1${route}`, {
      method,
      headers: {
        ...(body ? { 'Content-Type': 'application/json' } : {}),
        ...(token ? { Authorization: `Bearer ${token}` } : {}),
      },
      body: body ? JSON.stringify(body) : undefined,
      signal: AbortSignal.timeout(15000),
    });
    const text = await response.text();
    return { status: response.status, body: text ? JSON.parse(text) : null };
  }

  /** SIGTERM, then SIGKILL after 5 s; the exit code or signal. */
  async stop() {
    if (this.exit === null) {
      this.child.kill('SIGTERM');
      await until(() => this.exit !== null, 5000);
    }
    if (this.exit === null) {
      this.child.kill('SIGKILL');
      await until(() => this.exit !== null, 2000);
    }
    fs.rmSync(this.state, { recursive: true, force: true });
    return this.exit;
  }
}

const VIDEO = 0x01;
const ACKS = 0x21;
const BEACON = 0x30;
const RECEIVED = 1;

const nowUs = () => Math.round(performance.now() * 1000);
const DECODE_MS = 3;

/** A viewer that acknowledges what it gets. Fields count; `states` lists session states seen. */
export class Viewer {
  /** @param {{url: string, token?: string, width?: number, height?: number,
   *      options?: object, presents?: boolean}} params `url`: ws(s)://host/s/{id}/ws;
   *      `presents`: says that pictures are decoded 3 ms later and presented, and how the clocks stand */
  constructor(params) {
    Object.assign(this, {
      params,
      frames: 0,
      keys: 0,
      bytes: 0,
      largest: 0,
      largestKey: 0,
      beacons: 0,
      lastFrameId: 0n,
      maxGapMs: 0,
      lastAt: 0,
      width: 0,
      height: 0,
      states: [],
      error: null,
      closed: false,
      welcome: null,
      clock: new Clock(),
      inputs: 0,
      shownInput: 0, // newest input whose picture was presented
      decodeMs: DECODE_MS,
    });
    this.control = this.#open();
    this.control.on('open', () => {
      this.control.send(
        JSON.stringify({
          type: 'hello',
          version: 1,
          channel: 'control',
          token: params.token,
          viewport: { width: params.width ?? 1280, height: params.height ?? 720 },
          devicePixelRatio: 1,
          visible: true,
          codecs: ['avc1.42e01f', 'avc1.640028'],
        }),
      );
    });
    this.control.on('message', (data, binary) => this.#onControl(data, binary));
  }

  #open() {
    const socket = new WebSocket(this.params.url, 'framewire.v1', {
      perMessageDeflate: false,
      maxPayload: 16 << 20,
      rejectUnauthorized: false, // self-signed in tests
      handshakeTimeout: 5000,
      ...this.params.options,
    });
    socket.on('error', (error) => {
      this.error ??= { code: 'socket', message: error.message };
    });
    socket.on('close', () => {
      this.closed = true;
    });
    return socket;
  }

  #onControl(data, binary) {
    if (binary) {
      this.beacons += data[0] === BEACON ? 1 : 0;
      if (data[0] === BEACON && this.control.readyState === WebSocket.OPEN) {
        this.#ping();
      } else if (data[0] === Type.PONG) {
        const pong = decode(data.buffer.slice(data.byteOffset, data.byteOffset + data.length));
        this.clock.add({
          sentMs: pong.clientUs / 1000,
          receivedNs: pong.receivedNs,
          repliedNs: pong.sentNs,
          nowMs: performance.now(),
        });
      }
      return;
    }
    const message = JSON.parse(data.toString());
    if (message.session) {
      this.decodeMs = DECODE_MS + (message.session.decodeDelayMs ?? 0);
    }
    if (message.type === 'welcome') {
      this.welcome = message;
      this.#ping();
      this.states.push({ state: message.session?.state ?? '', code: '', message: '' });
      this.media = this.#open();
      this.media.on('open', () => {
        this.media.send(
          JSON.stringify({
            type: 'hello',
            version: 1,
            channel: 'media',
            viewer: message.viewer,
          }),
        );
      });
      this.media.on('message', (video, isBinary) => isBinary && this.#onVideo(video));
    } else if (message.type === 'state') {
      // With what had come until then, so that a test can tell before from after.
      this.states.push({ ...message, frames: this.frames, keys: this.keys });
    } else if (message.type === 'error') {
      this.error = message.error;
    }
  }

  #ping() {
    const estimate = this.params.presents ? this.clock.estimate(performance.now()) : undefined;
    this.control.send(encodePing(nowUs(), estimate));
  }

  /** Moves the mouse to a place of its own. */
  move() {
    const x = 100 + ((this.inputs * 7) % 400);
    const event = { kind: 1, state: 0, mods: 0, code: 0, x, y: 100, dx: 1, dy: 0 };
    this.control.send(encodeInput([{ ...event, seq: ++this.inputs, timeUs: nowUs() }]));
  }

  #present(frameId, inputId) {
    const decoded = { frameId, what: Ack.DECODED, timeUs: nowUs() };
    setImmediate(() => {
      this.shownInput = Math.max(this.shownInput, inputId);
      if (this.control.readyState === WebSocket.OPEN)
        this.control.send(encodeAcks([decoded, { frameId, what: Ack.PRESENTED, timeUs: nowUs() }]));
    });
  }

  #onVideo(data) {
    if (data[0] !== VIDEO) {
      return;
    }
    const now = performance.now();
    if (this.lastAt) {
      this.maxGapMs = Math.max(this.maxGapMs, now - this.lastAt);
    }
    this.lastAt = now;
    const key = (data[1] & 1) !== 0;
    const size = data.readUInt32LE(4);
    this.frames += 1;
    this.bytes += size;
    this.largest = Math.max(this.largest, size);
    if (key) {
      this.keys += 1;
      this.largestKey = Math.max(this.largestKey, size);
    }
    this.lastFrameId = data.readBigUInt64LE(8);
    this.width = data.readUInt16LE(48);
    this.height = data.readUInt16LE(50);
    const ack = Buffer.alloc(16 + 24);
    ack[0] = ACKS;
    ack.writeUInt16LE(16, 2);
    ack.writeUInt32LE(24, 4);
    ack.writeUInt16LE(1, 8);
    ack.writeBigUInt64LE(this.lastFrameId, 16);
    ack[24] = RECEIVED;
    ack.writeBigUInt64LE(BigInt(Math.round(now * 1000)), 32);
    if (this.control.readyState === WebSocket.OPEN) {
      this.control.send(ack);
    }
    if (this.params.presents) {
      const id = Number(this.lastFrameId);
      const inputId = Number(data.readBigUInt64LE(16));
      setTimeout(() => this.#present(id, inputId), this.decodeMs);
    }
  }

  /** Text to the server, e.g. a keyframe request. */
  send(message) {
    this.control.send(JSON.stringify(message));
  }

  saw(state) {
    return this.states.some((entry) => entry.state === state);
  }

  close() {
    this.media?.terminate();
    this.control.terminate();
  }
}

/** Counts checks and prints the line ./test reads. */
export class Checks {
  constructor(name) {
    Object.assign(this, { name, passed: 0, failed: 0, skipped: 0 });
  }

  check(good, what, detail = '') {
    this[good ? 'passed' : 'failed'] += 1;
    console.log(`${good ? 'ok' : 'NOT OK'} - ${what}${!good && detail ? `: ${detail}` : ''}`);
    return Boolean(good);
  }

  /** Prints the sum; the exit code. */
  finish() {
    const { name, passed, failed, skipped } = this;
    console.log(`${name}: ${passed} passed, ${failed} failed, ${skipped} skipped`);
    return failed ? 1 : 0;
  }
}
