// SPDX-License-Identifier: MIT
// Places the times of one client on the server's clock. The client's own estimate (it sees both
// ways of a ping) is used where it is told and plausible; else the smallest difference between a
// client's time and its arrival here, which is late by the quickest way from there to here. Pure.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum fw_peer_clock_kind {
    FW_PEER_CLOCK_NONE,     // nothing heard yet
    FW_PEER_CLOCK_FLOOR,    // from arrival times: late by the quickest one-way trip
    FW_PEER_CLOCK_ESTIMATE, // the client's own
};

// Thread: one. Zero-initialised is "nothing heard".
struct fw_peer_clock {
    bool estimated;
    int64_t offset_ns; // told by the client: server − client
    uint32_t error_us; // its bound, as told
    // Smallest arrival − client time of this half window and of the one before.
    int64_t floor_ns, floor_before_ns, turn_ns;
    bool has_floor, has_before;
};

// A message with the client's time arrived. Times beyond reason change nothing.
void fw_peer_clock_heard(struct fw_peer_clock *clock, uint64_t client_us, int64_t now_ns);
// The client told its estimate. One that its messages contradict (they would have arrived before
// they were sent, by more than the bound) is not used.
void fw_peer_clock_told(struct fw_peer_clock *clock, int64_t offset_ns, uint32_t error_us);
// The server's time of `client_us`, 0 = it can't be told. `*error_us`: the bound told with an
// estimate, else 0 = not known.
int64_t fw_peer_clock_place(const struct fw_peer_clock *clock, uint64_t client_us,
                            uint32_t *error_us, enum fw_peer_clock_kind *kind);
