// SPDX-License-Identifier: MIT
// What the figures are made of, without a browser: histogram, stages of a frame, age over time.

import { Clock } from '../../../stream/web/lib/clock.js';
import { FRAMES_KEPT, FrameTrace } from '../../../stream/web/lib/frame-trace.js';
import { Histogram, Lately } from '../../../stream/web/lib/histogram.js';
import { sentence, summarize } from '../../../stream/web/lib/hud.js';
import { GROUP_OF, STAGE, STAGES } from '../../../stream/web/lib/stages.js';
import { Stats } from '../../../stream/web/lib/stats.js';
import { assert } from '../lib/check.mjs';

function randomOf(seed) {
  let state = seed;
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
}

/** The server's clock is 5 s ahead. */
const clock = { known: true, toLocalMs: (ns) => ns / 1e6 - 5000 };
const at = (ms) => (ms + 5000) * 1e6; // this page's ms as a stamp of the server

const HEAD = { inputId: 0, renderUs: 6000, convertUs: 1000, encodeUs: 4000 };
/** Begun at `ms`; drawn in 6 ms, 1 ms in the queue, encoded in 4 ms. */
const head = (frameId, ms, more = {}) => ({
  ...HEAD,
  frameId,
  begunNs: at(ms),
  encodedNs: at(ms + 11),
  ...more,
});
const stagesOf = (trace, back = 0) =>
  Object.fromEntries(
    STAGES.map(({ key }, i) => [key, trace.stageMs[trace.row(back) * STAGES.length + i]]),
  );
const near = (got, want) => assert.ok(Math.abs(got - want) < 0.01, `${got} instead of ${want}`);

export default {
  'histogram: within 2 % of exact percentiles, whatever the shape': async () => {
    const random = randomOf(11);
    const shapes = {
      uniform: () => random() * 100,
      exponential: () => -Math.log(1 - random()) * 20,
      wide: () => 10 ** (random() * 6 - 2),
      two: () => (random() < 0.9 ? 5 + random() : 400 + random() * 100),
    };
    for (const [name, draw] of Object.entries(shapes)) {
      const histogram = new Histogram();
      const values = Array.from({ length: 20_000 }, draw);
      values.forEach((v) => histogram.add(v));
      values.sort((a, b) => a - b);
      for (const q of [0.01, 0.5, 0.9, 0.95, 0.99, 0.999, 1]) {
        const exact = values[Math.max(0, Math.ceil(q * values.length) - 1)];
        const got = histogram.quantile(q);
        assert.ok(Math.abs(got - exact) <= 0.02 * exact + 0.0011, `${name} ${q}: ${got}, ${exact}`);
      }
      near(histogram.meanMs, values.reduce((a, b) => a + b) / values.length);
      assert.equal(histogram.quantile(1), histogram.maxMs);
    }
    assert.equal(new Histogram().quantile(0.5), -1);
  },

  'histogram: weights count, odd values do no harm, old slices go': async () => {
    const histogram = new Histogram();
    histogram.add(0, 990);
    histogram.add(80, 10);
    assert.equal(histogram.quantile(0.5), 0);
    near(histogram.quantile(0.995), 80);
    for (const odd of [-5, 1e9]) histogram.add(odd);
    assert.equal(histogram.maxMs, 1e9);
    const lately = new Lately(10, 10);
    lately.add(100, 7);
    lately.add(9000, 9);
    assert.equal(lately.read(9900).count, 2);
    assert.equal(lately.read(10_100).count, 1);
    assert.equal(lately.read(500_000).count, 0);
  },

  'stages: they tile the total, each where it belongs': async () => {
    const trace = new FrameTrace(clock);
    trace.onInput({ id: 4, sentMs: 95, receivedNs: at(98), count: 1 });
    trace.onReceived(head(1, 100, { inputId: 4 }), 120);
    trace.onDecoded(1, 123);
    trace.onStamps([{ frameId: 1, handedNs: at(112), acceptedNs: at(113) }]);
    assert.equal(trace.onPresented(1, 130).length, 1);
    assert.equal(trace.ended, 1);
    assert.deepEqual(
      Object.entries(stagesOf(trace)).map(([key, ms]) => [key, Math.round(ms * 100) / 100]),
      Object.entries({
        uplink: 3,
        wait: 3, // 2 before the drawing, 1 before the encoder
        render: 5,
        convert: 1,
        encode: 4,
        send: 2,
        network: 7,
        decode: 3,
        present: 7,
        hud: 0,
        rest: 0,
      }),
    );
    near(trace.totalMs[trace.row(0)], 35);
    // The input was shown: the next frame's total starts where that frame began.
    trace.onReceived(head(2, 200, { inputId: 4 }), 220);
    trace.onDecoded(2, 221);
    trace.onStamps([{ frameId: 2, handedNs: at(212), acceptedNs: at(212) }]);
    trace.onDrawn(215, 220.5); // half a millisecond of it after the frame had come
    trace.onPresented(2, 224);
    near(trace.totalMs[trace.row(0)], 24);
    near(stagesOf(trace).hud, 0.5);
    near(stagesOf(trace).decode, 0.5);
  },

  'stages: the sum is the total whatever clocks and stamps say': async () => {
    const random = randomOf(5);
    const trace = new FrameTrace(clock);
    for (let id = 1; id <= 3000; id++) {
      const t = id * 20;
      const off = () => (random() - 0.5) * 40;
      if (id % 3 === 0)
        trace.onInput({ id, sentMs: t - 20 * random(), receivedNs: at(t + off()), count: 1 });
      const told = {
        inputId: id - (id % 3),
        encodedNs: at(t + off()),
        renderUs: random() * 30_000,
      };
      const odd = { encodeUs: random() * 30_000, convertUs: random() * 9000 };
      trace.onReceived(head(id, t + off(), { ...told, ...odd }), t + 18);
      if (id % 7) trace.onDecoded(id, t + 19);
      if (id % 5)
        trace.onStamps([{ frameId: id, handedNs: at(t + off()), acceptedNs: at(t + off()) }]);
      trace.onPresented(id, t + 19 + random() * 9);
    }
    assert.equal(trace.kept, FRAMES_KEPT);
    for (let back = 0; back < trace.kept; back++) {
      const stages = Object.values(stagesOf(trace, back));
      const sum = stages.reduce((a, b) => a + b);
      assert.ok(
        stages.every((ms) => ms >= 0),
        JSON.stringify(stagesOf(trace, back)),
      );
      near(sum, trace.totalMs[trace.row(back)]);
    }
    assert.ok(trace.open.size <= 256);
  },

  'stages: without its stamps the way over the network is unexplained': async () => {
    const trace = new FrameTrace(clock);
    trace.onReceived(head(1, 100), 120);
    trace.onDecoded(1, 121);
    trace.onPresented(1, 124);
    assert.equal(trace.ended, 0); // they may still come
    trace.settle(600);
    assert.equal(trace.ended, 1);
    near(stagesOf(trace).rest, 9);
    near(stagesOf(trace).network, 0);
  },

  'stages: a kernel that was looked at late is no reason to have no network': async () => {
    const trace = new FrameTrace(clock);
    trace.onReceived(head(1, 100), 120);
    trace.onDecoded(1, 121);
    trace.onStamps([{ frameId: 1, handedNs: at(112), acceptedNs: at(150) }]);
    trace.onPresented(1, 124);
    near(stagesOf(trace).send, 1);
    near(stagesOf(trace).network, 8);
  },

  'drops: counted by reason, and what the server left out by the gap': async () => {
    const trace = new FrameTrace(clock);
    trace.onReceived(head(5, 100), 120); // the first: nothing is known of those before
    trace.onReceived(head(9, 140), 160);
    trace.onDropped(5, 'newer', 161);
    assert.deepEqual([trace.drops.server, trace.drops.newer, trace.ended], [3, 1, 1]);
    assert.ok(Number.isNaN(trace.totalMs[trace.row(0)]));
    trace.reset();
    trace.onReceived(head(40, 140), 160);
    assert.equal(trace.drops.server, 3);
  },

  'every input counts: those of a batch, and those of frames that were not shown': async () => {
    const stats = new Stats(new Clock());
    stats.clock.add({ sentMs: 0, receivedNs: at(0), repliedNs: at(0), nowMs: 0 });
    stats.trace.onInput({ id: 3, sentMs: 100, receivedNs: at(101), count: 3 });
    stats.trace.onInput({ id: 4, sentMs: 110, receivedNs: at(111), count: 1 });
    stats.trace.onInput({ id: 6, sentMs: 120, receivedNs: at(121), count: 2 });
    const frame = { ...head(2, 112, { inputId: 4 }), width: 64, height: 64 };
    stats.onReceived(frame, 10, 130);
    stats.onPresented(frame, 150);
    const shown = stats.inputToScreen.read(150);
    assert.equal(shown.count, 4);
    near(shown.quantile(1), 50);
    assert.deepEqual(stats.inputDelays, [40]);
    assert.equal(stats.trace.inputs.length, 1);
  },

  'age over time: what was never sampled is in it all the same': async () => {
    const stats = new Stats(new Clock());
    stats.clock.add({ sentMs: 0, receivedNs: at(0), repliedNs: at(0), nowMs: 0 });
    const beacon = (newestFrame, current, ms) =>
      stats.onBeacon({ newestFrame, current, animating: false, serverNs: at(ms) }, ms);
    const show = (id, begun, received, presented) => {
      const frame = { ...head(id, begun), changeNs: at(begun - 1), width: 64, height: 64 };
      stats.onReceived(frame, 10, received);
      stats.onPresented(frame, presented);
    };
    show(1, 100, 115, 120);
    beacon(1, true, 120);
    // Nothing for 900 ms, then a change at 1019 that is on screen 40 ms later.
    show(2, 1020, 1050, 1059);
    beacon(2, true, 1059);
    stats.countAge(2120);
    const ages = stats.ages.read(2120);
    near(ages.count, 2120 - 250 - 120); // that the picture is still current is not yet certain
    near(ages.sumMs, (40 * 40) / 2); // 0 but for the ramp from 0 to 40 ms
    assert.ok(ages.maxMs > 38 && ages.maxMs <= 40, String(ages.maxMs));
    assert.equal(ages.quantile(0.9), 0);
  },

  'words: the sentence names the stage that takes most': async () => {
    const stats = new Stats(clock);
    assert.match(sentence(summarize(stats, 0)), /nothing has changed/);
    for (let id = 1; id < 50; id++) {
      stats.trace.onReceived(head(id, id * 20), id * 20 + 12);
      stats.trace.onDecoded(id, id * 20 + 13);
      stats.trace.onStamps([
        { frameId: id, handedNs: at(id * 20 + 11), acceptedNs: at(id * 20 + 11) },
      ]);
      stats.trace.onPresented(id, id * 20 + 53);
    }
    const told = sentence(summarize(stats, 1100));
    assert.match(told, /53 ms from server to screen.*present \(75 %\)/);
  },

  'stages: every one of the server has its place': async () => {
    for (const group of Object.values(GROUP_OF)) assert.ok(STAGE[group] >= 0, group);
    assert.equal(new Set(STAGES.map((s) => s.color)).size, STAGES.length);
  },
};
