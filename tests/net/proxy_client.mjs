// SPDX-License-Identifier: MIT
// A visitor who comes through a proxy: FW_URL is the public address, FW_TOKEN a token.
import process from 'node:process';
import { Checks, Viewer, until } from '../tools/server.mjs';

process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'; // self-signed, on purpose
process.removeAllListeners('warning');

const base = process.env.FW_URL ?? '';
const token = process.env.FW_TOKEN ?? '';
const name = process.env.FW_NAME ?? 'proxy';
const checks = new Checks(`${name}-client`);
const check = (good, what, detail) => checks.check(good, `${name}: ${what}`, detail);

/** The status and JSON of a request; `headers` on top of the token. */
async function api(method, route, body, headers = {}) {
  const response = await fetch(`${base}/api/v1${route}`, {
    method,
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}`, ...headers },
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(10000),
  });
  const text = await response.text();
  return { status: response.status, json: text.startsWith('{') ? JSON.parse(text) : null };
}

/** A viewer of the session that claims to be a page of `origin`, once it has a welcome or not. */
async function knock(url, session, origin) {
  const viewer = new Viewer({ url, token: session.token, options: origin ? { origin } : {} });
  await until(() => viewer.welcome || viewer.closed, 5000, 10);
  return viewer;
}

try {
  const origin = new URL(base).origin;
  const page = await fetch(`${base}/`, { signal: AbortSignal.timeout(10000) });
  check(page.status === 200 && page.headers.get('content-security-policy'), 'the start page');
  const foreign = { Origin: 'https://evil.example' };
  check((await api('GET', '/sources', null, foreign)).status === 403, 'API: a wrong Origin');
  const plain = { Origin: origin.replace('https', 'http') };
  check((await api('GET', '/sources', null, plain)).status === 403, 'API: the Origin without TLS');
  const public_ = { Origin: origin };
  check((await api('GET', '/sources', null, public_)).status === 200, 'API: the public Origin');
  check((await api('GET', '/sources')).status === 200, 'API: no Origin');
  const none = { Authorization: '' };
  check((await api('GET', '/sources', null, none)).status === 401, 'API: no token');

  const made = await api('POST', '/sessions', { source: 'testcard', width: 640, height: 360 });
  const session = made.json;
  check(made.status === 201, 'a session is made', JSON.stringify(made));
  const code = { code: session.page.split('#')[1] };
  const redeem = () => api('POST', `/sessions/${session.id}/exchange`, code, none);
  const first = await redeem();
  check(first.json?.token === session.token, 'the code gives the token', JSON.stringify(first));
  check((await redeem()).status === 401, 'but only once');

  const url = base.replace(/^http/, 'ws') + session.ws;
  const viewer = await knock(url, session, origin);
  await until(() => viewer.frames >= 60, 8000, 20);
  check(
    viewer.frames >= 60 && viewer.keys >= 1 && viewer.beacons >= 1 && !viewer.closed,
    'the picture runs over both WebSockets',
    `${viewer.frames} frames, ${JSON.stringify(viewer.error)}`,
  );
  for (const [who, from, good] of [
    ['no', '', true],
    ['a wrong', 'https://evil.example', false],
  ]) {
    const other = await knock(url, session, from);
    check(Boolean(other.welcome) === good, `WebSocket: ${who} Origin`, JSON.stringify(other.error));
    other.close();
  }
  check(!viewer.closed, 'and it still runs');
  viewer.close();
  check((await api('DELETE', `/sessions/${session.id}`)).status === 204, 'the session is ended');
} catch (error) {
  check(false, 'the test itself', error.stack);
}
process.exit(checks.finish());
