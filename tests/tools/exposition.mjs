// SPDX-License-Identifier: MIT
// Reads Prometheus' text format: enough of it for tests.

/**
 * @typedef {{name: string, labels: Record<string, string>, value: number, text: string}} Sample
 * @typedef {{name: string, type: string, help: string, samples: Sample[]}} Family
 */

const unescape = (text) => text.replace(/\\(.)/g, (_, c) => (c === 'n' ? '\n' : c));

function parseLabels(text) {
  const labels = {};
  for (const [, name, value] of text.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)) {
    labels[name] = unescape(value);
  }
  return labels;
}

/** @returns {Map<string, Family>} by name */
export function parse(text) {
  const families = new Map();
  let family;
  for (const line of text.split('\n')) {
    const head = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line);
    if (head) {
      const [, what, name, rest] = head;
      family = families.get(name) ?? { name, type: '', help: '', samples: [] };
      families.set(name, family);
      family[what === 'HELP' ? 'help' : 'type'] = rest;
      continue;
    }
    const m = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (m && family) {
      family.samples.push({
        name: m[1],
        labels: parseLabels(m[2] ?? ''),
        value: Number(m[3]),
        text: line.slice(0, line.lastIndexOf(' ')),
      });
    }
  }
  return families;
}

/** The sum of the samples of that name whose labels are those given; NaN when there is none. */
export function value(families, name, labels = {}) {
  let sum = NaN;
  for (const family of families.values()) {
    for (const sample of family.samples) {
      if (
        sample.name === name &&
        Object.entries(labels).every(([key, want]) => sample.labels[key] === want)
      ) {
        sum = (Number.isNaN(sum) ? 0 : sum) + sample.value;
      }
    }
  }
  return sum;
}

/** Samples of counters and histograms, those that must not fall: text → value. */
export function counters(families) {
  const all = new Map();
  for (const family of families.values()) {
    if (family.type !== 'gauge') {
      family.samples.forEach((sample) => all.set(sample.text, sample.value));
    }
  }
  return all;
}
