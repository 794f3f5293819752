// SPDX-License-Identifier: MIT
// What the benches share: quantiles and their intervals, and what processes cost.
import fs from 'node:fs';

export const median = (values) => quantile(values, 0.5);

export function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = q * (sorted.length - 1);
  const low = Math.floor(at);
  return sorted[low] + (at - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
}

/** The middle 95 % of medians of samples drawn from the sample; the seed is fixed. */
export function bootstrap(values) {
  let state = 12345;
  const random = () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
  const medians = Array.from({ length: 2000 }, () =>
    median(values.map(() => values[Math.floor(random() * values.length)])),
  );
  return [quantile(medians, 0.025), quantile(medians, 0.975)];
}

/** pid → {parent, ticks}: own and ended children's CPU time, of every process there is. */
function processes() {
  const all = new Map();
  for (const name of fs.readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) {
      continue;
    }
    try {
      const text = fs.readFileSync(`/proc/${name}/stat`, 'latin1');
      const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
      const ticks = Number(fields[11]) + Number(fields[12]);
      all.set(Number(name), { parent: Number(fields[1]), ticks });
    } catch {
      // it has just ended
    }
  }
  return all;
}

/** A process and all below it. */
function tree(pid, all = processes()) {
  const below = (id) => {
    for (let at = id; at > 1; at = all.get(at)?.parent ?? 0) {
      if (at === pid) {
        return true;
      }
    }
    return false;
  };
  return [...all.keys()].filter(below);
}

/** CPU seconds of a process and all below it, ended children not included. */
export function cpuSeconds(pid) {
  const all = processes();
  const ticks = tree(pid, all).reduce((sum, id) => sum + all.get(id).ticks, 0);
  return ticks / 100; // USER_HZ
}

/**
 * What the scheduler has counted for some processes and all below them: CPU seconds to the
 * nanosecond, and how often one of their threads has been woken (it had gone to sleep by itself).
 * For spans in which no thread ends.
 * @param {number[]} pids
 */
export function scheduled(pids) {
  let seconds = 0;
  let wakeups = 0;
  for (const id of new Set(pids.flatMap((pid) => tree(pid)))) {
    try {
      for (const task of fs.readdirSync(`/proc/${id}/task`)) {
        const dir = `/proc/${id}/task/${task}`;
        seconds += Number(fs.readFileSync(`${dir}/schedstat`, 'latin1').split(' ')[0]) / 1e9;
        const status = fs.readFileSync(`${dir}/status`, 'latin1');
        wakeups += Number(/^voluntary_ctxt_switches:\s*(\d+)/m.exec(status)?.[1] ?? 0);
      }
    } catch {
      // it has just ended
    }
  }
  return { seconds, wakeups };
}
