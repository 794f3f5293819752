// SPDX-License-Identifier: MIT
// Where things are on the test card, for those who look at it (tests, benches, the page).
//
// All places are thousandths of the picture's size, rounded down: x = floor(width * permille /
// 1000). In JavaScript:
//   const px = (permille, size) => Math.floor((size * permille) / 1000);
//   colour patch i (R G B C M Y): x from px(180 + i*640/6 rounded down) to the next, y 150..300
//   grey patch i (0 16 128 235 255): x from px(180 + i*128) to px(180 + (i+1)*128), y 300..420
//   click patch x 860..950, y 150..300: blue 32,96,224; after an odd number of clicks orange
//   255,160,0. A click is a pressed button or a finger put down, anywhere.
//   key patch x 860..950, y 310..420: grey 64,64,64 until a key is pressed, then the colour patch
//   colour number (evdev code % 6).
//   wheel meter x 50..140, y 150..420: 16 steps from below; each wheel event down (dy > 0, or dx
//   when dy is 0) lights one more, up one less, modulo 17. Lit is 0,224,160, dark is 24,32,44.
//   moving bar: y 575..630, from x 100 to 900 and back in 4 s of the frame's time, 40 wide, white.
//   with animate=full the ground is a flight through a tunnel of tiles, so that every pixel outside
//   of what is named here moves in every frame.
//   pointer: a 6x6 square of 255,0,128 whose middle is the newest position, with a cross around.
//   frame id: 64 blocks in 8 rows of 8, bit 0 first, row by row; white is 1. Edge length and
//   corner as fw_testcard_id_place() below says; look at the middle of each block.
// Sizes under 160x120 are too small for flat patches; the blocks are there at every size.
#pragma once

#include <stdint.h>

enum fw_testcard_patch {
    FW_TESTCARD_RED,
    FW_TESTCARD_GREEN,
    FW_TESTCARD_BLUE,
    FW_TESTCARD_CYAN,
    FW_TESTCARD_MAGENTA,
    FW_TESTCARD_YELLOW,
    FW_TESTCARD_GREY_0,
    FW_TESTCARD_GREY_16,
    FW_TESTCARD_GREY_128,
    FW_TESTCARD_GREY_235,
    FW_TESTCARD_GREY_255,
    FW_TESTCARD_CLICK,
    FW_TESTCARD_KEY,
    FW_TESTCARD_METER,
    FW_TESTCARD_TRACK, // of the moving bar
    FW_TESTCARD_PATCH_COUNT,
};

enum {
    FW_TESTCARD_BAR_PERMILLE = 40,
    FW_TESTCARD_METER_STEPS = 16,
    FW_TESTCARD_ID_EDGE = 8, // blocks per row, and rows
    FW_TESTCARD_POINTER = 6, // px
    FW_TESTCARD_PERIOD_MS = 4000,
};

struct fw_testcard_rect {
    int x0, y0, x1, y1; // pixels, x1 and y1 excluded
};

struct fw_testcard_entry {
    int16_t x0, y0, x1, y1; // permille
    uint8_t rgb[3];         // at the start
};

static const struct fw_testcard_entry fw_testcard_entries[FW_TESTCARD_PATCH_COUNT] = {
    [FW_TESTCARD_RED] = { 180, 150, 286, 300, { 255, 0, 0 } },
    [FW_TESTCARD_GREEN] = { 286, 150, 393, 300, { 0, 255, 0 } },
    [FW_TESTCARD_BLUE] = { 393, 150, 500, 300, { 0, 0, 255 } },
    [FW_TESTCARD_CYAN] = { 500, 150, 606, 300, { 0, 255, 255 } },
    [FW_TESTCARD_MAGENTA] = { 606, 150, 713, 300, { 255, 0, 255 } },
    [FW_TESTCARD_YELLOW] = { 713, 150, 820, 300, { 255, 255, 0 } },
    [FW_TESTCARD_GREY_0] = { 180, 300, 308, 420, { 0, 0, 0 } },
    [FW_TESTCARD_GREY_16] = { 308, 300, 436, 420, { 16, 16, 16 } },
    [FW_TESTCARD_GREY_128] = { 436, 300, 564, 420, { 128, 128, 128 } },
    [FW_TESTCARD_GREY_235] = { 564, 300, 692, 420, { 235, 235, 235 } },
    [FW_TESTCARD_GREY_255] = { 692, 300, 820, 420, { 255, 255, 255 } },
    [FW_TESTCARD_CLICK] = { 860, 150, 950, 300, { 32, 96, 224 } },
    [FW_TESTCARD_KEY] = { 860, 310, 950, 420, { 64, 64, 64 } },
    [FW_TESTCARD_METER] = { 50, 150, 140, 420, { 24, 32, 44 } },
    [FW_TESTCARD_TRACK] = { 100, 575, 900, 630, { 24, 32, 44 } },
};

static const uint8_t fw_testcard_clicked[3] = { 255, 160, 0 };
static const uint8_t fw_testcard_lit[3] = { 0, 224, 160 };
static const uint8_t fw_testcard_pointer[3] = { 255, 0, 128 };

static inline struct fw_testcard_rect fw_testcard_place(enum fw_testcard_patch patch, int width,
                                                        int height)
{
    const struct fw_testcard_entry *e = &fw_testcard_entries[patch];
    return (struct fw_testcard_rect){
        .x0 = width * e->x0 / 1000,
        .y0 = height * e->y0 / 1000,
        .x1 = width * e->x1 / 1000,
        .y1 = height * e->y1 / 1000,
    };
}

// The square of frame id blocks; a block's edge is a 8th of its width. At 16 px blocks lie on
// x264's macroblocks.
// JS: const less = Math.min(w, h), edge = Math.min(Math.max(Math.floor(less / 24), 1), 16),
//     margin = less / 20 & ~15, x0 = margin, y0 = (h - margin - 8 * edge) & ~15
static inline struct fw_testcard_rect fw_testcard_id_place(int width, int height)
{
    const int less = width < height ? width : height;
    int edge = less / 24;
    edge = edge < 1 ? 1 : edge > 16 ? 16 : edge;
    const int margin = (less / 20) & ~15;
    const int y0 = (height - margin - FW_TESTCARD_ID_EDGE * edge) & ~15;
    return (struct fw_testcard_rect){
        .x0 = margin,
        .y0 = y0,
        .x1 = margin + FW_TESTCARD_ID_EDGE * edge,
        .y1 = y0 + FW_TESTCARD_ID_EDGE * edge,
    };
}

// Reads the id back from a luma plane.
static inline uint64_t fw_testcard_read_id(const uint8_t *luma, int stride, int width, int height)
{
    const struct fw_testcard_rect place = fw_testcard_id_place(width, height);
    const int edge = (place.x1 - place.x0) / FW_TESTCARD_ID_EDGE;
    uint64_t id = 0;
    for (int i = 0; i < FW_TESTCARD_ID_EDGE * FW_TESTCARD_ID_EDGE; i++) {
        const int x = place.x0 + i % FW_TESTCARD_ID_EDGE * edge + edge / 2;
        const int y = place.y0 + i / FW_TESTCARD_ID_EDGE * edge + edge / 2;
        id |= (uint64_t)(luma[(long)y * stride + x] > 126) << i;
    }
    return id;
}
