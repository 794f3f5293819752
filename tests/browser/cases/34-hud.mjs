// SPDX-License-Identifier: MIT
// The figures over the picture of the real server: sizes, colours, and numbers that agree with the
// server's own records of the same frames.

import { chromiumPage, firefoxPage } from '../lib/browsers.mjs';
import { assert, until } from '../lib/check.mjs';
import { env } from '../lib/env.mjs';
import { firstPicture, stats } from '../lib/page.mjs';
import { Server } from '../lib/server.mjs';
import { bestOf } from '../../tools/proof.mjs';

/** Reading canvases back is dear, and the machine may be busy. */
const soon = (what, probe) => until(what, probe, 30_000, 150);

const WIDTH = 960;
const HEIGHT = 600;

async function opened(newPage) {
  const server = await Server.shared();
  const size = { width: WIDTH, height: HEIGHT };
  const created = await server.create({ source: 'testcard', ...size });
  const page = await newPage(size);
  await page.goto(server.url(created.page));
  await firstPicture(page, 30_000);
  return { server, page, id: created.id };
}

/** The colours in the graph, as often as they are there. @param {any} page */
const graphColours = (page) =>
  page.evaluate(() => {
    const canvas = document.querySelector('#hud canvas');
    const copy = document.createElement('canvas');
    copy.width = canvas.width;
    copy.height = canvas.height;
    const context = copy.getContext('2d', { willReadFrequently: true });
    context.drawImage(canvas, 0, 0);
    const { data } = context.getImageData(0, 0, copy.width, copy.height);
    const seen = {};
    for (let i = 0; i < data.length; i += 4) {
      const hex = [0, 1, 2].map((c) => data[i + c].toString(16).padStart(2, '0')).join('');
      if (data[i + 3] === 255) seen[`#${hex}`] = (seen[`#${hex}`] ?? 0) + 1;
    }
    return seen;
  });

const swatch = (page, label) =>
  page.evaluate((text) => {
    const rows = [...document.querySelectorAll('.hud-stages tbody tr')];
    const row = rows.find((r) => r.querySelector('th').textContent === text);
    const rgb = getComputedStyle(row.querySelector('th'), '::before').backgroundColor;
    const parts = rgb.match(/\d+/g).map((n) => Number(n).toString(16).padStart(2, '0'));
    return `#${parts.join('')}`;
  }, label);

const figure = (page, name) =>
  page.evaluate((f) => document.querySelector(`#hud [data-f="${f}"]`).textContent, name);
const hudSize = (page) => page.evaluate(() => window.framewire.hud.size);

async function looksRight(newPage) {
  const { page } = await opened(newPage);
  await page.keyboard.press('F2');
  assert.equal(await hudSize(page), 'small');
  await page.mouse.move(200, 500);
  // Both stages take time whatever the machine does.
  const colours = { render: await swatch(page, 'render'), encode: await swatch(page, 'encode') };
  await soon('render and encode in the graph, in the colours of the legend', async () => {
    const seen = await graphColours(page);
    return seen[colours.render] > 40 && seen[colours.encode] > 20;
  });
  await page.keyboard.press('F2');
  assert.equal(await hudSize(page), 'full');
  await soon('all figures', async () => {
    const names = [
      'age',
      'fps',
      'input',
      'total-p99',
      'input-p50',
      'age-p95',
      'encode-p50',
      'rate',
    ];
    const texts = await Promise.all([...names, 'rtt', 'clock', 'cost'].map((n) => figure(page, n)));
    return texts.every((text) => /\d/.test(text));
  });
  const words = await page.evaluate(() => document.querySelector('#hud canvas').ariaLabel);
  assert.match(words, /^Stages of the newest frames.*most of a frame’s time is \w+.*render \d/);
  const inside = await page.evaluate(() => {
    const { bottom, right } = document.getElementById('hud').getBoundingClientRect();
    return [innerWidth - right, innerHeight - bottom];
  });
  assert.ok(
    inside.every((room) => room >= 0),
    `sticks out: ${inside}`,
  );
  await page.keyboard.press('F2');
  assert.equal(await page.evaluate(() => document.getElementById('hud').hidden), true);
  assert.deepEqual(page.errors, []);
}

const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];

export default {
  'small, full, off; the graph has the legend’s colours (Chromium)': () => looksRight(chromiumPage),

  'small, full, off; the graph has the legend’s colours (Firefox)': () => looksRight(firefoxPage),

  'on a phone nothing sticks out': async () => {
    const { page } = await opened(() =>
      chromiumPage({ width: 360, height: 640, scale: 3, touch: true }),
    );
    for (const size of ['small', 'full']) {
      await page.evaluate((s) => window.framewire.hud.toggle(s), size);
      await soon('the words', async () => /\d/.test(await figure(page, 'fps')));
      const fits = await page.evaluate(() => {
        const hud = document.getElementById('hud');
        const box = hud.getBoundingClientRect();
        const canvas = hud.querySelector('canvas');
        return {
          inside: box.left >= 0 && box.right <= innerWidth && box.bottom <= innerHeight,
          whole: hud.scrollHeight <= hud.clientHeight + 1,
          sharp: canvas.width >= canvas.clientWidth * 2.9,
        };
      });
      assert.deepEqual(fits, { inside: true, whole: true, sharp: true }, size);
    }
  },
};

/** Frames newer than `after` whose way both the page and the server have told. */
function framesOfBoth(server, page, id, after) {
  return soon('frames that both know', async () => {
    const { body } = await server.api('GET', `/sessions/${id}/trace?last=60s`);
    const ours = await page.evaluate(() => {
      const { trace } = window.framewire.session.stats;
      const stages = trace.stageMs.length / trace.totalMs.length;
      return Array.from({ length: trace.kept }, (_, back) => {
        const row = trace.row(back);
        const ms = [...trace.stageMs.slice(row * stages, (row + 1) * stages)];
        return { id: trace.frameIds[row], total: trace.totalMs[row], ms };
      });
    });
    const theirs = new Map(body.frames.map((f) => [f.frame_id, f]));
    const both = ours.filter((f) => {
      const of = theirs.get(f.id);
      return f.id > after && f.total > 0 && of?.total_us && of.clock === 'estimate';
    });
    return both.length > 60 && both.map((f) => ({ page: f, server: theirs.get(f.id) }));
  });
}

/** What of these frames' stages the page tells otherwise than the server; '' if nothing. */
function disagreement(frames, { STAGE, GROUP_OF }) {
  for (const key of ['render', 'convert', 'encode', 'decode', 'present']) {
    const parts = Object.keys(GROUP_OF).filter((name) => GROUP_OF[name] === key);
    // What the figures held up is a stage of its own in the page alone.
    const apart = frames.map(({ page: p, server: s }) => {
      const sum = parts.reduce((all, name) => all + (s[`${name}_us`] ?? 0), 0) / 1000;
      return Math.abs(p.ms[STAGE[key]] - sum);
    });
    if (median(apart) >= 1.1) return `${key}: ${median(apart)} ms apart`; // a tick of the page’s clock
  }
  // The server places the page's times on its own clock, the page the server's: each may be wrong by as
  // much as the bound that the record states, once neither estimate moves any more.
  const beyond = frames.map(
    ({ page: p, server: s }) =>
      Math.abs(p.total - s.total_us / 1000) - (2 * s.clock_error_us) / 1000,
  );
  if (median(beyond) >= 1.1) return `totals ${median(beyond)} ms apart beyond the clocks' bounds`;
  const rest = median(frames.map(({ page: p }) => p.ms[STAGE.rest] / p.total));
  return rest > 0.05 ? `${rest} of the total is unexplained` : '';
}

export const timed = {
  'stages as the page has them agree with the server’s records': async () => {
    const { server, page, id } = await opened(chromiumPage);
    await page.keyboard.press('F2');
    const names = await import(`${env.web}/lib/stages.js`);
    const wrong = await bestOf(4, async () => {
      const { lastFrameId } = await stats(page);
      return disagreement(await framesOfBoth(server, page, id, lastFrameId), names);
    });
    assert.equal(wrong, '');
  },
};
