// SPDX-License-Identifier: MIT
// The figures over the picture: off, small, full. The graph is drawn ten times a second at most, in
// the turn after a picture was shown, the words twice a second; while it is off nothing is done.
// What this costs is measured, and shown as a stage of the frames that it held up.

import { Histogram } from './histogram.js';
import { DROP_WORDS } from './frame-trace.js';
import { HudGraph } from './hud-graph.js';
import { STAGE, STAGES } from './stages.js';

const GRAPH_EVERY_MS = 100;
const WORDS_EVERY_MS = 500;
const IDLE_EVERY_MS = 250; // a picture that rests brings no turn of its own
const DESCRIBE_EVERY_MS = 5000; // what screen readers find
const WINDOW_MS = 10_000;
const SIZES = /** @type {const} */ (['off', 'small', 'full']);

/**
 * @typedef {typeof SIZES[number]} Size
 * @typedef {import('./frame-trace.js').DropReason} DropReason
 * @typedef {{codec: string, encoder: string, gpu: string, present: string}} About
 */

const CODECS = [
  [/^avc1\.42/i, 'H.264 Baseline'],
  [/^avc1\.4d/i, 'H.264 Main'],
  [/^avc1\.64/i, 'H.264 High'],
  [/^avc1\./i, 'H.264'],
];

/** @type {Record<string, string>} */
const PATHS = { track: 'video track', copy: 'canvas, copied', draw: 'canvas, drawn' };

/** @param {string} codec */
export function codecName(codec) {
  const known = CODECS.find(([pattern]) => /** @type {RegExp} */ (pattern).test(codec));
  return known ? String(known[1]) : codec || '–';
}

/** A time without its unit. @param {number} ms below 0 = unknown */
export function brief(ms) {
  if (!(ms >= 0) || !Number.isFinite(ms)) return '–';
  return ms < 9.95 ? ms.toFixed(1) : String(Math.round(ms));
}

/** @param {number} ms */
function withUnit(ms) {
  return ms >= 0 ? `${brief(ms)} ms` : '–';
}

/** @param {number} kbps */
function rate(kbps) {
  return kbps < 1000 ? `${Math.round(kbps)} kbit/s` : `${(kbps / 1000).toFixed(1)} Mbit/s`;
}

/**
 * The last seconds in numbers: medians and the like of stages and totals.
 * @param {import('./stats.js').Stats} stats
 * @param {number} now
 */
export function summarize(stats, now) {
  const { trace } = stats;
  const stages = STAGES.map(() => new Histogram());
  const total = new Histogram();
  const typical = STAGES.map(() => 0);
  trace.forEachSince(now - WINDOW_MS, (row) => {
    total.add(trace.totalMs[row]);
    for (let i = 0; i < STAGES.length; i++) {
      const ms = trace.stageMs[row * STAGES.length + i];
      typical[i] += ms;
      if (i !== STAGE.uplink || trace.fromInput[row]) stages[i].add(ms);
    }
  });
  return {
    total,
    stages,
    /** The mean: unlike medians these add up. */
    meanMs: typical.map((sum) => (total.count ? sum / total.count : -1)),
    input: stats.inputToScreen.read(now),
    age: stats.ages.read(now),
  };
}

/** @typedef {ReturnType<typeof summarize>} Summary */

/** The stage that takes most of a frame's time, its index. @param {Summary} s */
function longest(s) {
  return s.meanMs.reduce((best, ms, i, all) => (ms > all[best] ? i : best), 0);
}

/** Where the time goes, in a sentence. @param {Summary} s */
export function sentence(s) {
  if (!s.total.count) return 'No picture in the last ten seconds: nothing has changed.';
  const most = longest(s);
  const share = Math.round((100 * s.meanMs[most]) / s.total.meanMs);
  const whole = s.input.count
    ? `${withUnit(s.input.quantile(0.5))} from input to screen`
    : `${withUnit(s.total.quantile(0.5))} from server to screen`;
  return `${whole}; most of a frame’s time is ${STAGES[most].label} (${share} %).`;
}

export class Hud {
  /**
   * @param {HTMLElement} root the markup of session.html
   * @param {import('./stats.js').Stats} stats
   * @param {() => About} about
   */
  constructor(root, stats, about) {
    this.root = root;
    this.stats = stats;
    this.about = about;
    /** @type {Size} */
    this.size = 'off';
    this.canvas = /** @type {HTMLCanvasElement} */ (root.querySelector('canvas'));
    this.graph = new HudGraph(this.canvas);
    /** @type {Map<string, HTMLElement>} */
    this.fields = new Map();
    this.legend();
    for (const element of root.querySelectorAll('[data-f]'))
      if (element instanceof HTMLElement) this.fields.set(element.dataset.f ?? '', element);
    this.timer = 0;
    this.turn = 0; // the animation frame that was asked for
    this.graphMs = this.wordsMs = this.describedMs = -Infinity;
    this.cost = new Histogram(); // since it was opened
    this.openedMs = 0;
    this.observer = new ResizeObserver(([entry]) => {
      const { width, height } = entry.contentRect;
      if (width) this.graph.resize(width, height, window.devicePixelRatio || 1);
    });
  }

  get open() {
    return this.size !== 'off';
  }

  /** A row for each stage, in the colours of the graph. */
  legend() {
    const body = this.root.querySelector('.hud-stages tbody');
    for (const { key, label, color, what, place } of STAGES) {
      const row = document.createElement('tr');
      row.title = what;
      row.dataset.place = place;
      row.style.setProperty('--stage', color);
      const name = document.createElement('th');
      name.scope = 'row';
      name.textContent = label;
      const bar = document.createElement('td');
      bar.className = 'bar';
      bar.append(document.createElement('i'));
      row.append(name, bar);
      for (const part of ['p50', 'p95']) {
        const cell = document.createElement('td');
        cell.dataset.f = `${key}-${part}`;
        cell.textContent = '–';
        row.append(cell);
      }
      bar.dataset.f = `${key}-bar`;
      body?.append(row);
    }
  }

  /** The next size; opens small. @param {Size} [size] */
  toggle(size = SIZES[(SIZES.indexOf(this.size) + 1) % SIZES.length]) {
    this.size = size;
    this.root.hidden = size === 'off';
    this.root.dataset.size = size;
    clearInterval(this.timer);
    cancelAnimationFrame(this.turn);
    this.turn = 0;
    this.observer.disconnect();
    if (size === 'off') return;
    this.observer.observe(this.canvas);
    this.graphMs = this.wordsMs = this.describedMs = -Infinity;
    this.cost.clear();
    this.openedMs = performance.now();
    this.timer = window.setInterval(() => this.due(), IDLE_EVERY_MS);
    this.due();
  }

  /** A picture was shown, or some time has passed: draws soon, if it is time to. */
  due() {
    if (!this.open || this.turn || performance.now() - this.graphMs < GRAPH_EVERY_MS) return;
    this.turn = requestAnimationFrame(() => {
      this.turn = 0;
      this.update();
    });
  }

  update() {
    const begin = performance.now();
    this.graphMs = begin;
    this.stats.trace.settle(begin);
    let worked = this.graph.draw(this.stats.trace);
    if (begin - this.wordsMs >= WORDS_EVERY_MS) {
      this.wordsMs = begin;
      this.words(begin);
      worked = true;
    }
    if (!worked) return;
    const end = performance.now();
    this.cost.add(end - begin);
    this.stats.trace.onDrawn(begin, end);
  }

  /** @param {number} now */
  words(now) {
    const { stats } = this;
    stats.countAge(now);
    const s = summarize(stats, now);
    const age = s.age.meanMs;
    this.set('age', age === 0 ? '0' : brief(age));
    this.set('fps', String(stats.frames.read(now).perSecond));
    this.set('input', brief(s.input.quantile(0.5)));
    const told = sentence(s);
    this.set('summary', told);
    const color = s.total.count ? STAGES[longest(s)].color : 'transparent';
    this.fields.get('summary')?.style.setProperty('--stage', color);
    if (now - this.describedMs >= DESCRIBE_EVERY_MS) {
      this.describedMs = now;
      this.canvas.setAttribute('aria-label', this.inWords(s, told));
    }
    if (this.size === 'full') this.details(s, now);
  }

  /** The graph for who can't see it. @param {Summary} s @param {string} told */
  inWords(s, told) {
    const parts = STAGES.map((stage, i) => [stage.label, s.meanMs[i]]).filter(
      ([, ms]) => Number(ms) >= 0.05,
    );
    const list = parts.map(([label, ms]) => `${label} ${withUnit(/** @type {number} */ (ms))}`);
    return `Stages of the newest frames, stacked. ${told} On average ${list.join(', ')}.`;
  }

  /** @param {Summary} s @param {number} now */
  details(s, now) {
    const { stats } = this;
    const most = Math.max(...s.meanMs, 0.001);
    STAGES.forEach(({ key }, i) => {
      const bar = this.fields.get(`${key}-bar`);
      const share = s.meanMs[i] > 0 ? s.meanMs[i] / most : 0;
      bar?.style.setProperty('--share', share.toFixed(3));
      this.set(`${key}-p50`, brief(s.stages[i].quantile(0.5)));
      this.set(`${key}-p95`, brief(s.stages[i].quantile(0.95)));
    });
    for (const [name, h] of /** @type {const} */ ([
      ['total', s.total],
      ['input', s.input],
      ['age', s.age],
    ]))
      for (const q of [50, 95, 99]) this.set(`${name}-p${q}`, brief(h.quantile(q / 100)));
    const { codec, encoder, gpu, present } = this.about();
    const { shown, clock } = stats;
    const drops = Object.entries(stats.trace.drops).filter(([, count]) => count);
    const dropped = drops.map(
      ([why, count]) => `${count} ${DROP_WORDS[/** @type {DropReason} */ (why)]}`,
    );
    this.set('drops', dropped.join(', ') || 'none');
    this.set('rate', rate(stats.traffic.read(now).kbps));
    const link = clock.known
      ? `${withUnit(clock.rttMs)}, varies by ${withUnit(clock.jitterMs)}`
      : '–';
    this.set('rtt', link);
    const error = clock.estimate(now)?.errorUs;
    this.set('clock', error === undefined ? '–' : `± ${withUnit(error / 1000)}`);
    this.set(
      'picture',
      shown ? `${shown.width} × ${shown.height}, ${codecName(codec)}` : '–',
      codec,
    );
    this.set('encoder', [encoder, gpu].filter(Boolean).join(' on ') || '–', gpu);
    this.set('present', PATHS[present] ?? '–');
    const perSecond = this.cost.count / Math.max(0.001, (now - this.openedMs) / 1000);
    const percent = (perSecond * Math.max(0, this.cost.meanMs)) / 10;
    this.set(
      'cost',
      this.cost.count
        ? `${withUnit(this.cost.quantile(0.5))}, ${Math.round(perSecond)} times a second (${percent.toFixed(1)} %)`
        : '–',
    );
  }

  /** @param {string} name @param {string} text @param {string} [title] */
  set(name, text, title) {
    const element = this.fields.get(name);
    if (!element) return;
    if (element.textContent !== text) element.textContent = text;
    if (title !== undefined && element.title !== title) element.title = title;
  }
}
