// SPDX-License-Identifier: MIT
// The ramp: how many sessions keep a promise on this server.
#pragma once

#include <jansson.h>

#include "session/cli/bench_limit.h"

struct fw_bench_ramp {
    const struct fw_slo *slo;
    unsigned limit; // never try more
    int warmup, step_seconds;
    bool quiet; // no line for each step
};

struct fw_bench_capacity {
    unsigned sessions; // the answer, 0 = not even one
    bool interrupted;  // it is what was known by then
    enum fw_bench_limit limit;
    char words[400];   // which resource ended it
    json_t *steps;     // owned
    char trouble[400]; // not even the first session could be started; "" = fine
};

// The load is left with no sessions.
void fw_bench_climb(struct fw_bench *bench, struct fw_bench_load *load,
                    const struct fw_bench_ramp *ramp, struct fw_bench_capacity *capacity);
