// SPDX-License-Identifier: MIT
#include "base/bins.h"

// Dense where frames are (1 to 50 ms), as a quantile is known no better than its bin.
const uint32_t fw_bin_edges_us[FW_BINS] = {
    50,    100,   250,   500,   1000,   2000,   3000,   4000,   6000,    8000,    12000,   16000,
    24000, 33000, 50000, 75000, 100000, 150000, 250000, 500000, 1000000, 2500000, 5000000, 10000000,
};

void fw_bins_add(struct fw_bins *b, int64_t duration_ns, uint64_t times)
{
    // Rounded up, so that a value above an edge never counts as below it.
    const uint64_t ns = duration_ns > 0 ? (uint64_t)duration_ns : 0, us = (ns + 999) / 1000;
    unsigned low = 0, high = FW_BINS;
    while (low < high) {
        const unsigned middle = (low + high) / 2;
        if (us <= fw_bin_edges_us[middle])
            high = middle;
        else
            low = middle + 1;
    }
    b->bin[low] += times;
    b->count += times;
    b->sum_us += (ns / 1000) * times;
}
