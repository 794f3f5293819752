// SPDX-License-Identifier: MIT
#include "session/cli/view_gpu.h"

#include <stdio.h>

static enum fw_err allocate(struct fw_view_gpu *gpu, const VkMemoryRequirements *needs,
                            VkMemoryPropertyFlags want, VkDeviceMemory *memory)
{
    enum fw_err err = FW_ERR_UNSUPPORTED;
    // A device without memory of its own takes whatever fits.
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < gpu->memory.memoryTypeCount; i++) {
            const VkMemoryPropertyFlags flags = gpu->memory.memoryTypes[i].propertyFlags;
            if (!(needs->memoryTypeBits & 1u << i) || (flags & want) != want)
                continue;
            const VkMemoryAllocateInfo info = {
                .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                .allocationSize = needs->size,
                .memoryTypeIndex = i,
            };
            FW_VIEW_VK(gpu, vkAllocateMemory(gpu->device, &info, NULL, memory));
            return FW_OK;
        }
        want &= ~(VkMemoryPropertyFlags)VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    }
    snprintf(gpu->why, sizeof(gpu->why), "the device has no memory for pictures");
error:
    return err;
}

enum fw_err fw_view_image_create(struct fw_view_gpu *gpu, int width, int height, VkFormat format,
                                 struct fw_view_image *out)
{
    const VkImageCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .imageType = VK_IMAGE_TYPE_2D,
        .format = format,
        .extent = { (uint32_t)width, (uint32_t)height, 1 },
        .mipLevels = 1,
        .arrayLayers = 1,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .usage = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT,
    };
    VkMemoryRequirements needs;
    enum fw_err err;
    *out = (struct fw_view_image){ .width = width, .height = height, .format = format };
    FW_VIEW_VK(gpu, vkCreateImage(gpu->device, &info, NULL, &out->image));
    vkGetImageMemoryRequirements(gpu->device, out->image, &needs);
    err = allocate(gpu, &needs, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, &out->memory);
    if (err)
        goto error;
    FW_VIEW_VK(gpu, vkBindImageMemory(gpu->device, out->image, out->memory, 0));
    const VkImageViewCreateInfo view = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
        .image = out->image,
        .viewType = VK_IMAGE_VIEW_TYPE_2D,
        .format = format,
        .subresourceRange = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1 },
    };
    FW_VIEW_VK(gpu, vkCreateImageView(gpu->device, &view, NULL, &out->view));
    return FW_OK;
error:
    fw_view_image_finish(gpu, out);
    return err;
}

void fw_view_image_finish(struct fw_view_gpu *gpu, struct fw_view_image *image)
{
    vkDestroyImageView(gpu->device, image->view, NULL);
    vkDestroyImage(gpu->device, image->image, NULL);
    vkFreeMemory(gpu->device, image->memory, NULL);
    *image = (struct fw_view_image){ 0 };
}

enum fw_err fw_view_buffer_create(struct fw_view_gpu *gpu, VkDeviceSize size,
                                  struct fw_view_buffer *out)
{
    const VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = size,
        .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
    };
    VkMemoryRequirements needs;
    enum fw_err err;
    *out = (struct fw_view_buffer){ .size = size };
    FW_VIEW_VK(gpu, vkCreateBuffer(gpu->device, &info, NULL, &out->buffer));
    vkGetBufferMemoryRequirements(gpu->device, out->buffer, &needs);
    err = allocate(gpu, &needs,
                   VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                   &out->memory);
    if (err)
        goto error;
    FW_VIEW_VK(gpu, vkBindBufferMemory(gpu->device, out->buffer, out->memory, 0));
    FW_VIEW_VK(gpu, vkMapMemory(gpu->device, out->memory, 0, VK_WHOLE_SIZE, 0, &out->map));
    return FW_OK;
error:
    fw_view_buffer_finish(gpu, out);
    return err;
}

void fw_view_buffer_finish(struct fw_view_gpu *gpu, struct fw_view_buffer *buffer)
{
    vkDestroyBuffer(gpu->device, buffer->buffer, NULL);
    vkFreeMemory(gpu->device, buffer->memory, NULL);
    *buffer = (struct fw_view_buffer){ 0 };
}

void fw_view_gpu_barrier(VkCommandBuffer cmd, const struct fw_view_barrier *b)
{
    const VkImageMemoryBarrier2 image = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
        .srcStageMask = b->after,
        .srcAccessMask = b->written,
        .dstStageMask = b->before,
        .dstAccessMask = b->used,
        .oldLayout = b->from,
        .newLayout = b->to,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = b->image,
        .subresourceRange = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1 },
    };
    vkCmdPipelineBarrier2(cmd, &(VkDependencyInfo){
                                   .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .imageMemoryBarrierCount = 1,
                                   .pImageMemoryBarriers = &image,
                               });
}
