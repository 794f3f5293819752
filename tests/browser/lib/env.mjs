// SPDX-License-Identifier: MIT
// Where things are, free ports, and what must be ended after each test.

import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../', import.meta.url));

class Env {
  constructor() {
    this.root = root;
    this.web = `${root}stream/web`;
    this.binary = process.env.FW_BINARY ?? `${root}build/framewire`;
    this.models = process.env.FW_MODELS ?? `${root}models`;
    this.chromium = process.env.FW_CHROMIUM ?? '/usr/bin/chromium';
    this.firefox = process.env.FW_FIREFOX ?? '/usr/bin/firefox-esr';
    this.out = process.env.FW_TEST_OUT ?? `${root}tests/out`;
    /** @type {(() => unknown)[]} */
    this.endings = [];
  }

  /** @param {() => unknown} ending */
  atEnd(ending) {
    this.endings.push(ending);
  }

  async cleanUp() {
    for (const ending of this.endings.reverse()) {
      try {
        await ending();
      } catch (error) {
        console.log(`      (cleaning up: ${error})`);
      }
    }
    this.endings = [];
  }

  /** @param {string} path @param {string} what */
  need(path, what) {
    if (!existsSync(path)) throw new Error(`${what} is not here (${path})`);
  }
}

export const env = new Env();

/** @returns {Promise<number>} a port nobody listens on, within FW_PORTS=first-last if given */
export async function freePort() {
  const [first, last] = (process.env.FW_PORTS ?? '').split('-').map(Number);
  const wanted =
    first && last ? Array.from({ length: last - first + 1 }, (_, i) => first + i) : [0];
  for (const port of wanted) {
    const found = await new Promise((resolve) => {
      const server = createServer();
      server.once('error', () => resolve(0));
      server.listen(port, '127.0.0.1', () => {
        const { port: got } = /** @type {import('node:net').AddressInfo} */ (server.address());
        server.close(() => resolve(got));
      });
    });
    if (found) return found;
  }
  throw new Error('no free port');
}
