// SPDX-License-Identifier: MIT
// How often a session's worker may be replaced, and how soon. Pure: time is an argument.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    FW_RESTART_WINDOW_S = 60,
    FW_RESTART_WINDOW_MAX = 5, // within the window
    FW_RESTART_LIFE_MAX = 50,  // in a session's life
};

struct fw_restart {
    int64_t at_ns[FW_RESTART_WINDOW_MAX]; // of the last restarts, newest first
    unsigned recent;                      // how many of them are set
    unsigned total;
};

// A worker was lost at `now_ns`. False: the budget is spent. Else `*delay_ns` is how long to wait:
// none the first time, then 250 ms doubling with each loss within the window.
bool fw_restart_next(struct fw_restart *restart, int64_t now_ns, int64_t *delay_ns);
// How many were granted within the window before `now_ns`.
unsigned fw_restart_recent(const struct fw_restart *restart, int64_t now_ns);
