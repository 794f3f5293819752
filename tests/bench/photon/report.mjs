// SPDX-License-Identifier: MIT
// The tables of `./test rivals`, ready for docs/performance.md, and what must hold of them. A ratio
// is the median of the rounds' ratios, with a bootstrap interval; a round's figure is its median.
import { bootstrap, median, quantile } from '../measure.mjs';

const NAMES = { 0: 'at rest', full: 'all of it moving' };

const text = (values, digits) => {
  const [low, high] = bootstrap(values);
  return `${median(values).toFixed(digits)} | ${low.toFixed(digits)} … ${high.toFixed(digits)}`;
};

/** The rounds that have `name`, by `pick`. */
const over = (rounds, name, pick) =>
  rounds.filter((r) => r.runs[name]).map((r) => pick(r.runs[name], r));

function clickTable(rounds, content) {
  console.log(
    `\n| click to pixel, 1280x720, ${NAMES[content]} (ms) | p50 | 95 % interval | p95 | cores | lost |`,
  );
  console.log('| --- | --- | --- | --- | --- | --- |');
  const names = new Set(rounds.flatMap((r) => Object.keys(r.runs)));
  for (const name of [...names].filter((n) => n.endsWith(`|${content}`))) {
    const p50 = over(rounds, name, (run) => median(run.ms));
    const every = over(rounds, name, (run) => run.ms).flat();
    const cores = median(over(rounds, name, (run) => run.cores)).toFixed(2);
    const lost = over(rounds, name, (run) => run.lost).reduce((a, b) => a + b, 0);
    const p95 = quantile(every, 0.95).toFixed(1);
    console.log(`| ${name.split('|')[0]} | ${text(p50, 1)} | ${p95} | ${cores} | ${lost} |`);
  }
}

/** ours / best rival of the same round, by a quantile. */
function againstRivals(rounds, content, q) {
  const ratios = [];
  for (const { runs } of rounds) {
    const mine = runs[`framewire|${content}`];
    const rivals = Object.entries(runs).filter(
      ([name]) => name.endsWith(`|${content}`) && !/^(DOM|floor|framewire)/.test(name),
    );
    if (mine && rivals.length)
      ratios.push(quantile(mine.ms, q) / Math.min(...rivals.map(([, run]) => quantile(run.ms, q))));
  }
  return ratios;
}

/** ours / (the better floor + the bare parts). */
function againstFloor(rounds) {
  return rounds.map(({ runs, parts }) => {
    const floors = Object.entries(runs).filter(([name]) => name.startsWith('floor'));
    const floor = Math.min(...floors.map(([, run]) => median(run.ms)));
    return median(runs['framewire|0'].ms) / (floor + parts.total.p50Ms);
  });
}

function instrumentTable(rounds) {
  const rows = rounds.flatMap((r) => r.runs['framewire|0']?.instruments ?? []);
  const whole = rows.filter((row) => row.page > 0 && row.record > 0);
  const of = (pick) => whole.map(pick);
  console.log('\n| three instruments, the same clicks (ms) | median | 95 % interval |');
  console.log('| --- | --- | --- |');
  console.log(
    `| observer: pressed to pixel | ${text(
      of((r) => r.observer),
      2,
    )} |`,
  );
  console.log(
    `| page: echoed input id, its own clock | ${text(
      of((r) => r.page),
      2,
    )} |`,
  );
  console.log(
    `| record: stamps, from the front's receipt | ${text(
      of((r) => r.record),
      2,
    )} |`,
  );
  console.log(
    `| … pressed to the front's receipt | ${text(
      of((r) => r.arrival),
      2,
    )} |`,
  );
  console.log(
    `| one look of the observer | ${text(
      of((r) => r.poll),
      2,
    )} |`,
  );
  const page = median(of((r) => r.observer - r.page));
  const record = median(of((r) => r.observer - r.record - r.arrival));
  const between = median(of((r) => r.page - r.record - r.arrival));
  console.log(
    `| **observer − page** | ${text(
      of((r) => r.observer - r.page),
      2,
    )} |`,
  );
  console.log(
    `| **observer − record** | ${text(
      of((r) => r.observer - r.record - r.arrival),
      2,
    )} |`,
  );
  console.log(`\n${whole.length} of ${rows.length} clicks were found by all three.`);
  return {
    page,
    record,
    between,
    poll: median(of((r) => r.poll)),
    share: whole.length / rows.length,
  };
}

function startTable(rounds) {
  console.log(
    '\n| start (ms, median) | server and picture | page opened to picture | … of it from the WebSocket |',
  );
  console.log('| --- | --- | --- | --- |');
  const names = new Set(rounds.flatMap((r) => Object.keys(r.runs)));
  for (const name of [...names].filter((n) => n.endsWith('|0') && !/^(DOM|floor)/.test(n))) {
    const of = (key) => {
      const value = median(over(rounds, name, (run) => run[key] ?? NaN));
      return Number.isNaN(value) ? '–' : value.toFixed(0);
    };
    console.log(
      `| ${name.split('|')[0]} | ${of('startMs')} | ${of('openMs')} | ${of('socketToPictureMs')} |`,
    );
  }
}

function idleTable(idle) {
  console.log(
    '\n| at rest, untouched, 1 viewer | % of a core | wakeups a second | first click after that, ms |',
  );
  console.log('| --- | --- | --- | --- |');
  for (const { name, percent, wakeups, firstMs } of idle)
    console.log(
      `| ${name} | ${percent.toFixed(3)} | ${wakeups.toFixed(1)} | ${firstMs.toFixed(1)} |`,
    );
}

/** Prints goal 11 and the first pictures' times behind it. */
function firstPictures({ floors, warm, cold }) {
  const ms = (values, q = 0.5) => quantile(values, q).toFixed(0);
  const upgrade = (list) => list.map((start) => start.upgrade);
  const floor = (kind) => floors.map((one) => one[kind]);
  console.log(
    '\n| WebSocket upgrade to first picture received (ms) | n | p50 | p95 | bare parts p50 | ratio |',
  );
  console.log('| --- | --- | --- | --- | --- | --- |');
  for (const [name, list, kind] of [
    ['the first session of a server', cold, 'cold'],
    ['later ones, with a spare worker', warm, 'warm'],
  ]) {
    const ratio = (median(upgrade(list)) / median(floor(kind))).toFixed(2);
    const words = [list.length, ms(upgrade(list)), ms(upgrade(list), 0.95), ms(floor(kind)), ratio];
    console.log(`| ${name} | ${words.join(' | ')} |`);
  }
}

/** Prints goal 3: the record's own stages, against the bare parts of the same round. */
function lastByteTable(rounds) {
  const rows = rounds.map((r) => ({
    ms: median(r.runs['framewire|0'].instruments.map((row) => row.toKernel).filter((v) => v > 0)),
    parts: r.parts.total.p50Ms,
  }));
  console.log('\n| input to last byte taken by the kernel, at rest | median | 95 % interval |');
  console.log('| --- | --- | --- |');
  console.log(
    `| from the stamps, ms | ${text(
      rows.map((r) => r.ms),
      2,
    )} |`,
  );
  console.log(
    `| bare parts after a pause, ms | ${text(
      rows.map((r) => r.parts),
      2,
    )} |`,
  );
  console.log(
    `| **ratio (goal 3)** | ${text(
      rows.map((r) => r.ms / r.parts),
      2,
    )} |`,
  );
}

export function report({ rounds, idle, starts, versions }, checks) {
  const goal = (values, limit, what) => {
    if (!values.length) return;
    const [low, high] = bootstrap(values);
    const words = `${median(values).toFixed(2)} (${low.toFixed(2)} … ${high.toFixed(2)})`;
    checks.check(median(values) <= limit, `${what}: ${words}, goal ${limit}`);
  };
  for (const content of ['0', 'full']) clickTable(rounds, content);
  lastByteTable(rounds);
  startTable(rounds);
  if (starts) firstPictures(starts);
  if (idle.length) idleTable(idle);
  const { page, record, between, poll, share } = instrumentTable(rounds);
  const sums = rounds.map((r) => r.parts.total.p50Ms);
  const floors = rounds.map((r) => median(r.runs['floor, track|0'].ms));
  const moved = (values) => Math.abs(values[values.length - 1] / values[0] - 1);
  console.log(
    `\n${rounds.length} rounds of ${rounds[0].runs['framewire|0'].ms.length} clicks. Bare parts after a pause ` +
      `${median(sums).toFixed(1)} ms. Load ${Math.min(...rounds.map((r) => r.load)).toFixed(1)} to ` +
      `${Math.max(...rounds.map((r) => r.load)).toFixed(1)}. Rivals: ${versions.join('; ')}.\n`,
  );
  goal(againstFloor(rounds), 1.3, 'click to pixel / (floor + bare parts), at rest');
  goal(againstRivals(rounds, '0', 0.5), 1.0, 'click to pixel p50 / best rival, at rest');
  goal(againstRivals(rounds, 'full', 0.5), 0.7, 'click to pixel p50 / best rival, moving');
  goal(againstRivals(rounds, 'full', 0.95), 0.7, 'click to pixel p95 / best rival, moving');
  const mine = idle.find(({ name }) => name === 'framewire');
  if (mine) {
    checks.check(
      mine.percent <= 0.2,
      `an idle session takes ${mine.percent.toFixed(3)} % of a core`,
    );
    checks.check(mine.wakeups <= 5, `… and ${mine.wakeups.toFixed(1)} wakeups a second`);
  }
  const limit = Math.max(2, poll);
  for (const [what, by] of [
    ['observer and page', page],
    ['observer and record', record],
    ['page and record', between],
  ])
    checks.check(
      Math.abs(by) <= limit,
      `${what} agree: ${by.toFixed(2)} ms apart, ${limit.toFixed(2)} allowed`,
    );
  checks.check(share >= 0.9, 'nine of ten clicks are found by all three', `${share}`);
  checks.check(
    moved(sums) <= 0.15 && moved(floors) <= 0.15,
    'the floors held still',
    `${moved(sums).toFixed(2)}, ${moved(floors).toFixed(2)}`,
  );
}
