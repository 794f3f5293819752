// SPDX-License-Identifier: MIT
// The picture of the test card as triangles.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "render/source/testcard.h"
#include "render/source/testcard_priv.h"

static const fw_geo_color mount_color = 0x0a0d14ff;

// ---- the fixed part ----------------------------------------------------------------------------

static void add_patch(struct fw_geo *geo, const struct card *c, enum fw_testcard_patch patch,
                      fw_geo_color color)
{
    const struct fw_testcard_rect r = fw_testcard_place(patch, c->width, c->height);
    fw_geo_rect(geo, (float)r.x0, (float)r.y0, (float)r.x1, (float)r.y1, color);
}

// A dark frame around, so that no patch bleeds into its neighbourhood. Not under the patch: pixels
// drawn twice are what this card would cost most.
static void add_mount(struct fw_geo *geo, struct fw_testcard_rect r, int by)
{
    const float x0 = (float)r.x0, y0 = (float)r.y0, x1 = (float)r.x1, y1 = (float)r.y1;
    const float b = (float)by;
    fw_geo_rect(geo, x0 - b, y0 - b, x1 + b, y0, mount_color);
    fw_geo_rect(geo, x0 - b, y1, x1 + b, y1 + b, mount_color);
    fw_geo_rect(geo, x0 - b, y0, x0, y1, mount_color);
    fw_geo_rect(geo, x1, y0, x1 + b, y1, mount_color);
}

static void add_grid(struct fw_geo *geo, const struct card *c)
{
    const float w = (float)c->width, h = (float)c->height;
    if (c->width < MIN_DETAIL || c->height < MIN_DETAIL) {
        return;
    }
    const int pitch = c->height / 12;
    for (int x = c->width / 2 % pitch; x < c->width; x += pitch) {
        fw_geo_rect(geo, (float)x, 0, (float)x + 1, h, 0x43526fff);
    }
    for (int y = c->height / 2 % pitch; y < c->height; y += pitch) {
        fw_geo_rect(geo, 0, (float)y, w, (float)y + 1, 0x43526fff);
    }
}

// Blocks along the edges and a white line at the very edge: a wrong crop is seen at once.
static void add_border(struct fw_geo *geo, const struct card *c)
{
    const float w = (float)c->width, h = (float)c->height;
    const int thick = c->height / 60 > 2 ? c->height / 60 : 2;
    const int length = c->height / 12 > 4 ? c->height / 12 : 4;
    for (int x = 0, i = 0; x < c->width; x += length, i++) {
        const float end = x + length < c->width ? (float)(x + length) : w;
        const fw_geo_color color = i % 2 ? 0x10141dff : 0xc8d2e4ff;
        fw_geo_rect(geo, (float)x, 0, end, (float)thick, color);
        fw_geo_rect(geo, (float)x, h - (float)thick, end, h, color);
    }
    for (int y = thick, i = 1; y < c->height - thick; y += length, i++) {
        const float end = y + length < c->height - thick ? (float)(y + length) : h - (float)thick;
        const fw_geo_color color = i % 2 ? 0x10141dff : 0xc8d2e4ff;
        fw_geo_rect(geo, 0, (float)y, (float)thick, end, color);
        fw_geo_rect(geo, w - (float)thick, (float)y, w, end, color);
    }
    fw_geo_rect(geo, 0, 0, w, 1, 0xffffffff);
    fw_geo_rect(geo, 0, h - 1, w, h, 0xffffffff);
    fw_geo_rect(geo, 0, 0, 1, h, 0xffffffff);
    fw_geo_rect(geo, w - 1, 0, w, h, 0xffffffff);
}

static void add_dial(struct fw_geo *geo, const struct card *c)
{
    if (c->width < MIN_DETAIL || c->height < MIN_DETAIL) {
        return;
    }
    const float less = (float)(c->width < c->height ? c->width : c->height);
    const float center[2] = { (float)c->width / 2, (float)c->height / 2 };
    const float radius = less * 0.455f, thick = less / 240.0f + 0.5f;
    fw_geo_ring(geo, center, radius, thick, 0xe6edf8ff);
    for (int i = 0; i < 60; i++) {
        const float a = 6.2831853f * (float)i / 60.0f, x = cosf(a), y = sinf(a);
        const float inner = radius * (i % 5 ? 0.97f : 0.94f), outer = radius - thick;
        fw_geo_line(geo, (const float[2]){ center[0] + x * inner, center[1] + y * inner },
                    (const float[2]){ center[0] + x * outer, center[1] + y * outer },
                    i % 5 ? thick * 0.5f : thick, i % 5 ? 0x8fa0bdff : 0xe6edf8ff);
    }
}

// Lines of one pixel: upright, level, and a grid; what scaling or a lost pixel ruins first.
static void add_fine_lines(struct fw_geo *geo, const struct card *c)
{
    static const int left[3] = { 300, 437, 574 };
    const int side_x = c->width * 126 / 1000, side_y = c->height * 110 / 1000;
    const int w = side_x < 128 ? side_x : 128, h = side_y < 96 ? side_y : 96;
    const int y0 = c->height * 665 / 1000;
    if (w < 8 || h < 8) {
        return;
    }
    for (int k = 0; k < 3; k++) {
        const int x0 = c->width * left[k] / 1000 + (side_x - w) / 2;
        const int step_x = k == 0 ? 2 : k == 2 ? 4 : 0, step_y = k == 1 ? 2 : k == 2 ? 4 : 0;
        fw_geo_rect(geo, (float)x0 - 2, (float)y0 - 2, (float)(x0 + w) + 2, (float)(y0 + h) + 2,
                    0x000000ff);
        for (int x = x0; step_x && x < x0 + w; x += step_x) {
            fw_geo_rect(geo, (float)x, (float)y0, (float)x + 1, (float)(y0 + h), 0xffffffff);
        }
        for (int y = y0; step_y && y < y0 + h; y += step_y) {
            fw_geo_rect(geo, (float)x0, (float)y, (float)(x0 + w), (float)y + 1, 0xffffffff);
        }
    }
}

float fw_testcard_text_cell(const struct card *c)
{
    const int cell = (c->height < c->width ? c->height : c->width) / 320;
    return (float)(cell > 1 ? cell : 1);
}

static void add_label(struct fw_geo *geo, const struct card *c, enum fw_testcard_patch patch,
                      const char *text)
{
    const struct fw_testcard_rect r = fw_testcard_place(patch, c->width, c->height);
    const float cell = fw_testcard_text_cell(c);
    const float width = (float)(strlen(text) * FW_GEO_GLYPH_W - 1) * cell;
    fw_geo_text(geo, floorf(((float)(r.x0 + r.x1) - width) / 2),
                (float)r.y0 - cell * (FW_GEO_GLYPH_H + 4), cell, text, 0xb9c6ddff);
}

static void add_lettering(struct fw_geo *geo, const struct card *c)
{
    static const char title[] = "FRAMEWIRE";
    const int letters = (int)sizeof(title) - 1;
    const int band_y = c->height * 430 / 1000, band_h = c->height * 124 / 1000;
    const int fit_w = c->width * 420 / 1000 / (letters * FW_GEO_GLYPH_W);
    const int fit_h = band_h * 6 / 10 / FW_GEO_GLYPH_H;
    const int cell = fit_w < fit_h ? fit_w : fit_h;
    if (c->width < MIN_DETAIL || c->height < MIN_DETAIL || cell < 1) {
        return;
    }
    const int text_w = (letters * FW_GEO_GLYPH_W - 1) * cell;
    fw_geo_text(geo, (float)((c->width - text_w) / 2),
                (float)(band_y + (band_h - FW_GEO_GLYPH_H * cell) / 2), (float)cell, title,
                0xf4f8ffff);
    add_label(geo, c, FW_TESTCARD_CLICK, "CLICK");
    add_label(geo, c, FW_TESTCARD_METER, "WHEEL");
}

static void add_patches(struct fw_geo *geo, const struct card *c)
{
    const struct fw_testcard_rect first = fw_testcard_place(FW_TESTCARD_RED, c->width, c->height);
    const struct fw_testcard_rect last =
        fw_testcard_place(FW_TESTCARD_GREY_255, c->width, c->height);
    const int by = c->height >= MIN_DETAIL ? c->height / 180 + 1 : 0;
    const struct fw_testcard_rect bar = fw_testcard_place(FW_TESTCARD_TRACK, c->width, c->height);
    const struct fw_testcard_rect band = { first.x0, last.y1, last.x1, c->height * 550 / 1000 };
    add_mount(geo, (struct fw_testcard_rect){ first.x0, first.y0, last.x1, band.y1 }, by);
    fw_geo_rect(geo, (float)band.x0, (float)band.y0, (float)band.x1, (float)band.y1, mount_color);
    add_mount(geo, fw_testcard_place(FW_TESTCARD_CLICK, c->width, c->height), by);
    add_mount(geo, fw_testcard_place(FW_TESTCARD_KEY, c->width, c->height), by);
    add_mount(geo, fw_testcard_place(FW_TESTCARD_METER, c->width, c->height), by);
    add_patch(geo, c, FW_TESTCARD_METER, mount_color); // seen between the steps
    add_mount(geo, bar, by);
    add_mount(geo, fw_testcard_id_place(c->width, c->height), by);
    for (int i = 0; i <= FW_TESTCARD_GREY_255; i++) {
        add_patch(geo, c, (enum fw_testcard_patch)i, fw_geo_rgb(fw_testcard_entries[i].rgb));
    }
    add_patch(geo, c, FW_TESTCARD_TRACK, fw_geo_rgb(fw_testcard_entries[FW_TESTCARD_TRACK].rgb));
}

static void end_run(struct card *c, const struct fw_geo *geo, bool blend)
{
    const struct run *before = c->run_count ? &c->run[c->run_count - 1] : NULL;
    const unsigned first = before ? before->first + before->count : 0;
    c->run[c->run_count++] = (struct run){ first, geo->count - first, blend };
}

void fw_testcard_build_fixed(struct card *c, struct fw_geo *geo)
{
    c->run_count = 0;
    add_grid(geo, c);
    add_border(geo, c);
    end_run(c, geo, false);
    add_dial(geo, c);
    end_run(c, geo, true);
    add_patches(geo, c);
    add_fine_lines(geo, c);
    add_lettering(geo, c);
    end_run(c, geo, false);
}

// ---- the moving part ---------------------------------------------------------------------------

static float phase(const struct card *c, int64_t now_ns)
{
    const int64_t period = (int64_t)FW_TESTCARD_PERIOD_MS * FW_NS_PER_MS;
    return c->animate ? (float)(now_ns % period) / (float)period : 0.125f;
}

static void add_bar(struct fw_geo *geo, const struct card *c, float at)
{
    const struct fw_testcard_rect track = fw_testcard_place(FW_TESTCARD_TRACK, c->width, c->height);
    const int bar = c->width * FW_TESTCARD_BAR_PERMILLE / 1000;
    const float way = at < 0.5f ? at * 2 : 2 - at * 2;
    const float x = floorf((float)track.x0 + way * (float)(track.x1 - track.x0 - bar));
    fw_geo_rect(geo, x, (float)track.y0, x + (float)bar, (float)track.y1, 0xffffffff);
}

static void add_meter(struct fw_geo *geo, const struct card *c)
{
    const struct fw_testcard_rect r = fw_testcard_place(FW_TESTCARD_METER, c->width, c->height);
    for (int i = 0; i < FW_TESTCARD_METER_STEPS; i++) {
        const int y1 = r.y1 - (r.y1 - r.y0) * i / FW_TESTCARD_METER_STEPS;
        const int y0 = r.y1 - (r.y1 - r.y0) * (i + 1) / FW_TESTCARD_METER_STEPS;
        const int gap = y1 - y0 > 6 ? 2 : 0;
        fw_geo_rect(geo, (float)r.x0, (float)(y0 + gap), (float)r.x1, (float)y1,
                    fw_geo_rgb(i < c->level ? fw_testcard_lit
                                            : fw_testcard_entries[FW_TESTCARD_METER].rgb));
    }
}

static void add_answers(struct fw_geo *geo, const struct card *c)
{
    const bool flipped = c->clicks & 1;
    add_patch(
        geo, c, FW_TESTCARD_CLICK,
        fw_geo_rgb(flipped ? fw_testcard_clicked : fw_testcard_entries[FW_TESTCARD_CLICK].rgb));
    const int color = c->key < 0 ? FW_TESTCARD_KEY : c->key % 6;
    add_patch(geo, c, FW_TESTCARD_KEY, fw_geo_rgb(fw_testcard_entries[color].rgb));
    add_meter(geo, c);
}

static void add_status(struct fw_geo *geo, const struct card *c, uint64_t frame_id)
{
    if (c->width < MIN_DETAIL || c->height < MIN_DETAIL) {
        return;
    }
    char text[96], key[16] = "KEY";
    if (c->key >= 0) {
        snprintf(key, sizeof(key), "KEY %d", c->key);
    }
    snprintf(text, sizeof(text), "%d X %d   FRAME %llu", c->width, c->height,
             (unsigned long long)frame_id);
    const float cell = fw_testcard_text_cell(c);
    const float width = (float)(strlen(text) * FW_GEO_GLYPH_W - 1) * cell;
    fw_geo_text(geo, floorf(((float)c->width - width) / 2), (float)(c->height * 815 / 1000), cell,
                text, 0xdfe8f7ff);
    const struct fw_testcard_rect r = fw_testcard_place(FW_TESTCARD_KEY, c->width, c->height);
    fw_geo_text(geo, (float)r.x0, (float)r.y1 + cell * 4, cell, key, 0xb9c6ddff);
}

static void add_frame_id(struct fw_geo *geo, const struct card *c, uint64_t id)
{
    const struct fw_testcard_rect r = fw_testcard_id_place(c->width, c->height);
    const int edge = (r.x1 - r.x0) / FW_TESTCARD_ID_EDGE;
    fw_geo_rect(geo, (float)r.x0, (float)r.y0, (float)r.x1, (float)r.y1, 0x000000ff);
    for (int i = 0; i < FW_TESTCARD_ID_EDGE * FW_TESTCARD_ID_EDGE; i++) {
        const float x = (float)(r.x0 + i % FW_TESTCARD_ID_EDGE * edge);
        const float y = (float)(r.y0 + i / FW_TESTCARD_ID_EDGE * edge);
        if (id >> i & 1) {
            fw_geo_rect(geo, x, y, x + (float)edge, y + (float)edge, 0xffffffff);
        }
    }
}

static void add_pointer(struct fw_geo *geo, const struct card *c)
{
    if (!c->pointer_seen) {
        return;
    }
    const float x = floorf(c->pointer_x), y = floorf(c->pointer_y);
    const float half = FW_TESTCARD_POINTER / 2, arm = 14 * fw_testcard_text_cell(c);
    const fw_geo_color dark = 0x000000ff, light = 0xffffffff;
    for (int i = 0; i < 2; i++) { // dark below light: seen on any ground
        const float by = i == 0 ? 2 : 1;
        const fw_geo_color color = i == 0 ? dark : light;
        fw_geo_rect(geo, x - arm, y - by, x + arm, y + by, color);
        fw_geo_rect(geo, x - by, y - arm, x + by, y + arm, color);
    }
    fw_geo_rect(geo, x - half, y - half, x + half, y + half, fw_geo_rgb(fw_testcard_pointer));
}

// A tunnel of tiles that comes nearer, its far end wandering: each frame of rectangles fits into
// the one before, so that every pixel is drawn once. A near frame is so much larger than the next.
static void add_flight(struct fw_geo *geo, const struct card *c, int64_t now_ns)
{
    enum { DEPTH = 22, TILES = 6 };
    static const fw_geo_color tints[] = { 0x27466eff, 0x6e3b5aff, 0x2f6b5cff, 0x7a6a3aff };
    const float step = 1.28f, w = (float)c->width, h = (float)c->height;
    const int64_t way = now_ns * 6 / 1000; // 6 frames of the tunnel a second, in millionths
    const float part = (float)(way % 1000000) / 1e6f, turn = phase(c, now_ns) * 6.2831853f;
    const float end[2] = { w * (0.5f + 0.2f * sinf(turn)), h * (0.5f + 0.2f * cosf(turn * 2)) };
    float scale = powf(step, part), x0 = 0, y0 = 0, x1 = w, y1 = h;
    for (int ring = 0; ring < DEPTH && x1 - x0 > 4; ring++, scale /= step) {
        const float s = ring == DEPTH - 1 ? 0 : scale / step;
        const float in_x0 = fmaxf(floorf(end[0] - end[0] * s), x0);
        const float in_x1 = fminf(ceilf(end[0] + (w - end[0]) * s), x1);
        const float in_y0 = fmaxf(floorf(end[1] - end[1] * s), y0);
        const float in_y1 = fminf(ceilf(end[1] + (h - end[1]) * s), y1);
        for (int i = 0; i < TILES; i++) {
            const int64_t at = way / 1000000 + ring + i;
            const fw_geo_color tint = tints[at & 3], other = tints[(at + 1) & 3];
            const float ax = floorf(x0 + (x1 - x0) * (float)i / TILES);
            const float bx = floorf(x0 + (x1 - x0) * (float)(i + 1) / TILES);
            const float ay = floorf(in_y0 + (in_y1 - in_y0) * (float)i / TILES);
            const float by = floorf(in_y0 + (in_y1 - in_y0) * (float)(i + 1) / TILES);
            fw_geo_rect(geo, ax, y0, bx, in_y0, tint);
            fw_geo_rect(geo, ax, in_y1, bx, y1, other);
            fw_geo_rect(geo, x0, ay, in_x0, by, other);
            fw_geo_rect(geo, in_x1, ay, x1, by, tint);
        }
        x0 = in_x0, y0 = in_y0, x1 = in_x1, y1 = in_y1;
    }
}

static void add_hand(struct fw_geo *geo, const struct card *c, float at)
{
    if (c->width < MIN_DETAIL || c->height < MIN_DETAIL) {
        return;
    }
    const float less = (float)(c->width < c->height ? c->width : c->height);
    const float angle = 6.2831853f * (at - 0.25f), x = cosf(angle), y = sinf(angle);
    const float center[2] = { (float)c->width / 2, (float)c->height / 2 };
    fw_geo_line(geo,
                (const float[2]){ center[0] + x * less * 0.425f, center[1] + y * less * 0.425f },
                (const float[2]){ center[0] + x * less * 0.475f, center[1] + y * less * 0.475f },
                less / 90.0f, fw_geo_rgb(fw_testcard_lit));
}

void fw_testcard_build_moving(const struct card *c, struct fw_geo *geo,
                              const struct fw_record *record, struct run run[FW_TESTCARD_MOVING])
{
    const float now = phase(c, record->now_ns);
    if (c->full) {
        add_flight(geo, c, record->now_ns);
    }
    run[0] = (struct run){ .count = geo->count };
    add_hand(geo, c, now);
    run[1] =
        (struct run){ .first = run[0].count, .count = geo->count - run[0].count, .blend = true };
    add_bar(geo, c, now);
    add_answers(geo, c);
    add_status(geo, c, record->frame_id);
    add_frame_id(geo, c, record->frame_id);
    add_pointer(geo, c);
    const unsigned first = run[1].first + run[1].count;
    run[2] = (struct run){ .first = first, .count = geo->count - first };
}
