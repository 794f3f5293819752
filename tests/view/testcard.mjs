// SPDX-License-Identifier: MIT
// Where things are on the test card (render/source/testcard.h), for a picture of that size.

const px = (permille, size) => Math.floor((size * permille) / 1000);

/** The middle of a patch given in permille. */
function middle([x0, y0, x1, y1], width, height) {
  return [
    Math.floor((px(x0, width) + px(x1, width)) / 2),
    Math.floor((px(y0, height) + px(y1, height)) / 2),
  ];
}

const PATCHES = {
  red: [180, 150, 286, 300, 255, 0, 0],
  green: [286, 150, 393, 300, 0, 255, 0],
  blue: [393, 150, 500, 300, 0, 0, 255],
  cyan: [500, 150, 606, 300, 0, 255, 255],
  magenta: [606, 150, 713, 300, 255, 0, 255],
  yellow: [713, 150, 820, 300, 255, 255, 0],
  black: [180, 300, 308, 420, 0, 0, 0],
  grey16: [308, 300, 436, 420, 16, 16, 16],
  grey128: [436, 300, 564, 420, 128, 128, 128],
  grey235: [564, 300, 692, 420, 235, 235, 235],
  white: [692, 300, 820, 420, 255, 255, 255],
};

export const CLICK = [860, 150, 950, 300];
export const KEY = [860, 310, 950, 420];
export const METER = [50, 150, 140, 420];
export const BLUE = [32, 96, 224];
export const ORANGE = [255, 160, 0];
export const COLORS = ['red', 'green', 'blue', 'cyan', 'magenta', 'yellow'].map((name) =>
  PATCHES[name].slice(4),
);

export const near = (a, b, by = 6) => a.every((v, i) => Math.abs(v - b[i]) <= by);

/** How a picture of that size stands in a window: pixel for pixel, or scaled to fit. */
export class Card {
  constructor(hand, window, width = window.width, height = window.height) {
    const scale = Math.min(window.width / width, window.height / height);
    Object.assign(this, { hand, width, height, scale });
    this.left = window.x + (window.width - width * scale) / 2;
    this.top = window.y + (window.height - height * scale) / 2;
  }

  /** From a pixel of the picture to one of the display. */
  place([x, y]) {
    return [
      Math.floor(this.left + (x + 0.5) * this.scale),
      Math.floor(this.top + (y + 0.5) * this.scale),
    ];
  }

  async color(patch) {
    return (await this.hand.pixels([this.place(middle(patch, this.width, this.height))]))[0];
  }

  spot(patch) {
    return this.place(middle(patch, this.width, this.height));
  }

  /** What of the patches is not as it should be; '' = all are. */
  async wrong() {
    const names = Object.keys(PATCHES);
    const seen = await this.hand.pixels(names.map((name) => this.spot(PATCHES[name])));
    return names
      .filter((name, i) => !near(seen[i], PATCHES[name].slice(4)))
      .map((name) => `${name}: ${seen[names.indexOf(name)]}`)
      .join(', ');
  }

  /** The painted id of the frame. */
  async id() {
    const { width, height } = this;
    const less = Math.min(width, height);
    const edge = Math.min(Math.max(Math.floor(less / 24), 1), 16);
    const margin = Math.floor(less / 20) & ~15;
    const y0 = (height - margin - 8 * edge) & ~15;
    const places = Array.from({ length: 64 }, (_, i) =>
      this.place([
        margin + (i % 8) * edge + (edge >> 1),
        y0 + Math.floor(i / 8) * edge + (edge >> 1),
      ]),
    );
    const bits = await this.hand.pixels(places);
    return bits.reduce((id, [r, g, b], i) => id + (r + g + b > 384 ? 2n ** BigInt(i) : 0n), 0n);
  }
}
