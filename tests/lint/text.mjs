// SPDX-License-Identifier: MIT
// Rules that need nothing but the text of the files.
import fs from 'node:fs';
import path from 'node:path';

const SOURCE =
  /(\.(c|h|js|mjs|cjs|ts|css|html|glsl|vert|frag|comp|sh|py|build|service|supp)|^(run|test|\.ci\/run|meson_options\.txt))$/;
const BINARY = /\.(png|jpe?g|gif|webp|ico|woff2?|glb|gltf|bin|h264|pem)$|^tests\/fuzz\/seeds\//;
const NO_SPDX = /(^|\/)(lsan\.supp|meson_options\.txt)$/;
const MAX_LINES = 600;
const MAX_FUNCTION = 100;

// Written in pieces, so that this file does not find itself.
const FORBIDDEN = [
  [new RegExp('/wor' + 'k/'), 'a path of the machine it was written on'],
  [new RegExp('/tm' + 'p/(build-|brief|scaf)'), 'a path of the machine it was written on'],
  [new RegExp('/(ho' + 'me|ro' + 'ot)/[a-z]'), 'a home folder'],
  [
    new RegExp('registry\\.np' + 'mjs|np' + 'mmirror|deb\\.deb' + 'ian\\.org|py' + 'pi\\.org'),
    'a package host',
  ],
  [new RegExp('"resol' + 'ved":'), 'a package host (npm config omit-lockfile-registry-resolved)'],
];

const read = (file) => fs.readFileSync(file, 'utf8');
const texts = (files) => files.filter((file) => !BINARY.test(file));

function hasSpdx(source) {
  return source.split('\n', 6).some((line) => line.includes('SPDX-License-Identifier: MIT'));
}

export function spdx({ files }) {
  return files
    .filter((file) => SOURCE.test(file) && !BINARY.test(file) && !NO_SPDX.test(file))
    .filter((file) => !hasSpdx(read(file)))
    .map((file) => `${file}: no SPDX-License-Identifier line at the top`);
}

function tooLong(file, source) {
  const lines = source.split('\n').length - 1;
  return lines > MAX_LINES ? [`${file}: ${lines} lines, more than ${MAX_LINES}`] : [];
}

export function sizes({ files }) {
  return texts(files)
    .filter((file) => SOURCE.test(file))
    .flatMap((file) => tooLong(file, read(file)));
}

/** C functions by the house style: `{` and `}` of a function stand alone in the first column. */
function longFunctions(file, source) {
  const findings = [];
  let start = 0;
  source.split('\n').forEach((line, index) => {
    if (line === '{') {
      start = index + 1;
    } else if (line === '}' && start) {
      const length = index - start;
      if (length > MAX_FUNCTION) {
        findings.push(`${file}:${start}: a function of ${length} lines`);
      }
      start = 0;
    }
  });
  return findings;
}

export function functionSizes({ files }) {
  return files
    .filter((file) => file.endsWith('.c'))
    .flatMap((file) => longFunctions(file, read(file)));
}

function forbiddenIn(file, source) {
  const findings = [];
  source.split('\n').forEach((line, index) => {
    for (const [what, why] of FORBIDDEN) {
      if (what.test(line)) {
        findings.push(`${file}:${index + 1}: ${why}`);
      }
    }
  });
  return findings;
}

export function machine({ files }) {
  return texts(files).flatMap((file) => forbiddenIn(file, read(file)));
}

function unhygienic(file, source) {
  const findings = [];
  if (source.length && !source.endsWith('\n')) {
    findings.push(`${file}: no newline at the end`);
  }
  source.split('\n').forEach((line, index) => {
    if (/[ \t]$/.test(line) && !file.endsWith('.md')) {
      findings.push(`${file}:${index + 1}: blanks at the end of the line`);
    }
    if (line.includes('\r')) {
      findings.push(`${file}:${index + 1}: CR`);
    }
    if (/^(<{7}|>{7}|={7})( |$)/.test(line)) {
      findings.push(`${file}:${index + 1}: a merge mark`);
    }
    if (line.startsWith('\t') && !/Makefile|\.gitmodules/.test(path.basename(file))) {
      findings.push(`${file}:${index + 1}: a tab`);
    }
  });
  return findings;
}

export function hygiene({ files }) {
  return texts(files).flatMap((file) => unhygienic(file, read(file)));
}

/** Planted faults, for the lint's own test. */
export function samples() {
  const long = `int f(void)\n{\n${'    g();\n'.repeat(MAX_FUNCTION + 1)}}\n`;
  return [
    ['SPDX', !hasSpdx('// hello\n')],
    ['file sizes', tooLong('x.c', '\n'.repeat(MAX_LINES + 1)).length === 1],
    ['file sizes ok', tooLong('x.c', '\n'.repeat(MAX_LINES)).length === 0],
    ['function sizes', longFunctions('x.c', long).length === 1],
    ['machine', forbiddenIn('x.c', 'open("/wor' + 'k/main/x")').length === 1],
    ['hygiene', unhygienic('x.c', 'int x; \n\ty').length === 3],
  ];
}
