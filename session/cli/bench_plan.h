// SPDX-License-Identifier: MIT
// A go-live plan: what must be true of a server before people are let in. Read from YAML with one
// table of keys; what is wrong is told with its line.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "session/cli/bench_options.h"

struct fw_plan {
    const char *name, *url; // url NULL = of the command line
    struct fw_bench_load_options load;
    struct {
        bool on;
        int frames;       // to look at, 60
        int colour_error; // of 255, 16
    } function;
    struct {
        bool on;
        int sessions;             // 1
        int seconds;              // 20
        int warmup;               // 2
        const char *promise_text; // "aoi_p99<=100ms"
        struct fw_slo promise;
        int capacity_min; // sessions that must keep the promise, 0 = not looked for
        int capacity_max; // never try more, 16
        int step_seconds; // 8
    } performance;
    struct {
        bool on;
        // % of what there is; 0 = not looked at
        int cpu_max, memory_max, gpu_use_min, gpu_use_max, gpu_memory_max, encoder_use_max;
    } resources;
    struct {
        bool on;
        int soak;         // s, 0 = none
        int growth_max;   // MiB an hour, 64: of the server's memory and the GPUs'
        int restarts_max; // 0
        bool drill;
        int recovery_max; // s, 5
    } stability;
    char text[4096]; // where the strings are
    size_t text_used;
};

// Defaults first. On FW_ERR_INVALID or FW_ERR_IO `message` is "FILE:LINE: what is wrong".
enum fw_err fw_plan_read(struct fw_plan *plan, const char *path, char *message, size_t size);
