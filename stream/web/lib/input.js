// SPDX-License-Identifier: MIT
// What a person does on the stage → input events of the protocol. Motion is batched per DOM event,
// buttons and keys leave at once. Whatever is held is let go when the page loses sight of it.

import { INPUT_BATCH_MAX, InputKind, Mod, Touch, nowUs } from './wire.js';
import { belongsToBrowser, evdevOf, isModifier } from './keys.js';

const TOUCH_SLOTS = 10;
// A 1 kHz+ mouse delivers its moves coalesced; more than this per event carries nothing new and
// would come near the server's limit of events per second.
const MOVES_PER_EVENT = 8;
// A time of an event that is older, or to come, is none.
const LATE_MAX_MS = 1000;
const LINE_PX = 100 / 3;
// DOM `buttons` bit → DOM `button` number
const BUTTON_BITS = [
  [1, 0],
  [4, 1],
  [2, 2],
  [8, 3],
  [16, 4],
];

/**
 * @typedef {import('./wire.js').InputEventData} InputEventData
 * @typedef {{left: number, top: number, scaleX: number, scaleY: number, width: number,
 *   height: number}} PictureBox where the picture is on the page and how large it really is
 */

/** The box of a picture shown with object-fit: contain (or filled, when `exact`).
 * @param {DOMRect} rect
 * @param {number} width
 * @param {number} height
 * @param {boolean} exact
 * @returns {PictureBox}
 */
export function pictureBox(rect, width, height, exact) {
  if (!width || !height || !rect.width || !rect.height)
    return { left: rect.left, top: rect.top, scaleX: 1, scaleY: 1, width, height };
  let w = rect.width;
  let h = rect.height;
  if (!exact) {
    const fit = Math.min(rect.width / width, rect.height / height);
    w = width * fit;
    h = height * fit;
  }
  return {
    left: rect.left + (rect.width - w) / 2,
    top: rect.top + (rect.height - h) / 2,
    scaleX: width / w,
    scaleY: height / h,
    width,
    height,
  };
}

/**
 * Wheel movement in CSS pixels whatever unit the browser counts in. `deltaMode` is read first:
 * Firefox changes its unit when it is not.
 * @param {{deltaMode: number, deltaX: number, deltaY: number}} event
 * @param {number} pageHeight
 */
export function wheelPixels(event, pageHeight) {
  const mode = event.deltaMode;
  const unit = mode === 1 ? LINE_PX : mode === 2 ? pageHeight : 1;
  return { dx: event.deltaX * unit, dy: event.deltaY * unit };
}

/** @param {{getModifierState(name: string): boolean}} event */
function modsOf(event) {
  return (
    (event.getModifierState('Shift') ? Mod.SHIFT : 0) |
    (event.getModifierState('Control') ? Mod.CTRL : 0) |
    (event.getModifierState('Alt') ? Mod.ALT : 0) |
    (event.getModifierState('Meta') ? Mod.META : 0)
  );
}

export class Input {
  /**
   * @param {HTMLElement} stage
   * @param {{box: () => PictureBox, send: (events: InputEventData[]) => boolean}} host `send` says
   *   false when the link is full or closed: motion is then dropped, the rest kept for later
   */
  constructor(stage, host) {
    this.stage = stage;
    this.host = host;
    this.seq = 0;
    this.buttons = 0;
    /** @type {Set<number>} */
    this.keys = new Set();
    /** @type {Map<number, number>} pointerId → slot */
    this.touches = new Map();
    /** @type {InputEventData[]} */
    this.queue = [];
    /** @type {{x: number, y: number} | null} */
    this.last = null;
    this.ctrlDownAt = -1;
    this.whenUs = 0; // of what is handled just now
    this.abort = new AbortController();
    this.listen();
  }

  destroy() {
    this.releaseAll();
    this.abort.abort();
  }

  listen() {
    const { stage } = this;
    const { signal } = this.abort;
    const active = { signal, passive: false };
    for (const type of /** @type {const} */ (['pointermove', 'pointerdown', 'pointerup']))
      stage.addEventListener(type, (e) => this.onPointer(e), active);
    for (const type of /** @type {const} */ (['pointercancel', 'lostpointercapture']))
      stage.addEventListener(type, (e) => this.onPointerLost(e), active);
    stage.addEventListener('wheel', (e) => this.onWheel(e), active);
    // Context menu, middle-click scrolling, history buttons, text selection, image dragging.
    for (const type of [
      'contextmenu',
      'auxclick',
      'mousedown',
      'mouseup',
      'dragstart',
      'selectstart',
    ])
      stage.addEventListener(type, (e) => e.preventDefault(), active);
    window.addEventListener('keydown', (e) => this.onKey(e, true), { signal });
    window.addEventListener('keyup', (e) => this.onKey(e, false), { signal });
    window.addEventListener('blur', () => this.releaseAll(), { signal });
    window.addEventListener('pagehide', () => this.releaseAll(), { signal });
    document.addEventListener(
      'visibilitychange',
      () => document.visibilityState === 'hidden' && this.releaseAll(),
      { signal },
    );
  }

  /**
   * An input happened when the browser got it, not when its handler ran: a busy page runs late.
   * @param {Event} event
   */
  happened(event) {
    const lateMs = performance.now() - event.timeStamp;
    const sound = lateMs >= 0 && lateMs < LATE_MAX_MS;
    this.whenUs = sound ? Math.round(event.timeStamp * 1000) : nowUs();
  }

  /** @param {PointerEvent} event */
  onPointer(event) {
    event.preventDefault();
    this.happened(event);
    if (event.type === 'pointerdown') {
      this.stage.focus({ preventScroll: true });
      try {
        this.stage.setPointerCapture(event.pointerId);
      } catch {
        // the pointer is already gone
      }
    }
    if (event.pointerType === 'touch') {
      this.onTouch(event);
      return;
    }
    const box = this.host.box();
    const mods = modsOf(event);
    // A press or release carries its own position: one motion event before it puts it there.
    if (event.type === 'pointermove') this.motion(event, box, mods);
    else this.moveTo(event, box, mods);
    for (const [bit, button] of BUTTON_BITS) {
      if ((event.buttons & bit) === (this.buttons & bit)) continue;
      this.push({
        kind: InputKind.BUTTON,
        state: event.buttons & bit ? 1 : 0,
        mods,
        code: button,
        ...this.place(event, box),
      });
    }
    this.buttons = event.buttons;
    this.flush();
  }

  /**
   * @param {PointerEvent} event
   * @param {PictureBox} box
   * @param {number} mods
   */
  motion(event, box, mods) {
    const coalesced = event.getCoalescedEvents?.() ?? [];
    const moves = coalesced.length ? coalesced : [event];
    const step = Math.max(1, Math.ceil(moves.length / MOVES_PER_EVENT));
    for (
      let i = moves.length - 1 - (Math.ceil(moves.length / step) - 1) * step;
      i < moves.length;
      i += step
    )
      this.moveTo(moves[i], box, mods);
  }

  /**
   * @param {PointerEvent} event
   * @param {PictureBox} box
   * @param {number} mods
   */
  moveTo(event, box, mods) {
    this.happened(event);
    const at = this.place(event, box);
    const dx = this.last ? at.x - this.last.x : 0;
    const dy = this.last ? at.y - this.last.y : 0;
    if (this.last && dx === 0 && dy === 0) return;
    this.last = at;
    this.push({ kind: InputKind.MOTION, state: 0, mods, code: 0, ...at, dx, dy });
  }

  /**
   * @param {{clientX: number, clientY: number}} event
   * @param {PictureBox} box
   */
  place(event, box) {
    const x = (event.clientX - box.left) * box.scaleX;
    const y = (event.clientY - box.top) * box.scaleY;
    return {
      x: Math.min(Math.max(x, 0), Math.max(box.width - 1, 0)),
      y: Math.min(Math.max(y, 0), Math.max(box.height - 1, 0)),
    };
  }

  /** @param {PointerEvent} event */
  onTouch(event) {
    const box = this.host.box();
    let slot = this.touches.get(event.pointerId);
    /** @type {number} */
    let state = Touch.MOVE;
    if (event.type === 'pointerdown') {
      const used = new Set(this.touches.values());
      slot = Array.from({ length: TOUCH_SLOTS }, (_, i) => i).find((i) => !used.has(i));
      if (slot === undefined) return; // more fingers than slots
      this.touches.set(event.pointerId, slot);
      state = Touch.DOWN;
    }
    if (slot === undefined) return;
    if (event.type === 'pointerup') {
      this.touches.delete(event.pointerId);
      state = Touch.UP;
    }
    this.push({
      kind: InputKind.TOUCH,
      state,
      mods: modsOf(event),
      code: slot,
      ...this.place(event, box),
    });
    this.flush();
  }

  /** @param {PointerEvent} event */
  onPointerLost(event) {
    this.happened(event);
    const slot = this.touches.get(event.pointerId);
    if (slot !== undefined) {
      this.touches.delete(event.pointerId);
      const at = this.place(event, this.host.box());
      this.push({ kind: InputKind.TOUCH, state: Touch.CANCEL, mods: 0, code: slot, ...at });
    } else if (event.type === 'pointercancel' && this.buttons) {
      this.releaseAll();
    }
    this.flush();
  }

  /** @param {WheelEvent} event */
  onWheel(event) {
    event.preventDefault(); // ctrl+wheel would zoom the page
    this.happened(event);
    const box = this.host.box();
    const { dx, dy } = wheelPixels(event, this.stage.clientHeight);
    this.push({
      kind: InputKind.WHEEL,
      state: 0,
      mods: modsOf(event),
      code: 0,
      ...this.place(event, box),
      dx: dx * box.scaleX,
      dy: dy * box.scaleY,
    });
    this.flush();
  }

  /**
   * @param {KeyboardEvent} event
   * @param {boolean} down
   */
  onKey(event, down) {
    const target = event.target instanceof Element ? event.target : null;
    const code = evdevOf(event);
    const held = this.keys.has(code);
    // The page's own buttons and dialogs keep their keys, but never a release of ours.
    if (target?.closest('[data-ui], dialog') && !(held && !down)) return;
    if (event.defaultPrevented || !code || event.isComposing) return;
    if (belongsToBrowser(event) && !(held && !down)) return;
    event.preventDefault();
    if (down && (event.repeat || held)) return;
    if (!down && !held) return;
    this.happened(event);
    const mods = modsOf(event);
    this.fixAltGr(event, down);
    this.key(code, down, mods);
    const soft = event.code === '' || event.code === 'Unidentified';
    // Neither tells of a release: soft keyboards, and CapsLock on macOS.
    if (down && (soft || (event.code === 'CapsLock' && isMac()))) this.key(code, false, mods);
    // macOS swallows the release of keys pressed together with Command.
    if (!down && (code === 125 || code === 126))
      for (const other of [...this.keys]) if (!isModifier(other)) this.key(other, false, mods);
    this.flush();
  }

  /**
   * Windows reports AltGr as a Control that nobody pressed and AltRight in the same instant.
   * @param {KeyboardEvent} event
   * @param {boolean} down
   */
  fixAltGr(event, down) {
    if (!down) return;
    if (event.code === 'ControlLeft') this.ctrlDownAt = event.timeStamp;
    const phantom = event.code === 'AltRight' && event.getModifierState('AltGraph');
    if (phantom && this.keys.has(29) && Math.abs(event.timeStamp - this.ctrlDownAt) < 5)
      this.key(29, false, 0);
  }

  /**
   * @param {number} code
   * @param {boolean} down
   * @param {number} mods
   */
  key(code, down, mods) {
    if (down) this.keys.add(code);
    else this.keys.delete(code);
    const at = this.last ?? { x: 0, y: 0 };
    this.push({ kind: InputKind.KEY, state: down ? 1 : 0, mods, code, ...at });
  }

  releaseAll() {
    if (!this.buttons && !this.keys.size && !this.touches.size) return;
    this.buttons = 0;
    this.keys.clear();
    this.touches.clear();
    this.whenUs = nowUs();
    this.push({ kind: InputKind.RELEASE, state: 0, mods: 0, code: 0, x: 0, y: 0 });
    this.flush();
  }

  /** A new link knows of nothing that is held: start clean. */
  reset() {
    this.buttons = 0;
    this.keys.clear();
    this.touches.clear();
    this.queue = [];
  }

  /** @param {Omit<InputEventData, 'seq' | 'timeUs' | 'dx' | 'dy'> & {dx?: number, dy?: number}} data */
  push(data) {
    this.queue.push({ dx: 0, dy: 0, ...data, seq: ++this.seq, timeUs: this.whenUs });
  }

  flush() {
    while (this.queue.length) {
      const batch = this.queue.slice(0, INPUT_BATCH_MAX);
      if (!this.host.send(batch)) {
        // Bounded: motion is worth nothing later, the rest only a little.
        this.queue = this.queue.filter((e) => e.kind !== InputKind.MOTION).slice(-INPUT_BATCH_MAX);
        return;
      }
      this.queue.splice(0, batch.length);
    }
  }
}

function isMac() {
  return /Mac|iPhone|iPad/.test(navigator.platform);
}
