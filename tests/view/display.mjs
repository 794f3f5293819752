// SPDX-License-Identifier: MIT
// A display of its own, a hand and an eye on it (hand.c), and the viewer as a person starts it.
import { spawn } from 'node:child_process';
import path from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { until } from '../tools/server.mjs';

const binary = process.env.FW_BINARY ?? path.resolve('build/framewire');
const handProgram = process.env.FW_VIEW_HAND ?? path.resolve('build/tests/view/view_hand');

/** An Xvfb on a free number. */
export async function openDisplay(width = 1000, height = 700) {
  const child = spawn(
    'Xvfb',
    ['-displayfd', '3', '-screen', '0', `${width}x${height}x24`, '-nolisten', 'tcp', '-noreset'],
    { stdio: ['ignore', 'ignore', 'ignore', 'pipe'] },
  );
  let number = '';
  child.stdio[3].on('data', (chunk) => (number += chunk));
  const gone = new Promise((resolve) => child.once('exit', resolve));
  if (!(await until(() => number.includes('\n') || child.exitCode !== null, 20000)))
    throw new Error('Xvfb does not start');
  return {
    name: `:${number.trim()}`,
    close: async () => {
      child.kill();
      await gone;
    },
  };
}

export class Hand {
  /** @param {string} display */
  constructor(display) {
    this.child = spawn(handProgram, [], {
      env: { ...process.env, DISPLAY: display },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    /** @type {((line: string) => void)[]} */
    this.waiting = [];
    createInterface({ input: this.child.stdout }).on('line', (line) =>
      this.waiting.shift()?.(line),
    );
  }

  /** @param {string} command @returns {Promise<string>} */
  do(command) {
    return new Promise((resolve) => {
      this.waiting.push(resolve);
      this.child.stdin.write(`${command}\n`);
    });
  }

  async windows() {
    const answer = await this.do('windows');
    return answer
      .split(';')
      .filter(Boolean)
      .map((line) => {
        const [id, x, y, width, height, ...title] = line.split(' ');
        return { id, x: +x, y: +y, width: +width, height: +height, title: title.join(' ') };
      });
  }

  /** @param {[number, number][]} places @returns {Promise<[number, number, number][]>} */
  async pixels(places) {
    const answer = await this.do(`pixels ${places.map(([x, y]) => `${x},${y}`).join(' ')}`);
    return answer
      .trim()
      .split(' ')
      .map((hex) => [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16)));
  }

  async close() {
    this.child.stdin.end();
    await until(() => this.child.exitCode !== null, 5000, 10);
  }
}

/** `framewire view`, its words and how it ended. */
export class View {
  /** @param {string | null} display @param {string[]} args */
  constructor(display, args, env = {}) {
    const { DISPLAY: _display, WAYLAND_DISPLAY: _wayland, ...rest } = process.env;
    this.words = '';
    this.code = null;
    this.child = spawn(binary, ['view', ...args], {
      env: { ...rest, ...(display ? { DISPLAY: display } : {}), ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.child.stderr.on('data', (chunk) => (this.words += chunk));
    this.child.on('exit', (code, signal) => (this.code = signal ?? code));
  }

  /** Its exit code; null when it does not end. */
  async ended(ms = 20000) {
    await until(() => this.code !== null, ms, 20);
    if (this.code === null) this.child.kill('SIGKILL');
    return this.code;
  }
}
