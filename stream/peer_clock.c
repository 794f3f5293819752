// SPDX-License-Identifier: MIT
#include "stream/peer_clock.h"

#include "base/clock.h"

// Clocks drift by up to some 50 ppm: a floor of more than two half windows ago is no floor any
// more.
static const int64_t half_window_ns = 15 * (int64_t)FW_NS_PER_S;
// Whoever is a hundred years off has another unit; sums stay far from the ends of 64 bits.
static const uint64_t most_us = UINT64_C(100) * 365 * 86400 * 1000000;

void fw_peer_clock_heard(struct fw_peer_clock *c, uint64_t client_us, int64_t now_ns)
{
    if (client_us > most_us)
        return;
    const int64_t difference = now_ns - (int64_t)client_us * FW_NS_PER_US;
    if (c->has_floor && now_ns - c->turn_ns >= half_window_ns) {
        c->floor_before_ns = c->floor_ns;
        c->has_before = true;
        c->has_floor = false;
    }
    if (!c->has_floor)
        c->turn_ns = now_ns;
    if (!c->has_floor || difference < c->floor_ns)
        c->floor_ns = difference;
    c->has_floor = true;
}

static int64_t smallest(const struct fw_peer_clock *c)
{
    return c->has_before && c->floor_before_ns < c->floor_ns ? c->floor_before_ns : c->floor_ns;
}

void fw_peer_clock_told(struct fw_peer_clock *c, int64_t offset_ns, uint32_t error_us)
{
    const int64_t most_ns = (int64_t)most_us * FW_NS_PER_US;
    const int64_t bound_ns = (int64_t)error_us * FW_NS_PER_US;
    c->estimated = c->has_floor && offset_ns >= -most_ns && offset_ns <= most_ns &&
                   offset_ns <= smallest(c) + bound_ns + FW_NS_PER_MS;
    c->offset_ns = offset_ns;
    c->error_us = error_us;
}

int64_t fw_peer_clock_place(const struct fw_peer_clock *c, uint64_t client_us, uint32_t *error_us,
                            enum fw_peer_clock_kind *kind)
{
    *error_us = c->estimated ? c->error_us : 0;
    *kind = c->estimated   ? FW_PEER_CLOCK_ESTIMATE
            : c->has_floor ? FW_PEER_CLOCK_FLOOR
                           : FW_PEER_CLOCK_NONE;
    if (!c->has_floor || client_us > most_us)
        return 0;
    const int64_t ns =
        (int64_t)client_us * FW_NS_PER_US + (c->estimated ? c->offset_ns : smallest(c));
    return ns > 0 ? ns : 0;
}
