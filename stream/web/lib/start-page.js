// SPDX-License-Identifier: MIT
// /: choose what to open, or come back to what is running.

import { ApiError, closeSession, createSession, listSessions, listSources } from './api.js';
import { setSessionToken } from './auth.js';
import { $, make, size, withToken, words } from './page.js';
import { probeOnce } from './probe.js';
import { insecureWords } from './status.js';
import { clampSize } from './viewport.js';

const POLL_MS = 3000;
const MEASURE_AFTER_MS = 600;
const SEARCH_FROM = 7;
const FPS = 60;

/** @typedef {import('./api.js').Source} Source */

// ---- words

/** @param {Source} source */
function kindOf(source) {
  if (source.kind) return source.kind;
  if (source.source === 'testcard') return 'testcard';
  return source.file || source.args?.model ? 'model' : 'demo';
}

/** @param {string} file */
function prettyName(file) {
  const base = file.replace(/^.*\//, '').replace(/\.[^.]+$/, '');
  return (
    base
      .replace(/[_-]+/g, ' ')
      .replace(/([a-z])([A-Z])/g, '$1 $2')
      .trim() || file
  );
}

/** @param {string} file */
function extension(file) {
  return /\.([^./]+)$/.exec(file)?.[1].toUpperCase() ?? '';
}

let errorTimer = 0;
/** @param {string} text */
function showError(text) {
  const box = $('error');
  box.textContent = text;
  box.hidden = !text;
  clearTimeout(errorTimer);
  if (text) errorTimer = window.setTimeout(() => (box.hidden = true), 15_000);
}

// ---- cards

/** A hue that stays with the name, so that a model is found again by its colour.
 * @param {string} name
 */
function hueOf(name) {
  let hash = 2166136261;
  for (const char of name) hash = Math.imul(hash ^ char.charCodeAt(0), 16777619);
  return Math.round(((hash >>> 0) * 137.508) % 360);
}

/** @param {Source} source @param {string} kind */
function art(source, kind) {
  const box = make('span', `art art-${kind}`);
  box.setAttribute('aria-hidden', 'true');
  if (kind === 'model') {
    const name = source.file ?? source.title;
    box.style.setProperty('--hue', String(hueOf(name)));
    box.append(make('span', 'initials', prettyName(name).slice(0, 2)));
    return box;
  }
  const picture = make('img', '');
  picture.alt = '';
  picture.decoding = 'async';
  picture.hidden = true;
  picture.addEventListener('load', () => (picture.hidden = false));
  picture.addEventListener('error', () => picture.remove());
  picture.src = kind === 'testcard' ? '/img/testcard.webp' : '/img/scene.webp';
  box.append(picture);
  return box;
}

/** @param {Source} source */
function card(source) {
  const kind = kindOf(source);
  const button = make('button', `card card-${kind}`);
  button.type = 'button';
  const text = make('span', 'card-text');
  const title = kind === 'model' ? prettyName(source.file ?? source.title) : source.title;
  text.append(make('span', 'card-title', title));
  const note =
    kind === 'model'
      ? [extension(source.file ?? ''), source.bytes === undefined ? '' : size(source.bytes)]
          .filter(Boolean)
          .join(' · ')
      : source.description;
  if (note) text.append(make('span', 'card-note', note));
  if (source.file) button.title = source.file;
  button.append(art(source, kind), text);
  button.dataset.search = `${title} ${source.file ?? ''} ${source.description ?? ''}`.toLowerCase();
  button.addEventListener('click', () => void openSource(source, button));
  const item = make('li', `item-${kind}`);
  item.append(button);
  return item;
}

/** @param {Source} source @param {HTMLButtonElement} button */
async function openSource(source, button) {
  if (document.body.classList.contains('opening')) return;
  document.body.classList.add('opening');
  button.setAttribute('aria-busy', 'true');
  showError('');
  const ratio = window.devicePixelRatio || 1;
  const { width, height } = clampSize(
    Math.round(window.innerWidth * ratio),
    Math.round(window.innerHeight * ratio),
  );
  try {
    const created = await withToken(() =>
      createSession({ source: source.source, args: source.args ?? {}, width, height, fps: FPS }),
    );
    if (created.token) setSessionToken(created.id, created.token);
    location.assign(created.page);
  } catch (error) {
    showError(words(error));
    document.body.classList.remove('opening');
    button.removeAttribute('aria-busy');
  }
}

/** @param {Source[]} sources */
function showSources(sources) {
  const models = sources.filter((s) => kindOf(s) === 'model');
  const features = sources.filter((s) => kindOf(s) !== 'model');
  $('features').replaceChildren(...features.map(card));
  $('models').replaceChildren(...models.map(card));
  $('no-models').hidden = models.length > 0;
  $('search-box').hidden = models.length < SEARCH_FROM;
  $('model-count').textContent = models.length ? String(models.length) : '';
  filter();
}

function filter() {
  const wanted = /** @type {HTMLInputElement} */ ($('search')).value.trim().toLowerCase();
  let shown = 0;
  for (const button of document.querySelectorAll('#models .card')) {
    const fits = wanted
      .split(/\s+/)
      .every((word) => /** @type {HTMLElement} */ (button).dataset.search?.includes(word));
    /** @type {HTMLElement} */ (button.parentElement).hidden = !fits;
    if (fits) shown++;
  }
  $('no-match').hidden = !wanted || shown > 0;
}

// ---- running sessions

/** @param {import('./api.js').SessionInfo} session */
function sessionRow(session) {
  const row = make('li', 'session');
  const link = make('a', 'session-link');
  link.href = `/s/${encodeURIComponent(session.id)}`;
  const state = session.state ?? 'running';
  const dot = make('span', `dot dot-${state}`);
  dot.setAttribute('aria-hidden', 'true');
  const name = make('span', 'session-name', session.title || session.source || session.id);
  const viewers = session.viewers ?? 0;
  const facts = [
    state,
    session.width && session.height ? `${session.width} × ${session.height}` : '',
    viewers === 1 ? '1 viewer' : `${viewers} viewers`,
  ].filter(Boolean);
  link.append(dot, name, make('span', 'session-facts', facts.join(' · ')));
  const close = make('button', 'quiet', 'Close');
  close.type = 'button';
  close.setAttribute('aria-label', `Close ${name.textContent}`);
  close.addEventListener('click', async () => {
    close.disabled = true;
    try {
      await withToken(() => closeSession(session.id));
      row.remove();
    } catch (error) {
      showError(words(error));
      close.disabled = false;
    }
    void refreshSessions();
  });
  row.append(link, close);
  return row;
}

let lastSessions = '';

async function refreshSessions() {
  const sessions = await listSessions().catch(() => null);
  if (!sessions) return;
  const key = JSON.stringify(
    sessions.map((s) => [s.id, s.state, s.viewers, s.width, s.height, s.title]),
  );
  if (key === lastSessions) return;
  lastSessions = key;
  $('running').hidden = sessions.length === 0;
  const focused = document.activeElement
    ?.closest('.session')
    ?.querySelector('a')
    ?.getAttribute('href');
  $('sessions').replaceChildren(...sessions.map(sessionRow));
  if (focused)
    /** @type {HTMLElement | null} */ (
      $('sessions').querySelector(`a[href="${focused}"]`)
    )?.focus();
}

// ---- start

async function start() {
  $('insecure').hidden = window.isSecureContext && typeof VideoDecoder === 'function';
  if (!window.isSecureContext) $('insecure').textContent = insecureWords(location.host);
  $('search').addEventListener('input', filter);
  for (;;) {
    try {
      const list = await withToken(listSources);
      showSources(list.sources);
      const facts = [list.gpu, list.encoder, list.version ? `framewire ${list.version}` : ''];
      $('machine').replaceChildren(
        ...facts.filter(Boolean).map((fact) => make('li', '', String(fact))),
      );
      showError('');
      break;
    } catch (error) {
      showError(words(error));
      if (error instanceof ApiError && error.status === 401) return;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }
  document.body.classList.add('ready');
  // The quiet moment to learn how this browser shows pictures best.
  if (window.isSecureContext) setTimeout(() => void probeOnce(), MEASURE_AFTER_MS);
  await refreshSessions();
  setInterval(() => document.visibilityState === 'visible' && void refreshSessions(), POLL_MS);
}

// Back from a session by the browser's history: the page may be an old copy of itself.
window.addEventListener('pageshow', (event) => {
  if (!event.persisted) return;
  document.body.classList.remove('opening');
  for (const busy of document.querySelectorAll('[aria-busy]')) busy.removeAttribute('aria-busy');
  void refreshSessions();
});

void start();
