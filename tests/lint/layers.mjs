// SPDX-License-Identifier: MIT
// The arrows of the house (docs/architecture.md) as two tables, and the rules that read them.
import fs from 'node:fs';

// Longest folder first: a file belongs to the first that its path starts with. `may` lists the
// folders whose headers it may include; deeper folders count as their own.
const FOLDERS = [
  ['include/framewire/', []],
  ['base/', ['base/']],
  ['render/source/', ['base/', 'render/', 'render/source/']],
  ['render/', ['base/', 'render/']],
  ['encode/', ['base/', 'encode/']],
  ['stream/client/', ['base/', 'stream/', 'stream/client/']],
  ['stream/', ['base/', 'stream/']],
  [
    'session/cli/',
    [
      'base/',
      'render/',
      'render/source/', // the test card is read back
      'encode/',
      'stream/',
      'stream/client/',
      'session/',
      'session/cli/',
    ],
  ],
  ['session/', ['base/', 'render/', 'encode/', 'stream/', 'session/']],
];
const NAMES = FOLDERS.map(([name]) => name).sort((a, b) => b.length - a.length);

// Outside headers that only some places may see.
const LIBRARIES = [
  [/^(vulkan|vk_video)\//, [/^render\//, /^include\/framewire\//, /^session\/cli\/view/]],
  [/^lib(av|sw)[a-z]+\//, [/^encode\//, /^session\/cli\/view/]],
  [/^libwebsockets/, [/^stream\//]],
  [/^wayland-/, [/^render\/source\/desktop\//]],
  [/^GLFW\//, [/^session\/cli\/view/]],
  [/^hiredis/, [/^session\/directory/]],
  [/^(assimp|stb)\//, [/^render\/source\/scene\//]],
  [/^openssl\//, [/^stream\//, /^session\//]],
];

// render/gpu.h brings vulkan.h along, so it stays inside render/.
const PRIVATE = [[/^render\/gpu/, /^render\//]];

export function folderOf(path) {
  return NAMES.find((name) => path.startsWith(name));
}

/** @returns {{line: number, path: string, system: boolean}[]} */
export function includesOf(source) {
  const found = [];
  source.split('\n').forEach((text, index) => {
    const m = /^\s*#\s*include\s*([<"])([^>"]+)[>"]/.exec(text);
    if (m) {
      found.push({ line: index + 1, path: m[2], system: m[1] === '<' });
    }
  });
  return found;
}

const beside = (file, name) => fs.existsSync(`${file.slice(0, file.lastIndexOf('/'))}/${name}`);

function checkArrows(file, source, exists = beside) {
  const from = folderOf(file);
  if (!from) {
    return [];
  }
  const may = FOLDERS.find(([name]) => name === from)[1];
  const findings = [];
  for (const { line, path, system } of includesOf(source)) {
    if (system) {
      continue;
    }
    if (!path.includes('/') && !exists(file, path)) {
      // Made by the build; shaders are for render/ and the viewer alone.
      if (path.endsWith('.spv.h') && !/^(render\/|session\/cli\/view)/.test(file)) {
        findings.push(`${file}:${line}: ${path}: shaders are for render/ and the viewer only`);
      }
      continue;
    }
    const to = folderOf(path);
    if (!to) {
      findings.push(`${file}:${line}: "${path}" is not written as "folder/file.h"`);
    } else if (!may.includes(to)) {
      findings.push(`${file}:${line}: ${from} may not include ${to} ("${path}")`);
    }
    const guard = PRIVATE.find(([what]) => what.test(path));
    if (guard && !guard[1].test(file)) {
      findings.push(`${file}:${line}: ${path} is private to its folder`);
    }
  }
  return findings;
}

/** Is `path` an outside header that `file` must not see? */
const forbids = (file, path) =>
  LIBRARIES.some(([what, where]) => what.test(path) && !where.some((place) => place.test(file)));

function checkLibraries(file, source) {
  if (!folderOf(file)) {
    return []; // tests may look everywhere
  }
  return includesOf(source)
    .filter(({ path }) => forbids(file, path))
    .map(({ line, path }) => `${file}:${line}: <${path}> does not belong here`);
}

/**
 * What a file sees by way of our own headers counts as seen by it.
 * @param {string} file
 * @param {(file: string) => string | null} source the text of a file, null when it is none of ours
 */
function checkThrough(file, source) {
  if (!folderOf(file)) {
    return [];
  }
  const findings = [];
  const seen = new Set([file]);
  const walk = (at, way, firstLine) => {
    for (const { line, path, system } of includesOf(source(at) ?? '')) {
      const first = firstLine || line;
      if (firstLine && forbids(file, path)) {
        findings.push(`${file}:${first}: sees <${path}> by way of ${way.join(', ')}`);
      }
      const next = path.includes('/') ? path : `${at.slice(0, at.lastIndexOf('/'))}/${path}`;
      if (!system && !seen.has(next) && source(next) !== null) {
        seen.add(next);
        walk(next, [...way, next], first);
      }
    }
  };
  walk(file, [], 0); // 0: what it includes itself is checkLibraries' to find
  return findings;
}

const isC = (file) => /\.[ch]$/.test(file);
const read = (file) => fs.readFileSync(file, 'utf8');

export function arrows({ files }) {
  return files.filter(isC).flatMap((file) => checkArrows(file, read(file)));
}

export function libraries({ files }) {
  return files.filter(isC).flatMap((file) => checkLibraries(file, read(file)));
}

export function through({ files }) {
  const cache = new Map(files.filter(isC).map((file) => [file, read(file)]));
  const source = (file) => cache.get(file) ?? null;
  return [...cache.keys()].flatMap((file) => checkThrough(file, source));
}

/** base/ is nouns: it opens no sockets and starts no processes. */
export function baseOnly({ files }) {
  return files.filter(isC).flatMap((file) => checkBase(file, read(file)));
}

function checkBase(file, source) {
  const forbidden = /^(sys\/socket|netinet\/|uv|jansson|spawn)/;
  return includesOf(file.startsWith('base/') ? source : '')
    .filter(({ path }) => forbidden.test(path))
    .map(({ line, path }) => `${file}:${line}: <${path}> in base/`);
}

/** Planted faults, for the lint's own test. */
export function samples() {
  const tree = {
    'session/x.c': '#include "render/a.h"\n',
    'session/y.c': '#include "render/c.h"\n',
    'render/a.h': '#include "render/b.h"\n',
    'render/b.h': '#include <vulkan/vulkan.h>\n#include "render/a.h"\n',
    'render/c.h': '#include "c_impl.h"\n',
    'render/c_impl.h': '#include <stdint.h>\n',
  };
  const through = (file) => checkThrough(file, (name) => tree[name] ?? null).length;
  return [
    ['arrows', checkArrows('encode/x.c', '#include "stream/server.h"\n').length === 1],
    ['arrows', checkArrows('render/x.c', '#include "render/source/testcard.h"\n').length === 1],
    ['arrows', checkArrows('base/x.h', '#include "render/gpu.h"\n').length === 2],
    ['arrows', checkArrows('session/x.c', '#include "session/cli/cli.h"\n').length === 1],
    ['arrows', checkArrows('session/cli/x.c', '#include "a.spv.h"\n', () => false).length === 1],
    ['arrows', checkArrows('session/x.c', '#include "a.h"\n', () => true).length === 1],
    ['arrows', checkArrows('encode/x.c', '#include "a.spv.h"\n', () => false).length === 1],
    ['arrows ok', checkArrows('render/x.c', '#include "a.spv.h"\n', () => false).length === 0],
    ['arrows ok', checkArrows('session/x.c', '#include "encode/encoder.h"\n').length === 0],
    ['libraries', checkLibraries('session/x.c', '# include <vulkan/vulkan.h>\n').length === 1],
    ['libraries', checkLibraries('stream/x.c', '#include <libavutil/frame.h>').length === 1],
    ['libraries', checkLibraries('render/x.c', '#include <libwebsockets.h>').length === 1],
    ['libraries by way of', through('session/x.c') === 1],
    ['libraries by way of ok', through('session/y.c') + through('render/a.h') === 0],
    ['base', checkBase('base/x.c', '#include <sys/socket.h>\n').length === 1],
    ['libraries ok', checkLibraries('render/x.c', '#include <vulkan/vulkan.h>').length === 0],
  ];
}
