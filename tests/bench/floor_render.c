// SPDX-License-Identifier: MIT
#include "bench/floor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "render/convert.h"
#include "render/gpu.h"
#include "render/source.h"
#include "render/target.h"

// The shortest loop that draws: one command buffer, one submission, one wait.
struct floor_render {
    struct fw_gpu *gpu;
    const struct fw_source_impl *impl;
    struct fw_source *source;
    struct fw_target target;
    VkCommandPool pool;
    VkCommandBuffer cmd;
    VkFence fence;
    VkExtent2D extent;
    uint64_t frame_id;
    int64_t device_ns, source_ns; // how long opening them took
};

static enum fw_err make_commands(struct floor_render *r)
{
    enum fw_err err = FW_OK;
    VK(r->gpu, vkCreateCommandPool(r->gpu->device,
                                   &(VkCommandPoolCreateInfo){
                                       .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                       .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                       .queueFamilyIndex = r->gpu->queue_family,
                                   },
                                   NULL, &r->pool));
    VK(r->gpu, vkAllocateCommandBuffers(r->gpu->device,
                                        &(VkCommandBufferAllocateInfo){
                                            .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = r->pool,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                            .commandBufferCount = 1,
                                        },
                                        &r->cmd));
    VK(r->gpu, vkCreateFence(r->gpu->device,
                             &(VkFenceCreateInfo){ .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO },
                             NULL, &r->fence));
error:
    return err;
}

struct floor_render *floor_render_open(const struct floor_params *params)
{
    struct floor_render *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    char message[256] = "";
    r->extent = (VkExtent2D){ (uint32_t)params->width, (uint32_t)params->height };
    r->impl = fw_source_find(params->source);
    const int64_t begin = fw_now_ns();
    if (!r->impl || r->impl->host || fw_gpu_create(&r->gpu, &(struct fw_gpu_params){ 0 }))
        goto error;
    r->device_ns = fw_now_ns() - begin;
    if (r->impl->open(&r->source, &(struct fw_source_params){
                                      .gpu = r->gpu,
                                      .width = params->width,
                                      .height = params->height,
                                      .fps = params->fps,
                                      .args = params->args,
                                      .arg_count = params->arg_count,
                                      .tone_mapped = true,
                                      .message = message,
                                      .message_size = sizeof(message),
                                  }))
        goto error;
    if (fw_target_create(r->gpu, FW_TARGET_IMPORT, r->extent, &r->target) &&
        fw_target_create(r->gpu, FW_TARGET_READBACK, r->extent, &r->target))
        goto error;
    if (make_commands(r))
        goto error;
    r->source_ns = fw_now_ns() - begin - r->device_ns;
    return r;
error:
    fprintf(stderr, "floor: no picture from %s: %s\n", params->source, message);
    floor_render_close(&r);
    return NULL;
}

void floor_render_opened(const struct floor_render *r, int64_t *device_ns, int64_t *source_ns)
{
    *device_ns = r->device_ns;
    *source_ns = r->source_ns;
}

void floor_render_close(struct floor_render **render)
{
    struct floor_render *r = *render;
    if (!r)
        return;
    if (r->gpu) {
        if (r->source)
            r->impl->close(r->source);
        fw_target_finish(r->gpu, &r->target);
        if (r->fence)
            vkDestroyFence(r->gpu->device, r->fence, NULL);
        if (r->pool)
            vkDestroyCommandPool(r->gpu->device, r->pool, NULL);
        fw_gpu_destroy(&r->gpu);
    }
    free(r);
    *render = NULL;
}

void floor_render_input(struct floor_render *r, const struct fw_input_event *event)
{
    r->impl->input(r->source, event);
}

bool floor_render_wants(struct floor_render *r, int64_t *next_ns)
{
    bool animating;
    return r->impl->wants_frame(r->source, fw_now_ns(), next_ns, &animating);
}

bool floor_render_draw(struct floor_render *r)
{
    enum fw_err err = FW_OK;
    int64_t next;
    bool animating;
    const int64_t now = fw_now_ns();
    // Sources move on when they are asked; whether they want to be drawn does not matter here.
    (void)r->impl->wants_frame(r->source, now, &next, &animating);
    VK(r->gpu,
       vkBeginCommandBuffer(r->cmd, &(VkCommandBufferBeginInfo){
                                        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                        .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
                                    }));
    fw_gpu_barrier(r->cmd, r->target.color.image, VK_IMAGE_LAYOUT_UNDEFINED,
                   VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    err = r->impl->record(r->source, &(struct fw_record){
                                         .cmd = r->cmd,
                                         .image = r->target.color.image,
                                         .view = r->target.color.view,
                                         .format = fw_target_format,
                                         .extent = r->extent,
                                         .tone_mapped = true,
                                         .now_ns = now,
                                         .frame_id = ++r->frame_id,
                                     });
    if (err)
        goto error;
    fw_target_record_to_host(r->cmd, &r->target);
    VK(r->gpu, vkEndCommandBuffer(r->cmd));
    VK(r->gpu, vkQueueSubmit2(r->gpu->queue, 1,
                              &(VkSubmitInfo2){
                                  .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                                  .commandBufferInfoCount = 1,
                                  .pCommandBufferInfos =
                                      &(VkCommandBufferSubmitInfo){
                                          .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                          .commandBuffer = r->cmd,
                                      },
                              },
                              r->fence));
    VK(r->gpu, vkWaitForFences(r->gpu->device, 1, &r->fence, VK_TRUE, 5LL * FW_NS_PER_S));
    VK(r->gpu, vkResetFences(r->gpu->device, 1, &r->fence));
error:
    return !err;
}

void floor_render_convert(struct floor_render *r, struct fw_frame *frame)
{
    fw_convert_nv12(&(struct fw_convert){
        .rgba = r->target.pixels,
        .rgba_stride = r->target.stride,
        .width = (int)r->extent.width,
        .height = (int)r->extent.height,
        .luma = frame->plane[0].data,
        .chroma = frame->plane[1].data,
        .luma_stride = frame->plane[0].stride,
        .chroma_stride = frame->plane[1].stride,
    });
}

void floor_render_bgrx(struct floor_render *r, char *pixels, int stride)
{
    for (uint32_t y = 0; y < r->extent.height; y++) {
        const uint32_t *in =
            (const uint32_t *)((const char *)r->target.pixels + y * r->target.stride);
        uint32_t *out = (uint32_t *)(pixels + (size_t)y * (size_t)stride);
        for (uint32_t x = 0; x < r->extent.width; x++)
            out[x] = (in[x] & 0xff00ff00u) | (in[x] & 0xffu) << 16 | (in[x] >> 16 & 0xffu);
    }
}
