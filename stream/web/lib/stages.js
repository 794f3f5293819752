// SPDX-License-Identifier: MIT
// Where a frame's time goes, in the words and colours of the figures over the picture and of /ops:
// the server's in blue and violet, the network's in amber, the browser's in green. In the order of
// a frame's way, so that bars stack in it.

/** @typedef {{key: string, label: string, place: string, color: string, what: string}} Stage */

/** @type {readonly Stage[]} */
export const STAGES = Object.freeze([
  {
    key: 'uplink',
    label: 'to server',
    place: 'network',
    color: '#b8792c',
    what: 'your input on its way to the server',
  },
  {
    key: 'wait',
    label: 'wait',
    place: 'server',
    color: '#64748f',
    what: 'waiting for its turn to be drawn or encoded',
  },
  {
    key: 'render',
    label: 'render',
    place: 'server',
    color: '#4d8dff',
    what: 'the GPU draws the picture',
  },
  {
    key: 'convert',
    label: 'convert',
    place: 'server',
    color: '#56c8f0',
    what: 'RGB becomes video colour (NV12)',
  },
  {
    key: 'encode',
    label: 'encode',
    place: 'server',
    color: '#a97bff',
    what: 'the encoder makes video of it',
  },
  {
    key: 'send',
    label: 'send',
    place: 'server',
    color: '#f07cc0',
    what: 'from the encoder into the network stack',
  },
  {
    key: 'network',
    label: 'network',
    place: 'network',
    color: '#ffb454',
    what: 'on the way to the browser',
  },
  {
    key: 'decode',
    label: 'decode',
    place: 'browser',
    color: '#7bd88f',
    what: 'the browser decodes it',
  },
  {
    key: 'present',
    label: 'present',
    place: 'browser',
    color: '#26b8a2',
    what: 'the browser puts it on the screen',
  },
  {
    key: 'hud',
    label: 'figures',
    place: 'browser',
    color: '#d9e36a',
    what: 'drawing these figures held the picture up',
  },
  {
    key: 'rest',
    label: 'unexplained',
    place: 'unknown',
    color: '#ff6b5e',
    what: 'what no measured stage explains',
  },
]);

/** @type {Record<string, number>} */
export const STAGE = Object.freeze(Object.fromEntries(STAGES.map((s, i) => [s.key, i])));

/** The server's stages (base/trace.h) by the one here that they are part of. */
export const GROUP_OF = Object.freeze(
  /** @type {Record<string, string>} */ ({
    deliver: 'wait',
    wait: 'wait',
    submit: 'render',
    render: 'render',
    convert: 'convert',
    queue: 'wait',
    encode: 'encode',
    ring: 'send',
    pickup: 'send',
    hand: 'send',
    accept: 'send',
    network: 'network',
    decode: 'decode',
    present: 'present',
    rest: 'rest',
  }),
);
