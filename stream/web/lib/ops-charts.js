// SPDX-License-Identifier: MIT
// The charts of /ops, by Chart.js as Debian has it, which the server gives at /vendor/chart.js. Where
// it is not installed there are tables alone, and the page says so.

const SOURCE = '/vendor/chart.js';
const INK = '#a3abb6';
const LINE = 'rgb(255 255 255 / 0.08)';

/** @type {any} the library, once it is here */
let library = null;

/** @returns {Promise<boolean>} whether there are charts */
export function loadCharts() {
  return new Promise((resolve) => {
    const script = document.createElement('script');
    script.src = SOURCE;
    script.addEventListener('load', () => {
      library = /** @type {any} */ (window).Chart ?? null;
      if (library) setDefaults();
      resolve(library !== null);
    });
    script.addEventListener('error', () => resolve(false));
    document.head.append(script);
  });
}

function setDefaults() {
  const { defaults } = library;
  defaults.animation = false;
  defaults.responsive = true;
  defaults.maintainAspectRatio = false;
  defaults.color = INK;
  defaults.borderColor = LINE;
  defaults.font.family = getComputedStyle(document.body).fontFamily;
  defaults.font.size = 11;
  defaults.plugins.legend.display = false;
  defaults.plugins.tooltip.backgroundColor = '#0b0d10';
  defaults.plugins.tooltip.borderColor = '#3a414c';
  defaults.plugins.tooltip.borderWidth = 1;
  defaults.plugins.tooltip.padding = 10;
  defaults.plugins.tooltip.boxPadding = 4;
  defaults.plugins.tooltip.multiKeyBackground = 'transparent';
}

const milliseconds = (/** @type {number} */ value) => `${value} ms`;

/**
 * A canvas and what is on it; does nothing where there are no charts.
 * @param {HTMLCanvasElement} canvas
 * @param {object} config of Chart.js
 */
function chart(canvas, config) {
  return library ? new library.Chart(canvas, config) : null;
}

/** A share of the machine over time. @param {HTMLCanvasElement} canvas */
export function machineChart(canvas) {
  if (!library) return null;
  const line = (/** @type {string} */ label, /** @type {string} */ color) => ({
    label,
    data: [],
    borderColor: color,
    backgroundColor: color,
    borderWidth: 1.6,
    pointRadius: 0,
    spanGaps: false,
  });
  const made = chart(canvas, {
    type: 'line',
    data: { labels: [], datasets: [] },
    options: {
      interaction: { mode: 'index', intersect: false },
      scales: {
        x: { display: false },
        y: {
          min: 0,
          max: 100,
          ticks: { stepSize: 50, callback: (/** @type {number} */ v) => `${v} %` },
        },
      },
      plugins: {
        tooltip: {
          callbacks: {
            label: (/** @type {any} */ item) =>
              `${item.dataset.label} ${Math.round(item.parsed.y)} %`,
          },
        },
      },
    },
  });
  return {
    /**
     * @param {string[]} labels
     * @param {{label: string, color: string, values: (number | null)[]}[]} lines in percent
     */
    show(labels, lines) {
      made.data.labels = labels;
      const { datasets } = made.data;
      lines.forEach(({ label, color, values }, i) => {
        datasets[i] ??= line(label, color);
        datasets[i].data = values;
      });
      datasets.length = lines.length;
      made.update('none');
    },
  };
}

/**
 * A bar for each frame, stacked by stage.
 * @param {HTMLCanvasElement} canvas
 * @param {readonly {label: string, color: string}[]} stages
 * @param {(index: number) => string[]} tell lines about a frame, for who points at it
 */
export function timelineChart(canvas, stages, tell) {
  if (!library) return null;
  const made = chart(canvas, {
    type: 'bar',
    data: {
      labels: [],
      datasets: stages.map(({ label, color }) => ({
        label,
        data: [],
        backgroundColor: color,
        borderColor: color,
        barPercentage: 1,
        categoryPercentage: 0.86,
      })),
    },
    options: {
      interaction: { mode: 'index', intersect: false },
      scales: {
        x: { stacked: true, grid: { display: false }, ticks: { maxRotation: 0, maxTicksLimit: 8 } },
        y: { stacked: true, ticks: { callback: milliseconds, maxTicksLimit: 5 } },
      },
      plugins: {
        tooltip: {
          filter: (/** @type {any} */ item) => item.parsed.y >= 0.05,
          callbacks: {
            title: (/** @type {any[]} */ items) => (items.length ? tell(items[0].dataIndex) : []),
            label: (/** @type {any} */ item) =>
              `${item.dataset.label} ${item.parsed.y.toFixed(1)} ms`,
          },
        },
      },
    },
  });
  return {
    /** @param {string[]} labels @param {number[][]} values by stage, then frame @param {number} top */
    show(labels, values, top) {
      made.data.labels = labels;
      values.forEach((data, i) => (made.data.datasets[i].data = data));
      made.options.scales.y.max = top;
      made.update('none');
    },
  };
}

/** Where the values of one stage lie. @param {HTMLCanvasElement} canvas */
export function spreadChart(canvas) {
  if (!library) return null;
  let color = INK;
  const bars = {
    data: [],
    backgroundColor: () => color,
    barPercentage: 1,
    categoryPercentage: 0.9,
  };
  const made = chart(canvas, {
    type: 'bar',
    data: { labels: [], datasets: [bars] },
    options: {
      scales: {
        x: { grid: { display: false }, ticks: { maxRotation: 0, autoSkip: true } },
        y: { ticks: { precision: 0, maxTicksLimit: 4 } },
      },
      plugins: {
        tooltip: {
          callbacks: {
            title: (/** @type {any[]} */ items) =>
              items.length ? `up to ${items[0].label} ms` : '',
            label: (/** @type {any} */ item) => `${item.parsed.y} times`,
          },
        },
      },
    },
  });
  return {
    /** @param {string[]} labels @param {number[]} counts @param {string} ofStage */
    show(labels, counts, ofStage) {
      color = ofStage;
      made.data.labels = labels;
      made.data.datasets[0].data = counts;
      made.update('none');
    },
  };
}
