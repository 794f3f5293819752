// SPDX-License-Identifier: MIT
// The records of frames against what a real page did with them.

import { chromiumPage } from '../lib/browsers.mjs';
import { assert, sleep, until } from '../lib/check.mjs';
import { firstPicture, stats } from '../lib/page.mjs';
import { Server } from '../lib/server.mjs';
import { readTraceEvents } from '../lib/trace-events.mjs';
import { bestOf, contradiction, differences } from '../../tools/proof.mjs';

/** The file for Perfetto against the records: what a person finds there is what was measured. */
async function checkPerfetto(server, id) {
  const path = server.url(`/api/v1/sessions/${id}/trace?last=60s`);
  const text = await (await fetch(`${path}&format=perfetto`)).text();
  const { frames, stages } = await (await fetch(path)).json(); // newer: has all of the file
  const { tracks, arrows } = readTraceEvents(text);
  const names = stages.map((s) => s.name).filter((name) => name !== 'rest');
  assert.deepEqual([...tracks.keys()].slice(0, names.length), names); // then what is beside them
  assert.ok(tracks.has('not shown'));
  const records = new Map(frames.map((f) => [f.frame_id, f]));
  for (const name of names)
    for (const { from, to, args } of tracks.get(name)) {
      const told = records.get(args.frame)?.[`${name}_us`];
      assert.ok(
        Math.abs(to - from - told) < 0.01,
        `${name} of ${args.frame}: ${to - from}, ${told}`,
      );
    }
  assert.ok(tracks.get('encode').length > 30 && tracks.get('present').length > 30);
  assert.ok(arrows.length >= 5, `${arrows.length} arrows`);
  for (const { from, to, frame } of arrows) {
    assert.match(from, /^(deliver|inputs answered)/);
    assert.match(to, /^present/);
    assert.ok(records.get(frame).shows_input, `frame ${frame}`);
  }
}

const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

export const timed = {
  'every picture has a record to the screen, and little of it is unexplained': async () => {
    const server = await Server.shared();
    const created = await server.create({ source: 'testcard', width: 640, height: 360 });
    const page = await chromiumPage({ width: 640, height: 360 });
    await page.goto(server.url(created.page));
    await firstPicture(page);
    for (let i = 0; i < 20; i++) {
      await page.mouse.move(100 + 10 * i, 100);
      await sleep(100);
    }
    const told = 'records with the page’s clock';
    const json = await until(told, async () => {
      const { body } = await server.api('GET', `/sessions/${created.id}/trace?last=60s`);
      const shown = body.frames.filter((f) => f.total_us !== null);
      return shown.filter((f) => f.clock === 'estimate').length > 30 && { ...body, shown };
    });
    await checkPerfetto(server, created.id);
    const { presented, dropped } = await stats(page);
    const count = (outcome) => json.frames.filter((f) => f.outcome === outcome).length;
    assert.ok(count('presented') <= presented, `${count('presented')}, the page says ${presented}`);
    const dropsByClient = json.frames.filter((f) => f.reason === 'client').length;
    assert.ok(dropsByClient <= dropped, `${dropsByClient} dropped, the page says ${dropped}`);
    assert.ok(count('unconfirmed') === 0 && count('open') < 16, JSON.stringify(json.summary));
    const names = json.stages.map((stage) => `${stage.name}_us`);
    for (const frame of json.shown) {
      const sum = names.reduce((all, name) => all + (frame[name] ?? 0), 0);
      assert.ok(Math.abs(sum - frame.total_us) <= 1, JSON.stringify(frame));
    }
    const rest = median(json.shown.map((f) => f.rest_us / f.total_us));
    assert.ok(rest <= 0.05, `rest ${rest} of the total`);
    for (const name of ['network_us', 'decode_us', 'present_us']) {
      const known = json.shown.filter((f) => f[name] !== null).length;
      assert.ok(known >= 0.9 * json.shown.length, `${name} of ${known} of ${json.shown.length}`);
    }
    // The page's own clock alone measures from its sending on, which is a little earlier.
    const pageMs = median(await page.evaluate(() => window.framewire.session.stats.inputDelays));
    const ours = json.frames.filter((f) => f.input_to_presented_us !== null);
    const serverMs = median(ours.map((f) => f.input_to_presented_us)) / 1000;
    assert.ok(ours.length >= 5, `${ours.length} inputs`);
    const apart = pageMs - serverMs;
    assert.ok(apart > -2 && apart < 0.5 * pageMs + 5, `page ${pageMs} ms, records ${serverMs} ms`);
  },

  'a decoder that is 20 ms slower is seen as that, and nothing else is': async () => {
    const server = await Server.shared();
    const args = { animate: '0' };
    const size = { width: 640, height: 360 };
    const created = await server.create({ source: 'testcard', args, ...size, fps: 240 });
    const page = await chromiumPage(size);
    await page.goto(server.url(created.page));
    await firstPicture(page);
    const wrong = await bestOf(4, async () => {
      const inputs = { with: new Set(), without: new Set() };
      for (let i = 0; i < 30; i++) {
        const on = i % 2 === 0;
        const delay = on ? 'decode:20ms' : '';
        const { status } = await server.api('POST', `/sessions/${created.id}/fault`, { delay });
        assert.equal(status, 204);
        const { lastInputId: before } = await stats(page);
        await page.mouse.move(100 + 10 * i, 100 + (i % 7));
        const shown = await until('the input to be shown', async () => {
          const { lastInputId } = await stats(page);
          return lastInputId > before && lastInputId;
        });
        for (let id = before + 1; id <= shown; id++) (on ? inputs.with : inputs.without).add(id);
      }
      const { body } = await server.api('GET', `/sessions/${created.id}/trace?last=60s`);
      return contradiction(differences(body, inputs), 'decode', 20, 12);
    });
    assert.equal(wrong, '');
  },
};
