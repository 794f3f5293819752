// SPDX-License-Identifier: MIT
// `./test soak`: sessions come and go and one is watched all the time, for FW_SOAK_MINUTES (10).
// At the end nothing may have grown: memory, file descriptors, processes.
import fs from 'node:fs';
import process from 'node:process';
import { Checks, Server, Viewer, sleep, until } from '../tools/server.mjs';

const PORT = Number(process.env.FW_TEST_PORT ?? 8443);
const MINUTES = Number(process.env.FW_SOAK_MINUTES ?? 10);
const checks = new Checks('soak');
const server = new Server({
  port: PORT,
  args: ['--log-level', 'warn'],
  env: { FW_VALIDATION: '0' },
});

function sizes() {
  const pid = server.child.pid;
  const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
  const children = fs
    .readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return fs.readFileSync(`/proc/${name}/stat`, 'latin1').includes(`) S ${pid} `);
      } catch {
        return false;
      }
    });
  return {
    rssKb: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]),
    fds: fs.readdirSync(`/proc/${pid}/fd`).length,
    children: children.length,
  };
}

async function open(width, height) {
  const made = await server.api('POST', '/sessions', {
    source: 'testcard',
    args: {},
    width,
    height,
    fps: 30,
  });
  if (made.status !== 201) {
    throw new Error(`create gave ${made.status} ${JSON.stringify(made.body)}`);
  }
  const url = server.base.replace(/^http/, 'ws') + made.body.ws;
  return { id: made.body.id, viewer: new Viewer({ url, width, height }) };
}

try {
  if (checks.check(await server.ready(), 'the server runs', server.log)) {
    const lasting = await open(640, 360);
    const end = Date.now() + MINUTES * 60000;
    let rounds = 0;
    let stalls = 0;
    let before = null;
    while (Date.now() < end) {
      const { id, viewer } = await open(320 + (rounds % 7) * 31, 200 + (rounds % 5) * 17);
      const seen = await until(() => viewer.frames > 20, 15000);
      viewer.close();
      await server.api('DELETE', `/sessions/${id}`);
      const frames = lasting.viewer.frames;
      await sleep(1500);
      stalls += seen && lasting.viewer.frames > frames ? 0 : 1;
      rounds += 1;
      if (rounds === 5) {
        before = sizes(); // caches are filled by now
      }
    }
    const after = sizes();
    console.log(`${rounds} sessions; ${JSON.stringify(before)} → ${JSON.stringify(after)}`);
    checks.check(rounds > 5 && before, 'it ran long enough to tell', `${rounds} rounds`);
    checks.check(stalls === 0, 'every session showed a picture, the lasting one all the time');
    checks.check(!lasting.viewer.saw('restarting'), 'no worker had to be replaced');
    checks.check(after.rssKb <= before.rssKb + 8192, 'memory did not grow by 8 MB');
    checks.check(after.fds <= before.fds + 2, 'file descriptors did not grow');
    checks.check(after.children <= before.children + 1, 'processes did not grow');
    lasting.viewer.close();
  }
} catch (error) {
  checks.check(false, 'the test itself', error.stack);
}
checks.check((await server.stop()) === 0, 'the server ends in order', server.log.slice(-800));
process.exit(checks.finish());
