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
enum fw_view_stage {
    FW_VIEW_STAGE_RENDER,
    FW_VIEW_STAGE_CONVERT, // RGB to NV12
    FW_VIEW_STAGE_WAIT,    // until the encoder took it
    FW_VIEW_STAGE_ENCODE,
    FW_VIEW_STAGE_SEND,    // until the server's kernel had all of it
    FW_VIEW_STAGE_NETWORK, // until it was here
    FW_VIEW_STAGE_DECODE,
    FW_VIEW_STAGE_PRESENT, // until it was on screen
    FW_VIEW_STAGE_COUNT
};
extern const char *const fw_view_stage_names[FW_VIEW_STAGE_COUNT];

enum { FW_VIEW_GRAPH = 111 };

struct fw_view_percentiles {
    double p50, p95, p99; // ms; −1 = nothing measured
};

// One moment's figures.
struct fw_view_reading {
    double fps, kbps, rtt_ms, age_ms;        // −1 = not known; age 0 = current
    double clock_error_ms;                   // bound of what the clocks are apart; −1 = not known
    struct fw_view_percentiles total, input; // of the last few hundred
    struct fw_view_percentiles age;          // weighted by time, of the last 10 to 20 s
    double stage_ms[FW_VIEW_STAGE_COUNT];    // medians of the last few hundred
    struct fw_view_ways {
        float ms[FW_VIEW_STAGE_COUNT];
    } graph[FW_VIEW_GRAPH]; // newest last
    unsigned graph_count;
    uint64_t received, decoded, presented, dropped, key_requests, decoder_errors;
    uint64_t last_frame, last_input; // on screen
    int width, height;
    char codec[40];
};

// Thread: any; it has a lock of its own.
struct fw_view_figures;

struct fw_view_figures *fw_view_figures_create(void); // NULL = out of memory
void fw_view_figures_destroy(struct fw_view_figures **figures);

void fw_view_figures_received(struct fw_view_figures *f, const struct fw_wire_video *video,
                              size_t bytes, int64_t now_ns);
void fw_view_figures_decoded(struct fw_view_figures *f, uint64_t frame_id, int64_t now_ns);
void fw_view_figures_presented(struct fw_view_figures *f, uint64_t frame_id, int64_t now_ns);
void fw_view_figures_dropped(struct fw_view_figures *f);
void fw_view_figures_key_request(struct fw_view_figures *f);
void fw_view_figures_decoder_error(struct fw_view_figures *f);
void fw_view_figures_beacon(struct fw_view_figures *f, const struct fw_wire_beacon *beacon,
                            int64_t now_ns);
void fw_view_figures_stamp(struct fw_view_figures *f, const struct fw_wire_stamp *stamp);
void fw_view_figures_clock(struct fw_view_figures *f, const struct fw_client_clock *clock);
// An input sent at `since_ns` is on screen since `seen_ns`.
void fw_view_figures_input(struct fw_view_figures *f, int64_t since_ns, int64_t seen_ns);
// A new connection: what was on its way is not coming.
void fw_view_figures_reconnect(struct fw_view_figures *f);

void fw_view_figures_read(struct fw_view_figures *f, int64_t now_ns, struct fw_view_reading *out);
// All since the start as one JSON object.
void fw_view_figures_write(struct fw_view_figures *f, FILE *out, double seconds);
