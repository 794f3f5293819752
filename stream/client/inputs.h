// SPDX-License-Identifier: MIT
// From input to photon, for every input and on the client's clock alone: each input is kept until a
// picture that shows it is on screen. Pure.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stream/wire.h"

enum { FW_INPUTS_KEPT = 1024, FW_INPUTS_SHOWN = 64 };

// Thread: one. Zero-initialised is empty.
struct fw_inputs {
    struct fw_input_wait {
        uint64_t seq;
        uint64_t input_id;  // 0 = the server has not told it yet
        int64_t since_ns;   // when it was due
    } wait[FW_INPUTS_KEPT]; // ring, oldest at `first`
    unsigned first, count;
    // Pictures shown before the stamp of their input came.
    struct fw_input_shown {
        uint64_t input_id;
        int64_t at_ns;
    } shown[FW_INPUTS_SHOWN];
    unsigned shown_next;
    uint64_t lost; // fell out of the ring unanswered
};

// Called for each input that is on screen now: `seq`, and when it was due and seen.
typedef void (*fw_inputs_seen_fn)(void *user, uint64_t seq, int64_t since_ns, int64_t seen_ns);

// Sent; `seq` rises.
void fw_inputs_sent(struct fw_inputs *in, uint64_t seq, int64_t since_ns);
void fw_inputs_stamp(struct fw_inputs *in, const struct fw_wire_input_stamp *stamp,
                     fw_inputs_seen_fn seen, void *user);
// A picture that shows inputs up to `input_id` is on screen since `at_ns`.
void fw_inputs_presented(struct fw_inputs *in, uint64_t input_id, int64_t at_ns,
                         fw_inputs_seen_fn seen, void *user);
