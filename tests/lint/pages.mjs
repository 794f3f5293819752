// SPDX-License-Identifier: MIT
// A page names every module it will need: on a far link each level of imports costs a round trip.
import fs from 'node:fs';

const WEB = 'stream/web';
const read = (name) => fs.readFileSync(`${WEB}${name}`, 'utf8');

/** Every module that `name` needs at once, itself included. */
function needed(name, source, read, seen = new Set()) {
  if (!seen.has(name)) {
    seen.add(name);
    for (const [, path] of source.matchAll(/^(?:import|\} from)[^'\n]*'\.\/([\w-]+\.js)'/gm)) {
      const module = `/lib/${path}`;
      needed(module, read(module), read, seen);
    }
  }
  return seen;
}

function checkPage(page, html, read) {
  const root = /<script type="module" src="([^"]+)"/.exec(html)?.[1];
  if (!root) {
    return [];
  }
  const named = new Set(
    [...html.matchAll(/rel="modulepreload" href="([^"]+)"/g)].map(([, href]) => href),
  );
  const modules = needed(root, read(root), read);
  modules.delete(root);
  return [
    ...[...modules].filter((m) => !named.has(m)).map((m) => `${page}: ${m} is not preloaded`),
    ...[...named].filter((m) => !modules.has(m)).map((m) => `${page}: ${m} is preloaded in vain`),
  ];
}

export function preloads({ files }) {
  return files
    .filter((file) => file.startsWith(`${WEB}/`) && file.endsWith('.html'))
    .flatMap((file) => checkPage(file, fs.readFileSync(file, 'utf8'), read));
}

export function samples() {
  const modules = {
    '/lib/a.js': "import {\n  b,\n} from './b.js';\n",
    '/lib/b.js': "import { c } from './c.js';\n",
    '/lib/c.js': '',
  };
  const page = (...names) =>
    `${names.map((n) => `<link rel="modulepreload" href="/lib/${n}.js" />`).join('\n')}
    <script type="module" src="/lib/a.js"></script>`;
  const found = (...names) => checkPage('page.html', page(...names), (m) => modules[m]).length;
  return [
    ['preloads: one is missing', found('b') === 1],
    ['preloads: one in vain', found('b', 'c', 'd') === 1],
    ['preloads: all there', found('b', 'c') === 0],
  ];
}
