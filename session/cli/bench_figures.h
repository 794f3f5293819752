// SPDX-License-Identifier: MIT
// What `framewire bench` knows of one session, or of all of them together: histograms and counts of
// one window of time. Plain data.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"
#include "base/trace.h"

struct fw_bench_figures {
    double seconds; // length of the window, of one session
    // --- from the records of frames, kept by the server
    struct fw_histogram stage[FW_STAGE_COUNT]; // of presented frames
    struct fw_histogram total;
    uint64_t outcome[FW_OUTCOME_COUNT], reason[FW_REASON_COUNT];
    uint64_t keys, bytes;
    uint64_t sums_checked, sums_wrong; // frames whose stages do (not) sum up to their total
    uint64_t records_missing;          // overwritten before they were read
    // --- seen by the client, on its own clock
    struct fw_histogram aoi;   // one value for each ms
    struct fw_histogram input; // from when an input was due to the picture that shows it
    struct fw_histogram late; // from when an input was due to when it was sent: the generator's own
    uint64_t presented, dropped;  // pictures
    uint64_t received_bytes;      // of messages with pictures
    uint64_t inputs, inputs_open; // sent and followed; not seen in any picture by the end
    uint64_t ids_checked, ids_wrong, decode_errors;
    uint64_t worst_id_header, worst_id_painted; // of the newest wrong one
};

void fw_bench_figures_merge(struct fw_bench_figures *to, const struct fw_bench_figures *from);
// Pictures per second and session.
static inline double fw_bench_fps(const struct fw_bench_figures *f)
{
    return f->seconds > 0 ? (double)f->presented / f->seconds : 0;
}
// Of all frames begun, those that did not come to the screen, 0-1. What a newer picture replaced
// before it was encoded, and what nobody asked for, counts as well.
double fw_bench_drops(const struct fw_bench_figures *f);
