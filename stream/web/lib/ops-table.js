// SPDX-License-Identifier: MIT
// /ops: the sessions as a table that can be sorted and filtered. Rows stay where they are and only
// what changed is written, so that hundreds of them can be looked at every second.

import { $, make } from './page.js';

const TREND = 60; // points
const TREND_WIDTH = 96;
const TREND_HEIGHT = 24;
const NAMESPACE = 'http://www.w3.org/2000/svg';

/** @typedef {import('./api.js').SessionInfo} SessionInfo */

/** @param {number | null | undefined} ms */
export function time(ms) {
  if (ms === null || ms === undefined) return '–';
  if (ms === 0) return '0';
  return ms < 9.95 ? ms.toFixed(1) : Math.round(ms).toLocaleString('en');
}

/** @param {import('./api.js').Quantiles | undefined} q */
function pair(q) {
  if (!q || q.p50 === null) return '–';
  return q.p99 === 0 ? 'current' : `${time(q.p50)} / ${time(q.p99)}`;
}

/** @param {number} kbps */
export function rate(kbps) {
  if (kbps < 0.5) return '–';
  return kbps < 999.5 ? `${Math.round(kbps)} kbit/s` : `${(kbps / 1000).toFixed(1)} Mbit/s`;
}

/** @param {number} seconds */
export function duration(seconds) {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  const hours = Math.floor(seconds / 3600);
  return hours < 48
    ? `${hours} h ${Math.floor((seconds % 3600) / 60)} min`
    : `${Math.floor(hours / 24)} days`;
}

/** In words, with what is amiss. @param {SessionInfo} s */
export function stateOf(s) {
  if (s.error?.code === 'slow') return 'not answering';
  const watched = (s.viewers ?? 0) > 0;
  return s.state === 'running' && !watched ? 'unwatched' : (s.state ?? 'running');
}

/** @param {SessionInfo} s */
const name = (s) => s.title || s.source || s.id;

/**
 * What to sort by, and what to write.
 * @typedef {{key: string, label: string, hint: string, numeric: boolean,
 *   value: (s: SessionInfo) => number | string, text?: (s: SessionInfo) => string}} Column
 * @type {Column[]}
 */
const COLUMNS = [
  {
    key: 'name',
    label: 'Session',
    hint: 'title, state, where it comes from',
    numeric: false,
    value: (s) => name(s).toLowerCase(),
  },
  {
    key: 'age',
    label: 'Age',
    hint: 'age of the picture in ms, P50 and P99 over time',
    numeric: true,
    value: (s) => s.figures?.ageMs.p99 ?? -1,
    text: (s) => pair(s.figures?.ageMs),
  },
  {
    key: 'trend',
    label: 'last minute',
    hint: 'age of the picture, P50',
    numeric: false,
    value: () => 0,
  },
  {
    key: 'input',
    label: 'Input',
    hint: 'input to screen in ms, P50 and P99',
    numeric: true,
    value: (s) => s.figures?.inputMs.p99 ?? -1,
    text: (s) => pair(s.figures?.inputMs),
  },
  {
    key: 'frame',
    label: 'Frame',
    hint: 'all stages of a frame in ms, P50 and P99',
    numeric: true,
    value: (s) => s.figures?.frameMs.p99 ?? -1,
    text: (s) => pair(s.figures?.frameMs),
  },
  {
    key: 'fps',
    label: 'fps',
    hint: 'frames shown a second',
    numeric: true,
    value: (s) => s.figures?.fps ?? 0,
    text: (s) => String(Math.round(s.figures?.fps ?? 0)),
  },
  {
    key: 'rate',
    label: 'Bitrate',
    hint: 'of the stream',
    numeric: true,
    value: (s) => s.figures?.kbps ?? 0,
    text: (s) => rate(s.figures?.kbps ?? 0),
  },
  {
    key: 'viewers',
    label: 'Viewers',
    hint: 'who look on',
    numeric: true,
    value: (s) => s.viewers ?? 0,
    text: (s) => String(s.viewers ?? 0),
  },
  {
    key: 'restarts',
    label: 'Restarts',
    hint: 'of its worker',
    numeric: true,
    value: (s) => s.restarts ?? 0,
    text: (s) => String(s.restarts ?? 0),
  },
  {
    key: 'picture',
    label: 'Picture',
    hint: 'its size in pixels',
    numeric: true,
    value: (s) => (s.width ?? 0) * (s.height ?? 0),
    text: (s) => `${s.width} × ${s.height}`,
  },
  {
    key: 'runs',
    label: 'Encoder, GPU',
    hint: 'what it runs on',
    numeric: false,
    value: (s) => `${s.encoder} ${s.gpu}`,
    text: (s) => [s.encoder, (s.gpu ?? '').replace(/ \(.*/, '')].filter(Boolean).join(', '),
  },
  {
    key: 'up',
    label: 'Up',
    hint: 'since it was made',
    numeric: true,
    value: (s) => s.figures?.uptimeS ?? 0,
    text: (s) => duration(s.figures?.uptimeS ?? 0),
  },
];

/** The line of a trend, newest at the right. @param {(number | null)[]} values */
function trendPath(values) {
  const most = Math.max(1, ...values.map((v) => v ?? 0));
  const step = TREND_WIDTH / (TREND - 1);
  let path = '';
  let pen = false;
  values.forEach((value, i) => {
    if (value === null) {
      pen = false;
      return;
    }
    const x = TREND_WIDTH - (values.length - 1 - i) * step;
    const y = 1.5 + (TREND_HEIGHT - 3) * (1 - value / most);
    path += `${pen ? 'L' : 'M'}${x.toFixed(1)} ${y.toFixed(1)}`;
    pen = true;
  });
  return path;
}

class Row {
  /** @param {SessionInfo} session @param {(session: SessionInfo) => void} close */
  constructor(session, close) {
    this.session = session;
    /** @type {(number | null)[]} */
    this.trend = [];
    this.element = make('tr', '');
    this.element.dataset.id = session.id;
    /** @type {Map<string, HTMLElement>} */
    this.cells = new Map();
    for (const column of COLUMNS) {
      const cell = make(column.key === 'name' ? 'th' : 'td', `col-${column.key}`);
      if (column.key === 'name') cell.setAttribute('scope', 'row');
      if (column.numeric) cell.classList.add('numeric');
      this.cells.set(column.key, cell);
      this.element.append(cell);
    }
    this.dot = make('span', 'dot');
    this.dot.setAttribute('aria-hidden', 'true');
    this.link = make('a', 'session-name');
    this.link.href = `#session=${encodeURIComponent(session.id)}`;
    this.state = make('span', 'session-facts');
    this.cells.get('name')?.append(this.dot, this.link, this.state);
    const picture = document.createElementNS(NAMESPACE, 'svg');
    picture.setAttribute('viewBox', `0 0 ${TREND_WIDTH} ${TREND_HEIGHT}`);
    picture.setAttribute('aria-hidden', 'true');
    this.path = document.createElementNS(NAMESPACE, 'path');
    picture.append(this.path);
    this.cells.get('trend')?.append(picture);
    const button = make('button', 'quiet small', 'Close');
    button.type = 'button';
    button.setAttribute('aria-label', `Close ${name(session)}`);
    button.addEventListener('click', (event) => {
      event.stopPropagation();
      close(this.session);
    });
    const cell = make('td', 'col-close');
    cell.append(button);
    this.element.append(cell);
    // The whole row opens it; the link is for keys and screen readers.
    this.element.addEventListener('click', (event) => {
      if (!(event.target instanceof Element && event.target.closest('a, button')))
        this.link.click();
    });
  }

  /** @param {SessionInfo} session */
  update(session) {
    this.session = session;
    const state = stateOf(session);
    write(this.link, name(session));
    const where = [state, session.source === name(session) ? '' : session.source];
    write(this.state, [...where, session.id.slice(0, 10)].filter(Boolean).join(' · '));
    this.state.title = session.error?.message ?? session.id;
    this.dot.className = `dot dot-${state.replace(' ', '-')}`;
    for (const { key, text } of COLUMNS) {
      const cell = this.cells.get(key);
      if (text && cell) write(cell, text(session));
    }
    this.trend.push(session.figures?.ageMs.p50 ?? null);
    if (this.trend.length > TREND) this.trend.shift();
    this.path.setAttribute('d', trendPath(this.trend));
  }

  /** @param {string} words lower case */
  fits(words) {
    const s = this.session;
    const all = `${name(s)} ${s.id} ${s.source} ${s.encoder} ${s.gpu} ${stateOf(s)}`.toLowerCase();
    return words.split(/\s+/).every((word) => all.includes(word));
  }
}

/** @param {HTMLElement} element @param {string} text */
function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export class Table {
  /** @param {(session: SessionInfo) => void} close */
  constructor(close) {
    this.close = close;
    /** @type {Map<string, Row>} */
    this.rows = new Map();
    this.sort = { key: '', falling: false }; // '' = as they were made
    this.state = ''; // of those shown, '' = all
    this.heads();
    $('search').addEventListener('input', () => this.arrange());
  }

  heads() {
    for (const { key, label, hint, numeric } of COLUMNS) {
      const head = make('th', `col-${key}`);
      head.scope = 'col';
      head.title = hint;
      if (numeric) head.classList.add('numeric');
      if (key === 'trend') {
        head.textContent = label;
      } else {
        const button = make('button', 'sort', label);
        button.type = 'button';
        button.addEventListener('click', () => this.sortBy(key, numeric));
        head.append(button);
      }
      $('columns').append(head);
    }
    const last = make('th', 'col-close');
    last.append(make('span', 'visually-hidden', 'Close'));
    last.scope = 'col';
    $('columns').append(last);
  }

  /** Once, once more the other way round, then as they were made. @param {string} key @param {boolean} numeric */
  sortBy(key, numeric) {
    const { sort } = this;
    if (sort.key !== key) this.sort = { key, falling: numeric };
    else if (sort.falling === numeric) this.sort = { key, falling: !numeric };
    else this.sort = { key: '', falling: false };
    COLUMNS.forEach((column, i) => {
      const order = this.sort.falling ? 'descending' : 'ascending';
      const head = $('columns').children[i];
      if (column.key === this.sort.key) head.setAttribute('aria-sort', order);
      else head.removeAttribute('aria-sort');
    });
    this.arrange();
  }

  /** @param {SessionInfo[]} sessions */
  show(sessions) {
    const here = new Set(sessions.map((s) => s.id));
    for (const [id, row] of this.rows) {
      if (here.has(id)) continue;
      row.element.remove();
      this.rows.delete(id);
    }
    for (const session of sessions) {
      let row = this.rows.get(session.id);
      if (!row) this.rows.set(session.id, (row = new Row(session, this.close)));
      row.update(session);
    }
    this.chips(sessions);
    this.arrange();
  }

  /** A button for each state there is. @param {SessionInfo[]} sessions */
  chips(sessions) {
    /** @type {Map<string, number>} */
    const counts = new Map();
    for (const s of sessions) counts.set(stateOf(s), (counts.get(stateOf(s)) ?? 0) + 1);
    if (this.state && !counts.has(this.state)) counts.set(this.state, 0);
    const wanted = [['', sessions.length], ...[...counts].sort()];
    const box = $('filters');
    const key = JSON.stringify([wanted, this.state]);
    if (box.dataset.key === key) return;
    box.dataset.key = key;
    const focused = box.contains(document.activeElement);
    box.replaceChildren(
      ...wanted.map(([state, count]) => {
        const chip = make('button', 'chip', `${state || 'all'} ${count}`);
        chip.type = 'button';
        chip.setAttribute('aria-pressed', String(state === this.state));
        chip.addEventListener('click', () => {
          this.state = String(state);
          this.chips([...this.rows.values()].map((row) => row.session));
          this.arrange();
        });
        return chip;
      }),
    );
    if (focused) /** @type {HTMLElement} */ (box.querySelector('[aria-pressed="true"]'))?.focus();
  }

  /** Puts rows in order and hides those not asked for. */
  arrange() {
    const wanted = /** @type {HTMLInputElement} */ ($('search')).value.trim().toLowerCase();
    const column = COLUMNS.find((c) => c.key === this.sort.key);
    const rows = [...this.rows.values()];
    if (column) {
      const sign = this.sort.falling ? -1 : 1;
      rows.sort((a, b) => {
        const [x, y] = [column.value(a.session), column.value(b.session)];
        return x < y ? -sign : x > y ? sign : 0;
      });
    }
    let shown = 0;
    const body = $('rows');
    rows.forEach(({ element, session }, i) => {
      if (body.children[i] !== element) body.insertBefore(element, body.children[i] ?? null);
      const fits =
        (!this.state || stateOf(session) === this.state) &&
        (this.rows.get(session.id)?.fits(wanted) ?? false);
      element.hidden = !fits;
      if (fits) shown++;
    });
    $('session-count').textContent = rows.length ? String(rows.length) : '';
    $('tools').hidden = rows.length === 0;
    $('table-box').hidden = shown === 0;
    $('no-sessions').hidden = rows.length > 0;
    $('no-match').hidden = rows.length === 0 || shown > 0;
  }
}
