// SPDX-License-Identifier: MIT
#include "stream/client/clock.h"

#include "base/clock.h"

enum {
    STALE_S = 60,
    DRIFT_PPM = 100, // of two quartz clocks against one another, generously
    GRAIN_US = 1,    // client times travel in whole microseconds
};

static int64_t bound(const struct fw_client_exchange *e, int64_t now_ns)
{
    const int64_t age = now_ns > e->at_ns ? now_ns - e->at_ns : 0;
    return e->rtt_ns / 2 + age / 1000000 * DRIFT_PPM;
}

static bool fresh(const struct fw_client_exchange *e, int64_t now_ns)
{
    return now_ns - e->at_ns < STALE_S * (int64_t)FW_NS_PER_S;
}

void fw_client_clock_add(struct fw_client_clock *clock, const struct fw_wire_pong *pong,
                         int64_t now_ns)
{
    if (pong->client_us > (uint64_t)now_ns / FW_NS_PER_US)
        return; // not yet
    const int64_t sent = (int64_t)pong->client_us * FW_NS_PER_US;
    const int64_t held = pong->tx_ns - pong->rx_ns;
    const int64_t rtt = now_ns - sent - held;
    if (held < 0 || rtt < 0)
        return;
    clock->rtt_ns = rtt;
    clock->kept[clock->next] = (struct fw_client_exchange){
        .at_ns = now_ns,
        .rtt_ns = rtt,
        .offset_ns = pong->rx_ns + held / 2 - (sent + (now_ns - sent) / 2),
    };
    const struct fw_client_exchange *best = &clock->kept[clock->next];
    clock->next = (clock->next + 1) % FW_CLIENT_CLOCK_KEPT;
    if (clock->count < FW_CLIENT_CLOCK_KEPT)
        clock->count++;
    for (unsigned i = 0; i < clock->count; i++)
        if (fresh(&clock->kept[i], now_ns) && bound(&clock->kept[i], now_ns) < bound(best, now_ns))
            best = &clock->kept[i];
    clock->best = *best;
}

bool fw_client_clock_estimate(const struct fw_client_clock *clock, int64_t now_ns,
                              int64_t *offset_ns, uint32_t *error_us)
{
    if (!fw_client_clock_known(clock))
        return false;
    const int64_t error = bound(&clock->best, now_ns) / FW_NS_PER_US + GRAIN_US;
    *offset_ns = clock->best.offset_ns;
    *error_us = error < UINT32_MAX ? (uint32_t)error : UINT32_MAX;
    return true;
}

int64_t fw_client_clock_min_rtt(const struct fw_client_clock *clock)
{
    int64_t least = 0;
    for (unsigned i = 0; i < clock->count; i++)
        if (!least || clock->kept[i].rtt_ns < least)
            least = clock->kept[i].rtt_ns;
    return least;
}
