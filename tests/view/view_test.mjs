// SPDX-License-Identifier: MIT
// `framewire view` as a person uses it: a real server, a display of its own, and what is to be seen
// there. Each wait is for a state, with a limit that a busy machine keeps.
import { execFile, execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { Checks, Server, freePort, sleep, until } from '../tools/server.mjs';
import { Hand, View, openDisplay } from './display.mjs';
import { BLUE, CLICK, COLORS, Card, KEY, METER, ORANGE, near } from './testcard.mjs';

const LIMIT = 60000;
const TOKEN = 'view-test-token-0123456789abcdef';
const validation = process.env.FW_VALIDATION === '1' ? ['--validation'] : [];

const checks = new Checks('view');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'framewire-view-'));
const file = (name) => path.join(folder, name);
fs.writeFileSync(file('token'), `${TOKEN}\n`, { mode: 0o600 });
fs.writeFileSync(file('wrong'), 'another-token-0123456789abcdef\n', { mode: 0o600 });

const server = new Server({
  port: await freePort(),
  args: ['--token-file', file('token')],
  env: { FW_VALIDATION: '0' }, // the server's own is tested elsewhere
});
const [display, up] = await Promise.all([openDisplay(), server.ready()]);
const hand = new Hand(display.name);
const access = ['--token-file', file('token')];

/** The server's worker processes that run a session, by id. */
function workers() {
  const out = execFileSync('pgrep', ['-P', String(server.child.pid)], { encoding: 'utf8' });
  return out.trim().split('\n').map(Number);
}

const sessions = async () => (await server.api('GET', '/sessions', undefined, TOKEN)).body.sessions;

async function theWindow(view) {
  await until(async () => (await hand.windows()).length > 0 || view.code !== null, LIMIT);
  return (await hand.windows())[0];
}

/** Keeps a look at the display where somebody finds it, when a check failed. */
async function expect(good, what, detail = '') {
  if (!good) {
    fs.mkdirSync('tests/out', { recursive: true });
    await hand.do(`save ${path.resolve(`tests/out/view-${checks.failed}.ppm`)}`);
  }
  return checks.check(good, what, detail);
}

// ---- what can't work is told in words, before anything is shown

async function refusals() {
  const cases = [
    ['no address', [], 2, /address is missing/],
    ['an option that is none', [server.base, '--colour'], 2, /--colour: there is no such option/],
    ['a size that is none', [server.base, '--size', '4'], 2, /a size looks like 1280x720/],
    ['an address that is none', ['ftp://x'], 2, /\S/],
    ['no such token file', [server.base, '--token-file', file('none')], 1, /none/],
    ['a wrong token', [server.base, '--token-file', file('wrong')], 1, /token/],
    ['no token', [server.base], 1, /token/],
    ['no such source', [server.base, ...access, '--source', 'no.glb'], 1, /no such file/],
    ['no such decoder', [server.base, ...access, '--decoder', 'cuda'], 1, /no such device/],
    ['no such device', [server.base, ...access, '--gpu', 'no such'], 1, /--gpu/],
    ['a file of a strange kind', [server.base, ...access, '--record', 'a.txt'], 1, /\.mp4/],
    ['a file that is there', [server.base, ...access, '--record', file('x.mp4')], 1, /--force/],
    ['nobody there', [`http://127.0.0.1:${await freePort()}`, ...access], 1, /127\.0\.0\.1/],
  ];
  fs.writeFileSync(file('x.mp4'), 'mine');
  const run = async ([what, args, code, words]) => {
    const view = new View(display.name, args);
    const ended = await view.ended(LIMIT);
    checks.check(ended === code && words.test(view.words), what, `${ended}: ${view.words}`);
  };
  for (let i = 0; i < cases.length; i += 3) await Promise.all(cases.slice(i, i + 3).map(run));
  checks.check(fs.readFileSync(file('x.mp4'), 'utf8') === 'mine', 'and leaves that file alone');
  const blind = new View(null, [server.base]);
  checks.check((await blind.ended(LIMIT)) === 1, 'no display: ends', `${blind.code}`);
  checks.check(/DISPLAY/.test(blind.words), '… and says so', blind.words);
  checks.check((await sessions()).length === 0, 'none of them left a session behind');
}

// ---- the test card: colours, ids, input, size, a lost worker

async function inputs(card) {
  const [x, y] = card.spot(CLICK);
  await hand.do(`move ${x} ${y}`);
  await hand.do('press 1');
  await hand.do('release 1');
  const clicked = () => card.color([865, 160, 875, 180]);
  await expect(
    await until(async () => near(await clicked(), ORANGE, 12), LIMIT),
    'a click turns the patch',
    `${await clicked()}`,
  );
  const pink = await until(async () => near(await card.color(CLICK), [255, 0, 128], 40), LIMIT);
  await expect(pink, 'the pointer is drawn where it is', `${await card.color(CLICK)}`);
  await hand.do('key a'); // evdev 30
  const keyed = await until(async () => near(await card.color(KEY), COLORS[30 % 6], 12), LIMIT);
  await expect(keyed, 'a key by its place', `${await card.color(KEY)}`);
  await hand.do('press 5');
  await hand.do('release 5');
  const step = [METER[0], 410, METER[2], 415];
  const lit = await until(async () => near(await card.color(step), [0, 224, 160], 16), LIMIT);
  await expect(lit, 'the wheel', `${await card.color(step)}`);
}

async function testCard() {
  const args = [server.base, ...access, '--source', 'testcard', '--size', '640x360'];
  const stats = file('stats.json');
  const view = new View(display.name, [
    ...args,
    ...['--convert', 'gpu', '--log-level', 'info', '--stats', stats, ...validation],
  ]);
  let window = await theWindow(view);
  if (!(await expect(window?.width === 640 && window?.height === 360, 'a window', view.words)))
    return;
  let card = new Card(hand, window);
  const right = await until(async () => (await card.wrong()) === '', LIMIT);
  if (!(await expect(right, 'the colours are right', await card.wrong()))) return;
  await expect(/Test card/.test((await hand.windows())[0].title), 'it has the session’s title');
  const before = await card.id();
  await expect(before > 0n && before < 100000n, 'the painted id is read', `${before}`);
  await expect(await until(async () => (await card.id()) > before, LIMIT), 'pictures go on');
  await inputs(card);

  await hand.do(`resize ${window.id} 501 333`);
  await until(async () => (await hand.windows())[0].width === 501, LIMIT);
  [window] = await hand.windows();
  card = new Card(hand, window);
  const session = async () => (await sessions())[0];
  const follows = await until(async () => {
    const { width, height } = await session();
    return width === 501 && height === 333 && (await card.wrong()) === '';
  }, LIMIT);
  await expect(follows, 'the picture follows an odd size', await card.wrong());

  await hand.do('key F2');
  const covered = await until(async () => (await card.wrong()) !== '', LIMIT);
  await expect(covered, 'F2 shows figures over it');
  for (let i = 0; i < 2; i++) {
    await sleep(100); // closer together, presses count as one that is held
    await hand.do('key F2');
  }
  const bare = await until(async () => (await card.wrong()) === '', LIMIT);
  await expect(bare, 'and hides them again', await card.wrong());

  for (const worker of workers()) process.kill(worker, 'SIGKILL');
  const told = await until(() => /session is restarting/.test(view.words), LIMIT);
  await expect(told, 'a killed worker is told', view.words);
  const last = await card.id();
  const back = await until(async () => {
    const id = await card.id();
    return id > last + 5n && id < last + 100000n && (await card.wrong()) === '';
  }, LIMIT);
  await expect(back, 'and the picture comes back', `${last} ${await card.id()}`);

  await hand.do(`close ${window.id}`);
  const code = await view.ended(LIMIT);
  const end = `${code}: ${view.words}`;
  checks.check(code === 0, 'closing the window ends it, without a word of Vulkan’s', end);
  const sums = JSON.parse(fs.readFileSync(stats, 'utf8'));
  const good =
    sums.presented > 10 &&
    sums.presented + sums.dropped <= sums.received &&
    sums.decoder_errors === 0;
  checks.check(good, 'figures that add up', JSON.stringify(sums));
  checks.check(sums.input_to_photon_ms.count >= 5, 'input to photon was measured for inputs');
  const gone = await until(async () => (await sessions()).length === 0, LIMIT);
  checks.check(gone, 'the session it made is gone with it', JSON.stringify(await sessions()));
}

// ---- a model: dragged, recorded; the picture made RGB on the CPU

const probe = (name) =>
  new Promise((resolve) => {
    const show = 'stream=codec_name,width,height,nb_read_frames';
    execFile(
      'ffprobe',
      ['-v', 'error', '-count_frames', '-show_entries', show, '-of', 'json', name],
      (error, out, err) =>
        resolve({ error: err.trim(), ...(JSON.parse(out || '{}').streams?.[0] ?? {}) }),
    );
  });

async function model() {
  const models = process.env.FW_MODELS ?? 'models';
  const names = ['DamagedHelmet.glb', 'glTF2/2CylinderEngine-glTF-Binary/2CylinderEngine.glb'];
  const name = names.find((one) => fs.existsSync(path.join(models, one))) ?? 'demo';
  const clip = file('clip.mp4');
  const view = new View(display.name, [
    ...[server.base, ...access, '--source', name, '--size', '400x300', '--record', clip],
    ...['--convert', 'cpu', '--stats', file('model.json'), ...validation],
  ]);
  const window = await theWindow(view);
  if (!(await expect(window, `a window for ${name}`, view.words))) return;
  const middle = [window.x + 200, window.y + 150];
  const lit = await until(async () => (await hand.pixels([middle]))[0].some((v) => v > 24), LIMIT);
  await expect(lit, 'it is to be seen');
  const look = () => hand.do(`sum ${middle[0] - 60} ${middle[1] - 60} 120 120`);
  // At rest it is the same twice; dragged it is another.
  let rest = '';
  await until(async () => rest === (rest = await look()), LIMIT, 700);
  await hand.do(`move ${middle[0]} ${middle[1]}`);
  await hand.do('press 1');
  for (let i = 1; i <= 10; i++) await hand.do(`move ${middle[0] + 8 * i} ${middle[1]}`);
  await hand.do('release 1');
  await expect(await until(async () => (await look()) !== rest, LIMIT), 'a drag turns it');
  view.child.kill('SIGINT');
  const code = await view.ended(LIMIT);
  checks.check(code === 0 && /recorded/.test(view.words), 'Ctrl-C ends it in order', view.words);
  const told = JSON.parse(fs.readFileSync(file('model.json'), 'utf8'));
  const found = await probe(clip);
  checks.check(
    found.codec_name === 'h264' && found.width === 400 && found.height === 300 && !found.error,
    'the recording plays',
    JSON.stringify(found),
  );
  const frames = Number(found.nb_read_frames);
  checks.check(
    frames > 1 && frames === told.received,
    'with every picture that came',
    `${frames} ${told.received}`,
  );
}

// ---- a session that somebody else made

async function join() {
  const body = { source: 'testcard', args: { animate: '0' }, width: 320, height: 240, fps: 30 };
  const made = (await server.api('POST', '/sessions', body, TOKEN)).body;
  const size = ['--size', '320x240'];
  const view = new View(display.name, [server.base + made.page, ...size]);
  const window = await theWindow(view);
  if (!(await expect(window, 'the code of a page’s address opens its session', view.words))) return;
  const card = new Card(hand, window);
  const right = await until(async () => (await card.wrong()) === '', LIMIT);
  await expect(right, 'and shows it', await card.wrong());
  const again = new View(display.name, [server.base + made.page, ...size]);
  checks.check(
    (await again.ended(LIMIT)) === 1 && /token/.test(again.words),
    'only once',
    again.words,
  );
  for (const [width, height, what] of [
    [1000, 700, 'F11 covers the screen'],
    [320, 240, 'and again gives it back'],
  ]) {
    await hand.do('key F11');
    const fits = await until(async () => {
      const [now] = await hand.windows();
      const full = new Card(hand, now);
      return now.width === width && now.height === height && (await full.wrong()) === '';
    }, LIMIT);
    await expect(fits, what, JSON.stringify(await hand.windows()));
    await sleep(100); // closer together, presses count as one that is held
  }
  // The test card at rest is blue there until somebody clicks.
  await expect(near(await card.color(CLICK), BLUE), 'it is at rest', `${await card.color(CLICK)}`);
  await server.api('DELETE', `/sessions/${made.id}`, undefined, TOKEN);
  const words = await until(() => /This session (is over|was closed)/.test(view.words), LIMIT);
  await expect(words, 'its end is told', view.words);
  const covered = await until(async () => (await card.wrong()) !== '', LIMIT);
  await expect(covered && view.code === null, 'in the window, which stays');
  await hand.do(`close ${window.id}`);
  checks.check((await view.ended(LIMIT)) === 0, 'until it is closed', `${view.code}`);
}

// ---- the server goes and comes back

async function serverGone() {
  const view = new View(display.name, [
    ...[server.base, ...access, '--source', 'testcard', '--size', '320x240'],
    ...['--log-level', 'info'],
  ]);
  const window = await theWindow(view);
  if (!(await expect(window, 'a window', view.words))) return;
  const card = new Card(hand, window);
  await until(async () => (await card.wrong()) === '', LIMIT);
  server.child.kill('SIGKILL');
  const cut = await until(() => /Reconnecting/.test(view.words), LIMIT);
  await expect(cut && view.code === null, 'a lost server: it tries again', view.words);
  await expect(
    (await card.wrong()) === '',
    'and leaves the last picture in view',
    await card.wrong(),
  );
  await hand.do(`close ${window.id}`);
  checks.check((await view.ended(LIMIT)) === 0, 'and ends when it is closed', view.words);
}

try {
  if (checks.check(up, 'the server runs', server.log)) {
    for (const part of [refusals, testCard, model, join, serverGone]) {
      const begun = Date.now();
      await part();
      console.log(`# ${part.name}: ${((Date.now() - begun) / 1000).toFixed(1)} s`);
    }
  }
} catch (error) {
  checks.check(false, 'the test itself', error.stack);
}
await hand.close();
await server.stop();
await display.close();
fs.rmSync(folder, { recursive: true, force: true });
process.exit(checks.finish());
