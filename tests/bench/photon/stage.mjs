// SPDX-License-Identifier: MIT
// Displays, Chromium on one of them, and the observer that looks at it.
import { execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';
import { sleep, until } from '../../tools/server.mjs';

const run = promisify(execFile);
export const programs = process.env.FW_BENCH_DIR ?? 'build/tests/bench';
export const CHROMIUM_FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--kiosk',
  '--window-position=0,0',
  '--window-size=1280,720',
];

/** Starts a program; `log` holds the end of what it says. */
export function start(command, args, env = {}, stdio = undefined) {
  const child = spawn(command, args, {
    env: { ...process.env, ...env },
    stdio: stdio ?? ['ignore', 'pipe', 'pipe'],
  });
  const job = { child, pid: child.pid, log: '', ended: false };
  const keep = (chunk) => {
    job.log = (job.log + chunk).slice(-8192);
  };
  if (!stdio) child.stdout.on('data', keep);
  child.stderr?.on('data', keep);
  const end = () => {
    job.ended = true;
  };
  child.on('exit', end);
  child.on('error', (error) => (keep(error.message), end()));
  return job;
}

/** SIGTERM, after 3 s SIGKILL. */
export async function stop(job) {
  if (!job || job.ended) return;
  job.child.kill('SIGTERM');
  if (!(await until(() => job.ended, 3000))) job.child.kill('SIGKILL');
  await until(() => job.ended, 2000);
}

/** An X display number that is free. */
export function freeDisplay() {
  for (let n = 120; n < 400; n++)
    if (!fs.existsSync(`/tmp/.X11-unix/X${n}`) && !fs.existsSync(`/tmp/.X${n}-lock`)) return n;
  throw new Error('no X display is free');
}

/** Xvfb; ready when it takes clients. */
export async function display(size = '1280x720') {
  const n = freeDisplay();
  const job = start('Xvfb', [
    `:${n}`,
    '-screen',
    '0',
    `${size}x24`,
    '-nolisten',
    'tcp',
    '-noreset',
  ]);
  await shown(n, job);
  return { name: `:${n}`, job };
}

export async function shown(n, job) {
  const up = await until(() => job.ended || fs.existsSync(`/tmp/.X11-unix/X${n}`), 20000);
  if (!up || job.ended) throw new Error(`display :${n} does not start: ${job.log}`);
  await sleep(100);
}

/** Where Chromium without a window manager gives a page 1280x720: it takes one pixel less. */
export const viewerDisplay = () => display('1281x721');

/** Chromium over all of that display, with one page. */
export async function browse(screen, flags = []) {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'framewire-photon-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.FW_CHROMIUM ?? '/usr/bin/chromium',
    headless: false,
    viewport: null,
    ignoreDefaultArgs: ['--enable-automation'], // its bar would take a strip of the page
    args: [...CHROMIUM_FLAGS, ...flags],
    env: { ...process.env, DISPLAY: screen.name },
  });
  // Or xpra's page has a question of the browser's over its picture.
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const page = context.pages()[0] ?? (await context.newPage());
  return {
    page,
    async close() {
      await context.close().catch(() => {});
      fs.rmSync(profile, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

async function observer(screen, args, timeout) {
  const { stdout } = await run(path.join(programs, 'bench_observer'), args.map(String), {
    env: { ...process.env, DISPLAY: screen.name },
    timeout,
  });
  return stdout.trim().split('\n');
}

/** When (ns) and where the click patch is seen; throws when it is not, within `seconds`. */
export async function awaitPatch(screen, seconds) {
  const [line] = await observer(screen, ['wait', seconds], seconds * 1000 + 5000);
  const [ns, x, y] = line.split(',').map(Number);
  return { ns, x, y };
}

/**
 * Clicks, each with its times in ns (`seen` NaN: nothing was seen in 3 s).
 * @returns {Promise<{pressed: number, seen: number, looked: number, ms: number}[]>}
 */
export async function observe(screen, count) {
  const lines = await observer(screen, ['clicks', count], count * 3500 + 10000);
  return lines.slice(1).map((line) => {
    const [pressed, seen, looked] = line.split(',').map((word) => (word ? Number(word) : NaN));
    return { pressed, seen, looked, ms: (seen - pressed) / 1e6 };
  });
}

/** A picture of the display, to be looked at. */
export async function picture(screen, file) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const from = ['-f', 'x11grab', '-video_size', '1281x721', '-i', screen.name];
  await run('ffmpeg', ['-loglevel', 'error', '-y', ...from, '-frames:v', '1', file]);
}
