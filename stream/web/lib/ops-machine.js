// SPDX-License-Identifier: MIT
// /ops: what the machine has and uses. What nobody tells is said to be unknown.

import { machineChart } from './ops-charts.js';
import { $, make, size } from './page.js';

const HISTORY = 120; // seconds
const UNTOLD = 'not told by the driver';

/**
 * @typedef {{key: string, label: string, value: string, note: string, share: number | null}} Tile
 * @typedef {{at: number, lines: Map<string, number | null>}} Sample in percent
 */

/** @param {number | null} part @param {number | null} all */
function share(part, all) {
  return part === null || part === undefined || !all ? null : Math.min(1, part / all);
}

/** @param {number | null} value 0 to 1 */
function percent(value) {
  return value === null || value === undefined ? '–' : `${Math.round(100 * value)} %`;
}

/** @param {string[]} parts */
const joined = (...parts) => parts.filter(Boolean).join(' · ');

/** @param {any} gpu @param {number} index @returns {Tile[]} */
function gpuTiles(gpu, index) {
  const name = gpu.name ?? `GPU ${index}`;
  if (gpu.kind === 'software')
    return [
      {
        key: `gpu${index}`,
        label: 'GPU',
        value: 'none',
        note: `${name} draws on the CPU`,
        share: null,
      },
    ];
  const engines = [
    gpu.encoder_use === null ? '' : `encoder ${percent(gpu.encoder_use)}`,
    gpu.decoder_use === null ? '' : `decoder ${percent(gpu.decoder_use)}`,
  ];
  const slow = gpu.throttle?.length ? `slowed down: ${gpu.throttle.join(', ')}` : '';
  const heat = gpu.temperature_c === null ? UNTOLD : `${Math.round(gpu.temperature_c)} °C`;
  const memory = share(gpu.memory_used_bytes, gpu.memory_total_bytes);
  return [
    {
      key: `gpu${index}`,
      label: 'GPU',
      value: percent(gpu.use),
      note: joined(name, gpu.use === null ? `use ${UNTOLD}` : '', ...engines, slow),
      share: gpu.use,
    },
    {
      key: `gpu${index}-memory`,
      label: 'Video memory',
      value: gpu.memory_used_bytes === null ? '–' : size(gpu.memory_used_bytes),
      note: memory === null ? UNTOLD : `of ${size(gpu.memory_total_bytes)}, ${percent(memory)}`,
      share: memory,
    },
    {
      key: `gpu${index}-heat`,
      label: 'Temperature, power',
      value: gpu.temperature_c === null ? '–' : heat,
      note: gpu.power_w === null ? `power ${UNTOLD}` : `${Math.round(gpu.power_w)} W`,
      share: null,
    },
  ];
}

/** @param {any} m as GET /api/v1/machine has it @param {{sessions: number, most: number}} seats */
export function tilesOf(m, seats) {
  const { total_bytes: total, available_bytes: available } = m.memory;
  const used = total === null || available === null ? null : total - available;
  const cpu = share(m.cpu.used_cores, m.cpu.cores);
  const resident = m.process.resident_bytes;
  const workers = m.workers.resident_bytes;
  /** @type {Tile[]} */
  const tiles = [
    {
      key: 'cpu',
      label: 'CPU',
      value: percent(cpu),
      note:
        cpu === null ? 'not known yet' : `${m.cpu.used_cores.toFixed(1)} of ${m.cpu.cores} cores`,
      share: cpu,
    },
    {
      key: 'memory',
      label: 'Memory',
      value: used === null ? '–' : size(used),
      note: used === null ? 'not known yet' : `of ${size(total)}, ${percent(used / total)}`,
      share: share(used, total),
    },
    ...m.gpus.flatMap(gpuTiles),
    {
      key: 'seats',
      label: 'Sessions',
      value: String(seats.sessions),
      note: seats.most ? `of ${seats.most} seats` : '',
      share: seats.most ? seats.sessions / seats.most : null,
    },
    {
      key: 'server',
      label: 'framewire',
      value: resident === null || workers === null ? '–' : size(resident + workers),
      note: joined(
        m.workers.count === 1 ? '1 worker' : `${m.workers.count} workers`,
        workers === null ? '' : size(workers),
        resident === null ? '' : `front ${size(resident)}`,
      ),
      share: null,
    },
  ];
  return tiles;
}

/** Draws tiles, keeping those that are there. @param {HTMLElement} list @param {Tile[]} tiles */
export function showTiles(list, tiles) {
  const keys = tiles.map((t) => t.key).join();
  if (list.dataset.keys !== keys) {
    list.dataset.keys = keys;
    list.replaceChildren(
      ...tiles.map(({ label }) => {
        const tile = make('li', 'tile');
        const bar = make('span', 'level');
        bar.append(make('i', ''));
        tile.append(
          make('span', 'tile-label', label),
          make('b', 'tile-value'),
          make('span', 'tile-note'),
          bar,
        );
        return tile;
      }),
    );
  }
  tiles.forEach(({ value, note, share: part }, i) => {
    const tile = list.children[i];
    const set = (/** @type {string} */ part, /** @type {string} */ text) => {
      const element = tile.querySelector(part);
      if (element && element.textContent !== text) element.textContent = text;
    };
    set('.tile-value', value);
    set('.tile-note', note);
    const level = /** @type {HTMLElement} */ (tile.querySelector('.level'));
    level.hidden = part === null;
    level.style.setProperty('--share', String(part ?? 0));
    level.dataset.level = part !== null && part >= 0.9 ? 'high' : 'fine';
  });
}

/**
 * What the colours of a chart mean.
 * @param {HTMLElement} box
 * @param {readonly {label: string, color: string, what?: string}[]} entries
 */
export function showLegend(box, entries) {
  if (box.children.length === entries.length) return;
  box.replaceChildren(
    ...entries.map(({ label, color, what = '' }) => {
      const item = make('span', 'legend-item', label);
      item.title = what;
      item.style.setProperty('--stage', color);
      return item;
    }),
  );
}

const COLORS = ['#ffb454', '#4d8dff', '#7bd88f', '#a97bff', '#56c8f0', '#f07cc0'];

export class Machine {
  constructor() {
    /** @type {Sample[]} */
    this.history = [];
    /** @type {ReturnType<typeof machineChart>} */
    this.chart = null;
  }

  /** There are charts. */
  open() {
    $('machine-figure').hidden = false;
    this.chart = machineChart(/** @type {HTMLCanvasElement} */ ($('machine-chart')));
  }

  /** @param {any} m @param {{sessions: number, most: number}} seats */
  show(m, seats) {
    showTiles($('tiles'), tilesOf(m, seats));
    this.remember(m);
    this.draw();
  }

  /** @param {any} m */
  remember(m) {
    const { total_bytes: total, available_bytes: available } = m.memory;
    const in100 = (/** @type {number | null} */ v) => (v === null ? null : 100 * v);
    const lines = new Map([
      ['CPU', in100(share(m.cpu.used_cores, m.cpu.cores))],
      ['Memory', in100(share(available === null ? null : total - available, total))],
    ]);
    m.gpus.forEach((/** @type {any} */ gpu, /** @type {number} */ i) => {
      const number = m.gpus.length > 1 ? ` ${i + 1}` : '';
      if (gpu.use !== null) lines.set(`GPU${number}`, in100(gpu.use));
      const memory = share(gpu.memory_used_bytes, gpu.memory_total_bytes);
      if (memory !== null) lines.set(`Video memory${number}`, in100(memory));
    });
    this.history.push({ at: Date.now(), lines });
    if (this.history.length > HISTORY) this.history.shift();
  }

  draw() {
    const newest = this.history[this.history.length - 1];
    if (!this.chart || !newest) return;
    const before = Array(HISTORY - this.history.length).fill(null);
    const labels = [
      ...before.map(() => ''),
      ...this.history.map((s) => new Date(s.at).toLocaleTimeString()),
    ];
    const lines = [...newest.lines.keys()].map((label, i) => ({
      label,
      color: COLORS[i % COLORS.length],
      values: [...before, ...this.history.map((s) => s.lines.get(label) ?? null)],
    }));
    this.chart.show(labels, lines);
    showLegend($('machine-legend'), lines);
    const told = [...newest.lines].map(
      ([label, value]) => `${label} ${value === null ? 'unknown' : `${Math.round(value)} %`}`,
    );
    $('machine-chart').setAttribute('aria-label', `Use over two minutes. Now ${told.join(', ')}.`);
  }
}
