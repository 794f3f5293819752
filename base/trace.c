// SPDX-License-Identifier: MIT
#include "base/trace.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

static_assert((int)FW_STAGE_REST == (int)FW_POINT_COUNT - 1, "one stage between two points");

const struct fw_stage_info fw_stages[FW_STAGE_COUNT] = {
    [FW_STAGE_DELIVER] = { "deliver", "the worker's session thread took the input" },
    [FW_STAGE_WAIT] = { "wait", "the frame was begun, input latched" },
    [FW_STAGE_SUBMIT] = { "submit", "commands recorded and handed to the driver" },
    [FW_STAGE_RENDER] = { "render", "the GPU finished" },
    [FW_STAGE_CONVERT] = { "convert", "NV12 planes were ready" },
    [FW_STAGE_QUEUE] = { "queue", "the encoder was entered" },
    [FW_STAGE_ENCODE] = { "encode", "the encoder returned the access unit" },
    [FW_STAGE_RING] = { "ring", "the packet went into the ring" },
    [FW_STAGE_PICKUP] = { "pickup", "the front took it from the ring" },
    [FW_STAGE_HAND] = { "hand", "it was handed to the viewer's socket" },
    [FW_STAGE_ACCEPT] = { "accept", "the kernel had taken all of it" },
    [FW_STAGE_NETWORK] = { "network", "the client had received it" },
    [FW_STAGE_DECODE] = { "decode", "the client's decoder returned the picture" },
    [FW_STAGE_PRESENT] = { "present", "the client had given it to the screen" },
    [FW_STAGE_REST] = { "rest", "what no stage explains" },
};

const char *const fw_outcome_names[FW_OUTCOME_COUNT] = {
    [FW_OUTCOME_OPEN] = "open",
    [FW_OUTCOME_PRESENTED] = "presented",
    [FW_OUTCOME_DROPPED] = "dropped",
    [FW_OUTCOME_SKIPPED] = "skipped",
    [FW_OUTCOME_UNCONFIRMED] = "unconfirmed",
};

const char *const fw_reason_names[FW_REASON_COUNT] = {
    [FW_REASON_NONE] = "",
    [FW_REASON_NEWER] = "newer",
    [FW_REASON_RING_FULL] = "ring_full",
    [FW_REASON_UNKNOWN] = "unknown",
    [FW_REASON_NOBODY] = "nobody",
    [FW_REASON_NEEDS_KEY] = "needs_key",
    [FW_REASON_BUSY] = "busy",
    [FW_REASON_NEWER_KEY] = "newer_key",
    [FW_REASON_HIDDEN] = "hidden",
    [FW_REASON_GONE] = "gone",
    [FW_REASON_RESTART] = "restart",
    [FW_REASON_CLIENT] = "client",
    [FW_REASON_NO_WORD] = "no_word",
};

void fw_frame_times_clean(struct fw_frame_times *t, int64_t now_ns)
{
    int64_t *const stamps[] = { &t->input_rx_ns,  &t->delivered_ns, &t->begun_ns,
                                &t->submitted_ns, &t->rendered_ns,  &t->converted_ns,
                                &t->enc_begin_ns, &t->enc_end_ns,   &t->ring_ns };
    int64_t last = 0;
    for (size_t i = 0; i < sizeof(stamps) / sizeof(stamps[0]); i++) {
        if (*stamps[i] < last || *stamps[i] > now_ns) {
            *stamps[i] = 0;
        } else if (*stamps[i]) {
            last = *stamps[i];
        }
    }
    if (t->change_ns < 0 || t->change_ns > now_ns) {
        t->change_ns = 0;
    }
    t->picked_ns = now_ns;
}

void fw_frame_times_points(const struct fw_frame_times *t, int64_t at[FW_POINT_COUNT])
{
    memset(at, 0, FW_POINT_COUNT * sizeof(at[0]));
    at[FW_POINT_INPUT] = t->input_rx_ns;
    at[FW_POINT_DELIVERED] = t->delivered_ns;
    at[FW_POINT_BEGUN] = t->begun_ns;
    at[FW_POINT_SUBMITTED] = t->submitted_ns;
    at[FW_POINT_RENDERED] = t->rendered_ns;
    at[FW_POINT_CONVERTED] = t->converted_ns;
    at[FW_POINT_ENC_BEGIN] = t->enc_begin_ns;
    at[FW_POINT_ENC_END] = t->enc_end_ns;
    at[FW_POINT_RING] = t->ring_ns;
    at[FW_POINT_PICKED] = t->picked_ns;
}
