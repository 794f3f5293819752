// SPDX-License-Identifier: MIT
// HDR-style histogram of durations: power-of-two buckets, each cut into 64 linear steps, so any
// value from 1 us to 64 s is kept within 1.6 %. Source of the layout: hdrhistogram.org.
#pragma once

#include <stdint.h>

enum { FW_HISTOGRAM_SUB = 64, FW_HISTOGRAM_POW = 21 };

// Thread: one writer; copy it to read elsewhere. Zero-initialised is empty.
struct fw_histogram {
    uint64_t count;
    uint64_t sum_us;
    uint64_t max_us;
    uint32_t bucket[FW_HISTOGRAM_POW * FW_HISTOGRAM_SUB];
};

// Values below 0 count as 0, values above the range land in the last bucket; max_us is exact.
void fw_histogram_add(struct fw_histogram *h, int64_t duration_ns);
// The same `times` times.
void fw_histogram_add_many(struct fw_histogram *h, int64_t duration_ns, uint32_t times);
// Adds all of `from` to `h`.
void fw_histogram_merge(struct fw_histogram *h, const struct fw_histogram *from);
// The value in us at quantile `q` (0.0-1.0), upper edge of its step; 0 when empty.
uint64_t fw_histogram_quantile(const struct fw_histogram *h, double q);
// The largest value in us that step `index` of `bucket` holds; the last step also holds all above.
uint64_t fw_histogram_edge(unsigned index);
