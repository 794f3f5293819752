// SPDX-License-Identifier: MIT
// What a person does, as the server gets it, in Chromium.

import { assert, sleep, until } from '../lib/check.mjs';
import { brief, inputs, opened } from '../lib/fake-page.mjs';

const barShown = (page) =>
  page.evaluate(() => getComputedStyle(document.querySelector('.pill')).visibility === 'visible');

/** Whether the picture has the frame that shows where the keyboard's focus is. */
const framed = (page) =>
  page.evaluate(() => {
    const { content } = getComputedStyle(document.getElementById('stage'), '::after');
    return content !== 'none';
  });

/** The help on a small screen: longer than that, shown from its top, without the keys a phone lacks. */
async function helpFromTheTop(page) {
  const seen = await page.evaluate(() => {
    const help = document.getElementById('help');
    const title = document.getElementById('help-title').getBoundingClientRect();
    const top = help.getBoundingClientRect().top;
    const words = help.innerText;
    return {
      longer: help.scrollHeight > help.clientHeight,
      scrolled: help.scrollTop,
      titleInView: title.top >= top && title.bottom <= innerHeight,
      keys: ['F1', 'F2', 'F11', 'Tab'].filter((key) => words.includes(key)),
    };
  });
  assert.deepEqual(seen, { longer: true, scrolled: 0, titleInView: true, keys: [] });
}

// Mostly waiting: run side by side.
export const patient = {
  'touch: a tap on the grip brings the bar, which stays, and its buttons work': async () => {
    const size = { width: 844, height: 390, touch: true };
    const { page } = await opened({}, '', size);
    await until('the bar to hide', async () => !(await barShown(page)), 6000);
    await page.touchscreen.tap(422, 6);
    await until('the bar', () => barShown(page), 1000);
    assert.deepEqual([await page.locator('#hud').isVisible(), page.errors], [false, []]);
    await sleep(1000);
    assert.equal(await barShown(page), true);
    await page.locator('#hud-button').tap();
    await page.locator('#hud:visible').waitFor();
    await page.locator('#help-button').tap();
    await page.locator('#help[open]').waitFor();
    await helpFromTheTop(page);
    await page.locator('#help button').tap();
    await page.locator('#fullscreen-button').tap();
    await until('full screen', () => page.evaluate(() => document.fullscreenElement !== null));
    await page.locator('#bar a').tap();
    await page.waitForURL((url) => url.pathname === '/');
  },
};

export default {
  'the frame of the keyboard’s focus: after Tab only': async () => {
    const { page } = await opened({});
    const focused = () => page.evaluate(() => document.activeElement?.id);
    assert.deepEqual([await focused(), await framed(page)], ['stage', false]);
    await page.keyboard.press('F1');
    await page.keyboard.press('Escape');
    await until('the help to go', async () => (await focused()) === 'stage');
    assert.equal(await framed(page), false);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Shift+Tab');
    assert.deepEqual([await focused(), await framed(page)], ['stage', true]);
    await page.keyboard.press('KeyR');
    assert.equal(await framed(page), false);
  },

  'mouse: motion, buttons with their places, wheel': async () => {
    const { server, page } = await opened({});
    await page.mouse.move(100, 300);
    await page.mouse.down();
    await page.mouse.move(140, 310, { steps: 4 });
    await page.mouse.down({ button: 'right' });
    await page.mouse.up();
    await page.mouse.up({ button: 'right' });
    await page.mouse.wheel(0, 120);
    await until('the wheel', () => inputs(server).some((e) => e.kind === 3));
    const events = inputs(server);
    assert.deepEqual(brief(events, [2]), ['2:0:1', '2:2:1', '2:0:0', '2:2:0']);
    const down = events.find((e) => e.kind === 2);
    assert.deepEqual([down.x, down.y], [100, 300]);
    const drag = events.filter((e) => e.kind === 1 && e.x > 100);
    assert.equal(Math.round(drag.reduce((sum, e) => sum + e.dx, 0)), 40);
    assert.deepEqual(
      events.filter((e) => e.kind === 3).map((e) => [e.dx, e.dy]),
      [[0, 120]],
    );
    assert.deepEqual(
      events.map((e) => e.seq),
      events.map((_, i) => i + 1),
    );
  },

  'keys: by place, no repeats, browser keys left alone, all let go on blur': async () => {
    const { server, page } = await opened({});
    await page.keyboard.down('Shift');
    await page.keyboard.down('KeyA');
    await page.keyboard.down('KeyA'); // auto-repeat
    await page.keyboard.up('KeyA');
    await page.keyboard.up('Shift');
    await page.keyboard.press('F2');
    await page.keyboard.press('F11');
    await page.keyboard.down('KeyW');
    await page.evaluate(() => window.dispatchEvent(new Event('blur')));
    await until('the release', () => inputs(server).some((e) => e.kind === 6));
    assert.deepEqual(brief(inputs(server), [4, 6]), [
      '4:42:1',
      '4:30:1',
      '4:30:0',
      '4:42:0',
      '4:17:1',
      '6:0:0',
    ]);
    assert.equal(inputs(server).find((e) => e.code === 30).mods, 1);
    assert.equal(await page.locator('#hud').isVisible(), true);
  },

  'keys: the Control that Windows invents for AltGr is let go': async () => {
    const { server, page } = await opened({});
    await page.evaluate(() => {
      const key = (type, code, altGraph) => {
        const event = new KeyboardEvent(type, {
          code,
          key: code,
          bubbles: true,
          cancelable: true,
          modifierAltGraph: altGraph,
        });
        Object.defineProperty(event, 'timeStamp', { value: 1000 });
        window.dispatchEvent(event);
      };
      key('keydown', 'ControlLeft', false);
      key('keydown', 'AltRight', true);
      key('keydown', 'KeyQ', true);
      key('keyup', 'KeyQ', true);
      key('keyup', 'ControlLeft', true);
      key('keyup', 'AltRight', false);
    });
    await until('the last key', () => inputs(server).some((e) => e.code === 100 && !e.state));
    assert.deepEqual(brief(inputs(server), [4]), [
      '4:29:1',
      '4:29:0',
      '4:100:1',
      '4:16:1',
      '4:16:0',
      '4:100:0',
    ]);
  },

  'touch: slots, more fingers than slots, cancel': async () => {
    const { server, page } = await opened({});
    await page.evaluate(() => {
      const stage = document.getElementById('stage');
      const touch = (type, pointerId) =>
        stage.dispatchEvent(
          new PointerEvent(type, {
            pointerId,
            pointerType: 'touch',
            clientX: 50,
            clientY: 60,
            bubbles: true,
          }),
        );
      for (let i = 0; i < 12; i++) touch('pointerdown', 2 ** 30 + i);
      touch('pointermove', 2 ** 30 + 11);
      for (let i = 0; i < 12; i++) touch('pointercancel', 2 ** 30 + i);
      touch('pointerdown', -5);
      touch('pointerup', -5);
      touch('pointerup', -5);
    });
    await until('the last finger', () => inputs(server).filter((e) => e.kind === 5).length >= 22);
    await sleep(200);
    const range = Array.from({ length: 10 }, (_, i) => i);
    assert.deepEqual(brief(inputs(server), [5]), [
      ...range.map((i) => `5:${i}:1`),
      ...range.map((i) => `5:${i}:3`),
      '5:0:1',
      '5:0:0',
    ]);
  },
};
