// SPDX-License-Identifier: MIT
// The server's clock as a client sees it: the offset is that of the exchange with the smallest
// bound on its error, half its round trip and what two clocks may have drifted apart since (as
// lib/clock.js of the page does). Pure.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stream/wire.h"

enum { FW_CLIENT_CLOCK_KEPT = 16 };

// Thread: one. Zero-initialised is "nothing known".
struct fw_client_clock {
    struct fw_client_exchange {
        int64_t at_ns, rtt_ns, offset_ns; // offset: server − client
    } kept[FW_CLIENT_CLOCK_KEPT];
    unsigned count, next; // next: where the next one goes
    int64_t rtt_ns;       // of the newest exchange
    struct fw_client_exchange best;
};

// Takes one ping/pong that ended at `now_ns` of the client. One that can't be changes nothing.
void fw_client_clock_add(struct fw_client_clock *clock, const struct fw_wire_pong *pong,
                         int64_t now_ns);
static inline bool fw_client_clock_known(const struct fw_client_clock *clock)
{
    return clock->count > 0;
}
// What the server is told; false = nothing known yet.
bool fw_client_clock_estimate(const struct fw_client_clock *clock, int64_t now_ns,
                              int64_t *offset_ns, uint32_t *error_us);
// The same moment on the client's clock, ns.
static inline int64_t fw_client_clock_local(const struct fw_client_clock *clock, int64_t server_ns)
{
    return server_ns - clock->best.offset_ns;
}
// The smallest round trip of late, ns; 0 = unknown.
int64_t fw_client_clock_min_rtt(const struct fw_client_clock *clock);
