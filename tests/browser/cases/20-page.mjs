// SPDX-License-Identifier: MIT
// The session page against a server that misbehaves on demand (lib/fake-server.mjs), in Chromium.

import { chromiumPage, firefoxPage } from '../lib/browsers.mjs';
import { assert, sleep, until, within } from '../lib/check.mjs';
import { env } from '../lib/env.mjs';
import { address, fake, hush, opened, texts } from '../lib/fake-page.mjs';
import { FakeServer } from '../lib/fake-server.mjs';
import {
  fine,
  firstPicture,
  near,
  pictures,
  pixels,
  pretendHidden,
  says,
  stats,
} from '../lib/page.mjs';

async function presentPath(name, tag, newPage = chromiumPage) {
  const { page } = await opened(
    { color: '0x3060c0' },
    `?present=${name}`,
    {
      width: 641,
      height: 361,
    },
    newPage,
  );
  await pictures(page, 3);
  const shown = await page.evaluate(() => {
    const screen = document.getElementById('screen');
    return [screen.tagName, screen.videoWidth ?? screen.width, screen.videoHeight ?? screen.height];
  });
  assert.deepEqual(shown, [tag, 641, 361]);
  const corners = [
    { x: 2, y: 2 },
    { x: 640, y: 360 },
    { x: 320, y: 180 },
  ];
  for (const got of await pixels(page, corners))
    near(got, [0x30, 0x60, 0xc0], 3, `${page.kind} ${name}`);
  assert.deepEqual(page.errors, []);
}

// Mostly waiting: run side by side.
export const patient = {
  'the present path is measured once and remembered': async () => {
    const { page } = await opened({}, '', { width: 640, height: 360, fresh: true });
    const how = () => page.evaluate(() => window.framewire.session.choice);
    const measured = await until('a measurement', async () => {
      const choice = await how();
      return choice.how === 'measured' && choice;
    });
    assert.ok(Object.values(measured.times).every((t) => t > 0));
    await pictures(page, 3);
    assert.deepEqual(page.warnings, []);
    assert.equal(await page.locator('#stage > :is(video, canvas)').count(), 1);
    await page.reload();
    await firstPicture(page);
    assert.deepEqual((await how()).how, 'remembered');
    assert.equal((await how()).path, measured.path);
  },

  'a picture that is no H.264: the same, and no storm when it goes on': async () => {
    const { server, page } = await opened({});
    await pictures(page, 5);
    const whole = server.sendFrame;
    server.sendFrame = function (unit, w, h) {
      const key = unit.indexOf(Buffer.from([0, 0, 1, 0x67])) >= 0;
      return whole.call(
        this,
        key ? Buffer.concat([unit.subarray(0, 40), Buffer.alloc(60, 0xee)]) : unit,
        w,
        h,
      );
    };
    const before = texts(server, 'keyframe').length;
    server.restartVideo();
    await sleep(6000);
    const asked = texts(server, 'keyframe').length - before;
    assert.ok(asked >= 1 && asked <= 12, `${asked} requests in 6 s`);
    server.sendFrame = whole;
    server.restartVideo();
    await pictures(page, 5, 12_000);
  },

  'a silent server: said after 3 s, left after 8 s, back when it speaks': async () => {
    const { server, page } = await opened({});
    server.silent = true;
    const begin = Date.now();
    await says(page, /No word from the server/, 6000);
    assert.ok(Date.now() - begin > 2000);
    await until(
      'a new hello',
      () => texts(server, 'hello').filter((h) => h.channel === 'control').length > 1,
      14_000,
    );
    server.silent = false;
    await pictures(page, 3);
    await fine(page);
  },

  'a server that is away: attempts are counted, “try now” tries now': async () => {
    const { server, page } = await opened({});
    const { port } = server;
    await server.stop();
    await says(page, /Reconnecting.*Attempt [2-9]/, 20_000);
    const again = await new FakeServer({ root: env.web, port }).start();
    env.atEnd(() => again.stop());
    await page.evaluate(() => document.querySelector('[data-action=retry]').click());
    await pictures(page, 3, 5000);
    await fine(page);
  },

  'a cut connection comes back by itself': async () => {
    const { server, page } = await opened({});
    await page.evaluate(() => (window.mark = 1));
    for (const client of server.ws.clients) client.terminate();
    await pictures(page, 3, 8000);
    await fine(page);
    assert.equal(await page.evaluate(() => window.mark), 1);
  },

  'only the picture connection is lost: only it is opened again': async () => {
    const { server, page } = await opened({});
    for (const { media } of server.viewers.values()) media.terminate();
    await pictures(page, 5, 6000);
    const hellos = texts(server, 'hello').map((h) => h.channel);
    assert.deepEqual(hellos, ['control', 'media', 'media']);
  },

  'a session that fails gives its reason': async () => {
    const { server, page } = await opened({});
    server.sendText({ type: 'state', state: 'restarting', code: 'worker_lost', message: '' });
    await says(page, /renderer is restarting/);
    server.sendText({
      type: 'state',
      state: 'failed',
      code: 'x',
      message: 'the model is broken: no mesh',
    });
    await says(page, /failed.*The model is broken: no mesh/);
    server.sendText({ type: 'state', state: 'failed', code: 'format', message: 'no mesh' });
    await says(page, /Fake can’t be shown.*No mesh/);
    server.sendText({ type: 'state', state: 'closing', code: 'closed', message: 'it failed' });
    for (const { control } of server.viewers.values()) control.close(4409, 'closed');
    await until('the end', () =>
      page.evaluate(() => window.framewire.session.connection.state.phase === 'ended'),
    );
    await says(page, /Fake can’t be shown.*No mesh/);
  },

  'a renderer that does not answer is waited for in words, until a picture comes': async () => {
    const { server, page } = await opened({});
    const slow = { type: 'state', state: 'running', code: 'slow', message: '' };
    await hush(server, page);
    server.sendText(slow);
    const { level } = await says(page, /Waiting for the renderer…/);
    assert.equal(level, 'banner');
    server.hold = false;
    server.restartVideo();
    await fine(page, 5000);
    await hush(server, page);
    server.sendText(slow);
    await says(page, /Waiting for the renderer…/);
    server.sendText({ ...slow, code: '' });
    await fine(page, 5000);
  },

  'refusals are said in words': async () => {
    const server = await fake();
    const page = await chromiumPage({ fresh: true });
    for (const [code, name, message, pattern] of [
      [4404, 'no_such_session', 'there is no such session', /session is over/],
      [4406, 'unsupported_version', '', /another version/],
      [4409, 'closed', 'it was ended', /session was closed Open another/],
      [4409, 'closed', 'the server is shutting down', /shutting down When it runs again/],
      [4409, 'closed', 'nobody watched it', /session is over Nobody watched it\. Open another/],
    ]) {
      server.refuse = { code, reason: '', error: { code: name, message } };
      await page.goto(address(server));
      const said = await says(page, pattern);
      assert.equal(await page.locator('#notice').isVisible(), false, said.title); // once only
    }
  },
};

export default {
  'present=track shows the true size in the true colour': () => presentPath('track', 'VIDEO'),

  'present=copy shows the true size in the true colour': () => presentPath('copy', 'CANVAS'),

  'present=draw shows the true size in the true colour': () => presentPath('draw', 'CANVAS'),

  'the same in Firefox, by copy': () => presentPath('copy', 'CANVAS', firefoxPage),

  'the same in Firefox, by draw': () => presentPath('draw', 'CANVAS', firefoxPage),

  'acknowledgements: each picture received and presented, in order': async () => {
    const { server, page } = await opened({});
    await pictures(page, 20);
    const acks = server.log
      .filter((m) => m.binary === 0x21)
      .flatMap(({ data }) => {
        const list = [];
        for (let at = data.readUInt16LE(2); at < data.length; at += 24)
          list.push([Number(data.readBigUInt64LE(at)), data[at + 8]]);
        return list;
      });
    const of = (what) => acks.filter((a) => a[1] === what).map((a) => a[0]);
    assert.ok(of(1).length >= 20 && of(2).length >= 15);
    for (const what of [1, 2])
      assert.deepEqual(
        of(what),
        [...new Set(of(what))].sort((a, b) => a - b),
      );
    for (const id of of(2)) assert.ok(of(1).includes(id));
  },

  'unknown messages are skipped, unreadable ones end the connection': async () => {
    const { server, page } = await opened({});
    const [{ control }] = server.viewers.values();
    server.sendText({ type: 'of tomorrow' });
    control.send(Buffer.from([0x7f, 0, 8, 0, 0, 0, 0, 0]));
    control.send('{');
    await pictures(page, 3);
    assert.equal(texts(server, 'hello').length, 2);
    control.send(Buffer.from([0x30, 0, 8, 0, 9, 0, 0, 0]));
    await until('a new hello', () => texts(server, 'hello').length > 2);
    await pictures(page, 3);
  },

  'a protected session asks for the token, once, and keeps it out of the address': async () => {
    const server = await fake();
    server.refuse = { code: 4401, reason: 'unauthorized' };
    const page = await chromiumPage();
    await page.goto(address(server, '/s/fake#stale-code'));
    await page.locator('#token-dialog[open]').waitFor();
    server.refuse = null;
    await page.fill('#token', 'sesame');
    await page.keyboard.press('Enter');
    await firstPicture(page);
    await fine(page);
    assert.equal(
      texts(server, 'hello')
        .filter((h) => h.channel === 'control')
        .pop().token,
      'sesame',
    );
    assert.equal(new URL(page.url()).hash, '');
    assert.ok(!page.url().includes('sesame'));
    await page.reload();
    await firstPicture(page);
  },

  'a page from plain http says why there is no picture, and what to do': async () => {
    const server = await fake();
    const page = await chromiumPage();
    await page.goto(address(server, '/s/fake', 'insecure.test'));
    assert.equal(await page.evaluate(() => isSecureContext), false);
    const said = await says(page, /not secure enough/);
    const { port } = server;
    const start = /Start the server with --tls-self-signed/;
    const https = new RegExp(`open https://insecure\\.test:${port},`);
    const tunnel = new RegExp(
      `ssh -L ${port}:localhost:${port} insecure.test.*http://localhost:${port}\\.`,
    );
    for (const pattern of [start, https, tunnel]) assert.match(said.text, pattern);
    await page.goto(address(server, '/', 'insecure.test'));
    await page.locator('#insecure:not([hidden])').waitFor();
    assert.equal(await page.textContent('#insecure'), said.text);
  },
};

// Those that look at times or at the whole server: nothing runs beside them.
export const timed = {
  'a decoder that breaks: one key frame asked for, a new decoder, picture back': async () => {
    const { server, page } = await opened({});
    await pictures(page, 10);
    const before = texts(server, 'keyframe').length;
    await page.evaluate(() => window.framewire.session.decoder.codec.close());
    await pictures(page, 5, 5000);
    await sleep(1000);
    assert.equal(texts(server, 'keyframe').length - before, 1);
    assert.equal((await stats(page)).decoderErrors, 1);
  },

  'hidden: said, no decoder; shown again: picture within a second': async () => {
    const { server, page } = await opened({});
    await pretendHidden(page, true);
    await until('the server to know', () => texts(server, 'visibility').length === 1);
    assert.equal(await page.evaluate(() => window.framewire.session.decoder.codec), null);
    const before = await stats(page);
    await sleep(1500);
    assert.ok((await stats(page)).decoded - before.decoded <= 1);
    await within(1000, async () => {
      await pretendHidden(page, true);
      await pretendHidden(page, false);
      await pictures(page, 1);
    });
    assert.deepEqual(
      texts(server, 'visibility')
        .map((v) => v.visible)
        .slice(0, 2),
      [false, true],
    );
  },
};
