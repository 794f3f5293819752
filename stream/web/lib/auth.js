// SPDX-License-Identifier: MIT
// Tokens live in sessionStorage of this tab, travel in headers and in the hello, never in an address.

const SERVER_KEY = 'framewire.token';

/** @param {string} id */
function sessionKey(id) {
  return `framewire.session.${id}`;
}

/** @param {string} key */
function read(key) {
  try {
    return sessionStorage.getItem(key) ?? '';
  } catch {
    return '';
  }
}

/**
 * @param {string} key
 * @param {string} value '' removes
 */
function write(key, value) {
  try {
    if (value) sessionStorage.setItem(key, value);
    else sessionStorage.removeItem(key);
  } catch {
    // storage is off: the token is asked for on every page
  }
}

export function serverToken() {
  return read(SERVER_KEY);
}

/** @param {string} token */
export function setServerToken(token) {
  write(SERVER_KEY, token);
}

/**
 * The session's own token, else the server's: it opens every session.
 * @param {string} id
 */
export function sessionToken(id) {
  return read(sessionKey(id)) || serverToken();
}

/**
 * @param {string} id
 * @param {string} token
 */
export function setSessionToken(id, token) {
  write(sessionKey(id), token);
}

/**
 * Takes the single-use code out of the address and out of the history.
 * @returns {string}
 */
export function takeCode() {
  const code = decodeURIComponentSafe(location.hash.slice(1));
  if (location.hash) history.replaceState(history.state, '', location.pathname + location.search);
  return code;
}

/** @param {string} text */
function decodeURIComponentSafe(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

/**
 * Asks a person for a token, in the page's dialog with id `token-dialog`.
 * @param {string} why
 * @returns {Promise<string>} '' = cancelled
 */
export function askToken(why) {
  const dialog = document.getElementById('token-dialog');
  if (!(dialog instanceof HTMLDialogElement)) return Promise.resolve('');
  const field = /** @type {HTMLInputElement} */ (dialog.querySelector('input'));
  const reason = /** @type {HTMLElement} */ (dialog.querySelector('[data-why]'));
  reason.textContent = why;
  field.value = '';
  if (!dialog.open) dialog.showModal();
  field.focus();
  return new Promise((resolve) => {
    dialog.addEventListener(
      'close',
      () => resolve(dialog.returnValue === 'ok' ? field.value.trim() : ''),
      { once: true },
    );
  });
}
