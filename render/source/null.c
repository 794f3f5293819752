// SPDX-License-Identifier: MIT
// A source without Vulkan: a moving gradient and the frame id as blocks (placed as on the test
// card), written straight into NV12 planes. For tests and sanitizer runs without a driver.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "render/source/impls.h"
#include "render/source/testcard.h"
#include "render/source/tick.h"

enum { BLACK = 16, WHITE = 235, RANGE = 219, CHROMA_RANGE = 224, CHROMA_MIN = 16 };

struct null_source {
    struct fw_source base;
    int fps;
    bool animate, changed;
    unsigned steps; // of the gradient, from input
    int64_t last_tick;
};

static enum fw_err null_open(struct fw_source **out, const struct fw_source_params *params)
{
    struct null_source *s = calloc(1, sizeof(*s));
    if (!s) {
        return FW_ERR_NOMEM;
    }
    *s = (struct null_source){
        .base.impl = &fw_source_null,
        .fps = params->fps,
        .animate = true,
        .changed = true,
        .last_tick = -1,
    };
    const enum fw_err err = fw_source_animate_arg(params, &s->animate, NULL);
    if (err) {
        free(s);
        return err;
    }
    *out = &s->base;
    return FW_OK;
}

static void null_close(struct fw_source *source)
{
    free(source);
}

static void null_input(struct fw_source *source, const struct fw_input_event *event)
{
    struct null_source *s = (struct null_source *)source;
    if (event->kind != FW_INPUT_RELEASE) {
        s->steps++;
        s->changed = true;
    }
}

static enum fw_err null_resize(struct fw_source *source, int width, int height)
{
    (void)width;
    (void)height; // each frame carries its size
    ((struct null_source *)source)->changed = true;
    return FW_OK;
}

static bool null_wants_frame(struct fw_source *source, int64_t now_ns, int64_t *next_ns,
                             bool *animating)
{
    const struct null_source *s = (const struct null_source *)source;
    *animating = s->animate;
    *next_ns = s->animate ? fw_tick_start(fw_tick_at(now_ns, s->fps) + 1, s->fps) : INT64_MAX;
    return s->changed || (s->animate && fw_tick_at(now_ns, s->fps) != s->last_tick);
}

static void fill_block(struct fw_frame *frame, int x0, int y0, int edge, uint8_t value)
{
    for (int y = y0; y < y0 + edge; y++) {
        memset(frame->plane[0].data + (size_t)y * frame->plane[0].stride + x0, value, (size_t)edge);
    }
}

static void fill_id(struct fw_frame *frame)
{
    const struct fw_testcard_rect place = fw_testcard_id_place(frame->width, frame->height);
    const int edge = (place.x1 - place.x0) / FW_TESTCARD_ID_EDGE;
    for (int i = 0; i < FW_TESTCARD_ID_EDGE * FW_TESTCARD_ID_EDGE; i++) {
        fill_block(frame, place.x0 + i % FW_TESTCARD_ID_EDGE * edge,
                   place.y0 + i / FW_TESTCARD_ID_EDGE * edge, edge,
                   frame->id >> i & 1 ? WHITE : BLACK);
    }
}

static enum fw_err null_fill(struct fw_source *source, struct fw_frame *frame, int64_t now_ns)
{
    struct null_source *s = (struct null_source *)source;
    s->changed = false;
    s->last_tick = fw_tick_at(now_ns, s->fps);
    const unsigned width = (unsigned)frame->coded_width, height = (unsigned)frame->coded_height;
    const unsigned shift = s->steps * 16 + (s->animate ? (unsigned)(s->last_tick & 0xffff) * 4 : 0);
    // A diagonal ramp: one row is enough, the others are the same row further along.
    for (unsigned y = 0; y < height; y++) {
        uint8_t *row = frame->plane[0].data + y * frame->plane[0].stride;
        for (unsigned x = 0; x < width; x++) {
            row[x] = (uint8_t)(BLACK + (x + y + shift) % (RANGE + 1));
        }
    }
    for (unsigned y = 0; y < height / 2; y++) {
        uint8_t *row = frame->plane[1].data + y * frame->plane[1].stride;
        const uint8_t cr = (uint8_t)(CHROMA_MIN + y * 2 * CHROMA_RANGE / height);
        for (unsigned x = 0; x < width; x += 2) {
            row[x] = (uint8_t)(CHROMA_MIN + x * CHROMA_RANGE / width);
            row[x + 1] = cr;
        }
    }
    fill_id(frame);
    return FW_OK;
}

const struct fw_source_impl fw_source_null = {
    .name = "null",
    .host = true,
    .open = null_open,
    .close = null_close,
    .input = null_input,
    .resize = null_resize,
    .wants_frame = null_wants_frame,
    .fill = null_fill,
};
