// SPDX-License-Identifier: MIT
// One measurement: a load, a window of time, and what came of it.
#pragma once

#include <stdbool.h>
#include <time.h>

#include "session/cli/bench_load.h"
#include "session/cli/bench_machine.h"

// What it all works with. Thread: one.
struct fw_bench {
    struct fw_remote remote;
    const struct fw_bench_options *options;
    const volatile sig_atomic_t *stop;
    char version[32], machine[400]; // of the server, for people
    bool named;                     // its GPU is known: a server that just started tells later
    int max_sessions;               // that it takes, 0 = unknown
    void (*tick)(void *user);       // optional: called ten times a second while a window is open
    void *tick_user;
};

struct fw_bench_result {
    time_t when;
    unsigned sessions;
    double seconds;                     // of the window
    bool interrupted;                   // it ended early
    struct fw_bench_figures all, *each; // each: one per session, owned
    struct fw_bench_said said;
    struct fw_bench_watchman machine;
    // Shares of one core; below 0 = unknown.
    double front_cpu, workers_cpu; // of all workers together
    double client_cpu, client_thread_cpu;
    char trouble[320]; // what the figures lack, "" = nothing
};

// A window of `seconds` after `warmup` seconds, over the sessions of the load. `what`: for the line
// that shows progress. False when out of memory.
bool fw_bench_measure(struct fw_bench *bench, struct fw_bench_load *load, int warmup, int seconds,
                      const char *what, struct fw_bench_result *result);
void fw_bench_result_finish(struct fw_bench_result *result);

// ---- progress, on standard error: one line that moves on a terminal, else a line now and then

void fw_bench_progress(const char *text);
void fw_bench_progress_end(void);
