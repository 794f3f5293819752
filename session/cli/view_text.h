// SPDX-License-Identifier: MIT
// Draws words and bars into a picture in memory, to be laid over the window.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// R, G, B, A in memory order.
#define FW_VIEW_RGBA(r, g, b, a)                                                                   \
    ((uint32_t)(r) | (uint32_t)(g) << 8 | (uint32_t)(b) << 16 | (uint32_t)(a) << 24)

enum {
    FW_VIEW_CELL_WIDTH = 6, // dots of a letter and the gap after it
    FW_VIEW_LINE_HEIGHT = 13,
};

// Thread: one. Zero-initialised is empty.
struct fw_view_canvas {
    uint32_t *pixels;
    int width, height;
    unsigned version; // rises with each fw_view_canvas_done()
};

// A canvas of that size, all of it `color`. False = out of memory.
bool fw_view_canvas_begin(struct fw_view_canvas *canvas, int width, int height, uint32_t color);
void fw_view_canvas_done(struct fw_view_canvas *canvas);
void fw_view_canvas_finish(struct fw_view_canvas *canvas);

void fw_view_fill(struct fw_view_canvas *canvas, int x, int y, int width, int height,
                  uint32_t color);
// UTF-8; `dot` is the edge of one dot in pixels. Returns where the next letter would stand.
int fw_view_text(struct fw_view_canvas *canvas, int x, int y, int dot, uint32_t color,
                 const char *text);
int fw_view_text_width(const char *text, int dot);
// Broken into lines of at most `width` pixels, drawn when `canvas` is not NULL. Returns the number
// of lines. `centred`: each line in the middle of `width`.
struct fw_view_paragraph {
    int x, y, width, dot;
    uint32_t color;
    bool centred;
};
int fw_view_text_wrap(struct fw_view_canvas *canvas, const struct fw_view_paragraph *p,
                      const char *text);
