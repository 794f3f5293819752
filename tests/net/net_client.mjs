// SPDX-License-Identifier: MIT
// The other machine's side of net_test.sh: wss by hand, then a real browser. FW_URL, FW_TOKEN.
import process from 'node:process';
import { createRequire } from 'node:module';
import { Checks, Viewer, until } from '../tools/server.mjs';

const { chromium } = createRequire(import.meta.url)('playwright-core');
process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'; // self-signed, on purpose
process.removeAllListeners('warning');

const base = process.env.FW_URL ?? '';
const token = process.env.FW_TOKEN ?? '';
const checks = new Checks('net-client');

async function create(body) {
  const response = await fetch(`${base}/api/v1/sessions`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(15000),
  });
  const session = await response.json();
  checks.check(response.status === 201, 'a session is made', JSON.stringify(session));
  return session;
}

const wsUrl = (session) => base.replace(/^http/, 'ws') + session.ws;

async function overWss() {
  // A frame's budget is bitrate / fps: few frames a second make room for a large picture. The demo
  // scene fills it better than the flat patches of the test card.
  const size = { width: 3840, height: 2160 };
  const session = await create({ source: 'scene', args: {}, ...size, fps: 4 });
  const viewer = new Viewer({ url: wsUrl(session), token: session.token, ...size });
  for (let i = 0; i < 6 && viewer.largestKey <= 100000; i++) {
    const keys = viewer.keys;
    await until(() => viewer.keys > keys, 15000);
    viewer.send({ type: 'keyframe', reason: 'test' });
  }
  checks.check(
    viewer.largestKey > 100000,
    'an IDR over 100 kB arrives whole over wss',
    `largest ${viewer.largestKey}, ${viewer.keys} key frames, ${JSON.stringify(viewer.error)}`,
  );
  const before = viewer.frames;
  viewer.send({ type: 'keyframe', reason: 'test' }); // one at least, also of a still picture
  await until(() => viewer.frames > before, 8000);
  checks.check(viewer.frames > before && !viewer.closed, 'and the stream goes on after it');

  for (const [what, bad] of [
    ['no', undefined],
    ['a wrong', 'f'.repeat(48)],
  ]) {
    const refused = new Viewer({ url: wsUrl(session), token: bad });
    await until(() => refused.closed, 8000);
    checks.check(
      refused.closed && !refused.welcome && refused.error?.code === 'unauthorized',
      `hello with ${what} token is refused as unauthorized`,
      JSON.stringify(refused.error),
    );
    refused.close();
  }
  const foreign = new Viewer({
    url: wsUrl(session),
    token: session.token,
    options: { origin: 'https://evil.example' },
  });
  await until(() => foreign.closed, 8000);
  checks.check(foreign.closed && !foreign.welcome, 'a WebSocket from another origin is refused');
  foreign.close();
  viewer.close();
}

async function inBrowser() {
  const session = await create({
    source: 'testcard',
    args: {},
    width: 1280,
    height: 720,
    fps: 30,
  });
  checks.check(
    !session.page.includes(token) && session.page.startsWith('/s/'),
    'the page address does not carry the token',
    session.page,
  );
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--ignore-certificate-errors'],
  });
  try {
    const context = await browser.newContext({
      ignoreHTTPSErrors: true,
      viewport: { width: 1280, height: 720 },
    });
    const page = await context.newPage();
    await page.goto(base + session.page, { timeout: 15000 });
    const stats = () => page.evaluate(() => globalThis.framewire?.stats?.() ?? null);
    const seen = await until(
      async () => {
        const now = await stats();
        return now && now.presented > 10 ? now : null;
      },
      20000,
      200,
    );
    checks.check(seen, 'the page shows the picture', JSON.stringify(await stats()));
    checks.check(
      await page.evaluate(() => globalThis.isSecureContext && !location.hash),
      'in a secure context, and the code is gone from the address',
      page.url(),
    );
    // The code was good for one use: a second page with the same address has to ask.
    const second = await (await browser.newContext({ ignoreHTTPSErrors: true })).newPage();
    await second.goto(base + session.page, { timeout: 15000 });
    const asks = await until(
      () =>
        second.evaluate(() => {
          const dialog = document.querySelector('#token-dialog');
          return dialog?.matches('[open]') ? dialog.textContent : '';
        }),
      8000,
      100,
    );
    checks.check(asks?.includes('used already'), 'the code works only once: it says so', asks);
    await second.fill('#token-dialog input', token);
    await second.keyboard.press('Enter');
    const shows = await until(
      () => second.evaluate(() => (globalThis.framewire?.stats?.().presented ?? 0) > 0),
      8000,
      100,
    );
    checks.check(shows, 'and asks for the token, which opens it');
  } finally {
    await browser.close();
  }
}

try {
  await overWss();
  await inBrowser();
} catch (error) {
  checks.check(false, 'the test itself', error.stack);
}
process.exit(checks.finish());
