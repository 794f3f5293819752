// SPDX-License-Identifier: MIT
// The real server, watched from Firefox.

import { firefoxPage } from '../lib/browsers.mjs';
import { assert, sleep, until, within } from '../lib/check.mjs';
import { elementSize, fine, firstPicture, pictureOfSize, pictures, stats } from '../lib/page.mjs';
import { Proxy, Server } from '../lib/server.mjs';
import { checkColors, middle, patch } from '../lib/testcard.mjs';

async function opened({ query = '', via, source = 'testcard' } = {}) {
  const server = await Server.shared();
  const size = { width: 1280, height: 720 };
  const created = await server.create({ source, ...size });
  const page = await firefoxPage(size);
  await page.goto(`${via ? via.origin : server.url('')}${created.page.replace('#', `${query}#`)}`);
  await firstPicture(page, 30_000);
  return { server, page, id: created.id, size };
}

async function colours(present) {
  const { page, size } = await opened({ query: `?present=${present}` });
  await pictures(page, 10);
  await checkColors(page, size);
  assert.deepEqual(page.errors, []);
}

// Mostly waiting: run side by side.
export const patient = {
  'one decoder lasts': async () => {
    const { page } = await opened();
    await pictures(page, 10);
    await sleep(10_000);
    const configured = await page.evaluate(() => window.framewire.session.decoder.configured);
    assert.ok(configured <= 2, `${configured} configurations`);
    const { decoderErrors, keyframeRequests } = await stats(page);
    assert.deepEqual([decoderErrors, keyframeRequests], [0, 0]);
  },

  'a cut connection comes back': async () => {
    const proxy = await Proxy.ofShared();
    const { page } = await opened({ via: proxy });
    proxy.cut();
    await pictures(page, 3, 10_000);
    await fine(page);
  },
};

export default {
  'the test card’s colours, shown by copy': () => colours('copy'),

  'the test card’s colours, shown by draw': () => colours('draw'),

  'a click moves the picture': async () => {
    const { page, size } = await opened();
    const at = middle('CLICK', size.width, size.height);
    await page.mouse.click(at.x, at.y);
    await until('orange', async () => {
      const [r, , b] = await patch(page, 'CLICK', size);
      return r > 200 && b < 60;
    });
    assert.ok((await stats(page)).lastInputId > 0);
  },

  'the picture follows the window': async () => {
    const { page } = await opened();
    for (const [width, height] of [
      [1366, 768],
      [1007, 601],
      [641, 479],
    ]) {
      await page.resize(width, height);
      await pictureOfSize(page, width, height, 20_000);
      assert.deepEqual(await elementSize(page), { width, height });
      await pictures(page, 3);
      await checkColors(page, { width, height }, 4);
    }
  },
};

// Those that look at times or at the whole server: nothing runs beside them.
export const timed = {
  'a really hidden tab stops the server’s work and is back within a second': async () => {
    const { page, server, id } = await opened();
    await pictures(page, 5);
    const other = await page.another();
    await other.bringToFront();
    const hidden = () => page.evaluate(() => document.visibilityState === 'hidden');
    await until('the tab to be hidden', hidden);
    await sleep(1000);
    const frames = async () => (await server.api('GET', `/sessions/${id}`)).body.frames;
    const before = await frames();
    await sleep(2000);
    assert.ok((await frames()) - before <= 1);
    await within(1000, async () => {
      await other.bringToFront();
      await until('the tab to be hidden', hidden);
      const begin = performance.now();
      await page.bringToFront();
      await pictures(page, 1, 6000);
      return performance.now() - begin;
    });
  },
};
