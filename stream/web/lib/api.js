// SPDX-License-Identifier: MIT
// The HTTP API under /api/v1, with the server's words for what went wrong.

import { serverToken } from './auth.js';

const TIMEOUT_MS = 15_000;

/**
 * @typedef {{source: string, title: string, description?: string, args?: Record<string, unknown>,
 *   kind?: string, file?: string, bytes?: number}} Source
 * @typedef {{sources: Source[], version?: string, gpu?: string, encoder?: string}} SourceList
 * @typedef {{id: string, title?: string, source?: string, state?: string, width?: number,
 *   height?: number, viewers?: number, page?: string, restarts?: number, gpu?: string,
 *   encoder?: string, fps?: number, created?: string, rttMs?: number | null,
 *   args?: Record<string, string>, error?: {code: string, message: string},
 *   figures?: SessionFigures}} SessionInfo
 * @typedef {{p50: number | null, p99: number | null}} Quantiles
 * @typedef {{lastS: number, uptimeS: number, fps: number, kbps: number, dropped: number,
 *   ageMs: Quantiles, inputMs: Quantiles, frameMs: Quantiles}} SessionFigures
 * @typedef {{id: string, page: string, ws: string, token?: string}} Created
 */

export class ApiError extends Error {
  /**
   * @param {number} status 0 = the server was not reached
   * @param {string} code
   * @param {string} message
   * @param {number} retryAfterS 0 = not said
   */
  constructor(status, code, message, retryAfterS = 0) {
    super(message);
    this.status = status;
    this.code = code;
    this.retryAfterS = retryAfterS;
  }
}

/**
 * @param {string} method
 * @param {string} path below /api/v1
 * @param {object} [body]
 * @param {string} [token] else the server token of this tab
 * @returns {Promise<Response>} only one that is fine
 */
async function request(method, path, body, token = serverToken()) {
  /** @type {Record<string, string>} */
  const headers = { Accept: 'application/json, */*' };
  if (body) headers['Content-Type'] = 'application/json';
  if (token) headers.Authorization = `Bearer ${token}`;
  let response;
  try {
    response = await fetch(`/api/v1${path}`, {
      method,
      headers,
      body: body ? JSON.stringify(body) : undefined,
      cache: 'no-store',
      credentials: 'omit',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  } catch {
    throw new ApiError(0, 'unreachable', 'The server does not answer.');
  }
  if (response.ok) return response;
  const answer = await response.json().catch(() => null);
  const { code = `http_${response.status}`, message = response.statusText } = answer?.error ?? {};
  const retryAfter = Number(response.headers.get('Retry-After')) || 0;
  throw new ApiError(response.status, String(code), String(message), retryAfter);
}

/**
 * @param {string} method
 * @param {string} path below /api/v1
 * @param {object} [body]
 * @param {string} [token] else the server token of this tab
 * @returns {Promise<any>}
 */
export async function call(method, path, body, token) {
  const response = await request(method, path, body, token);
  return response.json().catch(() => null);
}

/** @returns {Promise<SourceList>} */
export async function listSources() {
  const answer = await call('GET', '/sources');
  return { ...answer, sources: Array.isArray(answer?.sources) ? answer.sources : [] };
}

/** @param {boolean} [figures] with what the last seconds were like @returns {Promise<SessionInfo[]>} */
export async function listSessions(figures = false) {
  const answer = await call('GET', figures ? '/sessions?figures=1' : '/sessions');
  return Array.isArray(answer?.sessions) ? answer.sessions : [];
}

/**
 * @param {{source: string, args?: object, width: number, height: number, fps: number}} request
 * @returns {Promise<Created>}
 */
export function createSession(request) {
  return call('POST', '/sessions', request);
}

/** How the machine does. @returns {Promise<any>} */
export function getMachine() {
  return call('GET', '/machine');
}

/** The last seconds of a session in numbers. @param {string} id @returns {Promise<any>} */
export function getFigures(id) {
  return call('GET', `/sessions/${encodeURIComponent(id)}/figures`);
}

/**
 * The record of every frame of the last minute as a file.
 * @param {string} id
 * @param {'perfetto' | 'csv' | 'json'} format
 * @returns {Promise<{name: string, data: Blob}>}
 */
export async function getTrace(id, format) {
  const path = `/sessions/${encodeURIComponent(id)}/trace?format=${format}&last=60s`;
  const response = await request('GET', path);
  const named = /filename="([^"]+)"/.exec(response.headers.get('Content-Disposition') ?? '');
  return { name: named?.[1] ?? `framewire.${format}`, data: await response.blob() };
}

/** @param {string} id */
export function closeSession(id) {
  return call('DELETE', `/sessions/${encodeURIComponent(id)}`);
}

/**
 * @param {string} id
 * @param {string} code single use, from the fragment
 * @returns {Promise<string>} the session's token
 */
export async function exchangeCode(id, code) {
  const answer = await call('POST', `/sessions/${encodeURIComponent(id)}/exchange`, { code }, '');
  return String(answer?.token ?? '');
}
