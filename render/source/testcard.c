// SPDX-License-Identifier: MIT
// The test card: a clear, and flat shapes on top. What never moves is built
// once per size; what moves is a few hundred vertices per frame.
#include "render/source/testcard.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "render/gpu.h"
#include "render/source/geometry.h"
#include "render/source/impls.h"
#include "render/source/tick.h"
#include "testcard.frag.spv.h"
#include "testcard.vert.spv.h"

enum {
    MAX_STATIC = 24000,
    MAX_MOVING = 6000,
    MOVING_BUFFERS = 4, // more than frames can be in flight
    MIN_DETAIL = 160,   // smaller pictures go without lettering and lines
    MAX_RUNS = 4,
};

static const fw_geo_color mount_color = 0x0a0d14ff;
// 0x1d2638: the clear is by far the cheapest way to fill a picture.
static const VkClearValue ground = { .color.float32 = { 29 / 255.0f, 38 / 255.0f, 56 / 255.0f, 1 } };

// Vertices that are drawn with one pipeline.
struct run {
    unsigned first, count;
    bool blend;
};

struct card {
    struct fw_source base;
    struct fw_gpu *gpu;
    int width, height, fps;
    bool animate, changed;
    int64_t last_tick;
    // --- what people did
    float pointer_x, pointer_y;
    bool pointer_seen;
    unsigned clicks;
    int level;
    int key; // newest pressed, -1 = none yet
    // --- device
    VkPipelineLayout layout;
    VkPipeline solid, soft;
    struct fw_gpu_buffer fixed, moving;
    struct run run[MAX_RUNS];
    unsigned run_count;
    struct fw_geo_vertex *scratch;
    char facts[96];
};

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

static float text_cell(const struct card *c)
{
    const int cell = (c->height < c->width ? c->height : c->width) / 320;
    return (float)(cell > 1 ? cell : 1);
}

static void add_label(struct fw_geo *geo, const struct card *c, enum fw_testcard_patch patch,
                      const char *text)
{
    const struct fw_testcard_rect r = fw_testcard_place(patch, c->width, c->height);
    const float cell = text_cell(c);
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

static enum fw_err build_fixed(struct card *c)
{
    struct fw_geo geo = { .vertex = c->scratch, .room = MAX_STATIC };
    c->run_count = 0;
    add_grid(&geo, c);
    add_border(&geo, c);
    end_run(c, &geo, false);
    add_dial(&geo, c);
    end_run(c, &geo, true);
    add_patches(&geo, c);
    add_fine_lines(&geo, c);
    add_lettering(&geo, c);
    end_run(c, &geo, false);
    snprintf(c->facts, sizeof(c->facts), "{\"triangles\":%u}", geo.count / 3);
    return fw_gpu_upload_buffer(c->gpu, &c->fixed, geo.vertex, geo.count * sizeof(*geo.vertex));
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
    const float cell = text_cell(c);
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
    const float half = FW_TESTCARD_POINTER / 2, arm = 14 * text_cell(c);
    const fw_geo_color dark = 0x000000ff, light = 0xffffffff;
    for (int i = 0; i < 2; i++) { // dark below light: seen on any ground
        const float by = i == 0 ? 2 : 1;
        const fw_geo_color color = i == 0 ? dark : light;
        fw_geo_rect(geo, x - arm, y - by, x + arm, y + by, color);
        fw_geo_rect(geo, x - by, y - arm, x + by, y + arm, color);
    }
    fw_geo_rect(geo, x - half, y - half, x + half, y + half, fw_geo_rgb(fw_testcard_pointer));
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

// ---- life --------------------------------------------------------------------------------------

static enum fw_err create_pipelines(struct card *c)
{
    enum fw_err err = FW_OK;
    struct fw_gpu *gpu = c->gpu;
    const VkPushConstantRange push = { VK_SHADER_STAGE_VERTEX_BIT, 0, 2 * sizeof(float) };
    const VkPipelineLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .pushConstantRangeCount = 1,
        .pPushConstantRanges = &push,
    };
    const VkVertexInputBindingDescription binding = { 0, sizeof(struct fw_geo_vertex),
                                                      VK_VERTEX_INPUT_RATE_VERTEX };
    const VkVertexInputAttributeDescription attributes[] = {
        { 0, 0, VK_FORMAT_R32G32_SFLOAT, offsetof(struct fw_geo_vertex, x) },
        { 1, 0, VK_FORMAT_R8G8B8A8_UNORM, offsetof(struct fw_geo_vertex, rgba) },
    };
    const VkPipelineVertexInputStateCreateInfo input = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
        .vertexBindingDescriptionCount = 1,
        .pVertexBindingDescriptions = &binding,
        .vertexAttributeDescriptionCount = 2,
        .pVertexAttributeDescriptions = attributes,
    };
    VK(gpu, vkCreatePipelineLayout(gpu->device, &layout, NULL, &c->layout));
    struct fw_gpu_graphics_params params = {
        .vertex = FW_SPIRV(fw_spv_testcard_vert),
        .fragment = FW_SPIRV(fw_spv_testcard_frag),
        .layout = c->layout,
        .input = &input,
        .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
        .color_format = VK_FORMAT_R8G8B8A8_UNORM,
        .name = "test card",
    };
    err = fw_gpu_graphics_pipeline(gpu, &params, &c->solid);
    if (!err) {
        params.blend = true;
        err = fw_gpu_graphics_pipeline(gpu, &params, &c->soft);
    }
error:
    return err;
}

static enum fw_err create_buffers(struct card *c)
{
    const struct fw_gpu_buffer_params fixed = {
        .size = MAX_STATIC * sizeof(struct fw_geo_vertex),
        .usage = VK_BUFFER_USAGE_VERTEX_BUFFER_BIT,
        .use = FW_GPU_USE_GEOMETRY,
    };
    const struct fw_gpu_buffer_params moving = {
        .size = (VkDeviceSize)MOVING_BUFFERS * MAX_MOVING * sizeof(struct fw_geo_vertex),
        .usage = VK_BUFFER_USAGE_VERTEX_BUFFER_BIT,
        .host_visible = true,
        .use = FW_GPU_USE_GEOMETRY,
    };
    c->scratch = malloc(MAX_STATIC * sizeof(*c->scratch));
    if (!c->scratch) {
        return FW_ERR_NOMEM;
    }
    const enum fw_err err = fw_gpu_buffer_create(c->gpu, &fixed, &c->fixed);
    return err ? err : fw_gpu_buffer_create(c->gpu, &moving, &c->moving);
}

static void card_close(struct fw_source *source)
{
    struct card *c = (struct card *)source;
    vkDestroyPipeline(c->gpu->device, c->solid, NULL);
    vkDestroyPipeline(c->gpu->device, c->soft, NULL);
    vkDestroyPipelineLayout(c->gpu->device, c->layout, NULL);
    fw_gpu_buffer_finish(c->gpu, &c->fixed);
    fw_gpu_buffer_finish(c->gpu, &c->moving);
    free(c->scratch);
    free(c);
}

static enum fw_err card_open(struct fw_source **out, const struct fw_source_params *params)
{
    struct card *c = calloc(1, sizeof(*c));
    if (!c) {
        return FW_ERR_NOMEM;
    }
    *c = (struct card){
        .base.impl = &fw_source_testcard,
        .gpu = params->gpu,
        .width = params->width,
        .height = params->height,
        .fps = params->fps,
        .animate = true,
        .changed = true,
        .last_tick = -1,
        .key = -1,
        .fixed.use = FW_GPU_USE_GEOMETRY,
        .moving.use = FW_GPU_USE_GEOMETRY,
    };
    enum fw_err err = fw_source_animate_arg(params, &c->animate);
    if (!err) {
        err = create_pipelines(c);
    }
    if (!err) {
        err = create_buffers(c);
    }
    if (!err) {
        err = build_fixed(c);
    }
    if (err) {
        card_close(&c->base);
        return err;
    }
    *out = &c->base;
    return FW_OK;
}

static enum fw_err card_resize(struct fw_source *source, int width, int height)
{
    struct card *c = (struct card *)source;
    c->width = width;
    c->height = height;
    c->changed = true;
    return build_fixed(c);
}

static void move_pointer(struct card *c, const struct fw_input_event *event)
{
    c->changed |= !c->pointer_seen || c->pointer_x != event->x || c->pointer_y != event->y;
    c->pointer_seen = true;
    c->pointer_x = event->x;
    c->pointer_y = event->y;
}

static void card_input(struct fw_source *source, const struct fw_input_event *event)
{
    struct card *c = (struct card *)source;
    switch (event->kind) {
    case FW_INPUT_MOTION: move_pointer(c, event); break;
    case FW_INPUT_BUTTON:
        if (event->state) {
            move_pointer(c, event);
            c->clicks++;
            c->changed = true;
        }
        break;
    case FW_INPUT_TOUCH:
        if (event->state == FW_TOUCH_DOWN) {
            c->clicks++;
            c->changed = true;
        }
        if (event->state == FW_TOUCH_DOWN || event->state == FW_TOUCH_MOVE) {
            move_pointer(c, event);
        }
        break;
    case FW_INPUT_WHEEL: {
        const float way = event->dy != 0.0f ? event->dy : event->dx;
        const int levels = FW_TESTCARD_METER_STEPS + 1;
        c->level = (c->level + (way > 0 ? 1 : levels - 1)) % levels;
        c->changed = true;
        break;
    }
    case FW_INPUT_KEY:
        if (event->state) {
            c->key = event->code;
            c->changed = true;
        }
        break;
    default: break;
    }
}

static bool card_wants_frame(struct fw_source *source, int64_t now_ns, int64_t *next_ns,
                             bool *animating)
{
    const struct card *c = (const struct card *)source;
    const int64_t tick = fw_tick_at(now_ns, c->fps);
    *animating = c->animate;
    *next_ns = c->animate ? fw_tick_start(tick + 1, c->fps) : INT64_MAX;
    return c->changed || (c->animate && tick != c->last_tick);
}

static void draw_run(const struct card *c, VkCommandBuffer cmd, struct run run)
{
    if (run.count) {
        vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_GRAPHICS, run.blend ? c->soft : c->solid);
        vkCmdDraw(cmd, run.count, 1, run.first, 0);
    }
}

static void draw(const struct card *c, const struct fw_record *record, VkDeviceSize moving_at,
                 const struct run moving[2])
{
    const VkCommandBuffer cmd = record->cmd;
    const float scale[2] = { 2.0f / (float)record->extent.width,
                             2.0f / (float)record->extent.height };
    const VkDeviceSize start = 0;
    fw_gpu_set_raster(cmd, record->extent, VK_CULL_MODE_NONE);
    vkCmdPushConstants(cmd, c->layout, VK_SHADER_STAGE_VERTEX_BIT, 0, sizeof(scale), scale);
    vkCmdBindVertexBuffers(cmd, 0, 1, &c->fixed.buffer, &start);
    for (unsigned i = 0; i < c->run_count; i++) {
        draw_run(c, cmd, c->run[i]);
    }
    vkCmdBindVertexBuffers(cmd, 0, 1, &c->moving.buffer, &moving_at);
    draw_run(c, cmd, moving[0]);
    draw_run(c, cmd, moving[1]);
}

static enum fw_err card_record(struct fw_source *source, const struct fw_record *record)
{
    struct card *c = (struct card *)source;
    const size_t at = (size_t)(record->frame_id % MOVING_BUFFERS) * MAX_MOVING;
    struct fw_geo geo = { .vertex = (struct fw_geo_vertex *)c->moving.map + at,
                          .room = MAX_MOVING };
    const float now = phase(c, record->now_ns);
    struct run moving[2] = { { .blend = true }, { .blend = false } };
    add_hand(&geo, c, now);
    moving[0].count = moving[1].first = geo.count;
    add_bar(&geo, c, now);
    add_answers(&geo, c);
    add_status(&geo, c, record->frame_id);
    add_frame_id(&geo, c, record->frame_id);
    add_pointer(&geo, c);
    moving[1].count = geo.count - moving[1].first;

    const VkRenderingAttachmentInfo color = {
        .sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
        .imageView = record->view,
        .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
        .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
        .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
        .clearValue = ground,
    };
    vkCmdBeginRendering(record->cmd, &(VkRenderingInfo){
                                         .sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                                         .renderArea.extent = record->extent,
                                         .layerCount = 1,
                                         .colorAttachmentCount = 1,
                                         .pColorAttachments = &color,
                                     });
    draw(c, record, at * sizeof(struct fw_geo_vertex), moving);
    vkCmdEndRendering(record->cmd);
    c->changed = false;
    c->last_tick = fw_tick_at(record->now_ns, c->fps);
    return FW_OK;
}

static const char *card_describe(struct fw_source *source)
{
    return ((struct card *)source)->facts;
}

const struct fw_source_impl fw_source_testcard = {
    .name = "testcard",
    .open = card_open,
    .close = card_close,
    .input = card_input,
    .resize = card_resize,
    .wants_frame = card_wants_frame,
    .record = card_record,
    .describe = card_describe,
};
