// SPDX-License-Identifier: MIT
// /ops: everything that runs, looked at once a second while the page is in view.

import { ApiError, closeSession, getMachine, listSessions, listSources } from './api.js';
import { loadCharts } from './ops-charts.js';
import { Detail } from './ops-detail.js';
import { Machine } from './ops-machine.js';
import { Table } from './ops-table.js';
import { $, make, withToken, words } from './page.js';

const EVERY_MS = 1000;
const AFTER_TROUBLE_MS = 3000;

/** @typedef {import('./api.js').SessionInfo} SessionInfo */

const machine = new Machine();
const detail = new Detail();
const table = new Table((session) => void close(session));

/** @type {SessionInfo[]} */
let sessions = [];
let seats = -1; // not known yet
let knownAt = ''; // when the figures on the page were told

// ---- which session, from the address

function chosen() {
  const found = /^#session=(.+)$/.exec(location.hash);
  try {
    return found ? decodeURIComponent(found[1]) : '';
  } catch {
    return '';
  }
}

function route() {
  const id = chosen();
  if (id !== detail.id) detail.choose(id);
  $('list').hidden = $('machine').hidden = id !== '';
  if (id) $('detail-title').focus({ preventScroll: true });
  window.scrollTo(0, 0);
  void refreshDetail();
}

async function refreshDetail() {
  if (!detail.id || !knownAt) return;
  await detail.refresh(sessions.find((s) => s.id === detail.id));
}

// ---- closing one

/** @param {SessionInfo} session */
async function close(session) {
  const dialog = /** @type {HTMLDialogElement} */ ($('close-dialog'));
  const { viewers = 0 } = session;
  const who = viewers === 1 ? 'One viewer sees it now' : `${viewers} viewers see it now`;
  $('close-text').textContent =
    `${session.title || session.source}: ${viewers ? who : 'nobody watches it now'}. ` +
    'What was done in it is lost.';
  dialog.returnValue = '';
  dialog.showModal();
  await new Promise((resolve) => dialog.addEventListener('close', resolve, { once: true }));
  if (dialog.returnValue !== 'ok') return;
  try {
    await withToken(() => closeSession(session.id));
    if (detail.id === session.id) location.hash = '';
    await refresh();
  } catch (error) {
    trouble(words(error));
  }
}

// ---- looking

/** @param {string} text '' = none */
function trouble(text) {
  const box = $('error');
  const since = text && knownAt ? ` Figures below are of ${knownAt}.` : '';
  if (box.textContent !== text + since) box.textContent = text + since;
  box.hidden = !text;
  document.body.classList.toggle('stale', text !== '' && knownAt !== '');
}

/** A session's token opens its session, not the machine. */
async function machineOrNull() {
  try {
    return await getMachine();
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return null;
    throw error;
  }
}

async function refresh() {
  const [list, totals] = await withToken(() => Promise.all([listSessions(true), machineOrNull()]));
  if (seats < 0) await facts();
  sessions = list;
  knownAt = new Date().toLocaleTimeString();
  table.show(sessions);
  if (totals) machine.show(totals, { sessions: sessions.length, most: seats });
  $('machine').classList.toggle('untold', !totals);
  await refreshDetail();
}

async function look() {
  for (;;) {
    let wait = EVERY_MS;
    try {
      if (document.visibilityState === 'visible') await refresh();
      trouble('');
    } catch (error) {
      trouble(words(error));
      if (error instanceof ApiError && error.status === 401) {
        $('error').append(' ', tokenButton());
        return;
      }
      wait = AFTER_TROUBLE_MS;
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

function tokenButton() {
  const button = make('button', 'quiet small', 'Enter token');
  button.type = 'button';
  button.addEventListener('click', () => void look());
  return button;
}

async function facts() {
  const list = await listSources();
  const { version, gpu, encoder, limits } = /** @type {any} */ (list);
  seats = limits?.maxSessions ?? 0;
  const told = [gpu, encoder, version ? `framewire ${version}` : ''].filter(Boolean);
  $('facts').replaceChildren(...told.map((fact) => make('li', '', String(fact))));
}

// ---- start

$('detail-close').addEventListener('click', () => {
  const session = sessions.find((s) => s.id === detail.id);
  if (session) void close(session);
});
window.addEventListener('hashchange', route);

void loadCharts().then((there) => {
  if (there) {
    machine.open();
    detail.open();
    machine.draw();
    if (detail.figures) detail.draw();
    return;
  }
  $('no-charts').textContent =
    'There are tables only: Chart.js is not installed on the server (package libjs-chart.js, or --chart-js FILE).';
  $('no-charts').hidden = false;
});
route();
void look();
