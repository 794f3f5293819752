// SPDX-License-Identifier: MIT
// `./test many`: FW_SESSIONS (10 000) short sessions, each created, watched until its first picture
// and ended, a few at a time. What /metrics tells must not grow with them, nor may a counter fall,
// nor the server grow.
import fs from 'node:fs';
import process from 'node:process';
import { counters, parse, value } from '../tools/exposition.mjs';
import { Checks, Server, Viewer, freePort, until } from '../tools/server.mjs';

const SESSIONS = Number(process.env.FW_SESSIONS ?? 10000);
const LANES = 4;
const FIRST = Math.min(200, SESSIONS / 4); // by then everything has been seen once
const checks = new Checks('many');
const port = await freePort();
const server = new Server({
  port,
  args: ['--log-level', 'error', '--warm', String(LANES), '--static', 'stream/web'],
  env: { FW_VALIDATION: '0' },
});

async function shortSession(index) {
  const args = { source: 'testcard', width: 64 + 2 * (index % 50), height: 64, fps: 30 };
  const made = await server.api('POST', '/sessions', args);
  if (made.status !== 201) {
    throw new Error(`create gave ${made.status} ${JSON.stringify(made.body)}`);
  }
  const url = server.base.replace('http', 'ws') + made.body.ws;
  const viewer = new Viewer({ url, width: args.width, height: args.height, presents: true });
  const came = await until(() => viewer.frames > 0, 60000, 5);
  await server.api('DELETE', `/sessions/${made.body.id}`);
  viewer.close();
  if (!came) {
    const { states, error, welcome } = viewer;
    console.log(`  ${made.body.id}: no picture`, JSON.stringify({ states, error, welcome }));
  }
  return came;
}

async function scrape() {
  const text = await fetch(`${server.base}/metrics`).then((r) => r.text());
  const status = fs.readFileSync(`/proc/${server.child.pid}/status`, 'utf8');
  const families = parse(text);
  return {
    families,
    bytes: text.length,
    samples: [...families.values()].reduce((all, { samples }) => all + samples.length, 0),
    rssMb: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024,
  };
}

async function run(from, to) {
  let next = from;
  let blind = 0;
  const lane = async () => {
    while (next < to) {
      blind += (await shortSession(next++)) ? 0 : 1;
      if (next % 500 === 0) {
        console.log(`  ${next} sessions`);
      }
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return blind;
}

try {
  if (checks.check(await server.ready(), 'the server runs', server.log)) {
    let blind = await run(0, FIRST);
    await scrape(); // which is a route of its own
    const before = await scrape();
    blind += await run(FIRST, SESSIONS);
    await until(async () => {
      const { families } = await scrape();
      return value(families, 'framewire_workers', { state: 'stopping' }) === 0;
    }, 10000);
    const after = await scrape();
    checks.check(blind === 0, 'each showed a picture', `${blind} did not`);
    const started = value(after.families, 'framewire_sessions_started_total');
    checks.check(started === SESSIONS, 'each was counted', `${started}`);
    checks.check(
      after.samples === before.samples,
      '/metrics has as many samples as before',
      `${before.samples}, then ${after.samples}`,
    );
    // Digits are all that may be added: from hundreds to tens of thousands.
    const grown = after.bytes - before.bytes;
    checks.check(
      grown <= 4 * after.samples,
      'and is as long but for digits',
      `${grown} bytes more`,
    );
    const now = counters(after.families);
    const fell = [...counters(before.families)].filter(([name, was]) => !(now.get(name) >= was));
    checks.check(fell.length === 0, 'no counter fell', fell.slice(0, 3).join());
    const rss = after.rssMb - before.rssMb;
    checks.check(rss < 32, 'the front has not grown', `by ${rss.toFixed(1)} MiB`);
    console.log(
      `${before.samples} samples in ${before.bytes} bytes after ${FIRST} sessions, ` +
        `${after.samples} in ${after.bytes} after ${SESSIONS}; ` +
        `front ${before.rssMb.toFixed(1)} MiB, then ${after.rssMb.toFixed(1)}`,
    );
  }
} catch (error) {
  checks.check(false, 'the script runs through', `${error.stack}\n${server.log.slice(-2000)}`);
} finally {
  await server.stop();
}
process.exit(checks.finish());
