// SPDX-License-Identifier: MIT
// The figures over the picture. Reads the stats four times a second while it is open, and not at
// all while it is closed.

const REFRESH_MS = 250;

/**
 * @typedef {{fps: number, kbps: number, width: number, height: number, codec: string, encoder: string,
 *   gpu: string, rttMs: number, ageMs: number, inputMs: number, renderMs: number, encodeMs: number,
 *   present: string}} Figures
 */

/** @param {number} value @param {string} unit */
function short(value, unit) {
  if (!(value >= 0) || !Number.isFinite(value)) return '–';
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}

/** @param {number} kbps */
function rate(kbps) {
  return kbps < 1000 ? `${Math.round(kbps)} kbit/s` : `${(kbps / 1000).toFixed(1)} Mbit/s`;
}

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

export class Hud {
  /**
   * @param {HTMLElement} root contains <dd data-f="…"> for each figure and one <canvas>
   * @param {() => Figures} figures
   */
  constructor(root, figures) {
    this.root = root;
    this.figures = figures;
    this.timer = 0;
    /** @type {number[]} */
    this.history = [];
  }

  get open() {
    return !this.root.hidden;
  }

  /** @param {boolean} [on] */
  toggle(on = !this.open) {
    this.root.hidden = !on;
    clearInterval(this.timer);
    if (!on) return;
    this.history = [];
    this.update();
    this.timer = window.setInterval(() => this.update(), REFRESH_MS);
  }

  update() {
    if (document.visibilityState === 'hidden') return;
    const f = this.figures();
    this.history.push(f.fps);
    if (this.history.length > 60) this.history.shift();
    this.set('fps', String(Math.round(f.fps)));
    this.set('size', f.width ? `${f.width} × ${f.height}` : '–');
    this.set('codec', codecName(f.codec), f.codec);
    this.set('encoder', f.encoder || '–', f.gpu);
    this.set('rate', rate(f.kbps));
    this.set('rtt', short(f.rttMs, 'ms'));
    this.set('age', f.ageMs === 0 ? 'current' : short(f.ageMs, 'ms'));
    this.set('input', short(f.inputMs, 'ms'));
    this.set('server', `${short(f.renderMs, '')}+ ${short(f.encodeMs, 'ms')}`);
    this.set('present', PATHS[f.present] ?? '–');
    this.plot();
  }

  /** @param {string} name @param {string} text @param {string} [title] */
  set(name, text, title) {
    const element = this.root.querySelector(`[data-f="${name}"]`);
    if (!(element instanceof HTMLElement)) return;
    if (element.textContent !== text) element.textContent = text;
    if (title !== undefined && element.title !== title) element.title = title;
  }

  plot() {
    const canvas = this.root.querySelector('canvas');
    const context = canvas?.getContext('2d');
    if (!canvas || !context) return;
    const ratio = window.devicePixelRatio || 1;
    const width = Math.round(canvas.clientWidth * ratio);
    const height = Math.round(canvas.clientHeight * ratio);
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
    context.clearRect(0, 0, width, height);
    const top = Math.max(60, ...this.history);
    const step = width / 60;
    context.fillStyle = getComputedStyle(canvas).color;
    this.history.forEach((fps, i) => {
      const h = Math.max(ratio, (fps / top) * height);
      const x = width - (this.history.length - i) * step;
      context.globalAlpha = 0.35 + (0.65 * (i + 1)) / this.history.length;
      context.fillRect(x, height - h, Math.max(1, step - ratio), h);
    });
  }
}
