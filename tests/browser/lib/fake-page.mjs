// SPDX-License-Identifier: MIT
// A page of the fake server, and what that server was told.

import { chromiumPage } from './browsers.mjs';
import { until } from './check.mjs';
import { env, freePort } from './env.mjs';
import { FakeServer } from './fake-server.mjs';
import { firstPicture, stats } from './page.mjs';

export const SOURCES = [
  { source: 'scene', title: 'Demo scene', kind: 'demo', args: {}, description: 'a scene' },
  { source: 'testcard', title: 'Test card', kind: 'testcard', args: {}, description: 'a card' },
  ...['Duck', 'Fox', 'Car_Engine', 'Bolt', 'Chair', 'DamagedHelmet', 'Sponza'].map((name) => ({
    source: 'scene',
    title: name,
    kind: 'model',
    file: `${name}.glb`,
    bytes: 120_000,
    args: { model: `${name}.glb` },
  })),
];

/** @type {number[]} used before: what a page found out there about its browser is still known */
const ports = [];

export async function fake(params = {}) {
  const port = ports.pop() ?? (await freePort());
  const server = await new FakeServer({
    root: env.web,
    port,
    sources: SOURCES,
    ...params,
  }).start();
  env.atEnd(async () => {
    await server.stop();
    ports.push(port);
  });
  return server;
}

export const address = (server, path = '/s/fake', host = '127.0.0.1') =>
  `http://${host}:${server.port}${path}`;

export async function opened(
  params,
  query = '',
  size = { width: 640, height: 360 },
  newPage = chromiumPage,
) {
  const server = await fake(params);
  const page = await newPage(size);
  await page.goto(address(server, `/s/fake${query}`));
  await firstPicture(page);
  return { server, page };
}

/** The server sends no more pictures, and the page has shown the last one. */
export async function hush(server, page) {
  server.hold = true;
  await until(
    'the last picture that was sent',
    async () => (await stats(page)).lastFrameId === server.sent,
  );
}

export const texts = (server, type) => server.log.filter((m) => m.type === type);

/** The events of all input batches so far. */
export function inputs(server) {
  const events = [];
  for (const { binary, data } of server.log) {
    if (binary !== 0x20) continue;
    for (let at = data.readUInt16LE(2); at < data.length; at += 40)
      events.push({
        kind: data[at],
        state: data[at + 1],
        mods: data[at + 2],
        code: data.readUInt16LE(at + 4),
        x: data.readFloatLE(at + 8),
        y: data.readFloatLE(at + 12),
        dx: data.readFloatLE(at + 16),
        dy: data.readFloatLE(at + 20),
        seq: Number(data.readBigUInt64LE(at + 24)),
      });
  }
  return events;
}

export const brief = (events, kinds) =>
  events.filter((e) => kinds.includes(e.kind)).map((e) => `${e.kind}:${e.code}:${e.state}`);
