// SPDX-License-Identifier: MIT
// /ops: what runs, one session of it, and what the page says when it can't know.

import { readFileSync } from 'node:fs';
import { chromiumPage, firefoxPage } from '../lib/browsers.mjs';
import { assert, until } from '../lib/check.mjs';
import { address, fake } from '../lib/fake-page.mjs';
import { firstPicture } from '../lib/page.mjs';
import { Server } from '../lib/server.mjs';

/** The page looks once a second; reading canvases back is dear. */
const soon = (what, probe) => until(what, probe, 30_000, 200);
const SIZE = { width: 1280, height: 800 };

/** What the console says besides information. @param {any} page */
function consoleOf(page) {
  const said = [];
  page.on('console', (message) => {
    if (['error', 'warning', 'warn'].includes(message.type())) said.push(message.text());
  });
  return said;
}

const textOf = (page, selector) =>
  page.evaluate((s) => document.querySelector(s)?.textContent ?? '', selector);
const visible = (page, selector) =>
  page.evaluate((s) => document.querySelector(s)?.checkVisibility() ?? false, selector);
const click = (page, selector) =>
  page.evaluate((s) => /** @type {HTMLElement} */ (document.querySelector(s)).click(), selector);

/** Colours that a canvas has many pixels of. @param {any} page @param {string} id */
const coloured = (page, id) =>
  page.evaluate((canvasId) => {
    const canvas = /** @type {HTMLCanvasElement} */ (document.getElementById(canvasId));
    const copy = document.createElement('canvas');
    copy.width = canvas.width || 1; // not laid out yet
    copy.height = canvas.height || 1;
    const context = copy.getContext('2d', { willReadFrequently: true });
    if (canvas.width) context.drawImage(canvas, 0, 0);
    const { data } = context.getImageData(0, 0, copy.width, copy.height);
    let seen = 0;
    for (let i = 0; i < data.length; i += 4) {
      const spread =
        Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]);
      if (data[i + 3] > 200 && spread > 60) seen++;
    }
    return seen;
  }, id);

async function realSession(newPage) {
  const server = await Server.shared();
  const watched = await server.create({ source: 'testcard', width: 640, height: 360 });
  const viewer = await chromiumPage({ width: 640, height: 360 });
  await viewer.goto(server.url(watched.page));
  await firstPicture(viewer, 30_000);
  await viewer.mouse.move(100, 100);
  const page = await newPage(SIZE);
  const said = consoleOf(page);
  await page.goto(server.url('/ops'));
  const row = `#rows tr[data-id="${watched.id}"]`;
  await soon('the session in the list, with figures', async () =>
    /\d+ fps|\d/.test(await textOf(page, `${row} .col-age`)),
  );
  assert.match(await textOf(page, row), /Test card.*running · testcard/);
  const told = (await server.api('GET', '/machine')).body;
  await soon('the machine', async () => {
    const cpu = await textOf(page, '#tiles li:first-child');
    return told.cpu.cores && cpu.includes(`of ${told.cpu.cores} cores`);
  });
  await soon('lines of the machine', async () => (await coloured(page, 'machine-chart')) > 20);
  await click(page, `${row} a`);
  await soon('stages of the session', async () =>
    /^\d/.test(await textOf(page, '#stages tr:nth-child(7) td:nth-child(3)')),
  );
  await soon('its frames', async () => (await coloured(page, 'timeline')) > 200);
  const names = await page.evaluate(() =>
    [...document.querySelectorAll('#stages th')].map((th) => th.textContent),
  );
  const { body } = await server.api('GET', `/sessions/${watched.id}/figures`);
  assert.deepEqual(
    names.slice(0, -3),
    body.stages.map((s) => s.name),
  );
  assert.match(
    await textOf(page, '#detail-facts'),
    new RegExp(`running · testcard.*640 × 360.*${watched.id}`),
  );
  await click(page, '#stages tr:nth-child(7) button');
  assert.match(await textOf(page, '#spread-title'), /encode/);
  await soon('where its values lie', async () => (await coloured(page, 'spread')) > 50);
  assert.ok(!(await visible(page, '#error')) && !(await visible(page, '#no-charts')));
  assert.deepEqual([page.errors, said], [[], []]);
  return { page, server, id: watched.id };
}

export default {
  'a real session: in the list, then stage by stage; exported, closed (Chromium)': async () => {
    const { page, server, id } = await realSession(chromiumPage);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.click('[data-export="perfetto"]'),
    ]);
    assert.match(download.suggestedFilename(), /^framewire-.*\.perfetto\.json$/);
    const { traceEvents } = JSON.parse(readFileSync(await download.path(), 'utf8'));
    assert.ok(traceEvents.some((e) => e.ph === 'X' && e.name === 'encode'));
    // Who points at a frame is told about it, and it stays where it is.
    const box = await page.locator('#timeline').boundingBox();
    await page.mouse.move(box.x + box.width - 40, box.y + box.height / 2);
    await soon('the timeline to be held', async () =>
      /held/.test(await textOf(page, '#timeline-state')),
    );
    await page.mouse.move(5, 5);
    await page.click('#detail-close');
    assert.match(await textOf(page, '#close-text'), /Test card: One viewer sees it now/);
    await page.click('#close-dialog .quiet');
    assert.equal((await server.api('GET', `/sessions/${id}`)).status, 200);
    await page.click('#detail-close');
    await page.click('#close-dialog .primary');
    await soon(
      'the session to be over',
      async () => (await server.api('GET', `/sessions/${id}`)).status === 404,
    );
    await soon('the list', async () => visible(page, '#list'));
    await soon('its row to go', async () => !(await textOf(page, `#rows tr[data-id="${id}"]`)));
    assert.deepEqual(page.errors, []);
  },

  'a real session: in the list, then stage by stage (Firefox)': async () => {
    await realSession(firefoxPage);
  },

  'hundreds of sessions: sorted, filtered, searched; none; server away': async () => {
    const server = await fake();
    const session = (i) => ({
      id: `fake-${i}`,
      title: i % 3 ? `Model ${i}` : 'Test card',
      source: i % 3 ? 'scene' : 'testcard',
      state: i === 7 ? 'failed' : i % 50 === 9 ? 'restarting' : 'running',
      error: i === 7 ? { code: 'gpu', message: 'the device was lost' } : undefined,
      viewers: i % 4,
      restarts: i % 5,
      width: 1280,
      height: 720,
      encoder: 'nvenc',
      gpu: 'GPU',
      figures: {
        lastS: 5,
        uptimeS: i * 100,
        fps: 60,
        kbps: 4000 + i,
        dropped: 0,
        ageMs: { p50: i / 10, p99: (i * 7919) % 293 },
        inputMs: { p50: null, p99: null },
        frameMs: { p50: 12, p99: 30 },
      },
    });
    server.sessions = Array.from({ length: 200 }, (_, i) => session(i));
    const page = await chromiumPage(SIZE);
    await page.goto(address(server, '/ops'));
    await soon('all rows', async () => (await page.locator('#rows tr').count()) === 200);
    const ages = () =>
      page.evaluate(() =>
        [...document.querySelectorAll('#rows tr')]
          .filter((tr) => tr.checkVisibility())
          .map((tr) => tr.querySelector('.col-age').textContent),
      );
    await page.click('.sort:text-is("Age")');
    const p99 = (await ages()).map((text) => Number(text.split(' / ')[1] ?? 0));
    assert.ok(p99.length === 200 && p99.every((v, i) => !i || v <= p99[i - 1]), String(p99));
    assert.equal(await page.getAttribute('th.col-age', 'aria-sort'), 'descending');
    await page.click('.chip:text-is("failed 1")');
    assert.equal((await ages()).length, 1);
    assert.equal(
      await page.getAttribute('#rows tr:visible .session-facts', 'title'),
      'the device was lost',
    );
    await page.click('.chip:text-is("all 200")');
    await page.fill('#search', 'model 197');
    assert.equal((await ages()).length, 1);
    await page.fill('#search', 'nothing like it');
    await page.locator('#no-match:visible').waitFor();
    // This server has no Chart.js and its drivers tell little.
    assert.match(await textOf(page, '#no-charts'), /tables only.*libjs-chart\.js/);
    assert.match(await textOf(page, '#tiles'), /GPU42 %Some GPU.*memory–not told by the driver/);
    await page.fill('#search', '');
    await page.resize(390, 844);
    await until('the page to fit a phone', () =>
      page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
    );
    server.sessions = [];
    await page.locator('#no-sessions:visible').waitFor();
    await server.stop();
    await soon('word of it', async () =>
      /does not answer.*Figures below are of/.test(await textOf(page, '#error')),
    );
    await server.start();
    await soon('it to be over', async () => !(await visible(page, '#error')));
    assert.deepEqual(page.errors, []);
  },

  'a protected server asks for the token, and says so when there is none': async () => {
    const server = await fake({ token: 'sesame' });
    const page = await chromiumPage(SIZE);
    await page.goto(address(server, '/ops'));
    await page.locator('#token-dialog[open]').waitFor();
    await page.click('#token-dialog .quiet');
    await page.locator('#error:visible').waitFor();
    assert.match(await textOf(page, '#error'), /token is needed/);
    await page.click('#error button');
    await page.locator('#token-dialog[open]').waitFor();
    await page.fill('#token', 'sesame');
    await page.keyboard.press('Enter');
    await page.locator('#no-sessions:visible').waitFor();
    assert.ok(!page.url().includes('sesame'));
  },
};
