// SPDX-License-Identifier: MIT
// For testcard*.c only.
#pragma once

#include "render/gpu.h"
#include "render/source.h"
#include "render/source/geometry.h"

enum {
    MAX_STATIC = 24000,
    MAX_MOVING = 9000,
    MOVING_BUFFERS = 4, // more than frames can be in flight
    MIN_DETAIL = 160,   // smaller pictures go without lettering and lines
    MAX_RUNS = 4,
    FW_TESTCARD_RUNS_BELOW = 2, // fixed runs under the moving hand
    FW_TESTCARD_MOVING = 3,     // runs of what moves: the ground, the hand, and what lies on top
};

// Vertices that are drawn with one pipeline.
struct run {
    unsigned first, count;
    bool blend;
};

// What people did, as the newest picture shows it.
struct card_shown {
    float pointer_x, pointer_y;
    bool pointer_seen;
    unsigned clicks;
    int level, key;
};

struct card {
    struct fw_source base;
    struct fw_gpu *gpu;
    int width, height, fps;
    bool animate, changed;
    bool full; // all of the picture moves, not only bar and hand
    int64_t last_tick;
    // --- what people did
    float pointer_x, pointer_y;
    bool pointer_seen;
    unsigned clicks;
    int level;
    int key; // newest pressed, -1 = none yet
    struct card_shown shown;
    // --- device
    VkPipelineLayout layout;
    VkPipeline solid, soft;
    struct fw_gpu_buffer fixed, moving;
    struct run run[MAX_RUNS];
    unsigned run_count;
    struct fw_geo_vertex *scratch;
    char facts[96];
};

// ---- testcard_damage.c
uint64_t fw_testcard_damage(struct fw_source *source);

// ---- testcard_draw.c
float fw_testcard_text_cell(const struct card *card); // pixels a point of the lettering is wide
// What never moves, into `geo` (empty) and the card's runs.
void fw_testcard_build_fixed(struct card *card, struct fw_geo *geo);
// What does, into `geo` (empty).
void fw_testcard_build_moving(const struct card *card, struct fw_geo *geo,
                              const struct fw_record *record, struct run run[FW_TESTCARD_MOVING]);
