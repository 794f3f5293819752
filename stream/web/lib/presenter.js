// SPDX-License-Identifier: MIT
// Puts pictures on the screen by one of three paths and keeps only the newest: a page that presents
// slower than pictures arrive drops them, it never queues.
//   track  MediaStreamTrackGenerator → <video>      (Chromium; cheapest without a GPU)
//   copy   VideoFrame.copyTo + putImageData         (cheap without a GPU)
//   draw   drawImage(VideoFrame)                    (cheap with a GPU)

import { fixBlue } from './color.js';

/**
 * @typedef {'track' | 'copy' | 'draw'} PathName
 * @typedef {{
 *   element: HTMLVideoElement | HTMLCanvasElement,
 *   show: (frame: VideoFrame) => Promise<void> | void,
 *   destroy: () => void,
 * }} Path `show` does not close the frame it is given
 * @typedef {import('./decoder.js').FrameInfo} FrameInfo
 * @typedef {import('./frame-trace.js').DropReason} DropReason
 */

/** @returns {PathName[]} those this browser has */
export function availablePaths() {
  const paths = /** @type {PathName[]} */ (['copy', 'draw']);
  if (typeof MediaStreamTrackGenerator === 'function') paths.unshift('track');
  return paths;
}

/**
 * @param {PathName} name
 * @returns {Path}
 */
export function createPath(name) {
  if (name === 'track') return trackPath();
  return name === 'copy' ? copyPath() : drawPath();
}

/** @returns {Path} */
function trackPath() {
  const generator = new MediaStreamTrackGenerator({ kind: 'video' });
  const writer = generator.writable.getWriter();
  const video = document.createElement('video');
  video.muted = true;
  video.autoplay = true;
  video.playsInline = true;
  video.disablePictureInPicture = true;
  video.disableRemotePlayback = true;
  video.srcObject = new MediaStream([generator]);
  video.play().catch(() => {}); // rejected when removed before it could start
  return {
    element: video,
    async show(frame) {
      if (video.paused) video.play().catch(() => {});
      // The track takes ownership and closes what it is given.
      await writer.write(frame.clone());
    },
    destroy() {
      writer.close().catch(() => {});
      generator.stop();
      video.srcObject = null;
    },
  };
}

/** @returns {{canvas: HTMLCanvasElement, context: CanvasRenderingContext2D}} */
function canvas2d() {
  const canvas = document.createElement('canvas');
  const context = canvas.getContext('2d', { alpha: false });
  if (!context) throw new Error('no 2d canvas');
  return { canvas, context };
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 */
function sizeTo(canvas, width, height) {
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
}

/** @returns {Path} */
function copyPath() {
  const { canvas, context } = canvas2d();
  /** @type {ImageData | null} */
  let image = null;
  return {
    element: canvas,
    async show(frame) {
      const { displayWidth: width, displayHeight: height } = frame;
      if (!image || image.width !== width || image.height !== height)
        image = new ImageData(width, height);
      await frame.copyTo(image.data, { format: 'RGBA' });
      sizeTo(canvas, width, height);
      context.putImageData(image, 0, 0);
    },
    destroy() {
      image = null;
    },
  };
}

/** @returns {Path} */
function drawPath() {
  const { canvas, context } = canvas2d();
  return {
    element: canvas,
    show(frame) {
      sizeTo(canvas, frame.displayWidth, frame.displayHeight);
      context.drawImage(frame, 0, 0);
    },
    destroy() {},
  };
}

/**
 * The picture without its padding. Takes over `frame`.
 * @param {VideoFrame} frame
 * @param {number} width
 * @param {number} height
 */
export function crop(frame, width, height) {
  const { x, y, width: w, height: h } = frame.visibleRect ?? new DOMRectReadOnly(0, 0, 0, 0);
  if ((w === width && h === height) || w < width || h < height) return frame;
  const cropped = new VideoFrame(frame, {
    visibleRect: { x, y, width, height },
    displayWidth: width,
    displayHeight: height,
  });
  frame.close();
  return cropped;
}

export class Presenter {
  /**
   * @param {HTMLElement} stage where the picture's element is put
   * @param {{presented: (info: FrameInfo) => void, dropped: (info: FrameInfo, reason: DropReason) => void,
   *   trouble: (message: string) => void}} host
   */
  constructor(stage, host) {
    this.stage = stage;
    this.host = host;
    /** @type {Path | null} */
    this.path = null;
    /** @type {Path | null} what is still in view until `path` has its first picture */
    this.old = null;
    /** @type {PathName | ''} */
    this.name = '';
    /** @type {{frame: VideoFrame, info: FrameInfo} | null} */
    this.next = null;
    this.busy = false;
    this.faults = { track: false, copy: false, draw: false };
    this.presented = 0;
    this.width = 0;
    this.height = 0;
  }

  /**
   * Changes the path. The old one stays in view until the new one has a picture.
   * @param {PathName} name
   */
  use(name) {
    if (name === this.name) return;
    if (this.old)
      this.path?.element.remove(); // a change on top of a change
    else this.old = this.path;
    this.path = createPath(name);
    this.name = name;
    this.path.element.setAttribute('aria-hidden', 'true'); // the stage has the name and the role
    this.stage.prepend(this.path.element);
    if (!this.old) this.path.element.id = 'screen';
    void this.pump();
  }

  retireOld() {
    if (!this.old || !this.path) return;
    this.old.element.remove();
    this.old.destroy();
    this.old = null;
    this.path.element.id = 'screen';
  }

  /**
   * Takes over `frame`.
   * @param {VideoFrame} frame
   * @param {FrameInfo} info
   */
  present(frame, info) {
    if (this.next) this.discard('newer');
    this.next = { frame, info };
    void this.pump();
  }

  /** @param {DropReason} reason */
  discard(reason) {
    if (!this.next) return;
    this.next.frame.close();
    this.host.dropped(this.next.info, reason);
    this.next = null;
  }

  async pump() {
    if (this.busy) return;
    this.busy = true;
    while (this.path && this.next) {
      const { frame, info } = this.next;
      this.next = null;
      const { path } = this;
      /** @type {VideoFrame} */
      let picture = frame;
      try {
        if (this.name && this.faults[this.name]) picture = await fixBlue(picture);
        picture = crop(picture, info.width, info.height);
        const done = path.show(picture);
        if (done) await done;
        if (path === this.path) this.retireOld();
        this.presented++;
        this.width = info.width;
        this.height = info.height;
        this.host.presented(info);
      } catch (error) {
        this.host.dropped(info, 'screen');
        this.stepDown(error);
      } finally {
        picture.close();
      }
    }
    this.busy = false;
  }

  /** A path that fails on real pictures is left for the one every browser has.
   * @param {unknown} error
   */
  stepDown(error) {
    this.host.trouble(error instanceof Error ? error.message : String(error));
    if (this.name === 'track') this.use('copy');
    else if (this.name === 'copy') this.use('draw');
  }

  destroy() {
    this.discard('hidden');
    for (const path of [this.path, this.old]) {
      path?.element.remove();
      path?.destroy();
    }
    this.path = this.old = null;
  }
}
