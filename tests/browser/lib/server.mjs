// SPDX-License-Identifier: MIT
// The real server as a child of the test, and a proxy that cuts or freezes what goes through it.

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assert, sleep, until } from './check.mjs';
import { env, freePort } from './env.mjs';
import { models } from './model.mjs';

const STOP_MS = 5000;

/** @type {Promise<Server> | undefined} */
let shared;
/** @type {Promise<Proxy[]> | undefined} what may stand between the shared server and a page */
let proxies;

async function makeProxies() {
  const made = await Promise.all(Array.from({ length: 3 }, () => Proxy.start()));
  env.atLast(() => made.forEach((proxy) => proxy.close()));
  return made;
}

export class Server {
  /** @param {{args?: string[], models?: string}} [params] */
  static async start({ args = [], models = '' } = {}) {
    const server = new Server();
    env.atEnd(() => server.stop());
    await server.launch(args, models);
    return server;
  }

  /**
   * One server for all tests that need nothing special of it, with the models folder; sessions made
   * through it end with their test.
   */
  static async shared() {
    for (;;) {
      const asked = shared;
      const running = await asked?.catch(() => null);
      if (running && running.child.exitCode === null && running.child.signalCode === null)
        return running;
      if (asked === shared) break; // else another test has started one in the meantime
    }
    shared = (async () => {
      const server = new Server();
      env.atLast(() => server.stop());
      const { folder } = await models();
      proxies ??= makeProxies();
      const origins = (await proxies).flatMap((proxy) => ['--public-origin', proxy.origin]);
      const args = [...origins, '--max-sessions', '32', '--warm', '2', '--allow-faults'];
      await server.launch(args, folder);
      return server;
    })();
    return shared;
  }

  /** Starts the process. @param {string[]} args @param {string} models */
  async launch(args, models) {
    env.need(env.binary, 'the server');
    this.state = mkdtempSync(join(tmpdir(), 'fw-browser-'));
    this.port = await freePort();
    this.log = '';
    const listen = `127.0.0.1:${this.port}`;
    const argv = ['serve', '--listen', listen, '--state', this.state, '--static', env.web];
    this.child = spawn(env.binary, [...argv, '--models', models || this.state, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.child.stdout, this.child.stderr])
      stream.on('data', (data) => (this.log = (this.log + data).slice(-100_000)));
    await until(
      'the server to answer',
      async () => {
        if (this.child.exitCode !== null) throw new Error(`the server ended: ${this.log}`);
        return fetch(this.url('/healthz')).then(
          (r) => r.ok,
          () => false,
        );
      },
      20_000,
    );
  }

  url(path) {
    return `http://127.0.0.1:${this.port}${path}`;
  }

  async api(method, path, body) {
    const response = await fetch(this.url(`/api/v1${path}`), {
      method,
      headers: body ? { 'Content-Type': 'application/json' } : {},
      body: body && JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, body: text ? JSON.parse(text) : null };
  }

  /** Makes a session. @param {object} request */
  async create(request) {
    const { status, body } = await this.api('POST', '/sessions', {
      width: 1280,
      height: 720,
      fps: 60,
      ...request,
    });
    assert.equal(status, 201, JSON.stringify(body));
    env.atEnd(() => this.api('DELETE', `/sessions/${body.id}`).catch(() => {}));
    return body;
  }

  /** The process that renders a session. @param {string} id */
  async worker(id) {
    const { body } = await this.api('GET', `/sessions/${id}`);
    return body?.workerPid ?? 0;
  }

  /** Processes whose parent is the server. */
  children() {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .filter((name) => {
        try {
          const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
          return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === this.child.pid;
        } catch {
          return false;
        }
      })
      .map(Number);
  }

  async stop() {
    const { child } = this;
    if (!child) return;
    if (child.exitCode === null && child.signalCode === null) {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await ended;
      clearTimeout(late);
    }
    rmSync(this.state, { recursive: true, force: true });
  }
}

/** Forwards TCP from a port of its own; `cut` breaks what is open, `frozen` swallows silently. */
export class Proxy {
  /** One that the shared server answers, for the test that runs now. */
  static async ofShared() {
    const server = await Server.shared();
    const proxy = (await proxies).pop();
    assert.ok(proxy, 'more proxies are asked for at a time than there are');
    env.atEnd(async () => {
      proxy.cut();
      (await proxies).push(proxy);
    });
    proxy.target = server.port;
    return proxy;
  }

  static async start() {
    const proxy = new Proxy();
    proxy.target = 0;
    proxy.frozen = false;
    proxy.refusing = false;
    proxy.sockets = new Set();
    proxy.port = await freePort();
    proxy.server = createServer((inner) => proxy.accept(inner));
    await new Promise((resolve) => proxy.server.listen(proxy.port, '127.0.0.1', resolve));
    return proxy;
  }

  close() {
    this.cut();
    this.server.close();
  }

  accept(inner) {
    if (this.refusing) return inner.destroy();
    const outer = connect(this.target, '127.0.0.1');
    for (const [from, to] of [
      [inner, outer],
      [outer, inner],
    ]) {
      this.sockets.add(from);
      from.setNoDelay(true);
      from.on('data', (data) => this.frozen || to.write(data));
      from.on('close', () => {
        this.sockets.delete(from);
        to.destroy();
      });
      from.on('error', () => {});
    }
  }

  get origin() {
    return `http://127.0.0.1:${this.port}`;
  }

  cut() {
    for (const socket of this.sockets) socket.destroy();
  }

  /** Nothing passes for a while, nor is anything closed. @param {number} ms */
  async freeze(ms) {
    this.frozen = true;
    await sleep(ms);
    this.cut(); // bytes are lost: what was open is worthless now
    this.frozen = false;
  }
}
