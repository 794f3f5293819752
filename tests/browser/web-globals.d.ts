// SPDX-License-Identifier: MIT
// What the web files use and TypeScript's DOM library does not know (yet).

declare class MediaStreamTrackGenerator extends MediaStreamTrack {
    constructor(init: { kind: 'video' | 'audio' });
    readonly writable: WritableStream<VideoFrame>;
}

interface Window {
    framewire: {
        stats: () => Record<string, number | string>;
        session: object;
        hud: object;
    };
}
