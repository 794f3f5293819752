// SPDX-License-Identifier: MIT
// When the load generator moves and clicks, and where: fixed before the run begins, so that a slow
// server can't slow down those who measure it. Pure.
#pragma once

#include <stdint.h>

#include "stream/wire.h"

enum fw_bench_input { FW_BENCH_NONE, FW_BENCH_ORBIT, FW_BENCH_CLICKS };

enum { FW_BENCH_STEP_EVENTS = 3 };

// What happens at one moment.
struct fw_bench_step {
    int64_t at_ns; // since the schedule's start
    struct fw_wire_input event[FW_BENCH_STEP_EVENTS];
    unsigned count;
    bool followed; // the picture must answer to it
};

// Thread: one.
struct fw_bench_schedule {
    enum fw_bench_input kind;
    int width, height; // of the picture
    uint64_t random;   // state; the same seed gives the same schedule
    uint64_t index;    // of the next step
    int64_t next_ns;
};

void fw_bench_schedule_init(struct fw_bench_schedule *s, enum fw_bench_input kind, uint64_t seed,
                            int width, int height);
// When the next step is due; INT64_MAX = never.
int64_t fw_bench_schedule_due(const struct fw_bench_schedule *s);
// Takes it. orbit: the left button goes down once, then moves 60 times a second on a circle, each
// up to 8 ms late. All of it stays clear of the number in a test card's corner. clicks: every 300
// to 700 ms somewhere else, let go 80 ms later.
void fw_bench_schedule_take(struct fw_bench_schedule *s, struct fw_bench_step *step);
