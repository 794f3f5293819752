// SPDX-License-Identifier: MIT
// From the upgrade of a viewer's WebSocket to its first picture, against the bare parts: what has to
// be opened, and one frame. Decoding and presenting come on top, for the floor as for the session.
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import process from 'node:process';
import { Server, Viewer, freePort, sleep, until } from '../../tools/server.mjs';
import { programs } from './stage.mjs';

const SESSION = { source: 'testcard', args: { animate: '0' }, width: 1280, height: 720, fps: 60 };
const SPARE_MS = 1500; // the next worker gets ready outside of the measurement

/** Opening everything in a new process. */
function floor() {
  const out = execFileSync(path.join(programs, 'bench_floor'), ['testcard', 'animate=0'], {
    env: { ...process.env, FLOOR_START: '1' },
  });
  const { deviceMs, sourceMs, encoderMs, firstMs } = JSON.parse(out.toString());
  return {
    cold: deviceMs + sourceMs + encoderMs + firstMs,
    warm: sourceMs + encoderMs + firstMs, // the device is there already
  };
}

/** A session and its viewer: ms from the request for the session, and from the upgrade. */
async function one(server) {
  const asked = performance.now();
  const { status, body } = await server.api('POST', '/sessions', SESSION);
  if (status !== 201) throw new Error(`no session: ${status} ${JSON.stringify(body)}`);
  const upgrade = performance.now();
  const viewer = new Viewer({
    url: body.ws.replace(/^\//, `${server.base.replace('http', 'ws')}/`),
  });
  if (!(await until(() => viewer.frames > 0, 20000, 1))) throw new Error('no picture came');
  const result = { request: viewer.lastAt - asked, upgrade: viewer.lastAt - upgrade };
  viewer.close();
  await server.api('DELETE', `/sessions/${body.id}`);
  return result;
}

/** @param {number} count warm starts, one after the other; a tenth as many cold ones, each with a
 *    server of its own, asked as soon as it answers */
export async function starts(count) {
  const result = { floors: [], warm: [], cold: [] };
  const serve = async () => {
    const server = new Server({
      port: await freePort(),
      args: ['--log-level', 'warn'],
      env: { FW_VALIDATION: '0' },
    });
    if (!(await server.ready())) throw new Error(`no server: ${server.log}`);
    return server;
  };
  for (let i = 0; i < Math.ceil(count / 10); i++) {
    result.floors.push(floor());
    const server = await serve();
    try {
      result.cold.push(await one(server));
      for (let k = 0; k < 10; k++) {
        await sleep(SPARE_MS);
        result.warm.push(await one(server));
      }
    } finally {
      await server.stop();
    }
  }
  return result;
}
