// SPDX-License-Identifier: MIT
// /s/{id}: the page of one session. Glue between lib/session.js and what a person sees.

import { ApiError, exchangeCode } from './api.js';
import { askToken, sessionToken, setSessionToken, takeCode } from './auth.js';
import { Hud } from './hud.js';
import { Session } from './session.js';
import { describe } from './status.js';

const AWAKE_MS = 2500;
const AWAKE_TOUCH_MS = 6000; // a finger does not hover: the bar has to wait for it
const NOTICE_MS = 6000;

/** @param {string} id @returns {HTMLElement} */
function $(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page lacks #${id}`);
  return element;
}

const id = decodeURIComponent(location.pathname.split('/')[2] ?? '');
const stage = $('stage');
const help = /** @type {HTMLDialogElement} */ ($('help'));
const secure = window.isSecureContext;
const webcodecs = typeof VideoDecoder === 'function' && typeof VideoFrame === 'function';

const session = new Session({
  id,
  stage,
  token: () => sessionToken(id),
  present: new URLSearchParams(location.search).get('present') ?? '',
  shown: () => hud.due(),
  changed: (what) => {
    if (what === 'notice') showNotice(session.notice);
    else if (what === 'info') showInfo();
    draw();
  },
});

const hud = new Hud($('hud'), session.stats, () => ({
  codec: session.stats.codec,
  encoder: session.info.encoder,
  gpu: session.info.gpu,
  present: session.choice.path,
}));

window.framewire = { stats: () => session.stats.snapshot(), session, hud };

// ---- what is wrong, in words

let drawn = '';
let asking = false;
let answered = false; // a token was typed, and the server has not let it in yet
let codeRefused = ''; // what to say when the code in the address was good for nothing

function draw() {
  const status = describe({
    secure,
    webcodecs,
    online: navigator.onLine,
    host: location.host,
    name: session.info.title,
    link: session.connection.state,
    server: session.server,
    progress: session.progress,
    decoderTrouble: session.decoderTrouble,
    pictures: session.stats.presented,
  });
  if (session.connection.state.phase === 'open') answered = false;
  const key = JSON.stringify(status);
  if (key === drawn) return;
  drawn = key;
  const root = $('status');
  root.dataset.level = status.level;
  root.classList.toggle('busy', status.busy);
  $('status-title').textContent = status.title;
  $('status-text').textContent = status.text;
  const bar = /** @type {HTMLProgressElement} */ ($('status-progress'));
  bar.hidden = !(status.percent >= 0);
  if (!bar.hidden) bar.value = status.percent;
  root.classList.toggle('only-home', status.actions.join() === 'home');
  for (const button of root.querySelectorAll('[data-action]')) {
    const action = /** @type {any} */ (button instanceof HTMLElement ? button.dataset.action : '');
    /** @type {HTMLElement} */ (button).hidden = !status.actions.includes(action);
  }
  if (status.actions.includes('token'))
    void requestToken(answered ? 'That token was not accepted.' : codeRefused || status.text);
}

/** @param {string} why */
async function requestToken(why) {
  if (asking) return;
  asking = true;
  const token = await askToken(why);
  asking = false;
  if (!token) return;
  answered = true;
  setSessionToken(id, token);
  session.reconnect();
}

let noticeTimer = 0;
/** @param {string} text */
function showNotice(text) {
  const notice = $('notice');
  notice.textContent = text;
  notice.hidden = !text;
  clearTimeout(noticeTimer);
  noticeTimer = window.setTimeout(() => (notice.hidden = true), NOTICE_MS);
}

function showInfo() {
  const { title, source, gpu, encoder } = session.info;
  const name = title || source || 'Session';
  $('title').textContent = name;
  $('title').title = [gpu, encoder].filter(Boolean).join(' · ');
  document.title = `${name} – framewire`;
  stage.setAttribute('aria-label', `${name}, live picture. F1 shows the controls.`);
}

/** @type {Record<string, () => void>} */
const actions = {
  retry: () => session.reconnect(),
  home: () => location.assign('/'),
  reload: () => location.reload(),
  token: () => void requestToken('A token opens this session.'),
};
for (const button of document.querySelectorAll('[data-action]'))
  button.addEventListener('click', () =>
    actions[/** @type {HTMLElement} */ (button).dataset.action ?? '']?.(),
  );
for (const name of ['online', 'offline']) window.addEventListener(name, draw);

// ---- the bar

const bar = $('bar');
let awakeTimer = 0;
let touched = false; // by what moved last
function wakeBar() {
  bar.classList.add('awake');
  clearTimeout(awakeTimer);
  awakeTimer = window.setTimeout(
    () => bar.classList.remove('awake'),
    touched ? AWAKE_TOUCH_MS : AWAKE_MS,
  );
}
for (const type of /** @type {const} */ (['pointerdown', 'pointermove']))
  document.addEventListener(
    type,
    (e) => {
      touched = e.pointerType === 'touch';
      if (!touched && e.clientY < 72) wakeBar();
    },
    { passive: true, capture: true },
  );
// Not :hover, which a tap turns on as well: the grip would be gone before its click.
bar.addEventListener('pointerenter', (e) =>
  bar.classList.toggle('pointed', e.pointerType !== 'touch'),
);
bar.addEventListener('pointerleave', () => bar.classList.remove('pointed'));
const grip = $('grip');
grip.addEventListener('click', wakeBar);
grip.addEventListener('pointerup', wakeBar);
// Nor does the click of the same tap fall on a button of the bar that comes.
grip.addEventListener('touchend', (e) => e.preventDefault(), { passive: false });
bar.addEventListener('pointerdown', () => bar.classList.contains('awake') && wakeBar());
bar.addEventListener('focusin', wakeBar);

function toggleHud() {
  hud.toggle();
  const button = $('hud-button');
  button.setAttribute('aria-pressed', String(hud.open));
  button.dataset.size = hud.size;
}

function toggleHelp() {
  if (help.open) {
    help.close();
  } else {
    help.showModal();
    help.scrollTop = 0; // where it was left the last time
  }
}

async function toggleFullscreen() {
  try {
    if (document.fullscreenElement) await document.exitFullscreen();
    else await document.documentElement.requestFullscreen({ navigationUI: 'hide' });
  } catch {
    showNotice('This browser does not allow full screen here.');
  }
}

$('hud-button').addEventListener('click', toggleHud);
$('help-button').addEventListener('click', toggleHelp);
const fullscreen = $('fullscreen-button');
if (!document.fullscreenEnabled) fullscreen.hidden = true;
fullscreen.addEventListener('click', () => void toggleFullscreen());
document.addEventListener('fullscreenchange', () => {
  fullscreen.setAttribute('aria-pressed', String(document.fullscreenElement !== null));
  stage.focus({ preventScroll: true });
});
help.addEventListener('click', (e) => e.target === help && help.close());
help.addEventListener('close', () => stage.focus({ preventScroll: true }));

for (const type of ['keydown', 'pointerdown'])
  window.addEventListener(
    type,
    (e) =>
      document.documentElement.classList.toggle('tabbed', /** @type {any} */ (e).key === 'Tab'),
    { capture: true },
  );

// Before the session's own listener, so that these two keys never reach the source.
window.addEventListener(
  'keydown',
  (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    if (event.code !== 'F1' && event.code !== 'F2') return;
    event.preventDefault();
    if (event.repeat) return;
    if (event.code === 'F1') toggleHelp();
    else toggleHud();
  },
  { capture: true },
);

// ---- start

async function start() {
  wakeBar();
  stage.focus({ preventScroll: true });
  draw();
  const code = takeCode();
  if (!secure || !webcodecs) return;
  // The start page has left the token already; the code is spent all the same, but not waited for.
  if (code && sessionToken(id)) void redeem(code);
  else if (code) await redeem(code);
  if (!(await session.start())) draw();
}

/** @param {string} code */
async function redeem(code) {
  try {
    setSessionToken(id, await exchangeCode(id, code));
  } catch (error) {
    // Used up or too old. Without a token file nothing is needed; with one the page will ask.
    if (!(error instanceof ApiError)) return;
    if (error.status === 0) showNotice(error.message);
    else codeRefused = 'This link was used already, or is older than a minute. A token opens it.';
  }
}

void start();
