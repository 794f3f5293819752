// SPDX-License-Identifier: MIT
#include "stream/flow.h"

#include <stddef.h>

#include "base/clock.h"

static const int64_t rtt_half_ns = 5 * (int64_t)FW_NS_PER_S;

void fw_flow_reset(struct fw_flow *flow)
{
    flow->first = 0;
    flow->count = 0;
}

void fw_flow_sent(struct fw_flow *flow, uint64_t frame_id, int64_t now_ns)
{
    if (flow->count == FW_FLOW_TRACK) {
        flow->first = (flow->first + 1) % FW_FLOW_TRACK;
        flow->count--;
    }
    const unsigned at = (flow->first + flow->count++) % FW_FLOW_TRACK;
    flow->flight[at].frame_id = frame_id;
    flow->flight[at].sent_ns = now_ns;
}

static void add_rtt(struct fw_flow *flow, int64_t rtt_ns, int64_t now_ns)
{
    if (rtt_ns < 1)
        rtt_ns = 1;
    if (now_ns - flow->rtt_turn_ns >= rtt_half_ns) {
        flow->rtt_before_ns = flow->rtt_now_ns;
        flow->rtt_now_ns = 0;
        flow->rtt_turn_ns = now_ns;
    }
    const int64_t change =
        rtt_ns > flow->rtt_last_ns ? rtt_ns - flow->rtt_last_ns : flow->rtt_last_ns - rtt_ns;
    if (flow->rtt_last_ns) // as RFC 3550, 6.4.1
        flow->jitter_ns += (change - flow->jitter_ns) / 16;
    flow->rtt_last_ns = rtt_ns;
    if (!flow->rtt_now_ns || rtt_ns < flow->rtt_now_ns)
        flow->rtt_now_ns = rtt_ns;
}

bool fw_flow_acked(struct fw_flow *flow, uint64_t frame_id, int64_t now_ns)
{
    if (!flow->count || frame_id < flow->flight[flow->first].frame_id ||
        frame_id > flow->flight[(flow->first + flow->count - 1) % FW_FLOW_TRACK].frame_id)
        return false;
    while (flow->count && flow->flight[flow->first].frame_id <= frame_id) {
        if (flow->flight[flow->first].frame_id == frame_id)
            add_rtt(flow, now_ns - flow->flight[flow->first].sent_ns, now_ns);
        flow->first = (flow->first + 1) % FW_FLOW_TRACK;
        flow->count--;
    }
    flow->last_ack_ns = now_ns;
    return true;
}

int64_t fw_flow_min_rtt_ns(const struct fw_flow *flow)
{
    if (!flow->rtt_now_ns || (flow->rtt_before_ns && flow->rtt_before_ns < flow->rtt_now_ns))
        return flow->rtt_before_ns;
    return flow->rtt_now_ns;
}

unsigned fw_flow_window(const struct fw_flow *flow, int fps)
{
    const int64_t frames = fw_flow_min_rtt_ns(flow) * (fps > 0 ? fps : 60) / FW_NS_PER_S;
    if (frames >= FW_FLOW_WINDOW_MAX - FW_FLOW_WINDOW_MIN)
        return FW_FLOW_WINDOW_MAX;
    return FW_FLOW_WINDOW_MIN + (unsigned)frames;
}

unsigned fw_flow_room(const struct fw_flow *flow, int fps)
{
    const unsigned window = fw_flow_window(flow, fps);
    return flow->count < window ? window - flow->count : 0;
}

int64_t fw_flow_sent_ns(const struct fw_flow *flow, uint64_t frame_id)
{
    for (unsigned i = 0; i < flow->count; i++) {
        const unsigned at = (flow->first + i) % FW_FLOW_TRACK;
        if (flow->flight[at].frame_id == frame_id)
            return flow->flight[at].sent_ns;
    }
    return 0;
}

int64_t fw_flow_oldest_ns(const struct fw_flow *flow)
{
    return flow->count ? flow->flight[flow->first].sent_ns : 0;
}

bool fw_flow_stalled(const struct fw_flow *flow, int64_t now_ns, int64_t limit_ns)
{
    if (!flow->count)
        return false;
    const int64_t oldest = fw_flow_oldest_ns(flow);
    const int64_t since = oldest > flow->last_ack_ns ? oldest : flow->last_ack_ns;
    return now_ns - since > limit_ns;
}
