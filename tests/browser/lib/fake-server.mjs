// SPDX-License-Identifier: MIT
// A stand-in for the server that speaks docs/protocol.md over ffmpeg's H.264, for what the real one
// can't be made to do on demand: silence, odd messages, refusals, a decoder that breaks.

import { spawn } from 'node:child_process';
import { createReadStream, existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { WebSocketServer } from 'ws';

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.webp': 'image/webp',
};

// Of which nothing but names is told.
const MACHINE = {
  sample_age_ms: 20,
  cpu: { cores: 4, used_cores: null },
  memory: { total_bytes: null, available_bytes: null },
  process: { cpu_seconds: 1, resident_bytes: null, open_files: 9, max_files: 99, start_time: 1 },
  workers: { count: 2, resident_bytes: null },
  gpus: [
    {
      name: 'Some GPU',
      uuid: null,
      pci: null,
      kind: 'intel',
      use: 0.42,
      memory_used_bytes: null,
      memory_total_bytes: null,
      temperature_c: null,
      power_w: null,
      encoder_use: null,
      decoder_use: null,
      throttle: null,
    },
  ],
};

const now = () => process.hrtime.bigint();

/** Cuts ffmpeg's Annex B output into access units at their delimiters. */
class Splitter {
  constructor(unit) {
    this.unit = unit;
    this.rest = Buffer.alloc(0);
  }

  push(data) {
    this.rest = Buffer.concat([this.rest, data]);
    for (;;) {
      const next = this.rest.indexOf(Buffer.from([0, 0, 0, 1, 9]), 5);
      if (next < 0) return;
      this.unit(this.rest.subarray(0, next));
      this.rest = this.rest.subarray(next);
    }
  }
}

export class FakeServer {
  /**
   * @param {{root: string, port: number, fps?: number, token?: string, sources?: object[],
   *   color?: string}} params
   */
  constructor({ root, port, fps = 15, token = '', sources = [], color = '' }) {
    Object.assign(this, { root, port, fps, token, sources, color });
    this.log = []; // every text and binary message type that came in
    this.frame = 0;
    this.input = 0;
    this.viewers = new Map();
    this.silent = false;
    this.refuse = null; // {code, reason, error?} closes each hello
    this.sessions = [];
    this.size = { width: 1280, height: 720 };
    this.hold = false; // true: frames are not sent
    this.sent = 0; // the newest frame that was
    this.keys = 0;
  }

  async start() {
    this.http = createServer((req, res) => this.onRequest(req, res));
    this.ws = new WebSocketServer({ noServer: true, perMessageDeflate: false });
    this.http.on('upgrade', (req, socket, head) =>
      this.ws.handleUpgrade(req, socket, head, (ws) => this.onSocket(ws)),
    );
    await new Promise((resolve) => this.http.listen(this.port, '127.0.0.1', resolve));
    this.beacon = setInterval(() => this.sendBeacons(), 1000);
    return this;
  }

  stop() {
    clearInterval(this.beacon);
    this.stopVideo();
    for (const client of this.ws.clients) client.terminate();
    return new Promise((resolve) => {
      this.http.close(resolve);
      this.http.closeAllConnections();
    });
  }

  headers(type) {
    return {
      'Content-Type': type,
      'Content-Security-Policy': "default-src 'self'; frame-ancestors 'none'; base-uri 'none'",
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cross-Origin-Embedder-Policy': 'require-corp',
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'no-store',
    };
  }

  onRequest(req, res) {
    const path = new URL(req.url, 'http://x').pathname;
    if (path.startsWith('/api/v1/')) return this.onApi(req, res, path.slice(7));
    const page = { '/': 'index.html', '/ops': 'ops.html' }[path];
    const name = page ?? (/^\/s\/[^/]+$/.test(path) ? 'session.html' : path);
    const file = join(this.root, normalize(`/${name}`));
    if (!existsSync(file)) return res.writeHead(404, this.headers('text/plain')).end('not found');
    res.writeHead(200, this.headers(TYPES[extname(file)] ?? 'application/octet-stream'));
    createReadStream(file).pipe(res);
  }

  onApi(req, res, path) {
    const answer = (status, body) =>
      res.writeHead(status, this.headers('application/json')).end(JSON.stringify(body));
    const fail = (status, code, message) => answer(status, { error: { code, message } });
    const authorized = !this.token || req.headers.authorization === `Bearer ${this.token}`;
    if (path.endsWith('/exchange')) return fail(401, 'invalid_code', 'not valid');
    if (!authorized) return fail(401, 'unauthorized', 'a valid token is needed');
    if (req.method === 'GET' && path === '/sources')
      return answer(200, {
        sources: this.sources,
        version: '0.1.0',
        gpu: 'llvmpipe (LLVM 15.0.6)',
        encoder: 'x264',
      });
    if (req.method === 'GET' && path === '/sessions')
      return answer(200, { sessions: this.sessions });
    if (req.method === 'GET' && path === '/machine') return answer(200, MACHINE);
    if (req.method === 'POST' && path === '/sessions') {
      if (this.full) {
        res.setHeader('Retry-After', '5');
        return fail(503, 'max_sessions', 'all seats are taken');
      }
      return answer(201, { id: 'fake', page: '/s/fake#code', ws: '/s/fake/ws', token: 't' });
    }
    if (req.method === 'DELETE') {
      this.sessions = this.sessions.filter((s) => !path.endsWith(s.id));
      return res.writeHead(204).end();
    }
    return fail(404, 'not_found', 'no such route');
  }

  onSocket(ws) {
    ws.on('message', (data, binary) => {
      if (binary) return this.onBinary(ws, data);
      const message = JSON.parse(data.toString());
      this.log.push({ ...message, at: Date.now() });
      if (message.type === 'hello') this.onHello(ws, message);
      else if (message.type === 'viewport') this.setSize(message);
      else if (message.type === 'keyframe') this.restartVideo();
      else if (message.type === 'visibility') {
        if (message.visible) this.restartVideo();
        else this.stopVideo();
      }
    });
    ws.on('error', () => {});
    ws.on('close', () => {
      for (const [id, viewer] of this.viewers) if (viewer.control === ws) this.viewers.delete(id);
      if (!this.viewers.size) this.stopVideo();
    });
  }

  onHello(ws, hello) {
    if (this.refuse) {
      const { code, reason, error } = this.refuse;
      if (error) ws.send(JSON.stringify({ type: 'error', error }));
      return ws.close(code, reason);
    }
    if (hello.channel === 'media') {
      const viewer = this.viewers.get(hello.viewer);
      if (!viewer) return ws.close(4404, 'no such viewer');
      viewer.media = ws;
      this.restartVideo();
      return;
    }
    const viewer = Math.random().toString(16).slice(2).padEnd(32, '0');
    this.viewers.set(viewer, { control: ws, media: null });
    this.setSize(hello.viewport, false);
    ws.send(
      JSON.stringify({
        type: 'welcome',
        version: 1,
        viewer,
        session: { id: 'fake', title: 'Fake', source: 'fake', state: 'running', fps: this.fps },
        gpu: 'llvmpipe',
        encoder: 'x264',
        serverNs: String(now()),
      }),
    );
  }

  onBinary(ws, data) {
    const type = data.readUInt8(0);
    this.log.push({ binary: type, data, at: Date.now() });
    if (this.silent) return;
    if (type === 0x22) {
      const pong = Buffer.alloc(32);
      pong.writeUInt8(0x32, 0);
      pong.writeUInt16LE(32, 2);
      data.copy(pong, 8, 8, 16);
      pong.writeBigUInt64LE(now(), 16);
      pong.writeBigUInt64LE(now(), 24);
      ws.send(pong);
    } else if (type === 0x20) {
      const count = data.readUInt16LE(8);
      this.input += count;
      const stamp = Buffer.alloc(32);
      stamp.writeUInt8(0x33, 0);
      stamp.writeUInt16LE(32, 2);
      data.copy(stamp, 8, data.length - 16, data.length - 8);
      stamp.writeBigUInt64LE(BigInt(this.input), 16);
      stamp.writeBigUInt64LE(now(), 24);
      ws.send(stamp);
    }
  }

  sendText(message) {
    for (const { control } of this.viewers.values()) control.send(JSON.stringify(message));
  }

  sendBeacons() {
    if (this.silent) return;
    const beacon = Buffer.alloc(24);
    beacon.writeUInt8(0x30, 0);
    beacon.writeUInt8(2, 1);
    beacon.writeUInt16LE(24, 2);
    beacon.writeBigUInt64LE(now(), 8);
    beacon.writeBigUInt64LE(BigInt(this.frame), 16);
    for (const { control } of this.viewers.values()) control.send(beacon);
  }

  setSize({ width, height }, restart = true) {
    const changed = width !== this.size.width || height !== this.size.height;
    this.size = { width, height };
    if (changed && restart) this.restartVideo();
  }

  stopVideo() {
    this.ffmpeg?.kill('SIGKILL');
    this.ffmpeg = undefined;
  }

  restartVideo() {
    this.stopVideo();
    const { width, height } = this.size;
    const w = width + (width & 1);
    const h = height + (height & 1);
    const input = this.color
      ? `color=c=${this.color}:s=${w}x${h}:r=${this.fps},format=gbrp`
      : `testsrc2=s=${w}x${h}:r=${this.fps}`;
    const x264 =
      'aud=1:repeat-headers=1:keyint=infinite:slices=1:sliced-threads=0:threads=1:scenecut=0';
    const args =
      `-v error -re -f lavfi -i ${input} -c:v libx264 -preset ultrafast -tune zerolatency ` +
      `-profile:v baseline -b:v 6M -x264-params ${x264} -vf scale=out_color_matrix=bt709:out_range=tv:flags=accurate_rnd+full_chroma_int ` +
      `-pix_fmt yuv420p -colorspace bt709 -color_primaries bt709 -color_trc bt709 -color_range tv ` +
      `-flush_packets 1 -f h264 -`;
    const child = spawn('ffmpeg', args.split(' '), { stdio: ['ignore', 'pipe', 'inherit'] });
    const splitter = new Splitter(
      (unit) => child === this.ffmpeg && this.sendFrame(unit, width, height),
    );
    child.stdout.on('data', (data) => splitter.push(data));
    this.ffmpeg = child;
  }

  sendFrame(unit, width, height) {
    const sps = unit.indexOf(Buffer.from([0, 0, 1, 0x67]));
    const key = sps >= 0;
    const header = Buffer.alloc(key ? 96 : 64);
    header.writeUInt8(1, 0);
    header.writeUInt8((key ? 1 : 0) | 2, 1);
    header.writeUInt16LE(header.length, 2);
    header.writeUInt32LE(unit.length, 4);
    header.writeBigUInt64LE(BigInt(++this.frame), 8);
    header.writeBigUInt64LE(BigInt(this.input), 16);
    for (const at of [24, 32, 40]) header.writeBigUInt64LE(now() - 5_000_000n, at);
    header.writeUInt16LE(width, 48);
    header.writeUInt16LE(height, 50);
    header.writeUInt16LE(width + (width & 1), 52);
    header.writeUInt16LE(height + (height & 1), 54);
    header.writeUInt32LE(2100, 56);
    header.writeUInt32LE(4200, 60);
    if (key) {
      this.keys++;
      header.write(`avc1.${unit.subarray(sps + 4, sps + 7).toString('hex')}`, 64, 'latin1');
    }
    if (this.hold) return;
    this.sent = this.frame;
    const message = Buffer.concat([header, unit]);
    for (const { media } of this.viewers.values()) if (media?.readyState === 1) media.send(message);
  }
}
