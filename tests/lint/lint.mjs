// SPDX-License-Identifier: MIT
// Holds the house rules: `node tests/lint/lint.mjs [build directory]` from the project's root.
// Each rule is one test; its findings are printed as `file:line: what`.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import process from 'node:process';
import * as layers from './layers.mjs';
import * as pages from './pages.mjs';
import * as text from './text.mjs';
import * as tools from './tools.mjs';

const build = process.argv[2] ?? 'build';

/** Every file that is or would be committed. A tarball has no git: take all but build outputs. */
function projectFiles() {
  let names;
  try {
    const out = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    names = out.toString().split('\0');
  } catch {
    names = fs
      .readdirSync('.', { recursive: true, encoding: 'utf8' })
      .filter((name) => !/^(build|\.git\/|models\/)|(^|\/)(node_modules|out)\//.test(name));
  }
  return names.filter((name) => name && fs.statSync(name, { throwIfNoEntry: false })?.isFile());
}

const files = projectFiles();
const context = { files, build };
const rules = [
  ['include arrows', layers.arrows],
  ['outside libraries in their folder', layers.libraries],
  ['outside libraries by way of our headers', layers.through],
  ['no system of its own in base', layers.baseOnly],
  ['headers compile alone', tools.headersAlone],
  ['exported symbols start with fw_', tools.symbols],
  ['clang-format', tools.clangFormat],
  ['web files type-check', tools.typeCheck],
  ['prettier', tools.prettier],
  ['pages preload what they import', pages.preloads],
  ['shell scripts parse', tools.shellSyntax],
  ['SPDX lines', text.spdx],
  ['file sizes', text.sizes],
  ['function sizes', text.functionSizes],
  ['no machine paths or hosts', text.machine],
  ['text hygiene', text.hygiene],
  ['the rules find what they forbid', selfTest],
];

/** A rule that finds nothing in bad code is no rule: each is shown a small sin. */
async function selfTest() {
  const missed = [];
  const samples = [
    ...layers.samples(),
    ...pages.samples(),
    ...text.samples(),
    ...(await tools.samples()),
  ];
  for (const [name, found] of samples) {
    if (!found) {
      missed.push(`${name}: a planted fault was not found`);
    }
  }
  return missed;
}

let passed = 0;
let failed = 0;
for (const [name, rule] of rules) {
  let findings;
  try {
    findings = await rule(context);
  } catch (error) {
    findings = [`the check itself broke: ${error.stack ?? error}`];
  }
  if (findings.length === 0) {
    passed += 1;
    continue;
  }
  failed += 1;
  console.log(`FAILED ${name}`);
  for (const finding of findings.slice(0, 40)) {
    console.log(`  ${finding}`);
  }
  if (findings.length > 40) {
    console.log(`  … and ${findings.length - 40} more`);
  }
}
console.log(`lint: ${passed} passed, ${failed} failed, 0 skipped`);
process.exit(failed ? 1 : 0);
