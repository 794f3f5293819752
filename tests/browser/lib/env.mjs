// SPDX-License-Identifier: MIT
// Where things are, free ports, and what must be ended after each test.

import { AsyncLocalStorage } from 'node:async_hooks';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));

/** @param {(() => unknown)[]} endings newest first */
async function tidy(endings) {
  for (const ending of endings.splice(0).reverse()) {
    try {
      await ending();
    } catch (error) {
      console.log(`      (cleaning up: ${error})`);
    }
  }
}

class Env {
  constructor() {
    this.root = root;
    this.web = `${root}stream/web`;
    this.binary = process.env.FW_BINARY ?? `${root}build/framewire`;
    this.models = process.env.FW_MODELS ?? `${root}models`;
    this.chromium = process.env.FW_CHROMIUM ?? '/usr/bin/chromium';
    this.firefox = process.env.FW_FIREFOX ?? '/usr/bin/firefox-esr';
    this.out = process.env.FW_TEST_OUT ?? `${root}tests/out`;
    /** What each running test wants ended: they may run side by side. */
    this.scopes = new AsyncLocalStorage();
    /** @type {(() => unknown)[]} of the whole run */
    this.last = [];
  }

  /** To be done when the test that runs now is over. @param {() => unknown} ending */
  atEnd(ending) {
    this.scopes.getStore().push(ending);
  }

  /** To be done when all tests are over. @param {() => unknown} ending */
  atLast(ending) {
    this.last.push(ending);
  }

  /** Runs one test; what it left is ended whatever came of it. @param {() => Promise<void>} run */
  async scope(run) {
    const endings = [];
    try {
      await this.scopes.run(endings, run);
    } finally {
      await tidy(endings);
    }
  }

  async finish() {
    await tidy(this.last);
  }

  /** @param {string} path @param {string} what */
  need(path, what) {
    if (!existsSync(path)) throw new Error(`${what} is not here (${path})`);
  }
}

export const env = new Env();

const given = new Set();

/** @returns {Promise<number>} a port nobody listens on, within FW_PORTS=first-last if given */
export async function freePort() {
  const [first, last] = (process.env.FW_PORTS ?? '').split('-').map(Number);
  const wanted =
    first && last
      ? Array.from({ length: last - first + 1 }, (_, i) => first + i)
      : Array(20).fill(0);
  for (const port of wanted) {
    const found = await new Promise((resolve) => {
      const server = createServer();
      server.once('error', () => resolve(0));
      server.listen(port, '127.0.0.1', () => {
        const { port: got } = /** @type {import('node:net').AddressInfo} */ (server.address());
        server.close(() => resolve(got));
      });
    });
    if (found && !given.has(found)) {
      given.add(found); // once only: who asked for it may not have bound it yet
      return found;
    }
  }
  throw new Error('no free port');
}
