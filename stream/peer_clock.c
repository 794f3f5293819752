// SPDX-License-Identifier: MIT
#include "stream/peer_clock.h"

#include "base/clock.h"

// Clocks drift by up to some 50 ppm: a bound of ten seconds ago is a bound no more.
static const int64_t half_window_ns = 5 * (int64_t)FW_NS_PER_S;
// Whoever is a hundred years off has another unit; sums stay far from the ends of 64 bits.
static const uint64_t most_us = UINT64_C(100) * 365 * 86400 * 1000000;

void fw_peer_clock_heard(struct fw_peer_clock *c, uint64_t client_us, int64_t now_ns)
{
    if (client_us > most_us)
        return;
    if (now_ns - c->turn_ns >= half_window_ns) {
        c->before = c->now;
        c->now = (struct fw_peer_bounds){ 0 };
        c->turn_ns = now_ns;
    }
    const int64_t high = now_ns - (int64_t)client_us * FW_NS_PER_US;
    if (!c->now.has_high || high < c->now.high_ns)
        c->now.high_ns = high;
    c->now.has_high = true;
}

void fw_peer_clock_reached(struct fw_peer_clock *c, uint64_t client_us, int64_t sent_ns)
{
    if (client_us > most_us)
        return;
    const int64_t low = sent_ns - (int64_t)client_us * FW_NS_PER_US;
    if (!c->now.has_low || low > c->now.low_ns)
        c->now.low_ns = low;
    c->now.has_low = true;
}

void fw_peer_clock_told(struct fw_peer_clock *c, int64_t offset_ns, uint32_t error_us)
{
    const int64_t most_ns = (int64_t)most_us * FW_NS_PER_US;
    c->estimated = offset_ns >= -most_ns && offset_ns <= most_ns;
    c->offset_ns = offset_ns;
    c->error_us = error_us;
}

static void narrow(struct fw_peer_bounds *b, const struct fw_peer_bounds *by)
{
    if (by->has_low && (!b->has_low || by->low_ns > b->low_ns))
        b->low_ns = by->low_ns;
    if (by->has_high && (!b->has_high || by->high_ns < b->high_ns))
        b->high_ns = by->high_ns;
    b->has_low |= by->has_low;
    b->has_high |= by->has_high;
}

// Does the client's estimate leave something of the bounds? A grain is allowed for its timer.
static bool agrees(const struct fw_peer_clock *c, const struct fw_peer_bounds *b,
                   struct fw_peer_bounds *told)
{
    const int64_t error_ns = (int64_t)c->error_us * FW_NS_PER_US;
    if (!c->estimated || !b->has_high)
        return false;
    *told = (struct fw_peer_bounds){ true, true, c->offset_ns - error_ns, c->offset_ns + error_ns };
    return told->low_ns <= b->high_ns + FW_NS_PER_MS &&
           (!b->has_low || told->high_ns >= b->low_ns - FW_NS_PER_MS);
}

int64_t fw_peer_clock_place(const struct fw_peer_clock *c, uint64_t client_us, uint32_t *error_us,
                            enum fw_peer_clock_kind *kind)
{
    struct fw_peer_bounds b = c->now, told;
    narrow(&b, &c->before);
    *error_us = 0;
    *kind = !b.has_high  ? FW_PEER_CLOCK_NONE
            : !b.has_low ? FW_PEER_CLOCK_FLOOR
                         : FW_PEER_CLOCK_BOUNDS;
    if (agrees(c, &b, &told)) {
        *kind = FW_PEER_CLOCK_ESTIMATE;
        narrow(&b, &told);
    }
    if (!b.has_high || client_us > most_us)
        return 0;
    int64_t offset = b.high_ns;
    if (b.has_low) {
        // Where drift has let the bounds cross, the truth lies about between them all the same.
        const int64_t width = b.high_ns > b.low_ns ? b.high_ns - b.low_ns : b.low_ns - b.high_ns;
        const int64_t error = width / 2 / FW_NS_PER_US + 1;
        offset = b.low_ns + (b.high_ns - b.low_ns) / 2;
        *error_us = error < UINT32_MAX ? (uint32_t)error : UINT32_MAX;
    }
    const int64_t ns = (int64_t)client_us * FW_NS_PER_US + offset;
    return ns > 0 ? ns : 0;
}
