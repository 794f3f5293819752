// SPDX-License-Identifier: MIT
#include "session/cli/view_present.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "session/cli/view_present_impl.h"
#include "session/cli/view_rgb.h"

enum { ACQUIRE_MS = 100, FENCE_MS = 5000 };

struct fw_view_box fw_view_fit(int width, int height, int picture_width, int picture_height)
{
    if (width <= 0 || height <= 0 || picture_width <= 0 || picture_height <= 0)
        return (struct fw_view_box){ 0, 0, (float)width, (float)height };
    const double across = (double)width / picture_width, down = (double)height / picture_height;
    const double scale = across < down ? across : down;
    const double w = picture_width * scale, h = picture_height * scale;
    return (struct fw_view_box){
        .x = (float)((width - w) / 2),
        .y = (float)((height - h) / 2),
        .width = (float)w,
        .height = (float)h,
    };
}

// ---- what goes to the device

static bool fits(const struct fw_view_present *p, const struct fw_view_picture *in)
{
    return p->chain.can_copy && in->width == p->chain.width && in->height == p->chain.height;
}

static enum fw_err reserve(struct fw_view_gpu *gpu, struct fw_view_buffer *buffer, size_t size)
{
    if (buffer->size >= size)
        return FW_OK;
    fw_view_buffer_finish(gpu, buffer);
    return fw_view_buffer_create(gpu, size, buffer);
}

struct copy {
    VkCommandBuffer cmd;
    struct fw_view_buffer *from;
    size_t offset;
    int pixel; // bytes
};

// Packs rows into the staging buffer and records their copy; the image ends up readable.
static void copy_rows(struct copy *c, struct fw_view_image *to, const void *data, size_t stride)
{
    const size_t row = (size_t)to->width * (size_t)c->pixel;
    uint8_t *out = (uint8_t *)c->from->map + c->offset;
    for (int y = 0; y < to->height; y++)
        memcpy(out + (size_t)y * row, (const uint8_t *)data + (size_t)y * stride, row);
    fw_view_gpu_barrier(c->cmd, &(struct fw_view_barrier){
                                    .image = to->image,
                                    .to = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                                    .after = VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT,
                                    .before = VK_PIPELINE_STAGE_2_COPY_BIT,
                                    .used = VK_ACCESS_2_TRANSFER_WRITE_BIT,
                                });
    const VkBufferImageCopy region = {
        .bufferOffset = c->offset,
        .imageSubresource = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1 },
        .imageExtent = { (uint32_t)to->width, (uint32_t)to->height, 1 },
    };
    vkCmdCopyBufferToImage(c->cmd, c->from->buffer, to->image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                           1, &region);
    fw_view_gpu_barrier(c->cmd, &(struct fw_view_barrier){
                                    .image = to->image,
                                    .from = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                                    .to = VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL,
                                    .after = VK_PIPELINE_STAGE_2_COPY_BIT,
                                    .before = VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT,
                                    .written = VK_ACCESS_2_TRANSFER_WRITE_BIT,
                                    .used = VK_ACCESS_2_SHADER_SAMPLED_READ_BIT,
                                });
    c->offset += (row * (size_t)to->height + 15) & ~(size_t)15;
}

// Images of another size or kind: rare, so it may wait.
static enum fw_err remake(struct fw_view_present *p, struct fw_view_image *image, int width,
                          int height, VkFormat format, bool *changed)
{
    if (image->image && image->width == width && image->height == height && image->format == format)
        return FW_OK;
    enum fw_err err;
    FW_VIEW_VK(p->gpu, vkQueueWaitIdle(p->gpu->queue));
    fw_view_image_finish(p->gpu, image);
    *changed = true;
    err = fw_view_image_create(p->gpu, width, height, format, image);
error:
    return err;
}

static enum fw_err prepare_planes(struct fw_view_present *p, const struct fw_view_picture *in)
{
    const int w = in->coded_width, h = in->coded_height, cw = (w + 1) / 2, ch = (h + 1) / 2;
    const VkFormat second = in->interleaved ? VK_FORMAT_R8G8_UNORM : VK_FORMAT_R8_UNORM;
    bool changed = false;
    enum fw_err err = remake(p, &p->plane[0], w, h, VK_FORMAT_R8_UNORM, &changed);
    if (!err)
        err = remake(p, &p->plane[1], cw, ch, second, &changed);
    if (!err && !in->interleaved)
        err = remake(p, &p->plane[2], cw, ch, VK_FORMAT_R8_UNORM, &changed);
    if (!err && changed) {
        const struct fw_view_image *third = in->interleaved ? &p->plane[1] : &p->plane[2];
        fw_view_draw_bind(
            p, p->picture_set,
            (const VkImageView[3]){ p->plane[0].view, p->plane[1].view, third->view });
    }
    return err;
}

static enum fw_err prepare_panel(struct fw_view_present *p, int index,
                                 const struct fw_view_panel *panel)
{
    bool changed = false;
    const enum fw_err err = remake(p, &p->panel[index].image, panel->width, panel->height,
                                   VK_FORMAT_R8G8B8A8_UNORM, &changed);
    if (!err && changed) {
        const VkImageView view = p->panel[index].image.view;
        fw_view_draw_bind(p, p->panel[index].set, (const VkImageView[3]){ view, view, view });
        p->panel[index].version = panel->version - 1;
    }
    return err;
}

static bool is_bgr(const struct fw_view_present *p)
{
    return p->chain.format.format == VK_FORMAT_B8G8R8A8_UNORM;
}

// The picture as RGB in memory that the device copies from; also an image of it, where it is to be
// scaled.
static enum fw_err prepare_rgb(struct fw_view_present *p, const struct fw_view_picture *in)
{
    const size_t bytes = (size_t)p->shown.width * (size_t)p->shown.height * 4;
    enum fw_err err = FW_OK;
    bool changed = false;
    if (in) {
        // The other one was last read two submissions ago at least, and these are waited for.
        struct fw_view_buffer *to = &p->rgb[p->rgb_now ^ 1];
        p->shown = *in;
        if (to->size < (size_t)in->width * (size_t)in->height * 4) {
            FW_VIEW_VK(p->gpu, vkQueueWaitIdle(p->gpu->queue));
            err = reserve(p->gpu, to, (size_t)in->width * (size_t)in->height * 4);
            if (err)
                return err;
        }
        fw_view_rgb_convert(in, is_bgr(p), to->map);
        p->rgb_now ^= 1;
    } else if (!bytes) {
        return FW_OK;
    }
    if (fits(p, &p->shown))
        return FW_OK;
    err =
        remake(p, &p->plane[0], p->shown.width, p->shown.height, p->chain.format.format, &changed);
    if (!err && changed) {
        const VkImageView view = p->plane[0].view;
        fw_view_draw_bind(p, p->picture_set, (const VkImageView[3]){ view, view, view });
    }
error:
    return err;
}

// Bytes that this scene copies to the device, and the images they go to.
static enum fw_err prepare(struct fw_view_present *p, struct fw_view_slot *slot,
                           const struct fw_view_scene *scene)
{
    enum fw_err err = FW_OK;
    size_t bytes = 0;
    if (p->on_cpu) {
        err = prepare_rgb(p, scene->picture);
    } else if (scene->picture) {
        err = prepare_planes(p, scene->picture);
        bytes += (size_t)scene->picture->coded_width * (size_t)scene->picture->coded_height * 2;
    }
    for (int i = 0; !err && i < FW_VIEW_PANELS; i++) {
        const struct fw_view_panel *panel = &scene->panels[i];
        if (!panel->pixels)
            continue;
        err = prepare_panel(p, i, panel);
        bytes += (size_t)panel->width * (size_t)panel->height * 4;
    }
    return err ? err : reserve(p->gpu, &slot->staging, bytes + 256);
}

static void copy_rgb(struct fw_view_present *p, VkCommandBuffer cmd, VkImage to, VkImageLayout then)
{
    fw_view_gpu_barrier(cmd, &(struct fw_view_barrier){
                                 .image = to,
                                 .to = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                                 .after = VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT |
                                          VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT,
                                 .before = VK_PIPELINE_STAGE_2_COPY_BIT,
                                 .used = VK_ACCESS_2_TRANSFER_WRITE_BIT,
                             });
    const VkBufferImageCopy region = {
        .imageSubresource = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1 },
        .imageExtent = { (uint32_t)p->shown.width, (uint32_t)p->shown.height, 1 },
    };
    vkCmdCopyBufferToImage(cmd, p->rgb[p->rgb_now].buffer, to, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                           1, &region);
    fw_view_gpu_barrier(cmd, &(struct fw_view_barrier){
                                 .image = to,
                                 .from = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                                 .to = then,
                                 .after = VK_PIPELINE_STAGE_2_COPY_BIT,
                                 .before = VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT |
                                           VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT,
                                 .written = VK_ACCESS_2_TRANSFER_WRITE_BIT,
                                 .used = VK_ACCESS_2_SHADER_SAMPLED_READ_BIT |
                                         VK_ACCESS_2_COLOR_ATTACHMENT_READ_BIT |
                                         VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT,
                             });
}

static void upload(struct fw_view_present *p, struct fw_view_slot *slot,
                   const struct fw_view_scene *scene)
{
    struct copy c = { .cmd = slot->cmd, .from = &slot->staging };
    const struct fw_view_picture *in = scene->picture;
    if (in && !p->on_cpu) {
        c.pixel = 1;
        copy_rows(&c, &p->plane[0], in->plane[0], (size_t)in->stride[0]);
        c.pixel = in->interleaved ? 2 : 1;
        copy_rows(&c, &p->plane[1], in->plane[1], (size_t)in->stride[1]);
        if (!in->interleaved)
            copy_rows(&c, &p->plane[2], in->plane[2], (size_t)in->stride[2]);
        p->shown = *in;
    }
    c.pixel = 4;
    for (int i = 0; i < FW_VIEW_PANELS; i++) {
        const struct fw_view_panel *panel = &scene->panels[i];
        if (!panel->pixels || panel->version == p->panel[i].version)
            continue;
        copy_rows(&c, &p->panel[i].image, panel->pixels, (size_t)panel->width * 4);
        p->panel[i].version = panel->version;
    }
}

// ---- a frame

static enum fw_err record(struct fw_view_present *p, struct fw_view_slot *slot, uint32_t image,
                          const struct fw_view_scene *scene)
{
    struct fw_view_gpu *gpu = p->gpu;
    enum fw_err err;
    const VkCommandBufferBeginInfo begin = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
    };
    FW_VIEW_VK(gpu, vkBeginCommandBuffer(slot->cmd, &begin));
    upload(p, slot, scene);
    const bool rgb = p->on_cpu && p->shown.width && !scene->dark, kept = rgb && fits(p, &p->shown);
    if (rgb && !kept)
        copy_rgb(p, slot->cmd, p->plane[0].image, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL);
    if (kept)
        copy_rgb(p, slot->cmd, p->chain.images[image], VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    else
        fw_view_gpu_barrier(slot->cmd,
                            &(struct fw_view_barrier){
                                .image = p->chain.images[image],
                                .to = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                                .after = VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT,
                                .before = VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT,
                                .used = VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT,
                            });
    fw_view_draw(p, slot->cmd, image, scene, kept);
    fw_view_gpu_barrier(slot->cmd, &(struct fw_view_barrier){
                                       .image = p->chain.images[image],
                                       .from = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                                       .to = VK_IMAGE_LAYOUT_PRESENT_SRC_KHR,
                                       .after = VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT,
                                       .written = VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT,
                                   });
    FW_VIEW_VK(gpu, vkEndCommandBuffer(slot->cmd));
error:
    return err;
}

static enum fw_err submit(struct fw_view_present *p, struct fw_view_slot *slot, uint32_t image)
{
    const VkSemaphoreSubmitInfo wait = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
        .semaphore = slot->acquired,
        .stageMask = VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT | VK_PIPELINE_STAGE_2_COPY_BIT,
    };
    const VkSemaphoreSubmitInfo signal = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
        .semaphore = p->chain.drawn[image],
        .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
    };
    const VkSubmitInfo2 info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
        .waitSemaphoreInfoCount = 1,
        .pWaitSemaphoreInfos = &wait,
        .commandBufferInfoCount = 1,
        .pCommandBufferInfos =
            &(VkCommandBufferSubmitInfo){
                .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                .commandBuffer = slot->cmd,
            },
        .signalSemaphoreInfoCount = 1,
        .pSignalSemaphoreInfos = &signal,
    };
    enum fw_err err;
    FW_VIEW_VK(p->gpu, vkResetFences(p->gpu->device, 1, &slot->done));
    FW_VIEW_VK(p->gpu, vkQueueSubmit2(p->gpu->queue, 1, &info, slot->done));
    slot->id = p->next_id + 1;
error:
    return err;
}

static enum fw_err present(struct fw_view_present *p, uint32_t image)
{
    const uint64_t id = ++p->next_id;
    const VkPresentIdKHR ids = {
        .sType = VK_STRUCTURE_TYPE_PRESENT_ID_KHR,
        .swapchainCount = 1,
        .pPresentIds = &id,
    };
    const VkPresentInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
        .pNext = p->gpu->wait_for_present ? &ids : NULL,
        .waitSemaphoreCount = 1,
        .pWaitSemaphores = &p->chain.drawn[image],
        .swapchainCount = 1,
        .pSwapchains = &p->chain.handle,
        .pImageIndices = &image,
    };
    const VkResult result = vkQueuePresentKHR(p->gpu->queue, &info);
    p->stale = result == VK_SUBOPTIMAL_KHR || result == VK_ERROR_OUT_OF_DATE_KHR;
    return result == VK_ERROR_OUT_OF_DATE_KHR
               ? FW_OK
               : fw_view_gpu_check(p->gpu, result, "vkQueuePresentKHR");
}

// FW_ERR_AGAIN: none within the time, or the window has just changed.
static enum fw_err acquire(struct fw_view_present *p, struct fw_view_slot *slot, uint32_t *image)
{
    const VkResult result =
        vkAcquireNextImageKHR(p->gpu->device, p->chain.handle, ACQUIRE_MS * FW_NS_PER_MS,
                              slot->acquired, VK_NULL_HANDLE, image);
    if (result == VK_TIMEOUT || result == VK_NOT_READY)
        return FW_ERR_AGAIN;
    if (result == VK_ERROR_OUT_OF_DATE_KHR) {
        p->stale = true;
        return FW_ERR_AGAIN;
    }
    return fw_view_gpu_check(p->gpu, result, "vkAcquireNextImageKHR");
}

enum fw_err fw_view_present_draw(struct fw_view_present *p, const struct fw_view_scene *scene,
                                 int width, int height, uint64_t *id)
{
    struct fw_view_gpu *gpu = p->gpu;
    struct fw_view_slot *slot = &p->slots[p->turn % FW_VIEW_SLOTS];
    uint32_t image = 0;
    enum fw_err err = FW_OK;
    if (id)
        *id = 0;
    if (p->stale || width != p->chain.width || height != p->chain.height) {
        p->stale = false;
        p->first_id = p->next_id + 1; // of the images that are gone nothing is heard any more
        err = fw_view_swapchain_resize(&p->chain, gpu, width, height);
    }
    if (err || !p->chain.width)
        return err;
    FW_VIEW_VK(gpu, vkWaitForFences(gpu->device, 1, &slot->done, VK_TRUE,
                                    FENCE_MS * (uint64_t)FW_NS_PER_MS));
    err = prepare(p, slot, scene);
    if (!err)
        err = acquire(p, slot, &image);
    if (!err)
        err = record(p, slot, image, scene);
    if (!err)
        err = submit(p, slot, image);
    if (!err)
        err = present(p, image);
    if (err)
        return err;
    p->turn++;
    if (id)
        *id = p->next_id;
error:
    return err;
}

bool fw_view_present_shown(struct fw_view_present *p, uint64_t id)
{
    if (p->gpu->wait_for_present)
        return id < p->first_id ||
               p->gpu->wait_for_present(p->gpu->device, p->chain.handle, id, 0) != VK_TIMEOUT;
    for (int i = 0; i < FW_VIEW_SLOTS; i++)
        if (p->slots[i].id == id)
            return vkGetFenceStatus(p->gpu->device, p->slots[i].done) != VK_NOT_READY;
    return true;
}

bool fw_view_present_exact(const struct fw_view_present *p)
{
    return p->gpu->wait_for_present != NULL;
}

const char *fw_view_present_how(const struct fw_view_present *p)
{
    return fw_view_swapchain_mode(&p->chain);
}
