// SPDX-License-Identifier: MIT
// How much of the stream one viewer has not confirmed yet, and how much more it may be sent. Pure:
// time is an argument.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    FW_FLOW_WINDOW_MIN = 2,
    FW_FLOW_WINDOW_MAX = 8,
    FW_FLOW_TRACK = 64, // sent and unconfirmed messages remembered per viewer
};

struct fw_flow {
    struct {
        uint64_t frame_id;
        int64_t sent_ns;
    } flight[FW_FLOW_TRACK]; // oldest first, a ring
    unsigned first, count;
    // The smallest round trip of this half window and of the one before; 0 = none.
    int64_t rtt_now_ns, rtt_before_ns, rtt_turn_ns;
    int64_t last_ack_ns;
    int64_t rtt_last_ns, jitter_ns; // jitter: mean change from one to the next, over some 16
};

void fw_flow_reset(struct fw_flow *flow);
// A message was handed to the socket. Over FW_FLOW_TRACK the oldest is forgotten.
void fw_flow_sent(struct fw_flow *flow, uint64_t frame_id, int64_t now_ns);
// The client confirmed `frame_id` and with it all before (one ordered connection). Ids never sent
// or confirmed already change nothing. True when something was confirmed.
bool fw_flow_acked(struct fw_flow *flow, uint64_t frame_id, int64_t now_ns);
// Smallest round trip of the last 5 to 10 s with samples in them; 0 = unknown.
int64_t fw_flow_min_rtt_ns(const struct fw_flow *flow);
// W of docs/protocol.md: 2 + floor(min RTT × fps), at most 8.
unsigned fw_flow_window(const struct fw_flow *flow, int fps);
// Messages that may be sent now.
unsigned fw_flow_room(const struct fw_flow *flow, int fps);
// When that message was handed to the socket; 0 = it is not among the unconfirmed.
int64_t fw_flow_sent_ns(const struct fw_flow *flow, uint64_t frame_id);
// When the oldest unconfirmed message was sent; 0 = nothing is unconfirmed.
int64_t fw_flow_oldest_ns(const struct fw_flow *flow);
// Something has been unconfirmed for longer than `limit_ns` and nothing was confirmed in that time.
bool fw_flow_stalled(const struct fw_flow *flow, int64_t now_ns, int64_t limit_ns);
