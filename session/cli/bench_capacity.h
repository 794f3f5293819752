// SPDX-License-Identifier: MIT
// The search for how many sessions keep a promise: doubling until it breaks, halving the gap, then
// a longer look at the answer. Pure: the caller runs what is asked for and says how it went.
#pragma once

#include <stdbool.h>

enum fw_capacity_step {
    FW_CAPACITY_TRY,     // run `sessions` for a step
    FW_CAPACITY_CONFIRM, // run `sessions` for longer
    FW_CAPACITY_DONE,    // `best` is the answer, 0 = not even one
};

// Thread: one.
struct fw_capacity {
    unsigned limit; // never ask for more
    unsigned best;  // most that kept it so far
    unsigned broke; // fewest that did not, 0 = none yet
    unsigned sessions;
    enum fw_capacity_step step;
    unsigned confirmations; // made so far
};

void fw_capacity_init(struct fw_capacity *c, unsigned limit);
// How the step in `c` went. `possible` false: that many can't even be started.
void fw_capacity_said(struct fw_capacity *c, bool kept, bool possible);
