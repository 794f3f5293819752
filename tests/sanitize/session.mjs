// SPDX-License-Identifier: MIT
// A real server with real workers, built with sanitizers (FW_BINARY): sessions are made, watched,
// poked, resized, broken and ended. Any report of any process is a failure.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { Checks, Server, Viewer, freePort, sleep, until } from '../tools/server.mjs';

const PORT = await freePort();
const checks = new Checks('asan-session');
const reports = fs.mkdtempSync(path.join(os.tmpdir(), 'framewire-reports-'));
const log = `log_path=${path.join(reports, 'report')}`;
const server = new Server({
  port: PORT,
  env: {
    ASAN_OPTIONS: `${process.env.ASAN_OPTIONS ?? ''}:${log}`,
    UBSAN_OPTIONS: `${process.env.UBSAN_OPTIONS ?? ''}:${log}`,
  },
});

/** Frames arrive, also after a resize and with input in between. */
async function watch(name, body) {
  const made = await server.api('POST', '/sessions', { width: 640, height: 360, fps: 30, ...body });
  if (!checks.check(made.status === 201, `${name}: made`, JSON.stringify(made.body))) {
    return;
  }
  const url = server.base.replace(/^http/, 'ws') + made.body.ws;
  const viewer = new Viewer({ url, width: 640, height: 360 });
  const state = () => JSON.stringify({ frames: viewer.frames, states: viewer.states });
  checks.check(await until(() => viewer.frames > 0, 40000), `${name}: a first picture`, state());
  for (const [width, height] of [
    [801, 450],
    [333, 517],
    [640, 360],
  ]) {
    viewer.send({ type: 'viewport', width, height });
    const fits = await until(() => viewer.width === width && viewer.height === height, 20000);
    checks.check(fits, `${name}: ${width}x${height}`, state());
  }
  viewer.send({ type: 'viewport', width: 0, height: -5 });
  const keys = viewer.keys;
  viewer.send({ type: 'keyframe', reason: 'test' });
  checks.check(await until(() => viewer.keys > keys, 10000), `${name}: a key frame when asked`);
  const second = new Viewer({ url, width: 640, height: 360 });
  checks.check(await until(() => second.frames > 0, 20000), `${name}: a second viewer sees it too`);
  second.close();
  viewer.send({ type: 'visibility', visible: false });
  await sleep(300);
  viewer.send({ type: 'visibility', visible: true });
  viewer.close();
  const ended = await server.api('DELETE', `/sessions/${made.body.id}`);
  checks.check(ended.status === 204 || ended.status === 200, `${name}: ended`, `${ended.status}`);
}

try {
  if (checks.check(await server.ready(), 'the server runs', server.log)) {
    await watch('test card', { source: 'testcard', args: {} });
    const models = process.env.FW_MODELS ?? 'models';
    const name = ['Duck.glb', 'glTF2/2CylinderEngine-glTF-Binary/2CylinderEngine.glb'].find(
      (file) => fs.existsSync(path.join(models, file)),
    );
    if (name) {
      await watch('a model', { source: 'scene', args: { model: name } });
    }
    for (const bad of ['{', '[]', '{"source":"scene","args":{"model":"../../etc/passwd"}}', '']) {
      const response = await fetch(`${server.base}/api/v1/sessions`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: bad,
      });
      checks.check(response.status >= 400 && response.status < 500, `refuses ${bad || 'nothing'}`);
    }
  }
} catch (error) {
  checks.check(false, 'the test itself', error.stack);
}
const code = await server.stop();
checks.check(code === 0, 'the server ends in order', `${code}: ${server.log.slice(-1500)}`);
for (const name of fs.readdirSync(reports)) {
  const text = fs.readFileSync(path.join(reports, name), 'utf8');
  // The suppressions' own summary is no report.
  if (/ERROR: |runtime error:|WARNING: ThreadSanitizer/.test(text)) {
    checks.check(false, `no report (${name})`, text.slice(0, 4000));
  }
}
checks.check(!/ERROR: \w+Sanitizer|runtime error:/.test(server.log), 'none in the log either');
fs.rmSync(reports, { recursive: true, force: true });
process.exit(checks.finish());
