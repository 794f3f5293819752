// SPDX-License-Identifier: MIT
// One system alone on the machine, looked at from outside: how long a click takes to be seen, what
// the system costs meanwhile, and how long it takes to be there.
import process from 'node:process';
import { sleep } from '../../tools/server.mjs';
import { cpuSeconds, median } from '../measure.mjs';
import { awaitPatch, browse, observe, picture } from './stage.mjs';

const NOTHING_SEEN = 'tests/out/photon-nothing.png';
const SETTLE_MS = 5000; // our page looks at its browser in its first seconds, others may as well

const now = () => Number(process.hrtime.bigint()) / 1e6; // CLOCK_MONOTONIC, as the observer's

/** Runs in our page, before all of it: when its first connection began, when the first picture came. */
function watchStart() {
  const Socket = window.WebSocket;
  window.began = { socket: 0, picture: 0 };
  window.WebSocket = class extends Socket {
    constructor(...args) {
      super(...args);
      window.began.socket ||= performance.now();
    }
  };
  const look = () => {
    if (window.framewire?.stats().presented > 0) window.began.picture = performance.now();
    else setTimeout(look, 1);
  };
  look();
}

/** Runs in our page: keeps what it says of each input it saw answered, and how the clocks stand. */
function watchInputs() {
  const { stats } = window.framewire.session;
  const delays = stats.inputDelays;
  window.answered = [];
  delays.push = (ms) => {
    window.answered.push({ at: performance.now(), ms });
    return Array.prototype.push.call(delays, ms);
  };
}

/** The trace of our session of the last minute, as objects. */
async function trace(target) {
  const { server, session } = target;
  const url = `${server.base}/api/v1/sessions/${session.id}/trace?format=json&last=60s`;
  const response = await fetch(url);
  return response.ok ? (await response.json()).frames : [];
}

/** From the input's receipt until the kernel has all of the picture that shows it, ms. */
function toKernel(record) {
  if (!record) return NaN;
  const beyond = record.network_us + record.decode_us + record.present_us + record.rest_us;
  return (record.total_us - beyond) / 1000;
}

/** What the page and the record say of each click that the observer saw: ms, NaN where nothing. */
async function instruments(target, page, clicks) {
  const { answered, zero } = await page.evaluate(() => ({
    answered: window.answered,
    zero: window.framewire.session.connection.clock.toLocalMs(0),
  }));
  const frames = await trace(target);
  return clicks.map(({ pressed, seen, looked, ms }) => {
    const [from, to] = [pressed / 1e6, seen / 1e6];
    // The page may hear of it after the pixel has changed; the next press is 150 ms away.
    const inside = answered.filter(({ at }) => at - zero > from && at - zero < to + 100);
    const record = frames.filter((f) => f.input_ns > pressed && f.input_ns < seen && f.shows_input);
    return {
      // It came between two looks: half of that span off at most, by turns.
      observer: ms - (seen - looked) / 2e6,
      poll: (seen - looked) / 1e6,
      page: inside[0]?.ms ?? NaN,
      record: (record[0]?.input_to_presented_us ?? NaN) / 1000,
      toKernel: toKernel(record[0]),
      // To the front's receipt, which is where the record begins.
      arrival: record[0] ? record[0].input_ns / 1e6 - from : NaN,
    };
  });
}

/**
 * @param {{name: string}} system
 * @param {string} content
 * @param {{clicks: number, look?: string, settleMs?: number}} options `look`: where a picture of the display goes
 */
export async function measureOne(
  screen,
  system,
  content,
  { clicks, look = '', settleMs = SETTLE_MS },
) {
  const browser = await browse(screen);
  const begun = now();
  let target;
  try {
    target = await system.start(content);
    const { page } = browser;
    if (target.server) await page.addInitScript(watchStart);
    const opened = now();
    await page.goto(target.url, { waitUntil: 'commit' });
    const patch = await awaitPatch(screen, 30).catch(async (error) => {
      await picture(screen, NOTHING_SEEN);
      throw new Error(
        `nothing to be seen of ${system.name}, see ${NOTHING_SEEN}: ${error.message}`,
      );
    });
    const result = { startMs: patch.ns / 1e6 - begun, openMs: patch.ns / 1e6 - opened };
    await sleep(settleMs);
    if (target.server) {
      const began = await page.evaluate(() => window.began);
      result.socketToPictureMs = began.picture - began.socket;
      await page.evaluate(watchInputs);
    }
    const cpu = () => target.pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0);
    const before = { cpu: cpu(), at: now() };
    const seen = await observe(screen, clicks);
    result.cores = ((cpu() - before.cpu) * 1000) / (now() - before.at);
    result.ms = seen.map((click) => (click.ms > 0 ? click.ms : 3000));
    result.lost = seen.filter((click) => !(click.ms > 0)).length;
    result.pollMs = median(seen.map((click) => (click.seen - click.looked) / 1e6 || 0));
    if (target.server) {
      const whole = seen.filter((click) => click.ms > 0);
      result.instruments = await instruments(target, page, whole);
      result.stats = await page.evaluate(() => window.framewire.stats());
      result.present = await page.evaluate(() => window.framewire.session.choice.path);
    }
    if (look) await picture(screen, look);
    return result;
  } finally {
    await browser.close();
    await target?.stop();
  }
}
