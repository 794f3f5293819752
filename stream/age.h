// SPDX-License-Identifier: MIT
// How old the picture on a screen is, over time (docs/protocol.md, "Age of the picture"): one value
// for each millisecond that somebody watched, so that a picture that stands for long counts for
// long. Pure: time is an argument.
#pragma once

#include <stdint.h>

#include "base/bins.h"
#include "base/histogram.h"

// Where the values go; either may be NULL.
struct fw_age_out {
    struct fw_histogram *histogram;
    struct fw_bins *bins;
};

// Of one screen. Thread: one. Zero-initialised: nothing shown yet.
struct fw_age {
    int64_t told_ns;  // until when it has been told; 0 = nothing is shown
    int64_t since_ns; // of a moving picture: when the shown one was begun; 0 = it stands still
};

// The screen is another one, or nobody looks at it: nothing is told until the next picture.
void fw_age_reset(struct fw_age *age);
// Tells the time until `until_ns`. `change_ns` is the oldest change that was not on the screen
// then, 0 = none; a moving picture has its own.
void fw_age_until(struct fw_age *age, int64_t change_ns, int64_t until_ns,
                  const struct fw_age_out *out);
// From `now_ns` on another picture is shown; call fw_age_until before. `since_ns` as in the struct.
void fw_age_shown(struct fw_age *age, int64_t since_ns, int64_t now_ns);
// How old it is at `now_ns`; 0 when it is current, or nothing is shown.
int64_t fw_age_at(const struct fw_age *age, int64_t change_ns, int64_t now_ns);
