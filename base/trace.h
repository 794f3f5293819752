// SPDX-License-Identifier: MIT
// The time stamps that a frame collects on its way, and the stages between them. The one list of
// both: records, exports, metrics and pages take names and order from here.
#pragma once

#include <stdint.h>

#include "base/clock.h"

// 0 in a build that is to show what the trace costs (meson -Dtrace=false): all that is done for it
// alone stands behind this, is compiled, and dropped.
#ifndef FW_TRACE
#define FW_TRACE 1
#endif
enum { FW_TRACE_ON = FW_TRACE };

// Now, for a stamp that nothing but the trace reads; 0 without it.
static inline int64_t fw_trace_now_ns(void)
{
    return FW_TRACE_ON ? fw_now_ns() : 0;
}

// All monotonic ns of the server; 0 = not stamped.
struct fw_frame_times {
    int64_t input_rx_ns;  // the newest input shown: received by the front
    int64_t delivered_ns; // that input: taken by the worker's session thread
    int64_t change_ns;    // oldest source change this frame shows that the one before did not
    int64_t begun_ns;     // frame begun, input latched
    int64_t submitted_ns; // command buffer handed to the driver
    int64_t rendered_ns;  // GPU work known to be finished
    int64_t converted_ns; // NV12 planes ready
    int64_t enc_begin_ns; // encoder entered
    int64_t enc_end_ns;   // encoder returned the access unit
    int64_t ring_ns;      // about to be copied into the ring to the front
    int64_t picked_ns;    // found in the ring by the front; stamped there, whatever a worker says
};

enum fw_pass { FW_PASS_SOURCE, FW_PASS_MERGE, FW_PASS_CONVERT, FW_PASS_COUNT };
// Parts of the source's pass, on devices that can tell them apart.
enum fw_part { FW_PART_VERTEX, FW_PART_RASTER, FW_PART_FRAGMENT, FW_PART_OUTPUT, FW_PART_COUNT };

// What the GPU says of a frame. All 0 where it was not asked: where asking costs, few frames are.
struct fw_gpu_facts {
    int64_t begin_ns;                // the first pass began, on the server's clock; 0 = not known
    uint32_t pass_us[FW_PASS_COUNT]; // one after the other
    uint32_t part_us[FW_PART_COUNT]; // sum up to the source's pass; all 0 = not told apart
    uint32_t vertices, primitives,
        fragments; // of the source's pass: fed in, after clipping, shaded
};

enum { FW_ENCODER_NAME_SIZE = 15 };

// What is known of a frame besides its times.
struct fw_frame_facts {
    struct fw_gpu_facts gpu;
    uint32_t damage_px; // pixels that may differ from the frame before
    // The quantiser chosen for the picture, 0-51, plus 1; 0 = the encoder does not tell. Where a
    // limit on its size steps in, rows further down are coarser.
    uint8_t qp_plus1;
    char encoder[FW_ENCODER_NAME_SIZE]; // "x264"
};

// The moments of a frame, in order.
enum fw_point {
    FW_POINT_INPUT,
    FW_POINT_DELIVERED,
    FW_POINT_BEGUN,
    FW_POINT_SUBMITTED,
    FW_POINT_RENDERED,
    FW_POINT_CONVERTED,
    FW_POINT_ENC_BEGIN,
    FW_POINT_ENC_END,
    FW_POINT_RING,
    FW_POINT_PICKED,
    FW_POINT_HANDED,
    FW_POINT_ACCEPTED,
    FW_POINT_RECEIVED, // from here on the client's clock, placed on the server's
    FW_POINT_DECODED,
    FW_POINT_PRESENTED,
    FW_POINT_COUNT
};

// The stages tile the total: stage i lasts from point i to point i + 1. Where one of the two was
// not stamped the stage is unknown, and its time is part of `rest`.
enum fw_stage {
    FW_STAGE_DELIVER,
    FW_STAGE_WAIT,
    FW_STAGE_SUBMIT,
    FW_STAGE_RENDER,
    FW_STAGE_CONVERT,
    FW_STAGE_QUEUE,
    FW_STAGE_ENCODE,
    FW_STAGE_RING,
    FW_STAGE_PICKUP,
    FW_STAGE_HAND,
    FW_STAGE_ACCEPT,
    FW_STAGE_NETWORK,
    FW_STAGE_DECODE,
    FW_STAGE_PRESENT,
    FW_STAGE_REST, // the total less all the others
    FW_STAGE_COUNT
};

struct fw_stage_info {
    const char *name; // a word, for columns, tracks and labels
    const char *ends; // what ends it, for people
};
extern const struct fw_stage_info fw_stages[FW_STAGE_COUNT];

// What became of a frame.
enum fw_outcome {
    FW_OUTCOME_OPEN,        // under way
    FW_OUTCOME_PRESENTED,   // the client says it showed it
    FW_OUTCOME_DROPPED,     // encoded, but not shown
    FW_OUTCOME_SKIPPED,     // never left its worker, or nobody was there to take it
    FW_OUTCOME_UNCONFIRMED, // sent; the client has not said what it did with it
    FW_OUTCOME_COUNT
};

// Why it was not shown.
enum fw_reason {
    FW_REASON_NONE,
    FW_REASON_NEWER,     // a newer picture took its place before it was encoded
    FW_REASON_RING_FULL, // the front did not empty the ring
    FW_REASON_UNKNOWN,   // its worker left it out without a word
    FW_REASON_NOBODY,    // no viewer paced the session
    FW_REASON_NEEDS_KEY, // the viewer waited for a key frame
    FW_REASON_BUSY,      // the viewer's connection had not taken the ones before
    FW_REASON_NEWER_KEY, // a key frame took its place while it waited for the connection
    FW_REASON_HIDDEN,    // the page was hidden
    FW_REASON_GONE,      // the viewer or its media connection went away
    FW_REASON_RESTART,   // the worker was replaced while it waited for the connection
    FW_REASON_CLIENT,    // dropped by the client
    FW_REASON_NO_WORD,   // of an unconfirmed one: many newer ones have been sent since
    FW_REASON_COUNT
};

extern const char *const fw_outcome_names[FW_OUTCOME_COUNT];
extern const char *const fw_reason_names[FW_REASON_COUNT];

// Stamps of a worker are not to be trusted: one that is earlier than a stamp before it, or later
// than `now_ns`, becomes 0. `picked_ns` becomes `now_ns`.
void fw_frame_times_clean(struct fw_frame_times *times, int64_t now_ns);
// The stamps by point; those of the way to the client and of the client are 0.
void fw_frame_times_points(const struct fw_frame_times *times, int64_t at[FW_POINT_COUNT]);
