// SPDX-License-Identifier: MIT
// How large the picture should be: the stage in device pixels, exact where the browser can tell.

export const MIN_SIDE = 16;
export const MAX_WIDTH = 3840;
export const MAX_HEIGHT = 2160;
const SETTLE_MS = 100;
const AT_LEAST_EVERY_MS = 400;

/**
 * @param {number} width
 * @param {number} height
 * @param {{width: number, height: number}} [limit]
 * @returns {{width: number, height: number}} within what the server takes, same shape when too large
 */
export function clampSize(width, height, limit = { width: MAX_WIDTH, height: MAX_HEIGHT }) {
  const shrink = Math.min(1, limit.width / width, limit.height / height);
  return {
    width: Math.max(MIN_SIDE, Math.min(limit.width, Math.round(width * shrink))),
    height: Math.max(MIN_SIDE, Math.min(limit.height, Math.round(height * shrink))),
  };
}

export class Viewport {
  /**
   * @param {HTMLElement} stage
   * @param {(size: {width: number, height: number}) => void} changed
   */
  constructor(stage, changed) {
    this.stage = stage;
    this.changed = changed;
    this.limit = { width: MAX_WIDTH, height: MAX_HEIGHT };
    this.raw = this.measure();
    this.size = clampSize(this.raw.width, this.raw.height);
    this.timer = 0;
    this.lastAt = -Infinity;
    this.observer = new ResizeObserver((entries) => this.observe(entries[entries.length - 1]));
    try {
      this.observer.observe(stage, { box: 'device-pixel-content-box' });
    } catch {
      this.observer.observe(stage);
    }
  }

  measure() {
    const rect = this.stage.getBoundingClientRect();
    const ratio = window.devicePixelRatio || 1;
    return { width: Math.round(rect.width * ratio), height: Math.round(rect.height * ratio) };
  }

  /** @param {ResizeObserverEntry} entry */
  observe(entry) {
    const exact = entry.devicePixelContentBoxSize?.[0];
    const measured = this.measure();
    // Exact to the pixel where it is right; an emulated pixel ratio (developer tools) it knows not of.
    const agree =
      exact &&
      Math.abs(exact.inlineSize - measured.width) <= 1 &&
      Math.abs(exact.blockSize - measured.height) <= 1;
    this.raw = agree ? { width: exact.inlineSize, height: exact.blockSize } : measured;
    if (!this.raw.width || !this.raw.height) return; // minimised or not laid out
    // The first change goes out at once, the last one for certain, those between are spared.
    clearTimeout(this.timer);
    if (performance.now() - this.lastAt > AT_LEAST_EVERY_MS) this.settle();
    else this.timer = window.setTimeout(() => this.settle(), SETTLE_MS);
  }

  settle() {
    this.lastAt = performance.now();
    const size = clampSize(this.raw.width, this.raw.height, this.limit);
    if (size.width === this.size.width && size.height === this.size.height) return;
    this.size = size;
    this.changed(size);
  }

  /**
   * What this browser's decoder can take.
   * @param {number} width
   * @param {number} height
   */
  setLimit(width, height) {
    this.limit = { width, height };
    this.settle();
  }

  /** Whether a picture of this size covers the stage pixel for pixel.
   * @param {number} width
   * @param {number} height
   */
  matches(width, height) {
    return width === this.raw.width && height === this.raw.height;
  }

  destroy() {
    clearTimeout(this.timer);
    this.observer.disconnect();
  }
}
