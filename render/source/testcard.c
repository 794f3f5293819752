// SPDX-License-Identifier: MIT
// The test card: a clear, and flat shapes on top. What never moves is built once per size; what
// moves is a few hundred vertices per frame.
#include "render/source/testcard.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/source/impls.h"
#include "render/source/testcard_priv.h"
#include "render/source/tick.h"
#include "testcard.frag.spv.h"
#include "testcard.vert.spv.h"

// 0x1d2638: the clear is by far the cheapest way to fill a picture.
static const VkClearValue ground = { .color.float32 = { 29 / 255.0f, 38 / 255.0f, 56 / 255.0f,
                                                        1 } };

static enum fw_err build_fixed(struct card *c)
{
    struct fw_geo geo = { .vertex = c->scratch, .room = MAX_STATIC };
    fw_testcard_build_fixed(c, &geo);
    snprintf(c->facts, sizeof(c->facts), "{\"triangles\":%u}", geo.count / 3);
    return fw_gpu_upload_buffer(c->gpu, &c->fixed, geo.vertex, geo.count * sizeof(*geo.vertex));
}

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
    enum fw_err err = fw_source_animate_arg(params, &c->animate, &c->full);
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
                 const struct run moving[FW_TESTCARD_MOVING])
{
    const VkCommandBuffer cmd = record->cmd;
    const float scale[2] = { 2.0f / (float)record->extent.width,
                             2.0f / (float)record->extent.height };
    const VkDeviceSize start = 0;
    fw_gpu_set_raster(cmd, record->extent, VK_CULL_MODE_NONE);
    vkCmdPushConstants(cmd, c->layout, VK_SHADER_STAGE_VERTEX_BIT, 0, sizeof(scale), scale);
    if (moving[0].count) {
        vkCmdBindVertexBuffers(cmd, 0, 1, &c->moving.buffer, &moving_at);
        draw_run(c, cmd, moving[0]);
    }
    vkCmdBindVertexBuffers(cmd, 0, 1, &c->fixed.buffer, &start);
    for (unsigned i = 0; i < FW_TESTCARD_RUNS_BELOW; i++) {
        draw_run(c, cmd, c->run[i]);
    }
    // The hand goes behind the patches: whoever reads a colour reads it at any moment.
    vkCmdBindVertexBuffers(cmd, 0, 1, &c->moving.buffer, &moving_at);
    draw_run(c, cmd, moving[1]);
    vkCmdBindVertexBuffers(cmd, 0, 1, &c->fixed.buffer, &start);
    for (unsigned i = FW_TESTCARD_RUNS_BELOW; i < c->run_count; i++) {
        draw_run(c, cmd, c->run[i]);
    }
    vkCmdBindVertexBuffers(cmd, 0, 1, &c->moving.buffer, &moving_at);
    draw_run(c, cmd, moving[2]);
}

static enum fw_err card_record(struct fw_source *source, const struct fw_record *record)
{
    struct card *c = (struct card *)source;
    const size_t at = (size_t)(record->frame_id % MOVING_BUFFERS) * MAX_MOVING;
    struct fw_geo geo = { .vertex = (struct fw_geo_vertex *)c->moving.map + at,
                          .room = MAX_MOVING };
    struct run moving[FW_TESTCARD_MOVING];
    fw_testcard_build_moving(c, &geo, record, moving);

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

// What people did, for the next card.
struct saved {
    uint32_t version, pointer_seen, clicks;
    int32_t level, key;
    float x, y;
};

enum { SAVED_VERSION = 1 };

static size_t card_save(struct fw_source *source, void *out, size_t room)
{
    const struct card *c = (struct card *)source;
    const struct saved saved = { SAVED_VERSION, c->pointer_seen, c->clicks,   c->level,
                                 c->key,        c->pointer_x,    c->pointer_y };
    if (room < sizeof(saved)) {
        return 0;
    }
    memcpy(out, &saved, sizeof(saved));
    return sizeof(saved);
}

static void card_restore(struct fw_source *source, const void *data, size_t size)
{
    struct card *c = (struct card *)source;
    struct saved s;
    if (size != sizeof(s)) {
        return;
    }
    memcpy(&s, data, sizeof(s));
    if (s.version != SAVED_VERSION || s.pointer_seen > 1 || s.level < 0 ||
        s.level > FW_TESTCARD_METER_STEPS || s.key < -1 || s.key > UINT16_MAX ||
        !(fabsf(s.x) < FW_FRAME_MAX_WIDTH) || !(fabsf(s.y) < FW_FRAME_MAX_HEIGHT)) {
        return;
    }
    c->pointer_seen = s.pointer_seen;
    c->pointer_x = s.x;
    c->pointer_y = s.y;
    c->clicks = s.clicks;
    c->level = s.level;
    c->key = s.key;
    c->changed = true;
}

const struct fw_source_impl fw_source_testcard = {
    .name = "testcard",
    .open = card_open,
    .close = card_close,
    .input = card_input,
    .resize = card_resize,
    .wants_frame = card_wants_frame,
    .record = card_record,
    .damage = fw_testcard_damage,
    .describe = card_describe,
    .save = card_save,
    .restore = card_restore,
};
