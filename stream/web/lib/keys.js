// SPDX-License-Identifier: MIT
// Physical keys: KeyboardEvent.code → Linux evdev key codes (input-event-codes.h numbers).

/** @type {Readonly<Record<string, number>>} */
export const EVDEV = Object.freeze({
  Escape: 1,
  Digit1: 2,
  Digit2: 3,
  Digit3: 4,
  Digit4: 5,
  Digit5: 6,
  Digit6: 7,
  Digit7: 8,
  Digit8: 9,
  Digit9: 10,
  Digit0: 11,
  Minus: 12,
  Equal: 13,
  Backspace: 14,
  Tab: 15,
  KeyQ: 16,
  KeyW: 17,
  KeyE: 18,
  KeyR: 19,
  KeyT: 20,
  KeyY: 21,
  KeyU: 22,
  KeyI: 23,
  KeyO: 24,
  KeyP: 25,
  BracketLeft: 26,
  BracketRight: 27,
  Enter: 28,
  ControlLeft: 29,
  KeyA: 30,
  KeyS: 31,
  KeyD: 32,
  KeyF: 33,
  KeyG: 34,
  KeyH: 35,
  KeyJ: 36,
  KeyK: 37,
  KeyL: 38,
  Semicolon: 39,
  Quote: 40,
  Backquote: 41,
  ShiftLeft: 42,
  Backslash: 43,
  KeyZ: 44,
  KeyX: 45,
  KeyC: 46,
  KeyV: 47,
  KeyB: 48,
  KeyN: 49,
  KeyM: 50,
  Comma: 51,
  Period: 52,
  Slash: 53,
  ShiftRight: 54,
  NumpadMultiply: 55,
  AltLeft: 56,
  Space: 57,
  CapsLock: 58,
  F1: 59,
  F2: 60,
  F3: 61,
  F4: 62,
  F5: 63,
  F6: 64,
  F7: 65,
  F8: 66,
  F9: 67,
  F10: 68,
  NumLock: 69,
  ScrollLock: 70,
  Numpad7: 71,
  Numpad8: 72,
  Numpad9: 73,
  NumpadSubtract: 74,
  Numpad4: 75,
  Numpad5: 76,
  Numpad6: 77,
  NumpadAdd: 78,
  Numpad1: 79,
  Numpad2: 80,
  Numpad3: 81,
  Numpad0: 82,
  NumpadDecimal: 83,
  Lang5: 85,
  IntlBackslash: 86,
  F11: 87,
  F12: 88,
  IntlRo: 89,
  Lang3: 90,
  Lang4: 91,
  Convert: 92,
  KanaMode: 93,
  NonConvert: 94,
  NumpadEnter: 96,
  ControlRight: 97,
  NumpadDivide: 98,
  PrintScreen: 99,
  AltRight: 100,
  Home: 102,
  ArrowUp: 103,
  PageUp: 104,
  ArrowLeft: 105,
  ArrowRight: 106,
  End: 107,
  ArrowDown: 108,
  PageDown: 109,
  Insert: 110,
  Delete: 111,
  AudioVolumeMute: 113,
  AudioVolumeDown: 114,
  AudioVolumeUp: 115,
  NumpadEqual: 117,
  Pause: 119,
  NumpadComma: 121,
  Lang1: 122,
  Lang2: 123,
  IntlYen: 124,
  MetaLeft: 125,
  OSLeft: 125,
  MetaRight: 126,
  OSRight: 126,
  ContextMenu: 127,
  MediaTrackNext: 163,
  MediaPlayPause: 164,
  MediaTrackPrevious: 165,
  MediaStop: 166,
  F13: 183,
  F14: 184,
  F15: 185,
  F16: 186,
  F17: 187,
  F18: 188,
  F19: 189,
  F20: 190,
  F21: 191,
  F22: 192,
  F23: 193,
  F24: 194,
});

/** Soft keyboards give no code: the key's own name stands in where it names one key. */
const NAMED = new Set(['Enter', 'Backspace', 'Tab', 'Escape', 'Delete', 'Home', 'End', 'PageUp']);

/**
 * @param {{code: string, key: string}} event
 * @returns {number} 0 = nothing we could send
 */
export function evdevOf({ code, key }) {
  const known = EVDEV[code];
  if (known !== undefined) return known;
  if (code !== '' && code !== 'Unidentified') return 0;
  if (NAMED.has(key) || key.startsWith('Arrow') || key === 'PageDown') return EVDEV[key] ?? 0;
  if (key === ' ') return EVDEV.Space;
  if (/^[a-z]$/i.test(key)) return EVDEV[`Key${key.toUpperCase()}`];
  if (/^[0-9]$/.test(key)) return EVDEV[`Digit${key}`];
  return 0;
}

const MODIFIERS = new Set([29, 42, 54, 56, 97, 100, 125, 126]);

/** @param {number} evdev */
export function isModifier(evdev) {
  return MODIFIERS.has(evdev);
}

/**
 * Keys that stay with the browser: reload, tabs, zoom, developer tools, full screen, focus.
 * @param {KeyboardEvent} event
 */
export function belongsToBrowser(event) {
  const { code } = event;
  if (code === 'F5' || code === 'F11' || code === 'F12' || code === 'Tab') return true;
  if (event.getModifierState('AltGraph') || !(event.ctrlKey || event.metaKey)) return false;
  if (event.shiftKey && /^Key[IJCNTPRW]$/.test(code)) return true;
  return /^(Key[RTWNL]|Digit0|Minus|Equal|Numpad(0|Add|Subtract)|PageUp|PageDown)$/.test(code);
}
