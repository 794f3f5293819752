// SPDX-License-Identifier: MIT
// The start page against the fake server, in Chromium.

import { chromiumPage } from '../lib/browsers.mjs';
import { assert, until } from '../lib/check.mjs';
import { SOURCES, address, fake } from '../lib/fake-page.mjs';
import { firstPicture } from '../lib/page.mjs';

export default {
  'start page: cards, search, what runs, and a full server in words': async () => {
    const server = await fake();
    server.sessions = [
      { id: 'fake', title: 'Duck.glb', source: 'scene', state: 'running', viewers: 2 },
    ];
    const page = await chromiumPage();
    await page.goto(address(server, '/'));
    await page.locator('#features .card').first().waitFor();
    assert.equal(await page.locator('#features .card').count(), 2);
    assert.equal(await page.locator('#models .card').count(), 7);
    await page.fill('#search', 'helm');
    assert.deepEqual(await page.locator('#models .card:visible .card-title').allTextContents(), [
      'Damaged Helmet',
    ]);
    await page.fill('#search', 'nothing like it');
    await page.locator('#no-match:visible').waitFor();
    await page.fill('#search', '');
    server.full = true;
    await page.locator('#models .card').first().click();
    await page.locator('#error:visible').waitFor();
    assert.match(await page.textContent('#error'), /busy: all seats are taken.*5 s/);
    server.full = false;
    await page.locator('.session .quiet').click();
    await until('the row to go', async () => (await page.locator('.session').count()) === 0);
    await page.locator('#features .card').first().focus();
    await page.keyboard.press('Enter');
    await page.waitForURL('**/s/fake');
    await firstPicture(page);
    assert.deepEqual(page.errors, []);
  },

  'start page: no models yet, and where to put them': async () => {
    const server = await fake({ sources: SOURCES.slice(0, 2) });
    const page = await chromiumPage();
    await page.goto(address(server, '/'));
    await page.locator('#no-models:visible').waitFor();
    const hint = (await page.textContent('#no-models')).replace(/\s+/g, ' ');
    assert.match(hint, /\.glb, \.gltf, \.obj … files into the server’s models folder/);
    assert.match(hint, /models\/ beside \.\/run, or --models DIR/);
  },

  'start page: a protected server asks for its token, which stays out of addresses': async () => {
    const server = await fake({ token: 'sesame' });
    const page = await chromiumPage();
    await page.goto(address(server, '/'));
    await page.locator('#token-dialog[open]').waitFor();
    await page.fill('#token', 'wrong');
    await page.keyboard.press('Enter');
    await until('a second question', async () =>
      /not accepted/.test(
        await page
          .locator('#token-dialog[open] [data-why]')
          .textContent()
          .catch(() => ''),
      ),
    );
    await page.fill('#token', 'sesame');
    await page.keyboard.press('Enter');
    await page.locator('#features .card').first().waitFor();
    assert.ok(!page.url().includes('sesame'));
  },
};
