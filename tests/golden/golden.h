// SPDX-License-Identifier: MIT
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/input.h"
#include "render/render.h"
#include "render/source.h"

struct golden_case {
    const char *name;      // ref/NAME.png
    const char *reference; // compare with another case's picture instead; NULL = its own
    const char *source;
    struct fw_source_arg
        args[8];         // ends at the first without key; "model": see find_model in golden.c
    bool optional_model; // skipped where that model is missing; otherwise that is a failure
    int width, height;
    int scale_percent;
    uint64_t frame_id;
    int64_t now_ns; // time the picture shows
    const struct fw_input_event *input;
    unsigned input_count;
    bool at_rest; // the second picture, for sources that refine what has come to rest
    const char *force_target, *force_convert, *force_merge;
    struct fw_render_overlay overlay;
    int tolerance;      // levels per channel that do not count
    double off_percent; // pixels that may lie beyond it
    double mean;        // mean difference in levels that is allowed; 0 = any
};

extern const struct golden_case golden_cases[];
extern const unsigned golden_case_count;
