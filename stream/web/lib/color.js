// SPDX-License-Identifier: MIT
// True blue. Browsers without a GPU (Chromium and Firefox share the converter) turn BT.709 limited
// video into RGB with a blue coefficient of 2.0 where 2.112 is right, since it has 7 bits for it:
// pure blue comes out as 243, pure yellow with 12 of blue. Where a browser is seen to do so on a
// decoded picture, the difference is put right: in the U plane beforehand, or in blue afterwards
// where the decoder hands out RGB already.

const RIGHT = 2.112;
const WRONG = 2.0;
const TOLERANCE = 4;

const STRETCH = Uint8Array.from({ length: 256 }, (_, u) =>
  Math.min(255, Math.max(0, Math.round(128 + ((u - 128) * RIGHT) / WRONG))),
);
// Two samples at a time: half the look-ups. Both bytes get the same table, so byte order is no matter.
const STRETCH_2 = Uint16Array.from(
  { length: 65536 },
  (_, uu) => STRETCH[uu & 255] | (STRETCH[uu >> 8] << 8),
);

// What is missing in blue is SHARE of (blue - luma), luma by BT.709; in 1/65536 for integers.
const SHARE = ((RIGHT - WRONG) * 224) / (1.8556 * 255);
const SCALE = 65536 / (1 - SHARE + SHARE * 0.0722);
const BY_BLUE = Math.round(SCALE);
const BY_RED = Math.round(SCALE * SHARE * 0.2126);
const BY_GREEN = Math.round(SCALE * SHARE * 0.7152);

/**
 * Whether blue has to be set right before a present path.
 * @param {VideoFrame} blue a decoded picture of pure blue; stays the caller's
 * @returns {Promise<{track: boolean, copy: boolean, draw: boolean}>}
 */
export async function blueFaults(blue) {
  const faults = { track: false, copy: false, draw: false };
  try {
    const canvas = document.createElement('canvas');
    canvas.width = canvas.height = 16;
    const context = canvas.getContext('2d', { alpha: false, willReadFrequently: true });
    context?.drawImage(blue, 0, 0, 16, 16, 0, 0, 16, 16);
    const drawn = context?.getImageData(8, 8, 1, 1).data[2] ?? 255;
    faults.draw = faults.track = 255 - drawn > TOLERANCE; // one converter serves both
    const copied = new Uint8Array(16 * 16 * 4);
    const rect = { x: 0, y: 0, width: 16, height: 16 };
    await blue.copyTo(copied, { format: 'RGBA', rect });
    faults.copy = 255 - copied[4 * (8 * 16 + 8) + 2] > TOLERANCE;
  } catch {
    // no such conversion here, no such fault
  }
  return faults;
}

/** @type {ArrayBuffer | null} */
let scratch = null;

/** @param {number} size */
function buffer(size) {
  if (scratch?.byteLength !== size) scratch = new ArrayBuffer(size);
  return scratch;
}

/**
 * The same picture with blue set right. Takes over `frame`; formats that need nothing, or that are
 * out of reach, come back as they are.
 * @param {VideoFrame} frame
 * @returns {Promise<VideoFrame>}
 */
export async function fixBlue(frame) {
  const { format, colorSpace, visibleRect } = frame;
  if (!visibleRect || colorSpace.matrix !== 'bt709' || colorSpace.fullRange) return frame;
  if (format === 'I420') return fixPlanes(frame, visibleRect, colorSpace.toJSON());
  if (format === 'BGRX' || format === 'BGRA') return fixPixels(frame, visibleRect, 0);
  if (format === 'RGBX' || format === 'RGBA') return fixPixels(frame, visibleRect, 16);
  return frame;
}

/**
 * @param {VideoFrame} frame
 * @param {DOMRectReadOnly} rect
 * @param {VideoColorSpaceInit} colorSpace
 */
async function fixPlanes(frame, { width, height }, colorSpace) {
  const rows = (height + 1) >> 1;
  const stride = (((width + 1) >> 1) + 1) & ~1;
  const luma = (width * height + 1) & ~1;
  const plane = stride * rows;
  const data = buffer(luma + 2 * plane);
  const layout = [
    { offset: 0, stride: width },
    { offset: luma, stride },
    { offset: luma + plane, stride },
  ];
  await frame.copyTo(data, { layout });
  const u = new Uint16Array(data, luma, plane >> 1);
  for (let i = 0; i < u.length; i++) u[i] = STRETCH_2[u[i]];
  return replace(frame, data, { format: 'I420', width, height, layout, colorSpace });
}

/**
 * @param {VideoFrame} frame
 * @param {DOMRectReadOnly} rect
 * @param {number} blueShift where blue is in a pixel; red is at the other end
 */
async function fixPixels(frame, { width, height }, blueShift) {
  const format = /** @type {VideoPixelFormat} */ (frame.format);
  const data = buffer(width * height * 4);
  const layout = [{ offset: 0, stride: width * 4 }];
  await frame.copyTo(data, { layout });
  const pixels = new Uint32Array(data);
  const redShift = 16 - blueShift;
  const keep = ~(255 << blueShift);
  for (let i = 0; i < pixels.length; i++) {
    const pixel = pixels[i];
    const red = (pixel >> redShift) & 255;
    const green = (pixel >> 8) & 255;
    const blue = (pixel >> blueShift) & 255;
    const right = (blue * BY_BLUE - red * BY_RED - green * BY_GREEN + 32768) >> 16;
    pixels[i] = (pixel & keep) | ((right < 0 ? 0 : right > 255 ? 255 : right) << blueShift);
  }
  const colorSpace = {
    primaries: 'bt709',
    transfer: 'iec61966-2-1',
    matrix: 'rgb',
    fullRange: true,
  };
  return replace(frame, data, {
    format,
    width,
    height,
    layout,
    colorSpace: /** @type {VideoColorSpaceInit} */ (colorSpace),
  });
}

/**
 * @param {VideoFrame} frame is closed
 * @param {ArrayBuffer} data is copied
 * @param {{format: VideoPixelFormat, width: number, height: number, layout: PlaneLayout[],
 *   colorSpace: VideoColorSpaceInit}} shape
 */
function replace(frame, data, { format, width, height, layout, colorSpace }) {
  const { timestamp, duration } = frame;
  const fixed = new VideoFrame(data, {
    format,
    codedWidth: width,
    codedHeight: height,
    timestamp,
    duration: duration ?? undefined,
    layout,
    colorSpace,
  });
  frame.close();
  return fixed;
}
