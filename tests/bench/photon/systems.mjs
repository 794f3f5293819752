// SPDX-License-Identifier: MIT
// What is looked at: framewire, its floors and its rivals, all with the same picture. Each has
// start(content) → {url, pids, stop}: `pids` are the processes that serve, the program that draws
// among them; `content` is the test card's `animate`: "0" rests, "full" moves all of the picture.
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { Server, freePort, until } from '../../tools/server.mjs';
import { display, freeDisplay, programs, shown, start, stop } from './stage.mjs';

const { WebSocketServer } = createRequire(import.meta.url)('ws');

const has = (command) => {
  try {
    execFileSync('which', [command], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

/** page.html on a port of its own; `connected` gets each WebSocket. */
async function servePage(connected) {
  const file = new URL('page.html', import.meta.url);
  const server = createServer((_, response) => {
    response.setHeader('Content-Type', 'text/html');
    response.end(fs.readFileSync(file));
  });
  const sockets = new WebSocketServer({ server, perMessageDeflate: false });
  sockets.on('connection', (socket, request) => {
    request.socket.setNoDelay(true);
    connected(socket);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    url: `http://127.0.0.1:${port}/`,
    close() {
      for (const socket of sockets.clients) socket.terminate();
      server.close();
      server.closeAllConnections();
    },
  };
}

/** The test card in a window on a display, as any program. */
const drawer = (name, content) =>
  start(path.join(programs, 'bench_window'), ['testcard', `animate=${content}`], { DISPLAY: name });

/** Waits until something answers on a port. */
async function answers(port, job) {
  const up = await until(
    () =>
      job.ended ||
      fetch(`http://127.0.0.1:${port}/`).then(
        () => true,
        () => false,
      ),
    30000,
    100,
  );
  if (!up || job.ended) throw new Error(`nothing on port ${port}: ${job.log}`);
}

const dom = {
  name: 'DOM flip',
  floor: true,
  still: true, // has no picture that moves
  missing: () => '',
  async start() {
    const page = await servePage(() => {});
    return { url: `${page.url}?dom`, pids: [], stop: async () => page.close() };
  },
};

/** Pictures encoded before, one for each click: what any server would have to send. */
function preEncoded(present) {
  return {
    name: `floor, ${present}`,
    floor: true,
    still: true,
    missing: () => '',
    async start() {
      const units = await encodeClicks(120);
      const page = await servePage((socket) => {
        let at = 0;
        socket.send(units[at++]);
        socket.on('message', () => socket.send(units[at++ % units.length]));
      });
      const url = `${page.url}?present=${present}`;
      return { url, pids: [], stop: async () => page.close() };
    },
  };
}

let encoded = null;
/** The floor's own pictures of clicks on a card at rest, in H.264. */
async function encodeClicks(count) {
  if (encoded) return encoded;
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'framewire-photon-'));
  const file = path.join(dir, 'clicks');
  try {
    execFileSync(path.join(programs, 'bench_floor'), ['testcard', 'animate=0'], {
      env: { ...process.env, FLOOR_RHYTHM: '1', FLOOR_FRAMES: `${count}`, FLOOR_CLICKS: file },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const data = fs.readFileSync(file);
    encoded = [];
    for (let at = 0; at < data.length;) {
      const size = data.readUInt32LE(at);
      encoded.push(data.subarray(at + 4, at + 4 + size));
      at += 4 + size;
    }
    return encoded;
  } finally {
    fs.rmSync(dir, { recursive: true, force: true });
  }
}

const framewire = {
  name: 'framewire',
  missing: () => '',
  async start(content, present = '') {
    const server = new Server({
      port: await freePort(),
      args: ['--log-level', 'warn'],
      env: { FW_VALIDATION: '0', FW_BENCH: '1' },
    });
    const stopServer = async () => void (await server.stop());
    try {
      if (!(await server.ready())) throw new Error(`no server: ${server.log}`);
      const { status, body } = await server.api('POST', '/sessions', {
        source: 'testcard',
        args: { animate: content },
        width: 1280,
        height: 720,
        fps: 60,
      });
      if (status !== 201) throw new Error(`no session: ${status} ${JSON.stringify(body)}`);
      const url = `${body.url ?? `${server.base}/s/${body.id}`}`;
      return { url, pids: [server.child.pid], stop: stopServer, server, session: body, present };
    } catch (error) {
      await stopServer();
      throw error;
    }
  },
};

const vnc = {
  name: 'TigerVNC + noVNC',
  packages: ['tigervnc-standalone-server', 'novnc', 'websockify'],
  missing: () => (has('Xtigervnc') && has('websockify') ? '' : 'TigerVNC, noVNC or websockify'),
  versions: () => packageVersions(['tigervnc-standalone-server', 'novnc', 'websockify']),
  async start(content) {
    const n = freeDisplay();
    const [rfb, web] = [await freePort(), await freePort()];
    const words = ['-geometry', '1280x720', '-depth', '24', '-SecurityTypes', 'None', '-localhost'];
    const jobs = [
      start('Xtigervnc', [
        `:${n}`,
        ...words,
        '-rfbport',
        `${rfb}`,
        '-FrameRate',
        '60',
        '-AlwaysShared',
      ]),
    ];
    const end = async () => void (await stopAll(jobs));
    try {
      await shown(n, jobs[0]);
      jobs.push(drawer(`:${n}`, content));
      jobs.push(
        start('websockify', ['--web', '/usr/share/novnc', `127.0.0.1:${web}`, `127.0.0.1:${rfb}`]),
      );
      await answers(web, jobs[2]);
    } catch (error) {
      await end();
      throw error;
    }
    const query = 'autoconnect=1&resize=off&quality=6&compression=0&reconnect=0';
    const url = `http://127.0.0.1:${web}/vnc.html?${query}`;
    return { url, pids: jobs.map((job) => job.pid), stop: end };
  },
};

const xpra = {
  name: 'xpra HTML5',
  packages: ['xpra'],
  missing: () => (has('xpra') ? '' : 'xpra'),
  versions: () => packageVersions(['xpra']),
  async start(content) {
    const n = freeDisplay();
    const port = await freePort();
    const card = `${path.resolve(programs, 'bench_window')} testcard animate=${content}`;
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'framewire-xpra-'));
    const job = start(
      'xpra',
      [
        'start',
        `:${n}`,
        `--bind-tcp=127.0.0.1:${port}`,
        '--html=on',
        '--daemon=no',
        `--start=${card}`,
        `--xvfb=Xvfb -screen 0 1280x720x24 -nolisten tcp -noreset`,
        `--socket-dir=${dir}`,
        ...['mdns', 'pulseaudio', 'notifications', 'webcam', 'printing', 'file-transfer'].map(
          (word) => `--${word}=no`,
        ),
        ...[
          'dbus-launch=',
          'dbus-proxy=no',
          'dbus-control=no',
          'speaker=off',
          'microphone=off',
        ].map((word) => `--${word}`),
        '--speed=100',
        '--min-speed=80',
      ],
      { XDG_RUNTIME_DIR: dir },
    );
    const end = async () => {
      await stop(job);
      fs.rmSync(dir, { recursive: true, force: true });
    };
    try {
      await answers(port, job);
    } catch (error) {
      await end();
      throw error;
    }
    const url = `http://127.0.0.1:${port}/index.html?sound=false&floating_menu=false&video=false`;
    return { url, pids: [job.pid], stop: end };
  },
};

const pipeline = (name, fps) => [
  ...['-q', 'ximagesrc', `display-name=${name}`, 'show-pointer=false', '!'],
  ...[`video/x-raw,framerate=${fps}/1`, '!', 'videoconvert', '!', 'video/x-raw,format=NV12', '!'],
  ...['x264enc', 'tune=zerolatency', 'speed-preset=ultrafast', 'bitrate=8000'],
  ...['vbv-buf-capacity=17', 'key-int-max=100000', 'threads=1', '!'],
  ...['video/x-h264,stream-format=byte-stream,alignment=au,profile=main', '!'],
  ...['gdppay', '!', 'fdsink', 'fd=1'],
];

/** Captures at a rate of its own; which one serves best depends on the machine. */
const gstreamer = (fps) => ({
  name: `GStreamer ${fps} fps → WebCodecs`,
  packages: ['gstreamer1.0-tools', 'gstreamer1.0-plugins-ugly', 'gstreamer1.0-plugins-bad'],
  missing: () => (has('gst-launch-1.0') ? '' : 'GStreamer'),
  versions: () => packageVersions(['gstreamer1.0-tools', 'gstreamer1.0-plugins-ugly']),
  async start(content) {
    const screen = await display();
    const jobs = [screen.job, drawer(screen.name, content)];
    // Presses come from a program that is there already, not from one started for each.
    const hands = spawn(path.join(programs, 'bench_observer'), ['press'], {
      env: { ...process.env, DISPLAY: screen.name },
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    const pids = [screen.job.pid, jobs[1].pid, hands.pid];
    const page = await servePage((socket) => {
      const job = start('gst-launch-1.0', pipeline(screen.name, fps), {}, [
        'ignore',
        'pipe',
        'inherit',
      ]);
      jobs.push(job);
      pids.push(job.pid);
      readUnits(job.child.stdout, (unit) => socket.send(unit));
      socket.on('message', (words) => hands.stdin.write(`${words}\n`));
      socket.on('close', () => job.child.kill('SIGTERM'));
    });
    return {
      url: page.url,
      pids,
      async stop() {
        page.close();
        hands.kill('SIGTERM');
        await stopAll(jobs);
      },
    };
  },
});

/** GStreamer's data protocol: a header of 62 bytes, its type and the payload's size in it. */
function readUnits(stream, unit) {
  let rest = Buffer.alloc(0);
  stream.on('data', (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 62) {
      const size = rest.readUInt32BE(6);
      if (rest.length < 62 + size) return;
      if (rest.readUInt16BE(4) === 1) unit(rest.subarray(62, 62 + size)); // a buffer, no caps
      rest = rest.subarray(62 + size);
    }
  });
}

async function stopAll(jobs) {
  for (const job of [...jobs].reverse()) await stop(job);
}

function packageVersions(packages) {
  try {
    const out = execFileSync('dpkg-query', ['-W', '-f', '${Package} ${Version}, ', ...packages]);
    return out.toString().replace(/, $/, '');
  } catch {
    return 'not from packages';
  }
}

export const floors = [dom, preEncoded('track'), preEncoded('copy')];
export const ours = framewire;
export const rivals = [vnc, gstreamer(60), gstreamer(30), xpra];
