// SPDX-License-Identifier: MIT
#include "render/render.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "render/gpu_parts.h"
#include "render/gpu_priv.h"
#include "render/render_priv.h"

enum { MIN_SCALE = 25, MAX_SCALE = 200, MAX_FPS = 240, MAX_OVERLAY = 256 };

static bool wants(const char *value, const char *what)
{
    return value && strcmp(value, what) == 0;
}

static enum fw_err choose_target(struct fw_render *r, const struct fw_render_params *p)
{
    if ((p->force_convert && !wants(p->force_convert, "compute") &&
         !wants(p->force_convert, "simd")) ||
        (p->force_target && !wants(p->force_target, "host-import") &&
         !wants(p->force_target, "readback")) ||
        (p->force_merge && !wants(p->force_merge, "on") && !wants(p->force_merge, "off"))) {
        fw_log(r->log, FW_LOG_ERROR, "render", "unknown value for a forced path");
        return FW_ERR_INVALID;
    }
    r->always_merge = wants(p->force_merge, "on");
    const bool compute = p->force_convert ? wants(p->force_convert, "compute") : !r->gpu->is_cpu;
    if (compute) {
        r->kind = FW_TARGET_COMPUTE;
    } else if (p->force_target) {
        r->kind = wants(p->force_target, "readback") ? FW_TARGET_READBACK : FW_TARGET_IMPORT;
    } else {
        r->kind = fw_measure_target(&r->output);
    }
    return r->gpu->lost ? FW_ERR_DEVICE_LOST : FW_OK;
}

enum fw_err fw_render_create(struct fw_render **out, const struct fw_render_params *params)
{
    enum fw_err err = FW_OK;
    *out = NULL;
    struct fw_render *r = calloc(1, sizeof(*r));
    if (!r) {
        return FW_ERR_NOMEM;
    }
    r->log = params->log;
    r->targets.layer.use = FW_GPU_USE_TARGET;
    if (!params->no_device) {
        const struct fw_gpu_params gpu = {
            .select = params->gpu,
            .validation = params->validation,
            .cache_dir = params->cache_dir,
            .log = params->log,
        };
        err = fw_gpu_create(&r->gpu, &gpu);
        if (!err) {
            err = fw_output_init(&r->output, r->gpu);
        }
        if (!err) {
            err = fw_render_init_frames(r);
        }
        if (!err) {
            err = choose_target(r, params);
        }
        if (!err && FW_TRACE_ON) {
            fw_gpu_parts_init(r->gpu, params->cache_dir);
            err = r->gpu->lost ? FW_ERR_DEVICE_LOST : FW_OK;
        }
        if (err) {
            fw_render_destroy(&r);
            return err;
        }
        fw_gpu_cache_save(r->gpu);
    }
    *out = r;
    return FW_OK;
}

void fw_render_warm_up(void)
{
    fw_source_warm_up();
}

static void finish_targets(struct fw_render *r, struct fw_targets *targets)
{
    if (r->gpu) {
        fw_gpu_image_finish(r->gpu, &targets->layer);
        fw_target_finish(r->gpu, &targets->target);
    }
}

static void close_source(struct fw_render *r)
{
    // A device that hangs still uses what the source owns; the process ends soon, leave it.
    if (r->source && !(r->gpu && r->gpu->priv->hung)) {
        r->impl->close(r->source);
    }
    r->source = NULL;
    r->impl = NULL;
    finish_targets(r, &r->targets);
    r->targets = (struct fw_targets){ .layer.use = FW_GPU_USE_TARGET };
}

void fw_render_destroy(struct fw_render **pointer)
{
    struct fw_render *r = *pointer;
    *pointer = NULL;
    if (!r) {
        return;
    }
    close_source(r);
    fw_slots_finish(&r->slots);
    if (r->gpu) {
        fw_render_finish_frames(r);
        fw_output_finish(&r->output);
        fw_gpu_destroy(&r->gpu);
    }
    free(r);
}

void fw_render_get_info(const struct fw_render *r, struct fw_render_info *info)
{
    *info = (struct fw_render_info){
        .gpu = "none", .convert = "simd", .target = "readback", .no_parts = "there is no device"
    };
    if (!r->gpu) {
        return;
    }
    snprintf(info->gpu, sizeof(info->gpu), "%s", r->gpu->props.deviceName);
    info->is_cpu = r->gpu->is_cpu;
    snprintf(info->no_parts, sizeof(info->no_parts), "%s", r->gpu->no_parts);
    if (r->kind == FW_TARGET_COMPUTE) {
        snprintf(info->convert, sizeof(info->convert), "compute");
    } else if (r->kind == FW_TARGET_IMPORT) {
        snprintf(info->target, sizeof(info->target), "host-import");
    }
    info->validation_messages = r->gpu->validation_messages;
    struct fw_gpu_budget budget;
    memcpy(info->used_bytes, r->gpu->used_bytes, sizeof(info->used_bytes));
    fw_gpu_get_budget(r->gpu, &budget);
    info->budget_bytes = budget.budget_bytes;
    info->budget_used_bytes = budget.used_bytes;
    info->heap_bytes = budget.heap_bytes;
}

static bool size_fits(int width, int height)
{
    return width >= FW_FRAME_MIN_SIZE && width <= FW_FRAME_MAX_WIDTH &&
           height >= FW_FRAME_MIN_SIZE && height <= FW_FRAME_MAX_HEIGHT;
}

static VkExtent2D scaled(const struct fw_render *r, int width, int height)
{
    const int w = (width * r->scale_percent + 50) / 100;
    const int h = (height * r->scale_percent + 50) / 100;
    return (VkExtent2D){ (uint32_t)(w > 1 ? w : 1), (uint32_t)(h > 1 ? h : 1) };
}

// Straight into the target where nothing stands against it: on a CPU device a pass over all pixels
// costs more than the source's own tone mapping.
static struct fw_path plan_path(const struct fw_render *r)
{
    struct fw_path path = { .device = !r->impl->host, .kind = r->kind };
    if (!path.device) {
        return path;
    }
    const bool linear = r->impl->hdr && (!r->gpu->is_cpu || r->always_merge);
    path.merge = linear || r->always_merge || r->scale_percent != 100;
    path.tone_mapped = !linear;
    path.layer_format = linear ? VK_FORMAT_R16G16B16A16_SFLOAT : fw_target_format;
    path.source_extent = scaled(r, r->width, r->height);
    return path;
}

static enum fw_err create_targets(struct fw_render *r, int width, int height,
                                  struct fw_targets *out)
{
    *out = (struct fw_targets){ .layer.use = FW_GPU_USE_TARGET };
    if (!r->path.device) {
        return FW_OK;
    }
    const VkExtent2D extent = { (uint32_t)width, (uint32_t)height };
    enum fw_err err = fw_target_create(r->gpu, r->path.kind, extent, &out->target);
    if (!err && r->path.merge) {
        const VkExtent2D layer = scaled(r, width, height);
        const struct fw_gpu_image_params params = {
            .width = layer.width,
            .height = layer.height,
            .format = r->path.layer_format,
            .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_SAMPLED_BIT,
            .use = FW_GPU_USE_TARGET,
            .name = "layer",
        };
        err = fw_gpu_image_create(r->gpu, &params, &out->layer);
    }
    if (err) {
        finish_targets(r, out);
    }
    return err;
}

static void adopt_targets(struct fw_render *r, const struct fw_targets *made)
{
    finish_targets(r, &r->targets);
    r->targets = *made;
    if (r->targets.layer.image) {
        fw_output_set_layer(&r->output, &r->targets.layer);
    }
}

static void note_change(struct fw_render *r, int64_t at_ns)
{
    if (!r->pending.change_ns) {
        r->pending.change_ns = at_ns;
    }
}

static void no_progress(void *user, int percent, const char *what)
{
    (void)user;
    (void)percent;
    (void)what;
}

static enum fw_err open_source(struct fw_render *r, const struct fw_render_open_params *p,
                               char *message, size_t message_size)
{
    const struct fw_source_params params = {
        .gpu = r->impl->host ? NULL : r->gpu,
        .log = r->log,
        .width = r->path.device ? (int)r->path.source_extent.width : p->width,
        .height = r->path.device ? (int)r->path.source_extent.height : p->height,
        .fps = p->fps,
        .args = p->args,
        .arg_count = p->arg_count,
        .tone_mapped = r->path.tone_mapped,
        .message = message,
        .message_size = message_size,
        .progress = p->progress ? p->progress : no_progress,
        .progress_user = p->progress_user,
    };
    const enum fw_err err = r->impl->open(&r->source, &params);
    if (err) {
        r->source = NULL;
        if (!message[0]) {
            snprintf(message, message_size, "The source \"%s\" could not be opened (%s).",
                     r->impl->name, fw_err_name(err));
        }
    }
    return err;
}

static enum fw_err check_open(const struct fw_render *r, const struct fw_render_open_params *p,
                              const struct fw_source_impl *impl, char *message, size_t size)
{
    if (!impl) {
        snprintf(message, size, "There is no source named \"%.64s\".", p->source ? p->source : "");
        return FW_ERR_NOT_FOUND;
    }
    if (!size_fits(p->width, p->height)) {
        snprintf(message, size, "The size %dx%d is not between %dx%d and %dx%d.", p->width,
                 p->height, FW_FRAME_MIN_SIZE, FW_FRAME_MIN_SIZE, FW_FRAME_MAX_WIDTH,
                 FW_FRAME_MAX_HEIGHT);
        return FW_ERR_INVALID;
    }
    if (p->fps < 1 || p->fps > MAX_FPS) {
        snprintf(message, size, "The rate %d is not between 1 and %d.", p->fps, MAX_FPS);
        return FW_ERR_INVALID;
    }
    if (p->scale_percent && (p->scale_percent < MIN_SCALE || p->scale_percent > MAX_SCALE)) {
        snprintf(message, size, "The scale %d is not between %d and %d.", p->scale_percent,
                 MIN_SCALE, MAX_SCALE);
        return FW_ERR_INVALID;
    }
    if (!impl->host && !r->gpu) {
        snprintf(message, size, "The source \"%s\" needs a Vulkan device.", impl->name);
        return FW_ERR_UNSUPPORTED;
    }
    return FW_OK;
}

enum fw_err fw_render_open(struct fw_render *r, const struct fw_render_open_params *p)
{
    char unused[256];
    char *message = p->message && p->message_size ? p->message : unused;
    const size_t size = message == unused ? sizeof(unused) : p->message_size;
    message[0] = '\0';
    const struct fw_source_impl *impl = p->source ? fw_source_find(p->source) : NULL;
    enum fw_err err = check_open(r, p, impl, message, size);
    if (err) {
        goto error;
    }
    close_source(r);
    r->impl = impl;
    r->width = p->width;
    r->height = p->height;
    r->scale_percent = p->scale_percent ? p->scale_percent : 100;
    r->path = plan_path(r);
    r->pending = (struct fw_pending){ .dirty = true };
    r->slots.gpu = r->gpu;
    r->slots.on_device = r->path.device && r->path.kind == FW_TARGET_COMPUTE;
    struct fw_targets made;
    err = create_targets(r, p->width, p->height, &made);
    if (err) {
        goto error;
    }
    adopt_targets(r, &made);
    err = fw_slots_resize(&r->slots, p->width, p->height);
    if (err) {
        goto error;
    }
    err = open_source(r, p, message, size);
    if (err) {
        goto error;
    }
    note_change(r, fw_now_ns());
    if (r->gpu) {
        fw_gpu_cache_save(r->gpu);
    }
    return FW_OK;

error:
    if (!message[0]) {
        snprintf(message, size, "No room for pictures of %dx%d (%s).", p->width, p->height,
                 fw_err_name(err));
    }
    fw_log(r->log, FW_LOG_WARN, "render", "open: %s", message);
    if (r->impl == impl) {
        close_source(r);
    }
    return err;
}

const char *fw_render_describe(struct fw_render *r)
{
    const char *json = r->source && r->impl->describe ? r->impl->describe(r->source) : NULL;
    return json ? json : "{}";
}

size_t fw_render_save(struct fw_render *r, void *out, size_t room)
{
    return r->source && r->impl->save ? r->impl->save(r->source, out, room) : 0;
}

void fw_render_restore(struct fw_render *r, const void *data, size_t size)
{
    if (r->source && r->impl->restore && size) {
        r->impl->restore(r->source, data, size);
    }
}

void fw_render_input(struct fw_render *r, const struct fw_input_event *event)
{
    if (!r->source) {
        return;
    }
    struct fw_input_event scaled_event = *event;
    const float scale = (float)r->scale_percent / 100.0f;
    scaled_event.x *= scale;
    scaled_event.y *= scale;
    scaled_event.dx *= scale;
    scaled_event.dy *= scale;
    if (r->impl->input) {
        r->impl->input(r->source, &scaled_event);
    }
    const int64_t rx_ns = event->rx_ns ? event->rx_ns : fw_now_ns();
    // An event that moves nothing (a key nobody uses) must not age the next picture.
    int64_t next_ns;
    bool animating;
    if (r->impl->wants_frame(r->source, rx_ns, &next_ns, &animating)) {
        note_change(r, rx_ns);
    }
    r->pending.input_id = event->id;
    r->pending.input_rx_ns = rx_ns;
}

enum fw_err fw_render_resize(struct fw_render *r, int width, int height)
{
    if (!r->source || !size_fits(width, height)) {
        return FW_ERR_INVALID;
    }
    if (width == r->width && height == r->height) {
        return FW_OK;
    }
    struct fw_targets made;
    enum fw_err err = create_targets(r, width, height, &made);
    if (err) {
        return err;
    }
    err = fw_slots_resize(&r->slots, width, height);
    if (err) {
        finish_targets(r, &made);
        return err;
    }
    adopt_targets(r, &made);
    r->width = width;
    r->height = height;
    r->path.source_extent = scaled(r, width, height);
    r->pending.dirty = true;
    note_change(r, fw_now_ns());
    if (r->impl->resize) {
        const bool device = r->path.device;
        err = r->impl->resize(r->source, device ? (int)r->path.source_extent.width : width,
                              device ? (int)r->path.source_extent.height : height);
    }
    return err;
}

bool fw_render_wants_frame(struct fw_render *r, int64_t now_ns, int64_t *next_ns, bool *animating)
{
    *next_ns = INT64_MAX;
    *animating = false;
    if (!r->source) {
        return false;
    }
    const bool changed = r->impl->wants_frame(r->source, now_ns, next_ns, animating);
    return changed || r->pending.dirty;
}

void fw_render_set_delays(struct fw_render *r, int64_t render_ns, int64_t convert_ns)
{
    r->render_delay_ns = render_ns;
    r->convert_delay_ns = convert_ns;
}

enum fw_err fw_render_set_overlay(struct fw_render *r, const struct fw_render_overlay *overlay)
{
    if (!r->gpu) {
        return FW_ERR_UNSUPPORTED;
    }
    if (overlay->rgba && (overlay->width < 1 || overlay->width > MAX_OVERLAY ||
                          overlay->height < 1 || overlay->height > MAX_OVERLAY)) {
        return FW_ERR_INVALID;
    }
    const enum fw_err err =
        fw_output_set_overlay(&r->output, overlay->rgba, overlay->width, overlay->height);
    if (!err) {
        fw_render_move_overlay(r, overlay->x, overlay->y);
        r->pending.dirty = true;
        note_change(r, fw_now_ns());
    }
    return err;
}

void fw_render_move_overlay(struct fw_render *r, int x, int y)
{
    if (r->output.overlay_x == x && r->output.overlay_y == y) {
        return;
    }
    r->output.overlay_x = x;
    r->output.overlay_y = y;
    if (r->output.picture.image) {
        r->pending.dirty = true;
        note_change(r, fw_now_ns());
    }
}
