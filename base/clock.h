// SPDX-License-Identifier: MIT
// Time is int64_t nanoseconds, CLOCK_MONOTONIC, everywhere. Pure logic gets it as an argument.
#pragma once

#include <stdint.h>
#include <time.h>

enum { FW_NS_PER_US = 1000, FW_NS_PER_MS = 1000000, FW_NS_PER_S = 1000000000 };

static inline int64_t fw_now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * FW_NS_PER_S + ts.tv_nsec;
}
