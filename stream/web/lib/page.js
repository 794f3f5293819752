// SPDX-License-Identifier: MIT
// Small things that the start page and /ops share: elements, words for errors, and asking for a token.

import { ApiError } from './api.js';
import { askToken, serverToken, setServerToken } from './auth.js';

/** @param {string} id @returns {HTMLElement} */
export function $(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page lacks #${id}`);
  return element;
}

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {string} className
 * @param {string} [text]
 */
export function make(tag, className, text) {
  const element = document.createElement(tag);
  element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

/** @param {number} bytes */
export function size(bytes) {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit && value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** @param {unknown} error */
export function words(error) {
  if (!(error instanceof ApiError)) return String(error);
  if (error.status === 503) {
    const again = error.retryAfterS ? ` Try again in ${error.retryAfterS} s.` : '';
    return `The server is busy: ${error.message}.${again}`.replace('..', '.');
  }
  if (error.status === 0) return 'The server does not answer. Is it still running?';
  return error.message || `The server refused (${error.code}).`;
}

/**
 * Runs a call; when it needs a token, asks for one and runs it again.
 * @template T
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withToken(work) {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    const why = serverToken()
      ? 'That token was not accepted.'
      : 'This server is protected. Enter the token its operator gave you.';
    setServerToken('');
    const token = await askToken(why);
    if (!token) throw error;
    setServerToken(token);
    return withToken(work);
  }
}
