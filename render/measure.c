// SPDX-License-Identifier: MIT
// Import or read-back: the answer depends on the driver's tiling and caches, so it is measured:
// a few small frames of each, drawn, handed over and converted, the quickest counts.
#include <stdlib.h>

#include "base/clock.h"
#include "render/convert.h"
#include "render/output.h"

enum { WIDTH = 640, HEIGHT = 360, ROUNDS = 4, LAYER = 16 };

static enum fw_err draw_once(struct fw_output *o, const struct fw_gpu_image *layer,
                             const struct fw_target *target)
{
    VkCommandBuffer cmd;
    enum fw_err err = fw_gpu_once_begin(o->gpu, &cmd);
    if (err) {
        return err;
    }
    fw_gpu_barrier(cmd, layer->image, VK_IMAGE_LAYOUT_UNDEFINED,
                   VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    fw_output_record_merge(o, cmd, layer, target);
    fw_target_record_to_host(cmd, target);
    return fw_gpu_once_end(o->gpu, cmd);
}

// INT64_MAX when that kind does not work here.
static int64_t measure_kind(struct fw_output *o, const struct fw_gpu_image *layer,
                            enum fw_target_kind kind, uint8_t *planes)
{
    struct fw_target target;
    int64_t best = INT64_MAX;
    if (fw_target_create(o->gpu, kind, (VkExtent2D){ WIDTH, HEIGHT }, &target)) {
        return best;
    }
    const struct fw_convert convert = {
        .rgba = target.pixels,
        .rgba_stride = target.stride,
        .width = WIDTH,
        .height = HEIGHT,
        .luma = planes,
        .chroma = planes + WIDTH * HEIGHT,
        .luma_stride = WIDTH,
        .chroma_stride = WIDTH,
    };
    // The first round pays for the driver's own first times and is not counted.
    for (int i = 0; i <= ROUNDS; i++) {
        const int64_t start = fw_now_ns();
        if (draw_once(o, layer, &target)) {
            best = INT64_MAX;
            break;
        }
        fw_convert_nv12(&convert);
        const int64_t took = fw_now_ns() - start;
        best = i > 0 && took < best ? took : best;
    }
    fw_target_finish(o->gpu, &target);
    return best;
}

enum fw_target_kind fw_measure_target(struct fw_output *o)
{
    enum fw_target_kind kind = FW_TARGET_READBACK;
    struct fw_gpu_image layer = { .use = FW_GPU_USE_TARGET };
    const struct fw_gpu_image_params params = {
        .width = LAYER,
        .height = LAYER,
        .format = fw_target_format,
        .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_SAMPLED_BIT,
        .use = FW_GPU_USE_TARGET,
        .name = "measure",
    };
    uint8_t *planes = malloc((size_t)WIDTH * HEIGHT * 3 / 2);
    if (planes && !fw_gpu_image_create(o->gpu, &params, &layer)) {
        fw_output_set_layer(o, &layer);
        const int64_t import = measure_kind(o, &layer, FW_TARGET_IMPORT, planes);
        const int64_t readback = measure_kind(o, &layer, FW_TARGET_READBACK, planes);
        // A tie goes to import: it needs half the memory, and the copy it saves costs more on a
        // busy machine than in a short measurement.
        if (import != INT64_MAX && import / 10 * 9 < readback) {
            kind = FW_TARGET_IMPORT;
        }
        fw_log(o->gpu->log, FW_LOG_DEBUG, "render", "targets: import %.2f ms, read-back %.2f ms",
               import == INT64_MAX ? -1.0 : (double)import / FW_NS_PER_MS,
               readback == INT64_MAX ? -1.0 : (double)readback / FW_NS_PER_MS);
    }
    fw_gpu_image_finish(o->gpu, &layer);
    free(planes);
    return kind;
}
