// SPDX-License-Identifier: MIT
// Flat shapes as triangles with a colour per vertex, built on the CPU: what the test card is made
// of. Positions are pixels, y down.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fw_geo_vertex {
    float x, y;
    uint8_t rgba[4]; // sRGB-encoded, straight alpha
};
_Static_assert(sizeof(struct fw_geo_vertex) == 12, "vertex input of shaders/testcard.vert");

typedef uint32_t fw_geo_color; // 0xRRGGBBAA

static inline fw_geo_color fw_geo_rgb(const uint8_t rgb[3])
{
    return (uint32_t)rgb[0] << 24 | (uint32_t)rgb[1] << 16 | (uint32_t)rgb[2] << 8 | 0xff;
}

// A bounded list; what does not fit is dropped.
struct fw_geo {
    struct fw_geo_vertex *vertex;
    unsigned count, room;
};

void fw_geo_rect(struct fw_geo *geo, float x0, float y0, float x1, float y1, fw_geo_color color);
// A line with soft edges, `width` pixels wide.
void fw_geo_line(struct fw_geo *geo, const float from[2], const float to[2], float width,
                 fw_geo_color color);
// A circle line with soft edges.
void fw_geo_ring(struct fw_geo *geo, const float center[2], float radius, float width,
                 fw_geo_color color);

enum { FW_GEO_GLYPH_W = 6, FW_GEO_GLYPH_H = 7 }; // font cells, the gap included in the width
// Capitals, digits and a little punctuation; each font cell is `cell` pixels.
void fw_geo_text(struct fw_geo *geo, float x, float y, float cell, const char *text,
                 fw_geo_color color);
