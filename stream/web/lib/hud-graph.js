// SPDX-License-Identifier: MIT
// The newest frames as a moving stacked graph: a column each, the stages in the colours of
// lib/stages.js, dropped ones as a red stripe. Draws only; reads no layout.

import { STAGES } from './stages.js';

const TOPS = [4, 6, 8, 10, 15, 20, 30, 40, 60, 80, 100, 150, 200, 300, 400, 600, 800, 1000];
const HEADROOM = 1.3;
const COUNT = STAGES.length;

/** @param {number} ms */
function roundUp(ms) {
  return TOPS.find((top) => top >= ms) ?? Math.ceil(ms / 1000) * 1000;
}

export class HudGraph {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d');
    this.topMs = 40;
    this.ratio = 1;
    this.base = new Float32Array(0); // where the next stage of each column begins
    this.drawnEnd = -1; // what the last picture was of
  }

  /** @param {number} width CSS pixels @param {number} height @param {number} ratio */
  resize(width, height, ratio) {
    this.ratio = ratio;
    this.canvas.width = Math.max(1, Math.round(width * ratio));
    this.canvas.height = Math.max(1, Math.round(height * ratio));
    this.drawnEnd = -1;
  }

  /**
   * @param {import('./frame-trace.js').FrameTrace} trace
   * @returns {boolean} whether there was anything new to draw
   */
  draw(trace) {
    const { context, ratio } = this;
    const { width, height } = this.canvas;
    if (!context || trace.ended === this.drawnEnd) return false;
    this.drawnEnd = trace.ended;
    const pitch = Math.max(2, Math.round(4 * ratio));
    const columns = Math.min(trace.kept, Math.floor(width / pitch));
    if (this.base.length < columns) this.base = new Float32Array(columns);
    this.scale(trace, columns);
    context.clearRect(0, 0, width, height);
    this.bars(trace, columns, pitch);
    this.drops(trace, columns, pitch);
    this.grid(context, width, height);
    return true;
  }

  /** Room for nine in ten, what is higher is cut off; lower only when much of it is empty. */
  scale(/** @type {import('./frame-trace.js').FrameTrace} */ trace, /** @type {number} */ columns) {
    const totals = [];
    for (let back = 0; back < columns; back++) {
      const total = trace.totalMs[trace.row(back)];
      if (total >= 0) totals.push(total);
    }
    if (!totals.length) return;
    totals.sort((a, b) => a - b);
    const wanted = roundUp(totals[Math.floor((totals.length - 1) * 0.9)] * HEADROOM);
    if (wanted > this.topMs || wanted * 2 < this.topMs) this.topMs = wanted;
  }

  /**
   * @param {import('./frame-trace.js').FrameTrace} trace
   * @param {number} columns
   * @param {number} pitch device pixels from one column to the next
   */
  bars(trace, columns, pitch) {
    const { context, base } = this;
    const { width, height } = this.canvas;
    const scale = height / this.topMs;
    const thick = pitch - Math.max(1, Math.round(this.ratio * 0.75));
    if (!context) return;
    base.fill(height, 0, columns);
    for (let stage = 0; stage < COUNT; stage++) {
      context.fillStyle = STAGES[stage].color;
      context.beginPath();
      for (let back = 0; back < columns; back++) {
        const high = trace.stageMs[trace.row(back) * COUNT + stage] * scale;
        if (!(high > 0)) continue;
        base[back] -= high;
        context.rect(width - (back + 1) * pitch, base[back], thick, high);
      }
      context.fill();
    }
  }

  /**
   * @param {import('./frame-trace.js').FrameTrace} trace
   * @param {number} columns
   * @param {number} pitch
   */
  drops(trace, columns, pitch) {
    const { context } = this;
    const { width, height } = this.canvas;
    if (!context) return;
    context.fillStyle = 'rgb(255 107 94 / 0.35)';
    for (let back = 0; back < columns; back++)
      if (Number.isNaN(trace.totalMs[trace.row(back)]))
        context.fillRect(width - (back + 1) * pitch, 0, pitch, height);
  }

  /** @param {CanvasRenderingContext2D} context @param {number} width @param {number} height */
  grid(context, width, height) {
    const { ratio, topMs } = this;
    const size = Math.round(11 * ratio);
    context.font = `600 ${size}px system-ui, sans-serif`;
    context.textBaseline = 'top';
    for (const share of [0.5, 1]) {
      const y = Math.round(height * (1 - share)) + 0.5;
      const text = `${topMs * share} ms`;
      context.fillStyle = 'rgb(255 255 255 / 0.22)';
      context.fillRect(0, y - 0.5, width, Math.max(1, Math.round(ratio * 0.75)));
      // Readable over any bar, without the cost of a shadow.
      const wide = context.measureText(text).width + 6 * ratio;
      context.fillStyle = 'rgb(13 15 18 / 0.75)';
      context.fillRect(0, y + ratio, wide, size + 3 * ratio);
      context.fillStyle = '#c6ccd4';
      context.fillText(text, 3 * ratio, y + 2.5 * ratio);
    }
  }
}
