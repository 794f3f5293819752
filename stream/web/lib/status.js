// SPDX-License-Identifier: MIT
// What is wrong, if anything, in plain words. Pure: the page only draws what this says.

/**
 * @typedef {'retry' | 'home' | 'reload' | 'token'} Action
 * @typedef {{level: 'ok' | 'banner' | 'veil', busy: boolean, title: string, text: string,
 *   actions: Action[], percent: number}} Status `veil` covers the picture, `banner` leaves it in view
 * @typedef {{
 *   secure: boolean, webcodecs: boolean, online: boolean, host: string,
 *   name: string,
 *   link: import('./connection.js').LinkState,
 *   server: {state: string, code: string, message: string},
 *   progress: {percent: number, what: string},
 *   decoderTrouble: string, pictures: number,
 * }} Situation
 */

/** @type {Status} */
const OK = { level: 'ok', busy: false, title: '', text: '', actions: [], percent: -1 };

/**
 * @param {Partial<Status> & {title: string}} status
 * @returns {Status}
 */
function say(status) {
  return { ...OK, level: 'veil', ...status };
}

/** @param {string} text */
function sentence(text) {
  const trimmed = text.trim();
  if (!trimmed) return '';
  const first = trimmed[0].toUpperCase() + trimmed.slice(1);
  return /[.!?…]$/.test(first) ? first : `${first}.`;
}

/**
 * Why a page from plain http has no picture, and what to do about it.
 * @param {string} host with the port, if the address has one
 */
export function insecureWords(host) {
  const { hostname, port } = new URL(`http://${host}`);
  const theirs = Number(port || 80);
  const ours = theirs < 1024 ? theirs + 8000 : theirs; // the low ones need root
  return (
    `Browsers decode live video only on https pages and on localhost, and this page came over plain http. ` +
    `Start the server with --tls-self-signed (or --tls-cert FILE --tls-key FILE) and open https://${host}, ` +
    `or make a tunnel with “ssh -L ${ours}:localhost:${theirs} ${hostname}” and open http://localhost:${ours}.`
  );
}

/** @param {Situation} s */
function browserTrouble(s) {
  if (!s.secure)
    return say({
      title: 'This address is not secure enough for video',
      text: insecureWords(s.host),
      actions: ['home'],
    });
  if (!s.webcodecs)
    return say({
      title: 'This browser can’t decode live video',
      text: 'It lacks WebCodecs. A current Chrome, Edge, Firefox or Safari has it: update, or open this page there.',
      actions: ['home'],
    });
  if (s.decoderTrouble)
    return say({
      title: 'This browser can’t decode H.264',
      text: `${sentence(s.decoderTrouble)} Builds without licensed codecs lack it: try another browser on this machine.`,
      actions: ['reload', 'home'],
    });
  return null;
}

/** @param {Situation} s */
function endTrouble(s) {
  const { code, message } = s.link;
  if (code === 'unauthorized')
    return say({
      title: 'This session is protected',
      text: sentence(message) || 'A token opens it.',
      actions: ['token', 'home'],
    });
  if (code === 'no_such_session')
    return say({
      title: 'This session is over',
      text: 'It was closed, or it ended when nobody was watching. Start another one from the start page.',
      actions: ['home'],
    });
  if (code === 'unsupported_version')
    return say({
      title: 'The server speaks another version',
      text: 'It was updated while this page was open. Reloading brings the page that fits.',
      actions: ['reload', 'home'],
    });
  if (s.server.state === 'failed') return failed(s);
  return say({ ...ended(message || s.server.message), actions: ['home'] });
}

/** Why it is over, once and with what to do. @param {string} why in the server's words */
function ended(why) {
  const another = 'Open another one from the start page.';
  if (why === 'the server is shutting down')
    return {
      title: 'The server is shutting down',
      text: 'When it runs again, open a new session from the start page.',
    };
  if (!why || why === 'closed' || why === 'it was ended')
    return { title: 'This session was closed', text: another };
  return { title: 'This session is over', text: `${sentence(why)} ${another}` };
}

/** @param {Situation} s */
function failed(s) {
  // What a file is to blame for is not cured by another try.
  const file = ['format', 'too_large', 'not_found', 'unsupported', 'invalid'].includes(
    s.server.code,
  );
  return say({
    title: file ? `${s.name || 'This'} can’t be shown` : 'The session has failed',
    text: sentence(s.server.message) || sentence(s.server.code) || 'The server gave no reason.',
    actions: ['home'],
  });
}

/** @param {Situation} s */
function linkTrouble(s) {
  const { phase, attempt, silent, message } = s.link;
  const level = s.pictures ? 'banner' : 'veil';
  if (phase === 'connecting' && attempt === 0)
    return say({ level, busy: true, title: 'Connecting', text: 'Reaching the server.' });
  if (phase === 'connecting')
    return say({ level, busy: true, title: 'Reconnecting', text: `Attempt ${attempt}.` });
  if (phase === 'waiting')
    return say({
      level,
      busy: true,
      title: s.online ? 'Reconnecting' : 'You are offline',
      text: s.online
        ? `The connection is cut${message ? ` (${message})` : ''}. Attempt ${attempt} follows by itself.`
        : 'The picture comes back by itself when the network does.',
      actions: ['retry'],
    });
  if (silent)
    return say({
      level: 'banner',
      busy: true,
      title: 'No word from the server',
      text: 'The network may be slow. Waiting a little before connecting anew.',
      actions: ['retry'],
    });
  return null;
}

/** @param {Situation} s */
function serverTrouble(s) {
  const level = s.pictures ? 'banner' : 'veil';
  const { state, code, message } = s.server;
  if (state === 'failed') return failed(s);
  if (state === 'closing') return say({ level, ...ended(message), actions: ['home'] });
  if (state === 'restarting')
    return say({
      level,
      busy: true,
      title: 'The renderer is restarting',
      text: sentence(message) || 'It stopped unexpectedly. The picture will be back in a moment.',
    });
  if (state === 'running' && code === 'slow')
    return say({
      level,
      busy: true,
      title: 'Waiting for the renderer…',
      text: sentence(message) || 'It has not answered for some seconds.',
    });
  if (state === 'starting' || !s.pictures)
    return say({
      level,
      busy: true,
      title: state === 'starting' ? 'Starting' : 'Waiting for the first picture',
      text: s.progress.what ? `Loading ${s.progress.what}.` : sentence(message),
      percent: s.progress.percent,
    });
  return null;
}

/**
 * @param {Situation} situation
 * @returns {Status}
 */
export function describe(situation) {
  const trouble = browserTrouble(situation);
  if (trouble) return trouble;
  if (situation.link.phase === 'ended' && situation.link.code) return endTrouble(situation);
  return linkTrouble(situation) ?? serverTrouble(situation) ?? OK;
}
