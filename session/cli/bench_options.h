// SPDX-License-Identifier: MIT
// The command line of `framewire bench`: one table of options, pure parsing.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "session/cli/bench_schedule.h"
#include "session/cli/bench_slo.h"

enum { FW_BENCH_ARGS_MAX = 8, FW_BENCH_SESSIONS_MAX = 256 };

enum fw_bench_mode {
    FW_BENCH_RUN,
    FW_BENCH_CAPACITY,
    FW_BENCH_VERIFY,
    FW_BENCH_COMPARE, // two files, no server
};

// What sessions are to be like.
struct fw_bench_load_options {
    const char *source;                  // "testcard"
    const char *args[FW_BENCH_ARGS_MAX]; // "model=Duck.glb"
    unsigned arg_count;
    int width, height, fps; // 1280x720 at 60
    enum fw_bench_input input;
    bool decode;
};

// Strings point into argv.
struct fw_bench_options {
    enum fw_bench_mode mode;
    const char *url; // or, to compare, the newer file
    const char *token_file, *tls_ca;
    struct fw_bench_load_options load;
    int sessions;        // 1
    int seconds;         // 30
    int warmup;          // s before anything counts, 2
    const char *json;    // write it here, "-" = standard output; NULL = not
    const char *html;    // report of --verify
    const char *compare; // the base
    // --- find-capacity
    bool find_capacity;
    const char *slo_text;
    struct fw_slo slo;
    int max_sessions; // 64
    int step_seconds; // 8
    // --- verify
    const char *verify; // the plan
    int soak;           // s, -1 = as the plan says
    bool drill;
    bool help;
};

// Fills in the defaults first. FW_ERR_INVALID with a sentence that says what to do.
enum fw_err fw_bench_options_parse(struct fw_bench_options *options, int argc, char **argv,
                                   char *message, size_t size);
// All options, one per line. Returns the bytes it takes (as snprintf).
size_t fw_bench_options_help(char *out, size_t size);

// Parts that plans use as well.
bool fw_bench_parse_size(const char *text, int *width, int *height); // "1280x720"
bool fw_bench_parse_duration(const char *text, int *seconds);        // "90", "90s", "5m", "4h"
bool fw_bench_parse_input(const char *text, enum fw_bench_input *input);
