// SPDX-License-Identifier: MIT
// A models folder for the tests: FW_MODELS where it holds a model we know, else a small one made here.

import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from './env.mjs';

const KNOWN = ['DamagedHelmet.glb', 'Duck.glb', '2CylinderEngine.glb'];

/** A cube whose sides differ in colour, as binary glTF. */
function cube() {
  const positions = [];
  const normals = [];
  const colors = [];
  const indices = [];
  for (let axis = 0; axis < 3; axis++)
    for (const sign of [-1, 1]) {
      const first = positions.length / 3;
      for (const [u, v] of [
        [-1, -1],
        [1, -1],
        [1, 1],
        [-1, 1],
      ]) {
        const point = [0, 0, 0];
        point[axis] = sign;
        point[(axis + 1) % 3] = u;
        point[(axis + 2) % 3] = v;
        positions.push(...point);
        normals.push(...[0, 1, 2].map((i) => (i === axis ? sign : 0)));
        colors.push(...[0, 1, 2].map((i) => (i === axis ? 1 : sign > 0 ? 0.05 : 0.5)));
      }
      const order = sign > 0 ? [0, 1, 2, 0, 2, 3] : [0, 2, 1, 0, 3, 2];
      indices.push(...order.map((i) => first + i));
    }
  const data = Buffer.concat([
    ...[positions, normals, colors].map((a) => Buffer.from(new Float32Array(a).buffer)),
    Buffer.from(new Uint16Array(indices).buffer),
  ]);
  const size = positions.length * 4;
  const view = (buffer, index, length) => ({
    buffer,
    byteOffset: index * size,
    byteLength: length,
  });
  const vectors = { componentType: 5126, count: positions.length / 3, type: 'VEC3' };
  const json = {
    asset: { version: '2.0' },
    scene: 0,
    scenes: [{ nodes: [0] }],
    nodes: [{ mesh: 0 }],
    meshes: [
      {
        primitives: [
          { attributes: { POSITION: 0, NORMAL: 1, COLOR_0: 2 }, indices: 3, material: 0 },
        ],
      },
    ],
    materials: [{ pbrMetallicRoughness: { metallicFactor: 0, roughnessFactor: 0.6 } }],
    accessors: [
      { bufferView: 0, ...vectors, min: [-1, -1, -1], max: [1, 1, 1] },
      { bufferView: 1, ...vectors },
      { bufferView: 2, ...vectors },
      { bufferView: 3, componentType: 5123, count: indices.length, type: 'SCALAR' },
    ],
    bufferViews: [
      view(0, 0, size),
      view(0, 1, size),
      view(0, 2, size),
      view(0, 3, indices.length * 2),
    ],
    buffers: [{ byteLength: data.length }],
  };
  const chunk = (type, body, fill) => {
    const padded = Buffer.concat([body, Buffer.alloc(-body.length & 3, fill)]);
    const head = Buffer.alloc(8);
    head.writeUInt32LE(padded.length, 0);
    head.writeUInt32LE(type, 4);
    return Buffer.concat([head, padded]);
  };
  const chunks = Buffer.concat([
    chunk(0x4e4f534a, Buffer.from(JSON.stringify(json)), 0x20),
    chunk(0x004e4942, data, 0),
  ]);
  const head = Buffer.alloc(12);
  head.write('glTF', 0, 'latin1');
  head.writeUInt32LE(2, 4);
  head.writeUInt32LE(12 + chunks.length, 8);
  return Buffer.concat([head, chunks]);
}

/** @type {Promise<{folder: string, model: string}> | undefined} */
let found;

/** @returns {Promise<{folder: string, model: string}>} */
export function models() {
  return (found ??= find());
}

async function find() {
  let names = [];
  try {
    names = readdirSync(env.models);
  } catch {
    // no such folder
  }
  const model = KNOWN.find((name) => names.includes(name));
  if (model) return { folder: env.models, model };
  const folder = mkdtempSync(join(tmpdir(), 'fw-models-'));
  env.atLast(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'Cube.glb'), cube());
  return { folder, model: 'Cube.glb' };
}
