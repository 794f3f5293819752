// SPDX-License-Identifier: MIT
#include "render/source/geometry.h"

#include <math.h>
#include <string.h>

static void add(struct fw_geo *geo, float x, float y, fw_geo_color color)
{
    if (geo->count == geo->room) {
        return;
    }
    geo->vertex[geo->count++] = (struct fw_geo_vertex){
        .x = x,
        .y = y,
        .rgba = { (uint8_t)(color >> 24), (uint8_t)(color >> 16), (uint8_t)(color >> 8),
                  (uint8_t)color },
    };
}

// Corners in the order of a Z.
static void add_quad(struct fw_geo *geo, const float corner[4][2], const fw_geo_color color[4])
{
    static const int order[6] = { 0, 1, 2, 2, 1, 3 };
    if (geo->room - geo->count < 6) {
        return; // half a shape looks worse than none
    }
    for (int i = 0; i < 6; i++) {
        add(geo, corner[order[i]][0], corner[order[i]][1], color[order[i]]);
    }
}

void fw_geo_rect(struct fw_geo *geo, float x0, float y0, float x1, float y1, fw_geo_color color)
{
    if (x1 <= x0 || y1 <= y0) {
        return;
    }
    add_quad(geo, (const float[4][2]){ { x0, y0 }, { x1, y0 }, { x0, y1 }, { x1, y1 } },
             (const fw_geo_color[4]){ color, color, color, color });
}

// Across a soft line: nothing, full, full, nothing; half a pixel of each slope lies inside.
static void soft_profile(float width, float offset[4])
{
    const float half = width / 2;
    offset[0] = -half - 0.5f;
    offset[1] = -half + 0.5f < 0 ? -half + 0.5f : 0;
    offset[2] = -offset[1];
    offset[3] = -offset[0];
}

void fw_geo_line(struct fw_geo *geo, const float from[2], const float to[2], float width,
                 fw_geo_color color)
{
    const float dx = to[0] - from[0], dy = to[1] - from[1];
    const float length = sqrtf(dx * dx + dy * dy);
    if (length <= 0) {
        return;
    }
    const float nx = -dy / length, ny = dx / length;
    float offset[4];
    soft_profile(width, offset);
    const fw_geo_color shade[4] = { color & ~0xffu, color, color, color & ~0xffu };
    for (int i = 0; i < 3; i++) {
        const float a = offset[i], b = offset[i + 1];
        add_quad(geo,
                 (const float[4][2]){ { from[0] + nx * a, from[1] + ny * a },
                                      { to[0] + nx * a, to[1] + ny * a },
                                      { from[0] + nx * b, from[1] + ny * b },
                                      { to[0] + nx * b, to[1] + ny * b } },
                 (const fw_geo_color[4]){ shade[i], shade[i], shade[i + 1], shade[i + 1] });
    }
}

void fw_geo_ring(struct fw_geo *geo, const float center[2], float radius, float width,
                 fw_geo_color color)
{
    const float turn = 6.2831853f;
    // A chord stays within a quarter of a pixel of the circle.
    int steps = (int)(turn / (2.0f * acosf(1.0f - 0.25f / fmaxf(radius, 1.0f)))) + 1;
    steps = steps < 12 ? 12 : steps;
    float offset[4];
    soft_profile(width, offset);
    const fw_geo_color shade[4] = { color & ~0xffu, color, color, color & ~0xffu };
    for (int s = 0; s < steps; s++) {
        const float a0 = turn * (float)s / (float)steps;
        const float a1 = turn * (float)(s + 1) / (float)steps;
        for (int i = 0; i < 3; i++) {
            const float inner = radius + offset[i], outer = radius + offset[i + 1];
            add_quad(geo,
                     (const float[4][2]){
                         { center[0] + cosf(a0) * inner, center[1] + sinf(a0) * inner },
                         { center[0] + cosf(a1) * inner, center[1] + sinf(a1) * inner },
                         { center[0] + cosf(a0) * outer, center[1] + sinf(a0) * outer },
                         { center[0] + cosf(a1) * outer, center[1] + sinf(a1) * outer } },
                     (const fw_geo_color[4]){ shade[i], shade[i], shade[i + 1], shade[i + 1] });
        }
    }
}

// 5x7 dots, a row per byte, bit 4 is the left column.
struct glyph {
    char code;
    uint8_t row[FW_GEO_GLYPH_H];
};

static const struct glyph font[] = {
    { '0', { 14, 17, 19, 21, 25, 17, 14 } }, { '1', { 4, 12, 4, 4, 4, 4, 14 } },
    { '2', { 14, 17, 1, 6, 8, 16, 31 } },    { '3', { 30, 1, 1, 14, 1, 1, 30 } },
    { '4', { 2, 6, 10, 18, 31, 2, 2 } },     { '5', { 31, 16, 30, 1, 1, 17, 14 } },
    { '6', { 6, 8, 16, 30, 17, 17, 14 } },   { '7', { 31, 1, 2, 4, 8, 8, 8 } },
    { '8', { 14, 17, 17, 14, 17, 17, 14 } }, { '9', { 14, 17, 17, 15, 1, 2, 12 } },
    { 'A', { 14, 17, 17, 31, 17, 17, 17 } }, { 'B', { 30, 17, 17, 30, 17, 17, 30 } },
    { 'C', { 14, 17, 16, 16, 16, 17, 14 } }, { 'D', { 30, 17, 17, 17, 17, 17, 30 } },
    { 'E', { 31, 16, 16, 30, 16, 16, 31 } }, { 'F', { 31, 16, 16, 30, 16, 16, 16 } },
    { 'G', { 14, 17, 16, 23, 17, 17, 15 } }, { 'H', { 17, 17, 17, 31, 17, 17, 17 } },
    { 'I', { 14, 4, 4, 4, 4, 4, 14 } },      { 'K', { 17, 18, 20, 24, 20, 18, 17 } },
    { 'L', { 16, 16, 16, 16, 16, 16, 31 } }, { 'M', { 17, 27, 21, 21, 17, 17, 17 } },
    { 'N', { 17, 25, 21, 19, 17, 17, 17 } }, { 'O', { 14, 17, 17, 17, 17, 17, 14 } },
    { 'P', { 30, 17, 17, 30, 16, 16, 16 } }, { 'R', { 30, 17, 17, 30, 20, 18, 17 } },
    { 'S', { 15, 16, 16, 14, 1, 1, 30 } },   { 'T', { 31, 4, 4, 4, 4, 4, 4 } },
    { 'U', { 17, 17, 17, 17, 17, 17, 14 } }, { 'W', { 17, 17, 17, 21, 21, 27, 17 } },
    { 'X', { 17, 17, 10, 4, 10, 17, 17 } },  { 'Y', { 17, 17, 10, 4, 4, 4, 4 } },
    { '-', { 0, 0, 0, 14, 0, 0, 0 } },       { '.', { 0, 0, 0, 0, 0, 12, 12 } },
    { ':', { 0, 12, 12, 0, 12, 12, 0 } },
};

static const struct glyph *find_glyph(char code)
{
    for (unsigned i = 0; i < sizeof(font) / sizeof(font[0]); i++) {
        if (font[i].code == code) {
            return &font[i];
        }
    }
    return NULL;
}

static void add_glyph(struct fw_geo *geo, const struct glyph *g, float x, float y, const float cell,
                      fw_geo_color color)
{
    for (int row = 0; row < FW_GEO_GLYPH_H; row++) {
        for (int from = 0; from < 5; from++) {
            int to = from;
            while (to < 5 && g->row[row] >> (4 - to) & 1) {
                to++;
            }
            if (to > from) { // dots side by side are one rectangle
                fw_geo_rect(geo, x + (float)from * cell, y + (float)row * cell,
                            x + (float)to * cell, y + (float)(row + 1) * cell, color);
                from = to;
            }
        }
    }
}

void fw_geo_text(struct fw_geo *geo, float x, float y, float cell, const char *text,
                 fw_geo_color color)
{
    for (; *text; text++, x += FW_GEO_GLYPH_W * cell) {
        const struct glyph *g = find_glyph(*text);
        if (g) {
            add_glyph(geo, g, x, y, cell, color);
        }
    }
}
