// SPDX-License-Identifier: MIT
// A histogram of durations with few fixed bins, for sums over a process's life: 0.2 KiB each, where
// base/histogram.h takes 5.4. The bins are those that monitoring gets.
#pragma once

#include <stdint.h>

enum { FW_BINS = 24 };

// Upper edges in us, inclusive; what is above the last has a bin of its own.
extern const uint32_t fw_bin_edges_us[FW_BINS];

// Thread: one. Zero-initialised is empty.
struct fw_bins {
    uint64_t bin[FW_BINS + 1];
    uint64_t count;
    uint64_t sum_us;
};

// `times` values of the same duration; below 0 counts as 0.
void fw_bins_add(struct fw_bins *bins, int64_t duration_ns, uint64_t times);
