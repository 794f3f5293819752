// SPDX-License-Identifier: MIT
// The binary half of docs/protocol.md: pure encode and decode, no I/O, no state.
// A message whose lengths do not fit is a WireError; the caller closes the connection.

export const VERSION = 1;
export const SUBPROTOCOL = 'framewire.v1';

export const Type = Object.freeze({
  VIDEO: 0x01,
  INPUT: 0x20,
  ACK: 0x21,
  PING: 0x22,
  BEACON: 0x30,
  STAMP: 0x31,
  PONG: 0x32,
  INPUT_STAMP: 0x33,
});

export const InputKind = Object.freeze({
  MOTION: 1,
  BUTTON: 2,
  WHEEL: 3,
  KEY: 4,
  TOUCH: 5,
  RELEASE: 6,
});

export const Touch = Object.freeze({ UP: 0, DOWN: 1, MOVE: 2, CANCEL: 3 });
export const Mod = Object.freeze({ SHIFT: 1, CTRL: 2, ALT: 4, META: 8 });
export const Ack = Object.freeze({ RECEIVED: 1, PRESENTED: 2, DROPPED: 3, DECODED: 4 });

export const INPUT_BATCH_MAX = 64;
export const ACK_BATCH_MAX = 64;

const HEADER = 8;
const BATCH_HEADER = 16;
const PING_HEADER = 16;
const PING_ESTIMATE_HEADER = 32;
const INPUT_SIZE = 40;
const ACK_SIZE = 24;
const STAMP_SIZE = 24;
const VIDEO_HEADER = 64;
const VIDEO_KEY_HEADER = 96;
const TWO32 = 4294967296;

export class WireError extends Error {}

/**
 * @typedef {{kind: number, state: number, mods: number, code: number, x: number, y: number,
 *   dx: number, dy: number, seq: number, timeUs: number}} InputEventData
 * @typedef {{frameId: number, what: number, timeUs: number}} AckData
 * @typedef {{type: 0x01, key: boolean, animating: boolean, frameId: number, inputId: number,
 *   changeNs: number, begunNs: number, encodedNs: number, width: number, height: number,
 *   codedWidth: number, codedHeight: number, renderUs: number, encodeUs: number, convertUs: number,
 *   codec: string, data: Uint8Array}} VideoMessage
 * @typedef {{type: 0x30, current: boolean, animating: boolean, serverNs: number,
 *   newestFrame: number}} BeaconMessage
 * @typedef {{frameId: number, handedNs: number, acceptedNs: number}} Stamp
 * @typedef {{type: 0x31, stamps: Stamp[]}} StampMessage newest first
 * @typedef {{type: 0x32, clientUs: number, receivedNs: number, sentNs: number}} PongMessage
 * @typedef {{type: 0x33, seq: number, inputId: number, receivedNs: number}} InputStampMessage
 * @typedef {{type: -1, unknown: number}} UnknownMessage
 * @typedef {VideoMessage | BeaconMessage | StampMessage | PongMessage | InputStampMessage |
 *   UnknownMessage} Message
 */

/**
 * A u64 as a number: exact up to 2^53, which is 104 days of nanoseconds and rounds by 1-2 ns after.
 * @param {DataView} view
 * @param {number} at
 */
function readU64(view, at) {
  return view.getUint32(at + 4, true) * TWO32 + view.getUint32(at, true);
}

/**
 * @param {DataView} view
 * @param {number} at
 * @param {number} value
 */
function writeU64(view, at, value) {
  const whole = value > 0 ? Math.floor(value) : 0;
  view.setUint32(at, whole % TWO32, true);
  view.setUint32(at + 4, Math.floor(whole / TWO32), true);
}

/**
 * Decodes one message of the server. Types this version does not know come back as `type: -1`.
 * @param {ArrayBuffer} buffer
 * @returns {Message}
 */
export function decode(buffer) {
  if (buffer.byteLength < HEADER) throw new WireError('shorter than a header');
  const view = new DataView(buffer);
  const type = view.getUint8(0);
  const flags = view.getUint8(1);
  const headerLength = view.getUint16(2, true);
  const payloadLength = view.getUint32(4, true);
  if (headerLength < HEADER || headerLength + payloadLength !== buffer.byteLength)
    throw new WireError('lengths do not fit');
  /** @param {number} least */
  const need = (least) => {
    if (headerLength < least) throw new WireError(`header of type ${type} is too short`);
  };
  switch (type) {
    case Type.VIDEO:
      need(flags & 1 ? VIDEO_KEY_HEADER : VIDEO_HEADER);
      return decodeVideo(view, flags, headerLength, payloadLength);
    case Type.BEACON:
      need(24);
      return {
        type: 0x30,
        current: (flags & 1) !== 0,
        animating: (flags & 2) !== 0,
        serverNs: readU64(view, 8),
        newestFrame: readU64(view, 16),
      };
    case Type.STAMP:
      need(32);
      return { type: 0x31, stamps: readStamps(view, headerLength, payloadLength) };
    case Type.PONG:
      need(32);
      return {
        type: 0x32,
        clientUs: readU64(view, 8),
        receivedNs: readU64(view, 16),
        sentNs: readU64(view, 24),
      };
    case Type.INPUT_STAMP:
      need(32);
      return {
        type: 0x33,
        seq: readU64(view, 8),
        inputId: readU64(view, 16),
        receivedNs: readU64(view, 24),
      };
    default:
      return { type: -1, unknown: type };
  }
}

/**
 * The newest stands in the header, those before it in the payload.
 * @param {DataView} view
 * @param {number} headerLength
 * @param {number} payloadLength
 * @returns {Stamp[]}
 */
function readStamps(view, headerLength, payloadLength) {
  const places = [8];
  const end = headerLength + payloadLength;
  for (let at = headerLength; at + STAMP_SIZE <= end; at += STAMP_SIZE) places.push(at);
  return places.map((at) => ({
    frameId: readU64(view, at),
    handedNs: readU64(view, at + 8),
    acceptedNs: readU64(view, at + 16),
  }));
}

/**
 * @param {DataView} view
 * @param {number} flags
 * @param {number} headerLength
 * @param {number} payloadLength
 * @returns {VideoMessage}
 */
function decodeVideo(view, flags, headerLength, payloadLength) {
  const key = (flags & 1) !== 0;
  const more = key ? VIDEO_KEY_HEADER : VIDEO_HEADER; // what older servers do not tell
  const message = {
    type: /** @type {0x01} */ (0x01),
    key,
    animating: (flags & 2) !== 0,
    frameId: readU64(view, 8),
    inputId: readU64(view, 16),
    changeNs: readU64(view, 24),
    begunNs: readU64(view, 32),
    encodedNs: readU64(view, 40),
    width: view.getUint16(48, true),
    height: view.getUint16(50, true),
    codedWidth: view.getUint16(52, true),
    codedHeight: view.getUint16(54, true),
    renderUs: view.getUint32(56, true),
    encodeUs: view.getUint32(60, true),
    convertUs: headerLength >= more + 4 ? view.getUint32(more, true) : 0,
    codec: key ? readText(view, 64, 32) : '',
    data: new Uint8Array(view.buffer, headerLength, payloadLength),
  };
  if (!message.width || !message.height || !payloadLength) throw new WireError('empty picture');
  if (message.codedWidth < message.width || message.codedHeight < message.height)
    throw new WireError('picture larger than what was coded');
  return message;
}

/**
 * @param {DataView} view
 * @param {number} at
 * @param {number} length
 */
function readText(view, at, length) {
  let text = '';
  for (let i = 0; i < length; i++) {
    const code = view.getUint8(at + i);
    if (code === 0) break;
    if (code < 0x20 || code > 0x7e) throw new WireError('codec string is not ASCII');
    text += String.fromCharCode(code);
  }
  return text;
}

/**
 * @param {number} type
 * @param {number} headerLength
 * @param {number} payloadLength
 */
function start(type, headerLength, payloadLength) {
  const view = new DataView(new ArrayBuffer(headerLength + payloadLength));
  view.setUint8(0, type);
  view.setUint16(2, headerLength, true);
  view.setUint32(4, payloadLength, true);
  return view;
}

/**
 * @param {InputEventData[]} events 1 to INPUT_BATCH_MAX
 * @returns {ArrayBuffer}
 */
export function encodeInput(events) {
  if (events.length < 1 || events.length > INPUT_BATCH_MAX) throw new RangeError('batch size');
  const view = start(Type.INPUT, BATCH_HEADER, events.length * INPUT_SIZE);
  view.setUint16(8, events.length, true);
  events.forEach((event, i) => {
    const at = BATCH_HEADER + i * INPUT_SIZE;
    view.setUint8(at, event.kind);
    view.setUint8(at + 1, event.state);
    view.setUint8(at + 2, event.mods);
    view.setUint16(at + 4, event.code, true);
    view.setFloat32(at + 8, event.x, true);
    view.setFloat32(at + 12, event.y, true);
    view.setFloat32(at + 16, event.dx, true);
    view.setFloat32(at + 20, event.dy, true);
    writeU64(view, at + 24, event.seq);
    writeU64(view, at + 32, event.timeUs);
  });
  return /** @type {ArrayBuffer} */ (view.buffer);
}

/**
 * @param {AckData[]} acks 1 to ACK_BATCH_MAX
 * @returns {ArrayBuffer}
 */
export function encodeAcks(acks) {
  if (acks.length < 1 || acks.length > ACK_BATCH_MAX) throw new RangeError('batch size');
  const view = start(Type.ACK, BATCH_HEADER, acks.length * ACK_SIZE);
  view.setUint16(8, acks.length, true);
  acks.forEach((ack, i) => {
    const at = BATCH_HEADER + i * ACK_SIZE;
    writeU64(view, at, ack.frameId);
    view.setUint8(at + 8, ack.what);
    writeU64(view, at + 16, ack.timeUs);
  });
  return /** @type {ArrayBuffer} */ (view.buffer);
}

/**
 * @param {number} timeUs
 * @param {{offsetNs: number, errorUs: number}} [estimate] of this page's clock: server − client
 * @returns {ArrayBuffer}
 */
export function encodePing(timeUs, estimate) {
  const view = start(Type.PING, estimate ? PING_ESTIMATE_HEADER : PING_HEADER, 0);
  writeU64(view, 8, timeUs);
  if (estimate) {
    view.setBigInt64(16, BigInt(Math.round(estimate.offsetNs)), true);
    view.setUint32(24, Math.min(Math.ceil(estimate.errorUs), TWO32 - 1), true);
  }
  return /** @type {ArrayBuffer} */ (view.buffer);
}

/** Microseconds of this page's clock, as the protocol counts them. */
export function nowUs() {
  return Math.round(performance.now() * 1000);
}
