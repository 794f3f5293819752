// SPDX-License-Identifier: MIT
// Is a file what the Trace Event Format asks for, strictly enough that ui.perfetto.dev shows all of it
// as meant: every track named, slices of a track one within or after the other, every arrow with a
// beginning and an end that lie within slices, in the order of time.

import { assert } from './check.mjs';

const PHASES = new Set(['X', 'M', 's', 't', 'f', 'i']);
const TICK = 0.001; // us; times have three decimals

/** @typedef {{from: number, to: number, name: string, args: Record<string, any>}} Slice */

/** Slices nest or follow one another; the innermost that has a moment comes with it. */
function checkTrack(name, slices) {
  const open = [];
  let last = -1;
  for (const slice of slices) {
    assert.ok(slice.from >= last, `${name}: ${slice.from} after ${last}`);
    last = slice.from;
    while (open.length && open.at(-1).to <= slice.from + TICK / 2) open.pop();
    const outer = open.at(-1);
    assert.ok(!outer || slice.to <= outer.to + TICK / 2, `${name}: slices cross at ${slice.from}`);
    open.push(slice);
  }
}

function checkFlow(id, ends, sliceAt) {
  const starts = ends.filter((e) => e.ph === 's');
  const finishes = ends.filter((e) => e.ph === 'f');
  assert.deepEqual([starts.length, finishes.length], [1, 1], `arrow ${id}`);
  assert.deepEqual([ends[0].ph, ends.at(-1).ph], ['s', 'f'], `arrow ${id}`);
  assert.equal(finishes[0].bp, 'e', `arrow ${id}: it would end at the next slice`);
  ends.forEach((end, i) => {
    assert.ok(!i || end.ts >= ends[i - 1].ts, `arrow ${id} goes back in time`);
    assert.ok(sliceAt(end.tid, end.ts), `arrow ${id}: no slice at its ${end.ph}`);
  });
  return { from: starts[0], to: finishes[0] };
}

/**
 * @param {string} text the file
 * @returns {{tracks: Map<string, Slice[]>, arrows: {from: string, to: string, frame: number}[],
 *   lost: number}} slices by the name of the track, its further lanes with it
 */
export function readTraceEvents(text) {
  const file = JSON.parse(text);
  assert.ok(['ms', 'ns'].includes(file.displayTimeUnit));
  const names = new Map();
  const slices = new Map();
  const flows = new Map();
  let lost = 0;
  for (const event of file.traceEvents) {
    assert.ok(PHASES.has(event.ph), JSON.stringify(event));
    assert.ok(Number.isInteger(event.pid) && typeof event.name === 'string');
    if (event.ph === 'M') {
      if (event.name === 'thread_name') names.set(event.tid, event.args.name);
      if (event.name === 'process_name') names.set('process', event.args.name);
      continue;
    }
    assert.ok(Number.isInteger(event.tid) && event.ts >= 0, JSON.stringify(event));
    if (event.ph === 'X') {
      assert.ok(event.dur >= 0, JSON.stringify(event));
      if (!slices.has(event.tid)) slices.set(event.tid, []);
      const { ts, dur, name, args } = event;
      slices.get(event.tid).push({ from: ts, to: ts + dur, name, args });
    } else if (event.ph === 'i') {
      assert.ok(['t', 'p', 'g'].includes(event.s));
      lost++;
    } else {
      const id = `${event.cat} ${event.name} ${event.id}`;
      if (!flows.has(id)) flows.set(id, []);
      flows.get(id).push(event);
    }
  }
  assert.ok(names.has('process'));
  assert.equal(new Set(names.values()).size, names.size, 'two tracks of the same name');
  for (const [tid, list] of slices) {
    assert.ok(names.has(tid), `track ${tid} has no name`);
    checkTrack(names.get(tid), list);
  }
  const sliceAt = (tid, ts) =>
    slices.get(tid)?.findLast((s) => s.from <= ts + TICK / 2 && ts <= s.to + TICK / 2);
  const arrows = [...flows].map(([id, ends]) => {
    const { from, to } = checkFlow(id, ends, sliceAt);
    const frame = sliceAt(to.tid, to.ts).args.frame;
    assert.equal(sliceAt(from.tid, from.ts).args.frame, frame, `arrow ${id}`);
    return { from: names.get(from.tid), to: names.get(to.tid), frame };
  });
  const tracks = new Map();
  for (const [tid, name] of names) {
    if (tid === 'process') continue;
    const base = name.replace(/ \(\d+\)$/, '');
    tracks.set(base, [...(tracks.get(base) ?? []), ...(slices.get(tid) ?? [])]);
  }
  return { tracks, arrows, lost };
}
