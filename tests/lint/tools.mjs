// SPDX-License-Identifier: MIT
// Rules that ask a tool: compiler, nm, clang-format, tsc, prettier, bash.
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const PACKAGES = [
  'vulkan',
  'libavcodec',
  'libavformat',
  'libavutil',
  'libwebsockets',
  'libuv',
  'openssl',
  'jansson',
  'assimp',
  'cmocka',
];

const CMOCKA = ['stdarg.h', 'stddef.h', 'stdint.h', 'setjmp.h', 'cmocka.h'].flatMap((name) => [
  '-include',
  name,
]);

/** @returns {Promise<{code: number, out: string}>} both streams together */
function sh(command, args, options = {}) {
  return new Promise((resolve) => {
    execFile(
      command,
      args,
      { maxBuffer: 64 << 20, timeout: 240000, ...options },
      (error, stdout, stderr) => {
        const code = error ? (typeof error.code === 'number' ? error.code : 127) : 0;
        const broken = error && typeof error.code !== 'number' ? `${error.message}\n` : '';
        resolve({ code, out: broken + stdout + stderr });
      },
    );
  });
}

/** Runs `work` over `items`, as many at a time as there are CPUs; keeps the order. */
async function pool(items, work) {
  const results = new Array(items.length);
  let next = 0;
  const lane = async () => {
    while (next < items.length) {
      const index = next++;
      results[index] = await work(items[index]);
    }
  };
  await Promise.all(Array.from({ length: os.cpus().length }, lane));
  return results;
}

const lines = (out, count = 20) => out.trim().split('\n').slice(0, count);

export async function headersAlone({ files, build }) {
  const flags = [];
  for (const name of PACKAGES) {
    const { code, out } = await sh('pkg-config', ['--cflags', name]);
    if (code === 0) {
      flags.push(...out.trim().split(/\s+/).filter(Boolean));
    }
  }
  const headers = files.filter((file) => file.endsWith('.h'));
  const results = await pool(headers, (file) =>
    sh('gcc', [
      '-std=gnu17',
      '-D_GNU_SOURCE',
      '-fsyntax-only',
      '-Wall',
      '-Wextra',
      '-Werror',
      '-DFW_VERSION="x"',
      '-I.',
      `-I${build}`,
      '-Itests',
      '-iquote', // not -I: a limits.h of ours is not the system's
      path.dirname(file),
      ...flags,
      // Helpers of unit tests may count on cmocka, whose header needs others in front.
      ...(file.startsWith('tests/unit/') ? CMOCKA : []),
      '-x',
      'c',
      '-include',
      file,
      '/dev/null',
    ]),
  );
  return results.flatMap(({ code, out }, i) =>
    code ? [`${headers[i]}: does not compile alone`, ...lines(out, 5)] : [],
  );
}

/** The product's static libraries: what they define for others must carry our prefix. */
export async function symbols({ build }) {
  const libraries = fs
    .readdirSync(build, { recursive: true, encoding: 'utf8' })
    .filter((name) => /(^|\/)libfw_[a-z0-9_]+\.a$/.test(name) && !name.startsWith('tests/'));
  if (libraries.length < 5) {
    return [`only ${libraries.length} libraries of ours in ${build}: is it built?`];
  }
  const findings = [];
  for (const library of libraries) {
    const { code, out } = await sh('nm', ['-g', '--defined-only', path.join(build, library)]);
    if (code) {
      findings.push(`${library}: nm: ${lines(out, 1)}`);
      continue;
    }
    for (const line of out.split('\n')) {
      const m = /^[0-9a-f]+ [A-Z] (\S+)$/.exec(line);
      if (m && !m[1].startsWith('fw_')) {
        findings.push(`${library}: exports ${m[1]}`);
      }
    }
  }
  return findings;
}

export async function clangFormat({ files }) {
  const sources = files.filter((file) => /\.[ch]$/.test(file));
  const tool = fs.existsSync('/usr/bin/clang-format-14') ? 'clang-format-14' : 'clang-format';
  const results = await pool(sources, (file) => sh(tool, ['--dry-run', '-Werror', file]));
  return results.flatMap(({ code, out }, i) =>
    code ? [`${sources[i]}: ${lines(out, 1)[0]}`] : [],
  );
}

const node = (script) => path.join('tests/node_modules', script);

export async function typeCheck({ config = 'tests/tsconfig.json' }) {
  const { code, out } = await sh(process.execPath, [
    node('typescript/bin/tsc'),
    '--noEmit',
    '-p',
    config,
  ]);
  return code ? lines(out, 30) : [];
}

export async function prettier({ files }) {
  const web = files.filter((file) => /\.(js|mjs|css|html)$/.test(file));
  if (!web.length) {
    return ['no web files at all?'];
  }
  const { code, out } = await sh(process.execPath, [
    node('prettier/bin/prettier.cjs'),
    '--check',
    '--config',
    'tests/.prettierrc.json',
    ...web,
  ]);
  return code ? lines(out, 40) : [];
}

export async function shellSyntax({ files }) {
  const scripts = files.filter(
    (file) =>
      /\.sh$/.test(file) || /^#!.*\bbash\b/.test(fs.readFileSync(file, 'latin1').slice(0, 80)),
  );
  const results = await pool(scripts, (file) => sh('bash', ['-n', file]));
  return results.flatMap(({ code, out }, i) => (code ? [`${scripts[i]}: ${lines(out, 2)}`] : []));
}

/** Planted faults, for the lint's own test: `[rule, whether it found it]`. */
export async function samples() {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'framewire-lint-'));
  const put = (name, text) => {
    fs.writeFileSync(path.join(dir, name), text);
    return path.join(dir, name);
  };
  try {
    fs.copyFileSync('.clang-format', path.join(dir, '.clang-format'));
    const config = {
      extends: path.resolve('tests/tsconfig.json'),
      include: [put('types.js', '/** @type {number} */\nexport const n = "one";\n')],
    };
    const source = put('stray.c', 'int stray(void);\nint stray(void)\n{\n    return 1;\n}\n');
    await sh('gcc', ['-c', '-o', path.join(dir, 'stray.o'), source]);
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      await sh('ar', ['rcs', path.join(dir, `libfw_${name}.a`), path.join(dir, 'stray.o')]);
    }
    const header = put('needy.h', '#pragma once\nint fw_needy(uint32_t n);\n');
    const all = [
      ['headers alone', headersAlone({ files: [header], build: dir }), 'uint32_t'],
      ['symbols', symbols({ build: dir }), 'exports stray'],
      ['clang-format', clangFormat({ files: [put('ugly.c', 'int  x ;\n')] }), 'ugly.c'],
      ['types', typeCheck({ config: put('tsconfig.json', JSON.stringify(config)) }), "'number'"],
      ['prettier', prettier({ files: [put('ugly.css', 'a{b:c}')] }), 'ugly.css'],
      ['shell', shellSyntax({ files: [put('open.sh', 'if true; then\n')] }), 'open.sh'],
    ];
    return await Promise.all(
      all.map(async ([name, found, part]) => [name, (await found).join('\n').includes(part)]),
    );
  } finally {
    fs.rmSync(dir, { recursive: true, force: true });
  }
}
