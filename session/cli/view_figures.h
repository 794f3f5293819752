// SPDX-License-Identifier: MIT
// What is counted while a session is viewed: for the HUD, and for --stats. A frame's way is put
// together from its header, the server's stamps and our own, all on the server's clock.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/histogram.h"
#include "stream/client/clock.h"
#include "stream/wire.h"

// The stages tile a picture's way from its begin, where it took the newest input, to the screen.
// Names and colours are the page's (lib/stages.js).
enum view_stage {
    VIEW_STAGE_RENDER,
    VIEW_STAGE_CONVERT, // RGB to NV12
    VIEW_STAGE_WAIT,    // until the encoder took it
    VIEW_STAGE_ENCODE,
    VIEW_STAGE_SEND,    // until the server's kernel had all of it
    VIEW_STAGE_NETWORK, // until it was here
    VIEW_STAGE_DECODE,
    VIEW_STAGE_PRESENT, // until it was on screen
    VIEW_STAGE_COUNT
};
extern const char *const view_stage_names[VIEW_STAGE_COUNT];

enum { VIEW_GRAPH = 111 };

struct view_percentiles {
    double p50, p95, p99; // ms; −1 = nothing measured
};

// One moment's figures.
struct view_reading {
    double fps, kbps, rtt_ms, age_ms;     // −1 = not known; age 0 = current
    struct view_percentiles total, input; // of the last few hundred
    double stage_ms[VIEW_STAGE_COUNT];    // medians of the last few hundred
    struct view_ways {
        float ms[VIEW_STAGE_COUNT];
    } graph[VIEW_GRAPH]; // newest last
    unsigned graph_count;
    uint64_t received, decoded, presented, dropped, key_requests, decoder_errors;
    uint64_t last_frame, last_input; // on screen
    int width, height;
    char codec[40];
};

// Thread: any; it has a lock of its own.
struct view_figures;

struct view_figures *view_figures_create(void); // NULL = out of memory
void view_figures_destroy(struct view_figures **figures);

void view_figures_received(struct view_figures *f, const struct fw_wire_video *video, size_t bytes,
                           int64_t now_ns);
void view_figures_decoded(struct view_figures *f, uint64_t frame_id, int64_t now_ns);
void view_figures_presented(struct view_figures *f, uint64_t frame_id, int64_t now_ns);
void view_figures_dropped(struct view_figures *f);
void view_figures_key_request(struct view_figures *f);
void view_figures_decoder_error(struct view_figures *f);
void view_figures_beacon(struct view_figures *f, const struct fw_wire_beacon *beacon,
                         int64_t now_ns);
void view_figures_stamp(struct view_figures *f, const struct fw_wire_stamp *stamp);
void view_figures_clock(struct view_figures *f, const struct fw_client_clock *clock);
// An input sent at `since_ns` is on screen since `seen_ns`.
void view_figures_input(struct view_figures *f, int64_t since_ns, int64_t seen_ns);
// A new connection: what was on its way is not coming.
void view_figures_reconnect(struct view_figures *f);

void view_figures_read(struct view_figures *f, int64_t now_ns, struct view_reading *out);
// All since the start as one JSON object.
void view_figures_write(struct view_figures *f, FILE *out, double seconds);
