// SPDX-License-Identifier: MIT
// Workers that break in the running server: killed, by their encoder, by their device. Lost once, one
// worker is replaced and the other session goes on; lost for ever, the session ends as failed with a
// reason and the server lives.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { Checks, Server, Viewer, freePort, sleep, until } from '../tools/server.mjs';

const PORT = await freePort();
const checks = new Checks('layer-serve');
const layerPath = path.resolve(process.env.FW_LAYER_DIR ?? 'build/tests/layer');

function faultEnv(extra) {
  return {
    VK_LAYER_PATH: `${layerPath}:/usr/share/vulkan/explicit_layer.d`,
    VK_INSTANCE_LAYERS: 'VK_LAYER_framewire_fault',
    FW_VALIDATION: '0', // a device that lies about being lost confuses the validation layer
    ...extra,
  };
}

async function openSession(server) {
  const created = await server.api('POST', '/sessions', {
    source: 'testcard',
    args: {},
    width: 640,
    height: 360,
    fps: 30,
  });
  if (created.status !== 201) {
    throw new Error(`create gave ${created.status} ${JSON.stringify(created.body)}`);
  }
  const url = server.base.replace(/^http/, 'ws') + created.body.ws;
  return { id: created.body.id, viewer: new Viewer({ url, width: 640, height: 360 }) };
}

const describe = (viewer) =>
  JSON.stringify({
    frames: viewer.frames,
    keys: viewer.keys,
    gap: Math.round(viewer.maxGapMs),
    states: viewer.states.map((s) => s.state),
    error: viewer.error,
  });

async function lostOnce() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'framewire-fault-'));
  const faulty = new Server({
    port: PORT,
    env: faultEnv({
      FW_FAULT_SUBMIT_AFTER: '60',
      FW_FAULT_MODE: 'once',
      FW_FAULT_STATE: path.join(folder, 'once'),
    }),
  });
  try {
    if (!checks.check(await faulty.ready(), 'the server starts with the layer', faulty.log)) {
      return;
    }
    const a = await openSession(faulty);
    const b = await openSession(faulty);
    const fired = await until(
      () =>
        /VK_LAYER_framewire_fault: device lost/.test(faulty.log) ||
        a.viewer.saw('restarting') ||
        b.viewer.saw('restarting'),
      20000,
    );
    checks.check(fired, 'a device was lost', describe(a.viewer) + describe(b.viewer));
    const [hit, other] = (await until(() => {
      if (a.viewer.saw('restarting')) {
        return [a.viewer, b.viewer];
      }
      return b.viewer.saw('restarting') ? [b.viewer, a.viewer] : null;
    }, 3000)) ?? [null, null];
    if (!checks.check(hit, 'its session says that it restarts', describe(a.viewer))) {
      return;
    }
    const { frames: before, keys } = hit.states.find((entry) => entry.state === 'restarting');
    checks.check(
      await until(() => hit.frames > before + 10, 5000),
      'its picture is back on the same page',
      describe(hit),
    );
    checks.check(hit.keys > keys, 'it came back with a key frame', describe(hit));
    checks.check(hit.maxGapMs < 2000, 'the gap was short', `${hit.maxGapMs} ms`);
    await sleep(1000);
    checks.check(
      !other.saw('restarting') && !other.saw('failed') && other.maxGapMs < 1000,
      'the other session went on undisturbed',
      describe(other),
    );
    checks.check(!hit.saw('failed') && !hit.closed, 'nobody was disconnected', describe(hit));
    a.viewer.close();
    b.viewer.close();
  } finally {
    checks.check((await faulty.stop()) === 0, 'the server ends in order', faulty.log.slice(-800));
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

async function lostForEver() {
  const server = new Server({
    port: PORT,
    env: faultEnv({ FW_FAULT_SUBMIT_AFTER: '30', FW_FAULT_MODE: 'always' }),
  });
  try {
    if (!checks.check(await server.ready(), 'the server starts again', server.log)) {
      return;
    }
    const { id, viewer } = await openSession(server);
    const failed = await until(() => viewer.states.find((s) => s.state === 'failed'), 45000);
    checks.check(failed, 'endless loss ends as a failed session', describe(viewer));
    checks.check(
      failed && /lost|device/i.test(`${failed.code} ${failed.message}`),
      'with a reason that names the device',
      JSON.stringify(failed ?? null),
    );
    const seen = await server.api('GET', `/sessions/${id}`);
    checks.check(
      seen.status === 404 || seen.body?.state === 'failed',
      'the API says so too',
      JSON.stringify(seen),
    );
    checks.check(server.exit === null && (await server.ready()), 'the server lives');
    viewer.close();
  } finally {
    checks.check((await server.stop()) === 0, 'and ends in order', server.log.slice(-800));
  }
}

/** Input for the worker: `count` moves in one message. */
function moves(viewer, count) {
  const message = Buffer.alloc(16 + 40 * count);
  message[0] = 0x20;
  message.writeUInt16LE(16, 2);
  message.writeUInt32LE(40 * count, 4);
  message.writeUInt16LE(count, 8);
  for (let i = 0; i < count; i++) {
    message[16 + 40 * i] = 4; // a key: not merged with the one before
    message[17 + 40 * i] = (i + 1) & 1;
    message.writeUInt16LE(30 + (i >> 1), 20 + 40 * i);
  }
  viewer.control.send(message);
}

/** A worker that dies with messages unread resets its link: that must be noticed all the same. */
async function killedWithInputUnread() {
  const server = new Server({ port: PORT });
  try {
    if (!checks.check(await server.ready(), 'the server starts without the layer', server.log)) {
      return;
    }
    const { id, viewer } = await openSession(server);
    checks.check(await until(() => viewer.frames > 5, 15000), 'a picture', describe(viewer));
    for (let round = 1; round <= 3; round++) {
      const { workerPid } = (await server.api('GET', `/sessions/${id}`)).body;
      process.kill(workerPid, 'SIGSTOP');
      for (let i = 0; i < 10; i++) {
        moves(viewer, 40);
      }
      await sleep(100);
      const before = viewer.frames;
      process.kill(workerPid, 'SIGKILL');
      const back = await until(() => viewer.frames > before + 2, 5000);
      checks.check(back, `killed with input unread (${round}): picture back`, describe(viewer));
      const { body } = await server.api('GET', `/sessions/${id}`);
      checks.check(
        body.workerPid !== workerPid && body.restarts === round && body.state === 'running',
        `killed with input unread (${round}): another worker`,
        JSON.stringify(body),
      );
    }
    viewer.close();
  } finally {
    checks.check((await server.stop()) === 0, 'ends in order', server.log.slice(-800));
  }
}

/** The encoder breaks in mid-stream: the next one goes on, said, and nobody loses the picture. */
async function encoderBreaks() {
  const server = new Server({ port: PORT, args: ['--encoder', 'fault:frame:60'] });
  try {
    if (!checks.check(await server.ready(), 'the server starts, bad encoder', server.log)) {
      return;
    }
    const { id, viewer } = await openSession(server);
    const asked = await until(() => viewer.frames > 5, 15000);
    checks.check(asked, 'a picture before it breaks', describe(viewer));
    checks.check(await until(() => viewer.frames > 90, 20000), 'and after it', describe(viewer));
    const { body } = await server.api('GET', `/sessions/${id}`);
    checks.check(body.encoder === 'x264', 'the API says what goes on', JSON.stringify(body));
    checks.check(
      body.restarts === 0 && !viewer.saw('restarting') && !viewer.closed && viewer.maxGapMs < 1000,
      'nobody was disturbed',
      describe(viewer),
    );
    viewer.close();
  } finally {
    checks.check((await server.stop()) === 0, 'it ends in order', server.log.slice(-800));
  }
}

try {
  await killedWithInputUnread();
  await encoderBreaks();
  await lostOnce();
  await lostForEver();
} catch (error) {
  checks.check(false, 'the test itself', error.stack);
}
process.exit(checks.finish());
