// SPDX-License-Identifier: MIT
// Time that the network takes is found in the network, and nowhere else: a server and a viewer in
// two network namespaces with a link of our own between them. Runs in the second; FW_NS_A and
// FW_NS_B name both.
import { execFileSync, spawn } from 'node:child_process';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { alternate, bestOf, contradiction, differences, median } from '../tools/proof.mjs';
import { Checks, Server, Viewer, until } from '../tools/server.mjs';

const DELAY_MS = 20;
const PAIRS = 20;
const { FW_NS_A: a = '', FW_NS_B: b = '', FW_SHAPER: program = '' } = process.env;
const device = 'fwtun';
const address = '10.201.8.1';

const checks = new Checks('shaped-client');

class Link {
  constructor() {
    this.child = spawn(program, [a, b, device], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }

  /** The next line it says. */
  async answer() {
    const { value } = await this.lines.next();
    return value;
  }

  async set(words) {
    this.child.stdin.write(`${words}\n`);
    const said = await this.answer();
    if (said !== 'ok') throw new Error(`shaper: ${words}: ${said}`);
  }

  close() {
    this.child.stdin.end();
  }
}

function addresses() {
  const ip = (...args) => execFileSync('ip', args);
  ip('-n', a, 'addr', 'add', `${address}/24`, 'dev', device);
  ip('-n', b, 'addr', 'add', '10.201.8.2/24', 'dev', device);
  for (const ns of [a, b]) ip('-n', ns, 'link', 'set', device, 'up');
}

const size = { width: 640, height: 360 };

async function watch(server, fps) {
  const wanted = { source: 'testcard', args: { animate: '0' }, ...size, fps };
  const { body } = await server.api('POST', '/sessions', wanted);
  const url = `${server.base.replace('http', 'ws')}/s/${body.id}/ws`;
  const viewer = new Viewer({ url, ...size, presents: true });
  await until(() => viewer.frames > 0, 20000);
  await until(() => viewer.beacons > 3, 20000); // the clocks are known
  const trace = async () => (await server.api('GET', `/sessions/${body.id}/trace?last=60s`)).body;
  return { viewer, trace };
}

async function alternating(server, link) {
  const { viewer, trace } = await watch(server, 240);
  const wrong = await bestOf(4, async () => {
    const inputs = await alternate(viewer, PAIRS, (on) =>
      link.set(`both delay=${on ? DELAY_MS : 0}ms`),
    );
    const found = differences(await trace(), inputs);
    console.log(`  network +${found.stages.network?.toFixed(2)} ms over ${found.frames} pairs`);
    return contradiction(found, 'network', DELAY_MS, 0.8 * PAIRS);
  });
  checks.check(!wrong, `${DELAY_MS} ms each way: in network, and nowhere else`, wrong);
  viewer.close();
}

/** Where the way was never shorter: the same, as long as both ways are. */
async function constant(server, link) {
  const medians = [];
  for (const delay of [0, DELAY_MS]) {
    await link.set(`both delay=${delay}ms`);
    const { viewer, trace } = await watch(server, 240);
    const inputs = await alternate(viewer, PAIRS / 2, async () => {});
    const ids = new Set([...inputs.with, ...inputs.without]);
    const { frames } = await trace();
    const shown = frames.filter((f) => ids.has(f.input_id) && f.network_us !== null);
    medians.push(median(shown.map((f) => f.network_us)) / 1000);
    viewer.close();
  }
  const more = medians[1] - medians[0];
  checks.check(
    Math.abs(more - DELAY_MS) <= 2,
    'a way that was never shorter is seen as long as it is',
    `network +${more.toFixed(2)} ms`,
  );
}

/** A large picture over a narrow link takes its size by the rate. */
async function narrow(server, link) {
  const { viewer, trace } = await watch(server, 240);
  await link.set('both delay=0ms rate=1mbit');
  for (let i = 0; i < 3; i++) {
    const { keys } = viewer;
    viewer.send({ type: 'keyframe', reason: 'test' });
    await until(() => viewer.keys > keys, 20000);
  }
  const { frames } = await trace();
  const sent = frames.filter((f) => f.key && f.network_us !== null).slice(-3);
  const rate = median(sent.map((f) => (f.bytes * 8000) / f.network_us));
  checks.check(
    sent.length === 3 && sent.every((f) => f.bytes > 5000) && rate > 600 && rate < 1100,
    'a rate shows in the time on the network',
    `${rate.toFixed(0)} kbit/s: ${JSON.stringify(sent.map((f) => [f.bytes, f.network_us]))}`,
  );
  await link.set('both rate=0');
  viewer.close();
}

const link = new Link();
let server = null;
try {
  if (checks.check((await link.answer()) === 'ready', 'a link of our own stands')) {
    addresses();
    const port = 8447;
    server = new Server({
      port,
      base: `http://${address}:${port}`,
      prefix: ['ip', 'netns', 'exec', a],
      args: ['--listen', `${address}:${port}`, '--insecure', '--static', 'stream/web'],
    });
    checks.check(await server.ready(), 'a server is reached over it', server.log);
    await alternating(server, link);
    await constant(server, link);
    await narrow(server, link);
  }
} catch (error) {
  checks.check(false, 'no surprise', String(error?.stack));
}
if (server) checks.check((await server.stop()) === 0, 'it ends in order', server.log.slice(-500));
link.close();
process.exit(checks.finish());
