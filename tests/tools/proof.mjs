// SPDX-License-Identifier: MIT
// Is time that is put into a stage found in that stage, and nowhere else? Single inputs to a still
// picture, with the delay and without it in turn, so that a busy machine slows both alike; their
// frames' stages are compared by medians.

import { until } from './server.mjs';

export const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

/**
 * How much longer each stage takes with the delay, ms.
 * @param {{frames: any[], stages: {name: string}[]}} trace as JSON
 * @param {{with: Set<number>, without: Set<number>}} inputs by id
 * @returns {{stages: Record<string, number>, frames: number}} `frames`: of the smaller side
 */
export function differences(trace, inputs) {
  const shown = trace.frames.filter((f) => f.shows_input && f.total_us !== null);
  const sides = [inputs.with, inputs.without].map((ids) =>
    shown.filter((f) => ids.has(f.input_id)),
  );
  const ms = (frames, name) => median(frames.map((f) => f[`${name}_us`] ?? 0)) / 1000;
  const frames = Math.min(...sides.map((side) => side.length));
  const stages = trace.stages.map(({ name }) => [
    name,
    frames ? ms(sides[0], name) - ms(sides[1], name) : NaN,
  ]);
  return { stages: Object.fromEntries(stages), frames };
}

/**
 * Inputs with and without something in turn, each once the one before is on the screen.
 * @param {import('./server.mjs').Viewer} viewer
 * @param {(on: boolean) => Promise<void>} set
 */
export async function alternate(viewer, pairs, set) {
  const inputs = { with: new Set(), without: new Set() };
  for (let i = 0; i < 2 * pairs; i++) {
    const on = i % 2 === 0;
    await set(on);
    viewer.move();
    (on ? inputs.with : inputs.without).add(viewer.inputs);
    if (!(await until(() => viewer.shownInput >= viewer.inputs, 20000, 2)))
      throw new Error(`input ${viewer.inputs} was never shown`);
  }
  await set(false);
  return inputs;
}

/** What contradicts that `ms` were added to `stage` alone; "" if nothing does. */
export function contradiction({ stages, frames }, stage, ms, wanted, slack = 2) {
  if (frames < wanted) return `only ${frames} of ${wanted} frames`;
  const wrong = Object.entries(stages).filter(
    ([name, more]) => !(Math.abs(more - (name === stage ? ms : 0)) <= slack),
  );
  return wrong.map(([name, more]) => `${name} +${more.toFixed(2)} ms`).join(', ');
}

/** Best of `tries`: the machine may be disturbed in one of them.
 * @param {() => Promise<string>} attempt what is wrong
 */
export async function bestOf(tries, attempt) {
  let wrong = '';
  for (let i = 0; i < tries; i++) {
    wrong = await attempt();
    if (!wrong) break;
    console.log(`  (try ${i + 1}: ${wrong})`);
  }
  return wrong;
}
