// SPDX-License-Identifier: MIT
// What this browser really can: decodes a small stream, and times the present paths on its picture.

import {
  PROBE_CODEC,
  PROBE_HEIGHT,
  PROBE_KEY_SIZE,
  PROBE_WIDTH,
  probeStream,
} from './probe-data.js';
import { blueFaults } from './color.js';
import { availablePaths, createPath } from './presenter.js';

const DECODE_TIMEOUT_MS = 4000;
const MEASURE_BUDGET_MS = 5000;
const ROUNDS = 4;
const STUCK_MS = 1000;
// The track spares the main thread: it is left only for something clearly better.
const TRACK_BONUS_MS = 3;
const REMEMBER_MS = 7 * 24 * 3600 * 1000;
const STORE = 'framewire.present';

/**
 * @typedef {import('./presenter.js').PathName} PathName
 * @typedef {{supported: boolean, codecs: string[], frame: VideoFrame | null, reason: string}} Probe
 */

/**
 * @template T
 * @param {Promise<T>} promise
 * @param {number} ms
 * @param {T} otherwise
 * @returns {Promise<T>}
 */
function within(promise, ms, otherwise) {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(otherwise), ms);
    promise.then(
      (value) => (clearTimeout(timer), resolve(value)),
      () => (clearTimeout(timer), resolve(otherwise)),
    );
  });
}

/**
 * Decodes one key frame. The caller closes `frame`.
 * @returns {Promise<Probe>}
 */
export async function probeDecoder() {
  if (typeof VideoDecoder !== 'function')
    return { supported: false, codecs: [], frame: null, reason: 'no WebCodecs' };
  /** @type {VideoDecoder | undefined} */
  let decoder;
  let reason = 'the decoder gave no picture';
  /** @type {Promise<VideoFrame | null>} */
  const first = new Promise((resolve) => {
    try {
      decoder = new VideoDecoder({
        output: resolve,
        error: (error) => {
          reason = error.message;
          resolve(null);
        },
      });
      decoder.configure({
        codec: PROBE_CODEC,
        codedWidth: PROBE_WIDTH,
        codedHeight: PROBE_HEIGHT,
        optimizeForLatency: true,
      });
      const data = probeStream().subarray(0, PROBE_KEY_SIZE);
      decoder.decode(new EncodedVideoChunk({ type: 'key', timestamp: 0, duration: 16_667, data }));
    } catch (error) {
      reason = error instanceof Error ? error.message : String(error);
      resolve(null);
    }
  });
  const frame = await within(first, DECODE_TIMEOUT_MS, null);
  if (decoder && decoder.state !== 'closed') decoder.close();
  return { supported: frame !== null, codecs: frame ? [PROBE_CODEC] : [], frame, reason };
}

/** @returns {Promise<number>} */
function nextFrame() {
  return new Promise((resolve) => requestAnimationFrame(() => resolve(performance.now())));
}

/** @param {number} ms */
function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * The moment the next picture of a video goes to the compositor.
 * @param {HTMLVideoElement} video
 * @returns {Promise<number>}
 */
function nextPicture(video) {
  return new Promise((resolve) =>
    video.requestVideoFrameCallback((_, metadata) => resolve(metadata.presentationTime)),
  );
}

/**
 * A canvas puts drawing off until somebody looks. Through another one, which is made to be read: the
 * canvas itself would draw otherwise than it does for a person.
 * @param {HTMLCanvasElement} canvas
 */
function look(canvas) {
  const glass = document.createElement('canvas');
  glass.width = glass.height = 1;
  const context = glass.getContext('2d', { willReadFrequently: true });
  context?.drawImage(canvas, 0, 0, 1, 1, 0, 0, 1, 1);
  context?.getImageData(0, 0, 1, 1);
}

/**
 * Milliseconds from handing a picture over to the frame of the page that shows it, on average over
 * starting points spread over the display's frame.
 * @param {PathName} name
 * @param {VideoFrame} frame
 * @param {HTMLElement} parent
 */
async function timePath(name, frame, parent) {
  const path = createPath(name);
  const { element } = path;
  element.className = 'probe';
  parent.append(element);
  /** @type {number[]} */
  const times = [];
  try {
    for (let round = -1; round < ROUNDS; round++) {
      await nextFrame();
      await pause(Math.max(0, round) * 4);
      const picture = new VideoFrame(frame, { timestamp: (round + 2) * 33_333 });
      const begin = performance.now();
      const shown = element instanceof HTMLVideoElement ? nextPicture(element) : null;
      await path.show(picture);
      picture.close();
      if (element instanceof HTMLCanvasElement) look(element);
      const end = await (shown ? within(shown, STUCK_MS, Infinity) : nextFrame());
      if (round >= 0) times.push(end - begin); // the first one warms up
      if (end === Infinity) break;
    }
  } finally {
    element.remove();
    path.destroy();
  }
  return times.reduce((a, b) => a + b, 0) / times.length;
}

/** @returns {string} a key that changes with the browser */
function fingerprint() {
  return `${navigator.userAgent}|${navigator.hardwareConcurrency}`;
}

/**
 * @typedef {{track: boolean, copy: boolean, draw: boolean}} Faults
 * @typedef {{path: PathName, codecs: string[], faults: Faults}} Findings
 */

/**
 * What was found out about this browser lately: saves a session page the probing.
 * @returns {Findings | null}
 */
export function recall() {
  try {
    const stored = JSON.parse(localStorage.getItem(STORE) ?? 'null');
    const fresh = stored && Date.now() - stored.at < REMEMBER_MS && stored.key === fingerprint();
    const sound = fresh && availablePaths().includes(stored.path) && stored.codecs?.length > 0;
    return sound && stored.faults ? stored : null;
  } catch {
    return null;
  }
}

/** @param {Findings} findings */
function remember(findings) {
  try {
    const stored = { ...findings, key: fingerprint(), at: Date.now() };
    localStorage.setItem(STORE, JSON.stringify(stored));
  } catch {
    // private mode: found out anew next time
  }
}

/** A browser whose decoder failed is looked at again. */
export function forget() {
  try {
    localStorage.removeItem(STORE);
  } catch {
    // nothing kept, nothing to forget
  }
}

/**
 * Times every path on a really decoded picture and remembers the best for this browser. Takes a few
 * dozen frames of the page: for quiet moments.
 * @param {Probe} probe stays the caller's
 * @param {Faults} faults
 * @param {HTMLElement} parent where the trial elements go
 * @returns {Promise<{path: PathName, times: Record<string, number>} | null>} null = no clear answer
 */
export async function measurePaths({ frame, codecs }, faults, parent) {
  if (!frame) return null;
  const paths = availablePaths();
  /** @type {Record<string, number>} */
  const times = {};
  const measure = async () => {
    for (const name of paths) {
      if (document.visibilityState === 'hidden') return false;
      times[name] = await timePath(name, frame, parent).catch(() => Infinity);
    }
    return true;
  };
  if (!(await within(measure(), MEASURE_BUDGET_MS, false))) return null;
  const cost = (/** @type {PathName} */ name) =>
    times[name] - (name === 'track' ? TRACK_BONUS_MS : 0);
  const path = paths.reduce((a, b) => (cost(b) < cost(a) ? b : a));
  if (!Number.isFinite(times[path])) return null;
  remember({ path, codecs, faults });
  return { path, times };
}

/** For pages that have nothing to show yet: finds out unless that was done lately. */
export async function probeOnce() {
  if (recall() || document.visibilityState === 'hidden') return;
  const probe = await probeDecoder();
  if (!probe.frame) return;
  await measurePaths(probe, await blueFaults(probe.frame), document.body);
  probe.frame.close();
}
