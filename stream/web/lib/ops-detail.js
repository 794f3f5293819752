// SPDX-License-Identifier: MIT
// /ops: one session, frame by frame and stage by stage.

import { ApiError, getFigures, getTrace } from './api.js';
import { spreadChart, timelineChart } from './ops-charts.js';
import { showLegend, showTiles } from './ops-machine.js';
import { duration, rate, stateOf, time } from './ops-table.js';
import { $, make, words } from './page.js';
import { GROUP_OF, STAGE, STAGES } from './stages.js';

const FRAMES = 180; // of the newest, in the timeline
const WAY = STAGES.filter((s) => s.key !== 'uplink' && s.key !== 'hud'); // the browser's own
const ALL = 'total';
const TOTAL_COLOR = '#a3abb6';
const STEPS = [1, 1.5, 2, 3, 4, 5, 6, 8, 10];

/** @type {Record<string, string>} why frames are not shown, by the server's word */
const WHY = {
  newer: 'a newer picture took its place',
  ring_full: 'the front was behind',
  unknown: 'the worker did not say',
  nobody: 'nobody watched',
  needs_key: 'the viewer waited for a key frame',
  busy: 'the connection was busy',
  newer_key: 'a key frame took its place',
  hidden: 'the page was hidden',
  gone: 'the viewer went away',
  restart: 'the worker was replaced',
  client: 'dropped by the client',
  no_word: 'the client did not say',
};

/**
 * @typedef {import('./api.js').SessionInfo} SessionInfo
 * @typedef {{id: number, agoMs: number, outcome: string, reason: string, key: boolean,
 *   bytes: number, totalMs: number | null, ms: number[]}} Frame ms by WAY
 */

/** The rows of the answer as frames. @param {any} figures @returns {Frame[]} */
function framesOf(figures) {
  const at = (/** @type {string} */ name) => figures.columns.indexOf(name);
  const place = WAY.map(({ key }) =>
    figures.stages
      .filter((/** @type {any} */ s) => GROUP_OF[s.name] === key)
      .map((/** @type {any} */ s) => at(`${s.name}_us`)),
  );
  const [outcome, reason, key, bytes, total] = [
    'outcome',
    'reason',
    'key',
    'bytes',
    'total_us',
  ].map(at);
  return figures.frames.slice(-FRAMES).map((/** @type {any[]} */ row) => ({
    id: row[0],
    agoMs: row[1],
    outcome: row[outcome],
    reason: row[reason],
    key: row[key] === 1,
    bytes: row[bytes],
    totalMs: row[total] === null ? null : row[total] / 1000,
    ms: place.map(
      (columns) =>
        columns.reduce(
          (/** @type {number} */ sum, /** @type {number} */ i) => sum + (row[i] ?? 0),
          0,
        ) / 1000,
    ),
  }));
}

/** @param {Frame} frame */
function told(frame) {
  const total = frame.totalMs === null ? '' : `, ${time(frame.totalMs)} ms in all`;
  const why = WHY[frame.reason] ? ` (${WHY[frame.reason]})` : '';
  return [
    `Frame ${frame.id}${frame.key ? ', key frame' : ''}: ${frame.outcome}${why}${total}`,
    `${(frame.bytes / 1000).toFixed(1)} kB, ${(frame.agoMs / 1000).toFixed(1)} s ago`,
  ];
}

/** Room for nearly all of them. @param {Frame[]} frames */
function topOf(frames) {
  const sums = frames.map((f) => f.ms.reduce((a, b) => a + b, 0)).sort((a, b) => a - b);
  const high = (sums[Math.floor((sums.length - 1) * 0.97)] ?? 0) * 1.2;
  const ten = 10 ** Math.floor(Math.log10(Math.max(high, 5)));
  return ten * (STEPS.find((step) => step * ten >= high) ?? 10);
}

export class Detail {
  constructor() {
    this.id = '';
    this.stage = ALL;
    /** @type {any} the newest answer */
    this.figures = null;
    /** @type {Frame[]} */
    this.frames = [];
    this.held = false; // somebody points at a frame: it has to stay where it is
    /** @type {ReturnType<typeof timelineChart>} */
    this.timeline = null;
    /** @type {ReturnType<typeof spreadChart>} */
    this.spread = null;
    showLegend($('legend'), WAY);
    for (const button of document.querySelectorAll('[data-export]'))
      if (button instanceof HTMLButtonElement)
        button.addEventListener('click', () => void this.export(button));
  }

  /** There are charts. */
  open() {
    for (const figure of document.querySelectorAll('[data-chart]'))
      /** @type {HTMLElement} */ (figure).hidden = false;
    this.timeline = timelineChart(/** @type {HTMLCanvasElement} */ ($('timeline')), WAY, (index) =>
      told(this.frames[index]),
    );
    const canvas = $('timeline');
    canvas.addEventListener('pointerenter', () => this.hold(true));
    canvas.addEventListener('pointerleave', () => this.hold(false));
    this.spread = spreadChart(/** @type {HTMLCanvasElement} */ ($('spread')));
  }

  /** @param {boolean} held */
  hold(held) {
    this.held = held;
    $('timeline-state').textContent = held ? ', held while you point at it' : '';
    if (!held && this.figures) this.draw();
  }

  /** Another session, '' = none. @param {string} id */
  choose(id) {
    this.id = id;
    this.figures = null;
    this.frames = [];
    this.stage = ALL;
    $('detail').hidden = !id;
    $('detail-error').hidden = true;
    $('detail-actions').hidden = false;
    $('stages').replaceChildren();
    $('outcomes').replaceChildren();
    $('detail-title').textContent = '';
    $('detail-facts').textContent = '';
    $('detail-tiles').replaceChildren();
    delete $('detail-tiles').dataset.keys;
  }

  /** @param {SessionInfo | undefined} session as the list has it; none: it is over */
  async refresh(session) {
    const { id } = this;
    if (!session) {
      this.gone();
      return;
    }
    this.head(session);
    try {
      const figures = await getFigures(id);
      if (id !== this.id) return; // another was chosen meanwhile
      this.figures = figures;
      $('detail-error').hidden = true;
      this.draw();
    } catch (error) {
      if (id !== this.id) return;
      if (error instanceof ApiError && error.status === 404) this.gone();
      else this.trouble(words(error));
    }
  }

  gone() {
    $('detail-actions').hidden = true;
    this.trouble('This session is over. What is below is the last that was known of it.');
  }

  /** @param {string} text */
  trouble(text) {
    const box = $('detail-error');
    if (box.textContent !== text) box.textContent = text;
    box.hidden = false;
  }

  /** @param {SessionInfo} s */
  head(s) {
    const title = s.title || s.source || s.id;
    $('detail-title').textContent = title;
    const args = Object.entries(s.args ?? {}).map(([key, value]) => `${key} ${value}`);
    const about = [stateOf(s), s.source, ...args, `${s.width} × ${s.height}`];
    const runs = [s.encoder, s.gpu, s.restarts ? `${s.restarts} restarts` : '', s.id];
    $('detail-facts').textContent = [...about, ...runs].filter(Boolean).join(' · ');
    /** @type {HTMLAnchorElement} */ ($('detail-open')).href = `/s/${encodeURIComponent(s.id)}`;
    const f = s.figures;
    if (!f) return;
    const tile = (
      /** @type {string} */ key,
      /** @type {string} */ label,
      /** @type {string} */ value,
      /** @type {string} */ note,
    ) => ({ key, label, value, note, share: null });
    const pair = (/** @type {import('./api.js').Quantiles} */ q) =>
      q.p99 === null ? 'none lately' : `P99 ${time(q.p99)} ms`;
    const ms = (/** @type {number | null} */ value) => (value === null ? '–' : `${time(value)} ms`);
    showTiles($('detail-tiles'), [
      tile('age', 'Age of picture', ms(f.ageMs.p50), pair(f.ageMs)),
      tile('input', 'Input to screen', ms(f.inputMs.p50), pair(f.inputMs)),
      tile('frame', 'Frame, all stages', ms(f.frameMs.p50), pair(f.frameMs)),
      tile(
        'fps',
        'Shown',
        `${Math.round(f.fps)} fps`,
        `${f.dropped} dropped in ${Math.round(f.lastS)} s`,
      ),
      tile('rate', 'Bitrate', rate(f.kbps), s.rttMs ? `round trip ${time(s.rttMs)} ms` : ''),
      tile('viewers', 'Viewers', String(s.viewers ?? 0), `up ${duration(f.uptimeS)}`),
    ]);
  }

  draw() {
    if (!this.held) {
      this.frames = framesOf(this.figures);
      this.drawTimeline();
    }
    this.drawStages();
    this.drawSpread();
    this.drawOutcomes();
  }

  drawTimeline() {
    const { frames } = this;
    this.timeline?.show(
      frames.map((f) => String(f.id)),
      WAY.map((_, i) => frames.map((f) => f.ms[i])),
      topOf(frames),
    );
    const newest = frames[frames.length - 1];
    const text = newest
      ? `Newest: ${told(newest).join(', ')}.`
      : 'No frame in the last ten seconds: nothing has changed, or nobody watches.';
    $('frame-told').textContent = text;
    $('timeline').setAttribute(
      'aria-label',
      `The ${frames.length} newest frames by stage. ${text}`,
    );
  }

  /** A row for each stage and for the whole; chosen, its spread is shown. */
  drawStages() {
    const { recent, stages, bins } = this.figures;
    const rows = [
      ...stages.map((/** @type {any} */ s) => ({
        key: s.name,
        label: s.name,
        hint: `ends when ${s.ends}`,
        color: STAGES[STAGE[GROUP_OF[s.name] ?? 'rest']].color,
        span: recent.stages[s.name],
      })),
      {
        key: ALL,
        label: 'all stages',
        hint: 'from the input, or the frame’s beginning',
        color: TOTAL_COLOR,
        span: recent.total,
      },
      {
        key: 'input_to_presented',
        label: 'input to screen',
        hint: '',
        color: TOTAL_COLOR,
        span: recent.input_to_presented,
      },
      {
        key: 'age',
        label: 'age of picture',
        hint: 'one value for each millisecond watched',
        color: TOTAL_COLOR,
        span: recent.age,
      },
    ].filter(({ key, span }) => span && (bins.stages[key] || bins[key]));
    const body = $('stages');
    if (body.children.length !== rows.length)
      body.replaceChildren(...rows.map((row) => this.stageRow(row)));
    const most = Math.max(
      0.001,
      ...stages.map((/** @type {any} */ s) => recent.stages[s.name].p95_ms),
    );
    rows.forEach(({ key, span }, i) => {
      const row = /** @type {HTMLElement} */ (body.children[i]);
      const cells = [span.p50_ms, span.p95_ms, span.p99_ms, span.max_ms];
      const texts = cells.map((ms) => (span.count ? time(ms) : '–'));
      [...texts, span.count.toLocaleString('en')].forEach((text, c) => {
        row.children[c + 2].textContent = text;
      });
      const part = (/** @type {number} */ ms) => Math.min(1, ms / most).toFixed(3);
      row.style.setProperty('--p50', part(span.count ? span.p50_ms : 0));
      row.style.setProperty('--p95', part(span.count ? span.p95_ms : 0));
      row.classList.toggle('chosen', key === this.stage);
    });
  }

  /** @param {{key: string, label: string, hint: string, color: string}} row */
  stageRow({ key, label, hint, color }) {
    const row = make('tr', key in GROUP_OF ? '' : 'whole');
    row.style.setProperty('--stage', color);
    const head = make('th', '');
    head.scope = 'row';
    const button = make('button', 'stage-name', label);
    button.type = 'button';
    button.title = hint;
    head.append(button);
    row.addEventListener('click', () => {
      this.stage = key;
      this.drawStages();
      this.drawSpread();
    });
    const bar = make('td', 'wide');
    bar.append(make('i', 'p95'), make('i', 'p50'));
    row.append(head, bar, ...Array.from({ length: 5 }, () => make('td', 'numeric')));
    return row;
  }

  drawSpread() {
    const { bins } = this.figures;
    /** @type {number[]} */
    const counts = bins.stages[this.stage] ?? bins[this.stage];
    const edges = bins.edges_us.map((/** @type {number} */ us) => String(us / 1000));
    const labels = [...edges, 'more'];
    let first = counts.findIndex((n) => n > 0);
    let last = counts.length - 1;
    while (last > 0 && !counts[last]) last--;
    if (first < 0) first = last = 0;
    first = Math.max(0, first - 1);
    last = Math.min(counts.length - 1, Math.max(last + 1, first + 6));
    const group = GROUP_OF[this.stage];
    const name = this.stage === ALL ? 'all stages' : this.stage.replaceAll('_', ' ');
    $('spread-title').textContent = `Where values lie: ${name}, ms`;
    this.spread?.show(
      labels.slice(first, last + 1),
      counts.slice(first, last + 1),
      group ? STAGES[STAGE[group]].color : TOTAL_COLOR,
    );
    $('spread').setAttribute(
      'aria-label',
      `How often ${name} took how long: ${labels
        .map((label, i) => (counts[i] ? `up to ${label} ms ${counts[i]} times` : ''))
        .filter(Boolean)
        .join(', ')}`,
    );
  }

  drawOutcomes() {
    const { recent, since_start: all } = this.figures;
    const row = (
      /** @type {string} */ label,
      /** @type {number} */ now,
      /** @type {number} */ ever,
      /** @type {string} */ kind,
    ) => {
      const line = make('tr', kind);
      const head = make('th', '', label);
      head.scope = 'row';
      const number = (/** @type {number} */ n) => make('td', 'numeric', n.toLocaleString('en'));
      line.append(head, number(now), number(ever));
      return line;
    };
    const outcomes = ['presented', 'dropped', 'skipped', 'unconfirmed'];
    const reasons = Object.keys(all.reasons);
    $('outcomes').replaceChildren(
      row('all', recent.frames, all.frames, 'whole'),
      ...outcomes.map((o) => row(o, recent.outcomes[o] ?? 0, all.outcomes[o] ?? 0, '')),
      row('key frames', recent.keys, all.keys, ''),
      ...reasons.map((r) => row(WHY[r] ?? r, recent.reasons[r] ?? 0, all.reasons[r] ?? 0, 'why')),
    );
  }

  /** @param {HTMLButtonElement} button */
  async export(button) {
    const format = /** @type {'perfetto' | 'csv' | 'json'} */ (button.dataset.export);
    button.disabled = true;
    try {
      const { name, data } = await getTrace(this.id, format);
      const link = make('a', '');
      link.href = URL.createObjectURL(data);
      link.download = name;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    } catch (error) {
      this.trouble(words(error));
    }
    button.disabled = false;
  }
}
