// SPDX-License-Identifier: MIT
// The larger modes of bench. Each returns the exit code: 0 fine, 1 a promise or check failed or
// something went wrong (said on standard error), 130 interrupted.
#pragma once

#include "session/cli/bench_run.h"

enum { FW_BENCH_EXIT_INTERRUPTED = 130 };

int fw_bench_find_capacity(struct fw_bench *bench);
int fw_bench_verify(struct fw_bench *bench, const char *url_of_command_line);

// Connects for the first time: is it there, does it take our token, does it have the source?
// Fills in what the server says of itself. False after saying what is wrong.
bool fw_bench_greet(struct fw_bench *bench);
// "host (2 cores of …, GPU, encoder)" into `bench->machine`.
void fw_bench_name_machine(struct fw_bench *bench, const char *gpu, const char *encoder);
// The address and the files of the options into `bench->remote`. False after saying what is wrong.
bool fw_bench_aim(struct fw_bench *bench, const char *url);
// One line on standard error: "framewire bench: …".
void fw_bench_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
