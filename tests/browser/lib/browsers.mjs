// SPDX-License-Identifier: MIT
// Chromium through Playwright, Firefox through Puppeteer (WebDriver BiDi), behind the few verbs the
// tests need. The browsers are started once, and pages share a profile (what was found out about the
// browser is known from the second page on) unless they ask for one of their own.

import { chromium } from 'playwright-core';
import puppeteer from 'puppeteer-core';
import { env } from './env.mjs';

const CHROMIUM_FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // A plain-http origin that is not this machine, for the insecure-context test.
  '--host-resolver-rules=MAP insecure.test 127.0.0.1',
];

// run.mjs ends the browsers with all the rest.
const OWN_SIGNALS = { handleSIGINT: false, handleSIGTERM: false };

/** @type {Promise<import('playwright-core').Browser> | undefined} */
let chromiumBrowser;
/** @type {Promise<import('puppeteer-core').Browser> | undefined} */
let firefoxBrowser;

function startChromium() {
  env.need(env.chromium, 'Chromium');
  chromiumBrowser ??= chromium.launch({
    executablePath: env.chromium,
    args: CHROMIUM_FLAGS,
    ...OWN_SIGNALS,
  });
  return chromiumBrowser;
}

function startFirefox() {
  env.need(env.firefox, 'Firefox');
  firefoxBrowser ??= puppeteer.launch({
    browser: 'firefox',
    executablePath: env.firefox,
    headless: true,
    ...OWN_SIGNALS,
  });
  return firefoxBrowser;
}

export async function closeBrowsers() {
  await (await chromiumBrowser)?.close();
  await (await firefoxBrowser)?.close();
}

/**
 * @param {import('playwright-core').Page | import('puppeteer-core').Page} page
 * @param {string[]} errors
 */
function watch(page, errors) {
  /** @type {any} */ (page).on('pageerror', (error) => errors.push(String(error?.stack ?? error)));
}

/** @type {Promise<import('playwright-core').BrowserContext> | undefined} */
let sharedChromium;
/** @type {Promise<import('puppeteer-core').BrowserContext> | undefined} */
let sharedFirefox;

/**
 * A page in Chromium; `fresh` = in a profile of its own.
 * @param {{width?: number, height?: number, scale?: number, touch?: boolean, fresh?: boolean}} [size]
 */
export async function chromiumPage({
  width = 1280,
  height = 720,
  scale = 1,
  touch = false,
  fresh = scale !== 1 || touch,
} = {}) {
  const browser = await startChromium();
  const ownContext = () =>
    browser.newContext({
      viewport: { width, height },
      deviceScaleFactor: scale,
      hasTouch: touch,
    });
  const context = await (fresh ? ownContext() : (sharedChromium ??= ownContext()));
  const page = await context.newPage();
  env.atEnd(() => (fresh ? context.close() : page.close()));
  if (!fresh) await page.setViewportSize({ width, height });
  const errors = [];
  watch(page, errors);
  const warnings = [];
  page.on('console', (message) => message.type() === 'warning' && warnings.push(message.text()));
  return Object.assign(page, {
    kind: 'chromium',
    errors,
    warnings, // what the browser itself finds fault with
    resize: (w, h) => page.setViewportSize({ width: w, height: h }),
    another: async () => {
      const other = await context.newPage();
      env.atEnd(() => other.close());
      await other.setViewportSize(page.viewportSize()); // the profile was made for another page
      watch(other, errors);
      return other;
    },
  });
}

/**
 * A page in Firefox, in a window of its own: a tab that another one covers is really hidden there, so
 * tests that run side by side would hide each other's pages.
 * @param {{width?: number, height?: number}} [size]
 */
export async function firefoxPage({ width = 1280, height = 720 } = {}) {
  const browser = await startFirefox();
  sharedFirefox ??= browser.createBrowserContext();
  const context = await sharedFirefox;
  const page = await context.newPage({ type: 'window' });
  env.atEnd(() => page.close());
  await page.setViewport({ width, height });
  const errors = [];
  watch(page, errors);
  return Object.assign(page, {
    kind: 'firefox',
    errors,
    resize: (w, h) => page.setViewport({ width: w, height: h }),
    /** A tab in front of this page: opens in the window that is in front. */
    another: async () => {
      await page.bringToFront();
      const other = await context.newPage({ type: 'tab' });
      env.atEnd(() => other.close());
      return other;
    },
  });
}
