// SPDX-License-Identifier: MIT
// The pictures. A new one: add a row, run `golden --update NAME`, look at ref/NAME.png.
#include "tests/golden/golden.h"

// Two runs of one driver give the same bytes; another LLVM may round otherwise.
enum { TIGHT = 2 };

static const struct fw_input_event touched[] = {
    { .id = 1, .kind = FW_INPUT_MOTION, .x = 400, .y = 250 },
    { .id = 2, .kind = FW_INPUT_BUTTON, .state = 1, .x = 410, .y = 260 },
    { .id = 3, .kind = FW_INPUT_BUTTON, .state = 0, .x = 410, .y = 260 },
    { .id = 4, .kind = FW_INPUT_WHEEL, .dy = 100 },
    { .id = 5, .kind = FW_INPUT_WHEEL, .dy = 100 },
    { .id = 6, .kind = FW_INPUT_WHEEL, .dy = 100 },
    { .id = 7, .kind = FW_INPUT_WHEEL, .dy = -100 },
    { .id = 8, .kind = FW_INPUT_KEY, .state = 1, .code = 30 },
};

// An arrow-like corner, half of it see-through.
#define C0 0, 0, 0, 0
#define C1 255, 255, 255, 255
#define C2 255, 0, 0, 128
static const uint8_t cursor[8 * 8 * 4] = {
    C1, C1, C1, C1, C1, C1, C1, C1, //
    C1, C2, C2, C2, C2, C2, C1, C0, //
    C1, C2, C2, C2, C2, C1, C0, C0, //
    C1, C2, C2, C2, C1, C0, C0, C0, //
    C1, C2, C2, C1, C0, C0, C0, C0, //
    C1, C2, C1, C0, C0, C0, C0, C0, //
    C1, C1, C0, C0, C0, C0, C0, C0, //
    C1, C0, C0, C0, C0, C0, C0, C0, //
};

#define CARD .source = "testcard", .frame_id = 0x123456789abcdef0u, .now_ns = 1250000000

const struct golden_case golden_cases[] = {
    { .name = "testcard-720p", CARD, .width = 1280, .height = 720, .tolerance = TIGHT },
    { .name = "testcard-641x479", CARD, .width = 641, .height = 479, .tolerance = TIGHT },
    { .name = "testcard-300x600", CARD, .width = 300, .height = 600, .tolerance = TIGHT },
    { .name = "testcard-64x48", CARD, .width = 64, .height = 48, .tolerance = TIGHT },
    { .name = "testcard-touched",
      CARD,
      .width = 800,
      .height = 600,
      .input = touched,
      .input_count = sizeof(touched) / sizeof(touched[0]),
      .tolerance = TIGHT },
    { .name = "testcard-still",
      CARD,
      .args = { { "animate", "0" } },
      .width = 320,
      .height = 240,
      .tolerance = TIGHT },
    // Every way through the passes gives the same picture.
    { .name = "testcard-readback",
      .reference = "testcard-641x479",
      CARD,
      .width = 641,
      .height = 479,
      .force_target = "readback",
      .tolerance = TIGHT },
    { .name = "testcard-compute",
      .reference = "testcard-641x479",
      CARD,
      .width = 641,
      .height = 479,
      .force_convert = "compute",
      .tolerance = 5 },
    { .name = "testcard-merge",
      .reference = "testcard-641x479",
      CARD,
      .width = 641,
      .height = 479,
      .force_merge = "on",
      .tolerance = TIGHT },
    { .name = "testcard-merge-compute",
      .reference = "testcard-641x479",
      CARD,
      .width = 641,
      .height = 479,
      .force_merge = "on",
      .force_convert = "compute",
      .tolerance = 5 },
    { .name = "testcard-scaled",
      CARD,
      .width = 640,
      .height = 360,
      .scale_percent = 200,
      .tolerance = TIGHT },
    { .name = "overlay",
      CARD,
      .width = 320,
      .height = 240,
      .overlay = { .rgba = cursor, .width = 8, .height = 8, .x = 100, .y = 60 },
      .tolerance = TIGHT },
    { .name = "overlay-merge",
      .reference = "overlay",
      CARD,
      .width = 320,
      .height = 240,
      .force_merge = "on",
      .overlay = { .rgba = cursor, .width = 8, .height = 8, .x = 100, .y = 60 },
      .tolerance = TIGHT },
};
const unsigned golden_case_count = sizeof(golden_cases) / sizeof(golden_cases[0]);
