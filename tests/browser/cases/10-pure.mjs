// SPDX-License-Identifier: MIT
// The pure parts of the page's library, without a browser.

import { LOCAL, RECONNECT, backoffDelay } from '../../../stream/web/lib/backoff.js';
import { Clock } from '../../../stream/web/lib/clock.js';
import { clampSize } from '../../../stream/web/lib/viewport.js';
import { evdevOf } from '../../../stream/web/lib/keys.js';
import { pictureBox, wheelPixels } from '../../../stream/web/lib/input.js';
import { Stats } from '../../../stream/web/lib/stats.js';
import { describe } from '../../../stream/web/lib/status.js';
import {
  WireError,
  decode,
  encodeAcks,
  encodeInput,
  encodePing,
} from '../../../stream/web/lib/wire.js';
import { assert } from '../lib/check.mjs';

const bytes = (hex) =>
  Uint8Array.from(hex.replace(/\s+/g, '').match(/../g), (h) => parseInt(h, 16));
const hexOf = (buffer) => Buffer.from(buffer).toString('hex');
const squeeze = (hex) => hex.replace(/\s+/g, '');

// Written by hand from the tables of docs/protocol.md.
const VIDEO_KEY = `
  01 01 6000 05000000
  0700000000000000 2a00000000000000
  00ca9a3b00000000 80d19a3b00000000 00e1f50500000080
  5605 0003 5605 0003
  34080000 68100000
  617663312e343263303166 ${'00'.repeat(21)}
  00 00 00 01 65`;

// The same from a server that tells the time of the conversion.
const VIDEO_TOLD = VIDEO_KEY.replace('6000', '6800').replace(
  '00 00 00 01 65',
  '2c010000 00000000 00 00 00 01 65',
);

const situation = (change) => ({
  secure: true,
  webcodecs: true,
  online: true,
  host: 'host:8443',
  name: 'Duck.glb',
  link: { phase: 'open', attempt: 0, retryAtMs: 0, silent: false, code: '', message: '' },
  server: { state: 'running', code: '', message: '' },
  progress: { percent: -1, what: '' },
  decoderTrouble: '',
  pictures: 1,
  ...change,
});
const link = (change) => ({ link: { ...situation({}).link, ...change } });

export default {
  'wire: a key frame is read field by field': async () => {
    const m = decode(bytes(VIDEO_KEY).buffer);
    assert.equal(m.type, 1);
    assert.deepEqual([m.key, m.animating, m.frameId, m.inputId], [true, false, 7, 42]);
    assert.deepEqual([m.changeNs, m.begunNs], [1_000_000_000, 1_000_001_920]);
    assert.equal(m.encodedNs, 2 ** 63 + 100_000_000);
    assert.deepEqual([m.width, m.height, m.codedWidth, m.codedHeight], [1366, 768, 1366, 768]);
    assert.deepEqual([m.renderUs, m.encodeUs, m.codec], [2100, 4200, 'avc1.42c01f']);
    assert.deepEqual([...m.data], [0, 0, 0, 1, 0x65]);
    assert.equal(m.convertUs, 0);
    const told = decode(bytes(VIDEO_TOLD).buffer);
    assert.deepEqual([told.convertUs, told.codec, [...told.data]], [300, m.codec, [...m.data]]);
  },
  'wire: beacon, stamp, pong and input stamp are read': async () => {
    const beacon = decode(bytes('30 03 1800 00000000 e803000000000000 0900000000000000').buffer);
    assert.deepEqual(beacon, {
      type: 0x30,
      current: true,
      animating: true,
      serverNs: 1000,
      newestFrame: 9,
    });
    const tail = '0100000000000000 0200000000000000 0300000000000000';
    const newest = { frameId: 1, handedNs: 2, acceptedNs: 3 };
    const earlier = '0400000000000000 0500000000000000 0600000000000000';
    assert.deepEqual(decode(bytes(`31 00 2000 00000000 ${tail}`).buffer), {
      type: 0x31,
      stamps: [newest],
    });
    assert.deepEqual(decode(bytes(`31 00 2000 18000000 ${tail} ${earlier}`).buffer), {
      type: 0x31,
      stamps: [newest, { frameId: 4, handedNs: 5, acceptedNs: 6 }],
    });
    assert.deepEqual(decode(bytes(`32 00 2000 00000000 ${tail}`).buffer), {
      type: 0x32,
      clientUs: 1,
      receivedNs: 2,
      sentNs: 3,
    });
    assert.deepEqual(decode(bytes(`33 00 2000 00000000 ${tail}`).buffer), {
      type: 0x33,
      seq: 1,
      inputId: 2,
      receivedNs: 3,
    });
  },
  'wire: unknown types and longer headers are skipped, bad lengths are not': async () => {
    assert.deepEqual(decode(bytes('7f 00 0800 02000000 aabb').buffer), { type: -1, unknown: 0x7f });
    const longer = decode(
      bytes('30 01 2000 00000000 0100000000000000 0200000000000000 ffffffffffffffff').buffer,
    );
    assert.equal(longer.newestFrame, 2);
    const key = bytes(VIDEO_KEY);
    for (let cut = 0; cut < key.length; cut++)
      assert.throws(() => decode(key.slice(0, cut).buffer), WireError, `cut at ${cut}`);
    for (const bad of ['30 00 0700 01000000 00', '30 00 1000 00000000 0000000000000000', '30'])
      assert.throws(() => decode(bytes(bad).buffer), WireError, bad);
    const noSize = bytes(VIDEO_KEY);
    noSize.set([0, 0], 48);
    assert.throws(() => decode(noSize.buffer), WireError);
  },
  'wire: no bytes make the reader do anything but refuse': async () => {
    let seed = 1;
    const random = () => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) / 2 ** 32;
    for (let i = 0; i < 20_000; i++) {
      const data = bytes(VIDEO_KEY);
      for (let n = 0; n < 4; n++) data[Math.floor(random() * data.length)] = random() * 256;
      try {
        decode(data.slice(0, Math.floor(random() * (data.length + 1))).buffer);
      } catch (error) {
        assert.ok(error instanceof WireError, String(error));
      }
    }
  },
  'wire: input, acknowledgements and pings are written as the table says': async () => {
    const event = { kind: 2, state: 1, mods: 5, code: 2, x: 1.5, y: -2, dx: 0.25, dy: 4 };
    assert.equal(
      hexOf(encodeInput([{ ...event, seq: 258, timeUs: 2 ** 33 + 1 }])),
      squeeze(`20 00 1000 28000000 0100 0000 00000000
        02 01 05 00 0200 0000 0000c03f 000000c0 0000803e 00008040 0201000000000000
        0100000002000000`),
    );
    assert.equal(
      hexOf(encodeAcks([{ frameId: 3, what: 2, timeUs: 9 }])),
      squeeze(`21 00 1000 18000000 0100 0000 00000000
        0300000000000000 02 00000000000000 0900000000000000`),
    );
    assert.equal(hexOf(encodePing(77)), squeeze('22 00 1000 00000000 4d00000000000000'));
    assert.equal(
      hexOf(encodePing(77, { offsetNs: -2.4, errorUs: 850.2 })),
      squeeze('22 00 2000 00000000 4d00000000000000 feffffffffffffff 53030000 00000000'),
    );
    assert.throws(() => encodeInput([]), RangeError);
    assert.throws(() => encodeAcks(Array(65).fill({ frameId: 1, what: 1, timeUs: 1 })), RangeError);
  },
  'back-off: jitter from the first try on and after the cap': async () => {
    for (const shape of [RECONNECT, LOCAL]) {
      assert.equal(
        backoffDelay(0, shape, () => 0),
        0,
      );
      assert.equal(
        backoffDelay(0, shape, () => 0.5),
        shape.baseMs / 2,
      );
      assert.equal(
        backoffDelay(100, shape, () => 0.5),
        shape.capMs / 2,
      );
      for (let n = 0; n < 40; n++) assert.ok(backoffDelay(n, shape, () => 0.999999) < shape.capMs);
    }
  },
  'back-off: 300 pages do not come back in step': async () => {
    let seed = 7;
    const random = () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;
    // The server is away for 1 s, then 20 s; every try until then fails at once.
    for (const awayMs of [0, 1000, 20_000]) {
      const arrivals = Array.from({ length: 300 }, () => {
        let at = 0;
        for (let attempt = 0; ; attempt++) {
          at += backoffDelay(attempt, RECONNECT, random);
          if (at >= awayMs) return at;
        }
      });
      const bins = new Map();
      for (const at of arrivals) {
        const bin = Math.floor(at / 100);
        bins.set(bin, (bins.get(bin) ?? 0) + 1);
      }
      assert.ok(Math.max(...bins.values()) < 30, `${Math.max(...bins.values())} within 100 ms`);
    }
  },
  'clock: the smallest round trip gives the offset': async () => {
    const clock = new Clock();
    const at = (sentMs, there, back) =>
      clock.add({
        sentMs,
        receivedNs: (sentMs + there + 5000) * 1e6,
        repliedNs: (sentMs + there + 5001) * 1e6,
        nowMs: sentMs + there + 1 + back,
      });
    at(100, 40, 2);
    at(200, 1, 1);
    at(300, 2, 60);
    assert.equal(Math.round(clock.offsetMs), 5000);
    assert.ok(Math.abs(clock.minRttMs - 2) < 1e-6);
    assert.ok(Math.abs(clock.toLocalMs(5250 * 1e6) - 250) < 1e-6);
    assert.ok(Math.abs((clock.estimate(363)?.errorUs ?? 0) - 1116.0) < 0.5); // 160 ms of drift
    clock.add({ sentMs: 400, receivedNs: 1, repliedNs: 0, nowMs: 401 });
    clock.add({ sentMs: 400, receivedNs: NaN, repliedNs: 0, nowMs: 401 });
    assert.equal(Math.round(clock.offsetMs), 5000);
  },
  'clock: a drifting, asymmetric way stays within the bound it states': async () => {
    let seed = 3;
    const random = () => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) / 2 ** 32;
    for (const ppm of [-90, 90]) {
      const clock = new Clock();
      const server = (ms) => ms * (1 + ppm * 1e-6) + 70_000; // what its clock says
      for (let t = 1000; t < 300_000; t += 2000) {
        const there = 5 + random() * 10;
        const back = 30 + there + random() * 10; // 30 ms longer than there
        clock.add({
          sentMs: t,
          receivedNs: server(t + there) * 1e6,
          repliedNs: server(t + there) * 1e6,
          nowMs: t + there + back,
        });
        const now = t + 1900;
        const { offsetNs = 0, errorUs = 0 } = clock.estimate(now) ?? {};
        const wrongMs = Math.abs(offsetNs / 1e6 - (server(now) - now));
        assert.ok(wrongMs <= errorUs / 1000, `${wrongMs} ms, said ${errorUs} us`);
        assert.ok(errorUs < 32_000, String(errorUs));
      }
    }
    assert.equal(new Clock().estimate(5), undefined);
  },
  'age: none while current, counts from the change, from the last beacon when silent': async () => {
    const clock = new Clock();
    clock.add({ sentMs: 0, receivedNs: 0, repliedNs: 0, nowMs: 0 });
    const stats = new Stats(clock);
    const frame = (frameId, begunMs, changeMs, animating = false) => ({
      frameId,
      inputId: 0,
      begunNs: begunMs * 1e6,
      changeNs: changeMs * 1e6,
      animating,
      codec: '',
    });
    const beacon = (newestFrame, current, serverMs, animating = false) =>
      stats.onBeacon(
        { type: 0x30, newestFrame, current, animating, serverNs: serverMs * 1e6 },
        serverMs,
      );
    assert.equal(stats.age(10), -1);
    stats.onReceived(frame(1, 100, 90), 10, 110);
    stats.onPresented(frame(1, 100, 90), 112);
    beacon(1, true, 120);
    assert.equal(stats.age(1000), 0);
    assert.equal(stats.age(120 + 1600), 1600);
    beacon(2, false, 2000);
    stats.onReceived(frame(2, 1995, 1990), 10, 2010);
    assert.equal(stats.age(2050), 60);
    stats.onPresented(frame(2, 1995, 1990), 2055);
    assert.equal(stats.age(2060), 60);
    beacon(2, true, 2100);
    assert.equal(stats.age(2110), 0);
    stats.onPresented(frame(3, 2100, 2099, true), 2110);
    beacon(3, true, 2110, true);
    assert.equal(stats.age(2125), 25);
  },
  'viewport: sizes are clamped to what the server takes, shape kept': async () => {
    assert.deepEqual(clampSize(1007, 601), { width: 1007, height: 601 });
    assert.deepEqual(clampSize(1, 1), { width: 16, height: 16 });
    assert.deepEqual(clampSize(7680, 4320), { width: 3840, height: 2160 });
    assert.deepEqual(clampSize(3839, 1080), { width: 3839, height: 1080 });
    assert.deepEqual(clampSize(2160, 3840), { width: 1215, height: 2160 });
  },
  'input: points of a scaled, letterboxed picture land where they are seen': async () => {
    const rect = { left: 10, top: 20, width: 1000, height: 500 };
    const box = pictureBox(rect, 500, 500, false);
    assert.deepEqual([box.left, box.top, box.scaleX, box.scaleY], [260, 20, 1, 1]);
    const exact = pictureBox(rect, 1500, 751, true);
    assert.deepEqual([exact.left, exact.scaleX, exact.scaleY], [10, 1.5, 1.502]);
    assert.equal(pictureBox(rect, 0, 0, false).scaleX, 1);
  },
  'input: a wheel notch is the same distance in every unit': async () => {
    const notch = (deltaMode, deltaY) => wheelPixels({ deltaMode, deltaX: 0, deltaY }, 720).dy;
    assert.ok(Math.abs(notch(1, 3) - 100) < 1e-9);
    assert.equal(notch(0, -120), -120);
    assert.equal(notch(2, 1), 720);
  },
  'input: keys go by where they are, soft keyboards by name': async () => {
    const code = (c, key = '') => evdevOf({ code: c, key });
    assert.deepEqual(
      [code('KeyA'), code('KeyQ', 'a'), code('IntlBackslash', '<'), code('MetaLeft')],
      [30, 16, 86, 125],
    );
    assert.deepEqual(
      [code('', 'e'), code('Unidentified', 'Enter'), code('', '7'), code('', 'ArrowUp')],
      [18, 28, 8, 103],
    );
    assert.deepEqual([code('BrightnessUp', 'e'), code('', 'é'), code('', 'Process')], [0, 0, 0]);
  },
  'words: every trouble is named, and says what to do': async () => {
    const cases = [
      [{ secure: false }, /https:\/\/host:8443/, 'veil'],
      [{ secure: false, host: 'h' }, /https:\/\/h,.*ssh -L 8080:localhost:80 h”/, 'veil'],
      [{ webcodecs: false }, /WebCodecs/, 'veil'],
      [{ decoderTrouble: 'no picture' }, /H\.264/, 'veil'],
      [{ ...link({ phase: 'connecting' }), pictures: 0 }, /Connecting/, 'veil'],
      [link({ phase: 'waiting', attempt: 3 }), /Reconnecting.*Attempt 3/, 'banner'],
      [{ ...link({ phase: 'waiting' }), online: false }, /offline/, 'banner'],
      [link({ silent: true }), /No word/, 'banner'],
      [link({ phase: 'ended', code: 'unauthorized' }), /protected/, 'veil'],
      [link({ phase: 'ended', code: 'no_such_session' }), /over/, 'veil'],
      [link({ phase: 'ended', code: 'unsupported_version' }), /Reload/i, 'veil'],
      [
        link({ phase: 'ended', code: 'closed', message: 'it was ended' }),
        /^This session was closed Open another one from the start page\.$/,
        'veil',
      ],
      [
        link({ phase: 'ended', code: 'closed', message: 'the server is shutting down' }),
        /^The server is shutting down When it runs again/,
        'veil',
      ],
      [{ server: { state: 'running', code: 'slow', message: '' } }, /renderer…/, 'banner'],
      [
        { server: { state: 'failed', code: 'format', message: 'no mesh' } },
        /Duck\.glb can’t be shown No mesh\./,
        'veil',
      ],
      [{ server: { state: 'restarting', code: '', message: '' } }, /restarting/, 'banner'],
      [
        { server: { state: 'failed', code: 'x', message: 'the file is broken' } },
        /The file is broken\./,
        'veil',
      ],
      [{ server: { state: 'starting', code: '', message: '' }, pictures: 0 }, /Starting/, 'veil'],
    ];
    for (const [change, pattern, level] of cases) {
      const status = describe(situation(change));
      assert.match(`${status.title} ${status.text}`, pattern);
      assert.equal(status.level, level);
    }
    assert.equal(describe(situation({})).level, 'ok');
  },
};
