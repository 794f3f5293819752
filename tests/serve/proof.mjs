// SPDX-License-Identifier: MIT
// Time that is put into a stage on purpose shows up in exactly that stage: what a trace says of
// where the milliseconds go is true.
import process from 'node:process';
import { alternate, bestOf, contradiction, differences } from '../tools/proof.mjs';
import { Checks, Server, Viewer, freePort, until } from '../tools/server.mjs';

const DELAY_MS = 20;
const PAIRS = 25;

const checks = new Checks('proof');
const slow = Number(process.env.FW_SLOW ?? 1);
const port = await freePort();
const env = { FRAMEWIRE_FAULT: 'encode:1ms' };
const server = new Server({ port, args: ['--static', 'stream/web', '--allow-faults'], env });

async function fault(id, body) {
  const { status } = await server.api('POST', `/sessions/${id}/fault`, body);
  if (status !== 204) throw new Error(`fault ${JSON.stringify(body)}: ${status}`);
}

async function provesStage(id, viewer, name, stage) {
  const wrong = await bestOf(4, async () => {
    const inputs = await alternate(viewer, PAIRS, (on) =>
      fault(id, { delay: on ? `${name}:${DELAY_MS}ms` : '' }),
    );
    const { body } = await server.api('GET', `/sessions/${id}/trace?last=60s`);
    const found = differences(body, inputs);
    const more = found.stages[stage].toFixed(2);
    console.log(`  ${name}: ${stage} +${more} ms over ${found.frames} pairs`);
    return contradiction(found, stage, DELAY_MS, 0.8 * PAIRS);
  });
  checks.check(!wrong, `${DELAY_MS} ms in ${name}: in ${stage}, and nowhere else`, wrong);
}

async function startsDelayed(id, viewer) {
  await until(() => viewer.frames > 2, 10000 * slow);
  const { body } = await server.api('GET', `/sessions/${id}/trace`);
  const encode = body.frames.map((f) => f.encode_us).filter((us) => us !== null);
  checks.check(
    encode.length > 0 && encode.every((us) => us >= 1000),
    'FRAMEWIRE_FAULT holds from the first frame on',
    String(encode),
  );
}

async function drills(id, viewer) {
  const before = (await server.api('GET', `/sessions/${id}`)).body.workerPid;
  await fault(id, { kill: true, delay: 'convert:1ms' });
  const back = await until(async () => {
    const { body } = await server.api('GET', `/sessions/${id}`);
    return body.state === 'running' && body.workerPid !== before;
  }, 10000 * slow);
  checks.check(back, 'a worker that is killed on purpose is replaced');
  const shown = viewer.shownInput;
  await until(async () => {
    viewer.move();
    return viewer.shownInput > shown;
  }, 10000 * slow);
  const { body } = await server.api('GET', `/sessions/${id}/trace?last=1s`);
  const newest = body.frames.filter((f) => f.shows_input && f.convert_us !== null).at(-1);
  checks.check(body.faults === 'convert:1ms', 'the trace says that it was put there', body.faults);
  checks.check(newest?.convert_us >= 1000, 'the new one is delayed as well', newest?.convert_us);
}

try {
  if (checks.check(await server.ready(), 'the server starts', server.log)) {
    const args = { animate: '0' };
    const size = { width: 640, height: 360 };
    // So many a second that no input waits for the end of an interval: those behind a short one would.
    const wanted = { source: 'testcard', args, ...size, fps: 240 };
    const made = await server.api('POST', '/sessions', wanted);
    const { id } = made.body;
    const url = `${server.base.replace('http', 'ws')}/s/${id}/ws`;
    const viewer = new Viewer({ url, ...size, presents: true });
    await startsDelayed(id, viewer);
    await until(() => viewer.beacons > 2, 10000 * slow); // the clocks are known
    await provesStage(id, viewer, 'render', 'render');
    await provesStage(id, viewer, 'convert', 'convert');
    await provesStage(id, viewer, 'encode', 'encode');
    await provesStage(id, viewer, 'front', 'hand');
    await provesStage(id, viewer, 'decode', 'decode');
    await drills(id, viewer);
    viewer.close();
  }
} catch (error) {
  checks.check(false, 'no surprise', String(error?.stack));
}
checks.check((await server.stop()) === 0, 'the server ends in order', server.log.slice(-500));
process.exit(checks.finish());
