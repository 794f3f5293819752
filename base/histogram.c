// SPDX-License-Identifier: MIT
#include "base/histogram.h"

// Values under 64 us have a step each (row 0); row k holds [64 << (k-1), 64 << k) in 64 steps
// of 1 << (k-1).
static unsigned index_of(uint64_t us)
{
    if (us < FW_HISTOGRAM_SUB) {
        return (unsigned)us;
    }
    const unsigned row = 63u - (unsigned)__builtin_clzll(us) - 5u; // 64..127 -> row 1
    if (row >= FW_HISTOGRAM_POW) {
        return FW_HISTOGRAM_POW * FW_HISTOGRAM_SUB - 1;
    }
    const unsigned step = (unsigned)(us >> (row - 1)) - FW_HISTOGRAM_SUB;
    return row * FW_HISTOGRAM_SUB + step;
}

uint64_t fw_histogram_edge(unsigned index)
{
    const unsigned row = index / FW_HISTOGRAM_SUB, step = index % FW_HISTOGRAM_SUB;
    if (row == 0) {
        return step;
    }
    return (((uint64_t)FW_HISTOGRAM_SUB + step + 1) << (row - 1)) - 1;
}

void fw_histogram_add(struct fw_histogram *h, int64_t duration_ns)
{
    fw_histogram_add_many(h, duration_ns, 1);
}

void fw_histogram_add_many(struct fw_histogram *h, int64_t duration_ns, uint32_t times)
{
    const uint64_t us = duration_ns > 0 ? (uint64_t)duration_ns / 1000 : 0;
    h->bucket[index_of(us)] += times;
    h->count += times;
    h->sum_us += us * times;
    if (us > h->max_us && times) {
        h->max_us = us;
    }
}

void fw_histogram_merge(struct fw_histogram *h, const struct fw_histogram *from)
{
    for (unsigned i = 0; i < FW_HISTOGRAM_POW * FW_HISTOGRAM_SUB; i++) {
        h->bucket[i] += from->bucket[i];
    }
    h->count += from->count;
    h->sum_us += from->sum_us;
    if (from->max_us > h->max_us) {
        h->max_us = from->max_us;
    }
}

uint64_t fw_histogram_quantile(const struct fw_histogram *h, double q)
{
    if (h->count == 0) {
        return 0;
    }
    // The smallest value that a share `q` of all does not exceed: of few, the highest is the P99.
    const double share = q * (double)h->count - 1e-6;
    const uint64_t rank = share > 1 ? (uint64_t)share + ((double)(uint64_t)share < share) : 1;
    uint64_t seen = 0;
    for (unsigned i = 0; i < FW_HISTOGRAM_POW * FW_HISTOGRAM_SUB; i++) {
        seen += h->bucket[i];
        if (seen >= rank) {
            const uint64_t edge = fw_histogram_edge(i);
            return edge < h->max_us ? edge : h->max_us;
        }
    }
    return h->max_us;
}
