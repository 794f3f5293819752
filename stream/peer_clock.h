// SPDX-License-Identifier: MIT
// Places the times of one client on the server's clock. What passes between the two bounds the
// offset (server − client) from both sides: a message can't arrive before it was sent, neither here
// nor there. The client's own estimate (it sees both ways of a ping) narrows that down, where it is
// told and does not contradict it. Pure.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum fw_peer_clock_kind {
    FW_PEER_CLOCK_NONE,     // nothing heard yet
    FW_PEER_CLOCK_FLOOR,    // from arrivals here alone: late by the quickest way to here
    FW_PEER_CLOCK_BOUNDS,   // the middle of both bounds
    FW_PEER_CLOCK_ESTIMATE, // … and of the client's own
};

// Thread: one. Zero-initialised is "nothing heard".
struct fw_peer_clock {
    bool estimated;
    int64_t offset_ns; // told by the client
    uint32_t error_us; // its bound, as told
    // Of this half window and of the one before: the largest and the smallest offset there may be.
    struct fw_peer_bounds {
        bool has_low, has_high;
        int64_t low_ns, high_ns;
    } now, before;
    int64_t turn_ns;
};

// A message with the client's time of sending (or before) arrived. Here and below: times beyond
// reason change nothing.
void fw_peer_clock_heard(struct fw_peer_clock *clock, uint64_t client_us, int64_t now_ns);
// What was sent at `sent_ns` had arrived there at `client_us`.
void fw_peer_clock_reached(struct fw_peer_clock *clock, uint64_t client_us, int64_t sent_ns);
// The client told its estimate.
void fw_peer_clock_told(struct fw_peer_clock *clock, int64_t offset_ns, uint32_t error_us);
// The server's time of `client_us`, 0 = it can't be told. `*error_us`: its bound, 0 = not known.
// (Clocks drift apart by up to 0.5 ms while a bound is kept; that comes on top.)
int64_t fw_peer_clock_place(const struct fw_peer_clock *clock, uint64_t client_us,
                            uint32_t *error_us, enum fw_peer_clock_kind *kind);
