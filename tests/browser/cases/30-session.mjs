// SPDX-License-Identifier: MIT
// The real server, watched from Chromium.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromiumPage } from '../lib/browsers.mjs';
import { assert, sleep, until, within } from '../lib/check.mjs';
import { env } from '../lib/env.mjs';
import { models } from '../lib/model.mjs';
import {
  elementSize,
  fine,
  firstPicture,
  near,
  pictureOfSize,
  pictures,
  pixels,
  pretendHidden,
  says,
  stats,
} from '../lib/page.mjs';
import { Proxy, Server } from '../lib/server.mjs';
import {
  CLICKED,
  LIT,
  PATCHES,
  checkColors,
  lineContrast,
  middle,
  patch,
  readFrameId,
} from '../lib/testcard.mjs';

const SWEEP = [
  [1366, 768],
  [1512, 949],
  [3839, 1080],
  [1007, 601],
  [641, 479],
];

async function opened({ source = 'testcard', args = {}, query = '', size = {}, via } = {}) {
  const server = await Server.shared();
  const { width = 1280, height = 720 } = size;
  const created = await server.create({ source, args, width, height });
  const page = await chromiumPage({ width, height, ...size });
  const base = via ? via.origin : server.url('');
  const [path, code] = created.page.split('#');
  await page.goto(`${base}${path}${query}${code ? `#${code}` : ''}`);
  await firstPicture(page);
  return { server, page, id: created.id, size: { width, height } };
}

/** A static picture settles: what follows the first key frame sharpens it. */
async function settled(page) {
  await until('still pictures', async () => {
    const before = (await stats(page)).presented;
    await sleep(300);
    return (await stats(page)).presented - before > 3 || before === (await stats(page)).presented;
  });
  await sleep(300);
}

async function colours(present) {
  const { page, size } = await opened({ query: `?present=${present}` });
  await settled(page);
  await checkColors(page, size);
  assert.deepEqual(page.errors, []);
}

async function throughProxy(params = {}) {
  const proxy = await Proxy.ofShared();
  return { proxy, ...(await opened({ via: proxy, ...params })) };
}

async function sameId(page, size) {
  // The element may have moved on between two looks: the id read lies between the two counts.
  const before = (await stats(page)).lastFrameId;
  const id = await readFrameId(page, size);
  const after = (await stats(page)).lastFrameId;
  assert.ok(
    id >= before - 2 && id <= after + 1,
    `picture says ${id}, header ${before} to ${after}`,
  );
}

/** The age of a picture that does not change, over more than two beacons; how many came all the same. */
async function agesWhileStill(page) {
  const { received } = await stats(page);
  const ages = [];
  for (let i = 0; i < 25; i++) {
    await sleep(100);
    ages.push((await stats(page)).ageMs);
  }
  return { ages, came: (await stats(page)).received - received };
}

/** A worker that belongs to no session yet and has had the time to get ready. @param {Server} server */
async function spareWorker(server) {
  const spare = async () => {
    const { body } = await server.api('GET', '/sessions');
    const taken = new Set(body.sessions.map((s) => s.workerPid));
    return server.children().find((pid) => !taken.has(pid));
  };
  const pid = await until('a spare worker', spare);
  await sleep(1500);
  assert.equal(await spare(), pid);
}

/** When, by the page's own clock, a key frame was on screen after `begin`; ms. */
const keyShownAt = (page, begin) =>
  until(
    'a key frame',
    () => page.evaluate((ms) => window.keysShown.find((at) => at > ms), begin),
    10_000,
  );

/** Kills a session's worker in a page that is in use. @returns {Promise<number>} ms without picture */
async function killOnce(params) {
  const { page, server, id } = await opened(params);
  await page.evaluate(() => {
    window.keysShown = [];
    const { stats } = window.framewire.session;
    const { onPresented } = stats;
    stats.onPresented = (info, now) => {
      onPresented.call(stats, info, now);
      if (info.key) window.keysShown.push(performance.timeOrigin + now);
    };
  });
  await spareWorker(server);
  const pid = await server.worker(id);
  assert.ok(pid > 0 && server.children().includes(pid), `worker ${pid}`);
  const begin = performance.timeOrigin + performance.now();
  process.kill(pid, 'SIGKILL');
  const took = (await keyShownAt(page, begin)) - begin;
  const now = await server.worker(id);
  assert.ok(now > 0 && now !== pid, `worker ${pid}, then ${now}`);
  await fine(page, 3000);
  const still = (await stats(page)).presented;
  await page.mouse.move(600, 300);
  await page.mouse.down();
  await page.mouse.move(700, 340, { steps: 5 });
  await page.mouse.up();
  await until('pictures to move', async () => (await stats(page)).presented > still + 1, 3000);
  assert.equal((await stats(page)).decoderErrors, 0);
  assert.equal(await page.evaluate(() => window.keysShown.length > 0), true); // not reloaded
  return took;
}

const survivesKills = (params) => within(1000, () => killOnce(params));

// Mostly waiting: run side by side.
export const patient = {
  'a link that goes silent: said, left, and taken up again': async () => {
    const { page, proxy } = await throughProxy();
    const frozen = proxy.freeze(9000);
    await says(page, /No word from the server|Reconnecting/, 7000);
    await frozen;
    await pictures(page, 3, 12_000);
    await fine(page);
  },

  'a session that is closed elsewhere is over here, in words': async () => {
    const { page, server, id } = await opened();
    await server.api('DELETE', `/sessions/${id}`);
    await says(page, /This session was closed Open another one/);
    assert.equal(await page.locator('#notice').isVisible(), false);
    await page.goto(server.url('/s/unknown'));
    assert.match(await page.textContent('body'), /session/);
  },

  'with tokens: the page’s code works once, the token stays out of the address': async () => {
    const folder = mkdtempSync(join(tmpdir(), 'fw-token-'));
    env.atEnd(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'tokens');
    const token = 'a-token-of-more-than-sixteen';
    writeFileSync(file, `tester:${token}\n`, { mode: 0o600 });
    const server = await Server.start({ args: ['--token-file', file] });
    const page = await chromiumPage();
    await page.goto(server.url('/'));
    await page.locator('#token-dialog[open]').waitFor();
    await page.fill('#token', token);
    await page.keyboard.press('Enter');
    await page.locator('#features .card').nth(1).click();
    await page.waitForURL(/\/s\/[^/#]+$/);
    await firstPicture(page);
    const path = new URL(page.url()).pathname;
    const stranger = await chromiumPage({ fresh: true });
    await stranger.goto(server.url(`${path}#wrong-code`));
    await stranger.locator('#token-dialog[open]').waitFor();
    await stranger.fill('#token', token);
    await stranger.keyboard.press('Enter');
    await firstPicture(stranger);
    assert.ok(!stranger.url().includes(token) && !new URL(stranger.url()).hash);
    assert.ok(!server.log.includes(token));
  },
};

export default {
  'start page: cards for the scene, the test card and each model': async () => {
    const server = await Server.shared();
    const page = await chromiumPage();
    await page.goto(server.url('/'));
    await page.locator('#features .card').first().waitFor();
    assert.equal(await page.locator('#features .card').count(), 2);
    const { body } = await server.api('GET', '/sources');
    const offered = body.sources.filter((s) => s.kind === 'model');
    assert.ok(offered.length > 0);
    assert.equal(await page.locator('#models .card').count(), offered.length);
    await page.locator('#features .card').nth(1).click();
    await page.waitForURL(/\/s\/[^/#]+$/);
    await firstPicture(page);
    await fine(page);
    assert.deepEqual(page.errors, []);
    await server.api('DELETE', `/sessions/${new URL(page.url()).pathname.slice(3)}`);
  },

  'the test card’s colours, shown by track': () => colours('track'),

  'the test card’s colours, shown by copy': () => colours('copy'),

  'the test card’s colours, shown by draw': () => colours('draw'),

  'the picture shows the frame its header names': async () => {
    const { page, size } = await opened({ query: '?present=copy' });
    for (let i = 0; i < 5; i++) {
      await pictures(page, 2);
      await sameId(page, size);
    }
  },

  'the picture follows the window: odd sizes exact, lines of one pixel sharp': async () => {
    const { page } = await opened();
    for (const [width, height] of SWEEP) {
      await page.resize(width, height);
      await pictureOfSize(page, width, height);
      assert.deepEqual(await elementSize(page), { width, height });
      await settled(page);
      const contrast = await lineContrast(page, { width, height });
      assert.ok(contrast > 100, `${width}x${height}: lines differ by ${contrast}`);
      assert.equal(await page.locator('#stage.exact').count(), 1);
      await checkColors(page, { width, height }, 4);
    }
    assert.deepEqual(page.errors, []);
  },

  'the picture follows the pixel ratio': async () => {
    const { page } = await opened({ size: { width: 401, height: 300, scale: 1.5 } });
    const now = await until('a picture in device pixels', async () => {
      const s = await stats(page);
      return s.width > 500 && s;
    });
    assert.ok(Math.abs(now.width - 601.5) <= 1 && now.height === 450, `${now.width}x${now.height}`);
  },

  'absurd sizes are ignored': async () => {
    const { page, size } = await opened();
    await page.evaluate(() => {
      const { connection } = window.framewire.session;
      for (const [width, height] of [
        [0, 0],
        [0, 720],
        [1, 0],
        [-5, 9],
        [1e9, 1e9],
        [15, 15],
        ['a', null],
        [3841, 100],
      ])
        connection.send({ type: 'viewport', width, height });
    });
    await pictures(page, 3);
    const { width, height } = await stats(page);
    assert.deepEqual({ width, height }, size);
  },

  'two tabs on one session both see it': async () => {
    const { page, server, id, size } = await opened();
    const other = await page.another();
    await other.goto(server.url(`/s/${id}`));
    await firstPicture(other);
    await pictures(other, 5);
    const at = middle('CLICK', size.width, size.height);
    await other.mouse.click(at.x, at.y);
    for (const tab of [page, other])
      await until('orange in both', async () => {
        const [r, , b] = await patch(tab, 'CLICK', await stats(tab));
        return r > 200 && b < 60;
      });
  },

  'a real model turns under the mouse': async () => {
    const { model } = await models();
    const { page, size } = await opened({ source: 'scene', args: { model } });
    const look = () => {
      const points = [];
      for (let y = 60; y < size.height - 60; y += 30)
        for (let x = 200; x < size.width - 200; x += 30) points.push({ x, y });
      return pixels(page, points);
    };
    await sleep(1000);
    const before = await look();
    const spread = Math.max(...before.map((p) => p[1])) - Math.min(...before.map((p) => p[1]));
    assert.ok(spread > 30, 'the picture is empty');
    await page.mouse.move(640, 360);
    await page.mouse.down();
    await page.mouse.move(840, 400, { steps: 10 });
    await page.mouse.up();
    await until('the picture to turn', async () => {
      const after = await look();
      return after.filter((p, i) => Math.abs(p[1] - before[i][1]) > 12).length > after.length / 20;
    });
  },
};

// Those that look at times or at the whole server: nothing runs beside them.
export const timed = {
  'click, key and wheel move the picture; the frame names the input': async () => {
    const { page, size } = await opened();
    const at = middle('CLICK', size.width, size.height);
    near(await patch(page, 'CLICK', size), PATCHES.CLICK.color, 6, 'before the click');
    await page.mouse.move(at.x, at.y);
    await page.mouse.down();
    await until('orange', async () => {
      const [r, , b] = await patch(page, 'CLICK', size);
      return r > 240 && b < 15;
    });
    await settled(page);
    near(await patch(page, 'CLICK', size), CLICKED, 6, 'after the click');
    await page.mouse.up();
    await page.keyboard.press('KeyA'); // evdev 30: colour patch 0, red
    await until('a red key patch', async () => {
      const [r, g] = await patch(page, 'KEY', size);
      return r > 200 && g < 60;
    });
    for (let i = 0; i < 10; i++) {
      await page.mouse.wheel(0, 100);
      await sleep(60); // or the browser makes one event of several
    }
    await until('a lit meter', async () => (await patch(page, 'METER', size))[1] > LIT[1] - 60);
    const sent = await page.evaluate(() => window.framewire.session.input.seq);
    assert.ok(sent > 10);
    await until(
      'a picture of the last input',
      async () => (await stats(page)).lastInputId === sent,
    );
    const fresh = ({ ageMs }) => ageMs >= 0 && ageMs < 1000;
    await until('a fresh picture', async () => fresh(await stats(page)), 3000);
  },

  'a cut connection: the same session is back, the page was not reloaded': async () => {
    const { page, proxy, server, id } = await throughProxy();
    await page.evaluate(() => (window.mark = 1));
    const input = (await stats(page)).lastFrameId;
    proxy.cut();
    await pictures(page, 3, 8000);
    await fine(page);
    assert.equal(await page.evaluate(() => window.mark), 1);
    assert.ok((await stats(page)).lastFrameId > input);
    const { body } = await server.api('GET', '/sessions');
    assert.equal(body.sessions.find((s) => s.id === id).viewers, 1);
    assert.equal(body.sessions.filter((s) => s.viewers > 0).length, 1);
  },

  'kill -9 of the worker: picture back within a second on the same page': () =>
    survivesKills({ source: 'testcard' }),

  'kill -9 of the worker, a model: picture back within a second': async () => {
    const { model } = await models();
    await survivesKills({ source: 'scene', args: { model } });
  },

  'a hidden tab costs nothing and is back within a second': async () => {
    const { page, server, id } = await opened();
    await pictures(page, 10);
    await pretendHidden(page, true);
    await sleep(700);
    const before = (await server.api('GET', `/sessions/${id}`)).body.frames;
    await sleep(2000);
    const after = (await server.api('GET', `/sessions/${id}`)).body.frames;
    assert.ok(after - before <= 1, `${after - before} frames while hidden`);
    await within(1000, async () => {
      await pretendHidden(page, true);
      await pretendHidden(page, false);
      await pictures(page, 1, 5000);
    });
  },

  'a decoder error: exactly one key frame, a new decoder, picture back': async () => {
    const { page } = await opened();
    await pictures(page, 10);
    const before = await stats(page);
    await page.evaluate(() => window.framewire.session.decoder.codec.close());
    await pictures(page, 3, 5000);
    await sleep(700);
    const after = await stats(page);
    assert.equal(after.keyframeRequests - before.keyframeRequests, 1);
    assert.equal(after.decoderErrors - before.decoderErrors, 1);
  },

  'a still scene sends nothing; input on it is answered at once': async () => {
    const { model } = await models();
    const { page } = await opened({ source: 'scene', args: { model } });
    await page.evaluate(() => {
      window.beaconsNs = [];
      const { stats } = window.framewire.session;
      const { onBeacon } = stats;
      stats.onBeacon = (beacon, now) => {
        onBeacon.call(stats, beacon, now);
        window.beaconsNs.push(beacon.serverNs);
      };
    });
    await until(
      'the scene to come to rest',
      async () => {
        const before = (await stats(page)).received;
        await sleep(1000);
        return (await stats(page)).received === before;
      },
      30_000,
    );
    // A busy machine may hold a beacon back for half a second, or the last refinement, but not each time.
    const looks = [];
    const still = ({ ages, came }) => came === 0 && ages.every((age) => age === 0);
    while (looks.length < 4 && !looks.some(still)) looks.push(await agesWhileStill(page));
    assert.ok(looks.some(still), JSON.stringify(looks));
    // Once a second, by the server's own stamps: from 1.5 s on a page takes the picture for old.
    const sent = await page.evaluate(() => window.beaconsNs);
    const gaps = sent.slice(1).map((ns, i) => Math.round((ns - sent[i]) / 1e6));
    const late = gaps.filter((gap) => gap >= 1400);
    assert.ok(gaps.length > late.length && late.length <= 1, `ms between beacons: ${gaps}`);
    await page.mouse.move(600, 300);
    await page.mouse.down();
    await page.mouse.move(700, 340, { steps: 5 });
    await pictures(page, 1, 5000);
    await page.mouse.up();
  },
};
