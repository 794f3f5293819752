// SPDX-License-Identifier: MIT
// Device loss in the running server: lost once, one worker is replaced and the other session goes
// on; lost for ever, the session ends as failed with a reason and the server lives.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { Checks, Server, Viewer, sleep, until } from '../tools/server.mjs';

const PORT = Number(process.env.FW_TEST_PORT ?? 8440);
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

try {
  await lostOnce();
  await lostForEver();
} catch (error) {
  checks.check(false, 'the test itself', error.stack);
}
process.exit(checks.finish());
