// SPDX-License-Identifier: MIT
// Blocking one-off work: uploads and layout changes while something is opened or resized.
#include <string.h>

#include "render/gpu_priv.h"

static const uint64_t once_timeout_ns = 10000000000;

enum fw_err fw_gpu_once_begin(struct fw_gpu *gpu, VkCommandBuffer *cmd)
{
    enum fw_err err = FW_OK;
    *cmd = VK_NULL_HANDLE;
    const VkCommandBufferAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = gpu->upload_pool,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = 1,
    };
    const VkCommandBufferBeginInfo begin = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
    };
    VK(gpu, vkAllocateCommandBuffers(gpu->device, &info, cmd));
    VK(gpu, vkBeginCommandBuffer(*cmd, &begin));
    return FW_OK;

error:
    if (*cmd) {
        vkFreeCommandBuffers(gpu->device, gpu->upload_pool, 1, cmd);
        *cmd = VK_NULL_HANDLE;
    }
    return err;
}

enum fw_err fw_gpu_once_end(struct fw_gpu *gpu, VkCommandBuffer cmd)
{
    enum fw_err err = FW_OK;
    const VkCommandBufferSubmitInfo buffer = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
        .commandBuffer = cmd,
    };
    const VkSubmitInfo2 submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
        .commandBufferInfoCount = 1,
        .pCommandBufferInfos = &buffer,
    };
    VkFence fence = gpu->priv->once_fence;
    VK(gpu, vkEndCommandBuffer(cmd));
    VK(gpu, vkResetFences(gpu->device, 1, &fence));
    VK(gpu, vkQueueSubmit2(gpu->queue, 1, &submit, fence));
    err = fw_gpu_check(gpu, vkWaitForFences(gpu->device, 1, &fence, VK_TRUE, once_timeout_ns),
                       "vkWaitForFences");
    if (err == FW_ERR_TIMEOUT) {
        fw_gpu_hang(gpu);
        return err; // the device may still run it
    }
error:
    vkFreeCommandBuffers(gpu->device, gpu->upload_pool, 1, &cmd);
    return err;
}

void fw_gpu_hang(struct fw_gpu *gpu)
{
    fw_log(gpu->log, FW_LOG_ERROR, "gpu", "the device does not answer: given up");
    gpu->priv->hung = true;
    gpu->lost = true;
}

// A buffer with a copy of the data, and a command buffer to take it from there with. The caller
// finishes the buffer, on error too.
static enum fw_err stage(struct fw_gpu *gpu, const void *data, VkDeviceSize size,
                         struct fw_gpu_buffer *staging, VkCommandBuffer *cmd)
{
    const struct fw_gpu_buffer_params params = {
        .size = size,
        .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
        .host_visible = true,
        .use = FW_GPU_USE_STAGING,
    };
    *staging = (struct fw_gpu_buffer){ 0 };
    const enum fw_err err = fw_gpu_buffer_create(gpu, &params, staging);
    if (err) {
        return err;
    }
    memcpy(staging->map, data, size);
    return fw_gpu_once_begin(gpu, cmd);
}

enum fw_err fw_gpu_upload_buffer(struct fw_gpu *gpu, struct fw_gpu_buffer *dst, const void *data,
                                 VkDeviceSize size)
{
    struct fw_gpu_buffer staging;
    if (size == 0 || size > dst->size) {
        return FW_ERR_INVALID;
    }
    if (dst->map) {
        memcpy(dst->map, data, size);
        return FW_OK;
    }
    VkCommandBuffer cmd;
    enum fw_err err = stage(gpu, data, size, &staging, &cmd);
    if (err) {
        goto error;
    }
    vkCmdCopyBuffer(cmd, staging.buffer, dst->buffer, 1, &(VkBufferCopy){ .size = size });
    err = fw_gpu_once_end(gpu, cmd); // its fence orders all later use
error:
    fw_gpu_buffer_finish(gpu, &staging);
    return err;
}

// Size of one block (a texel, or 4x4 of them) in bytes; 0 = a format we do not upload.
static unsigned block_bytes(VkFormat format, unsigned *edge)
{
    *edge = 1;
    switch (format) {
    case VK_FORMAT_R8_UNORM: return 1;
    case VK_FORMAT_R8G8_UNORM:
    case VK_FORMAT_R16_SFLOAT: return 2;
    case VK_FORMAT_R8G8B8A8_UNORM:
    case VK_FORMAT_R8G8B8A8_SRGB:
    case VK_FORMAT_B8G8R8A8_UNORM:
    case VK_FORMAT_B8G8R8A8_SRGB:
    case VK_FORMAT_A2B10G10R10_UNORM_PACK32:
    case VK_FORMAT_B10G11R11_UFLOAT_PACK32:
    case VK_FORMAT_E5B9G9R9_UFLOAT_PACK32:
    case VK_FORMAT_R16G16_UNORM:
    case VK_FORMAT_R16G16_SFLOAT:
    case VK_FORMAT_R32_SFLOAT: return 4;
    case VK_FORMAT_R16G16B16A16_UNORM:
    case VK_FORMAT_R16G16B16A16_SFLOAT:
    case VK_FORMAT_R32G32_SFLOAT: return 8;
    case VK_FORMAT_R32G32B32A32_SFLOAT: return 16;
    default: break;
    }
    if (format >= VK_FORMAT_BC1_RGB_UNORM_BLOCK && format <= VK_FORMAT_BC7_SRGB_BLOCK) {
        *edge = 4;
        const bool small = format <= VK_FORMAT_BC1_RGBA_SRGB_BLOCK ||
                           format == VK_FORMAT_BC4_UNORM_BLOCK ||
                           format == VK_FORMAT_BC4_SNORM_BLOCK;
        return small ? 8 : 16;
    }
    return 0;
}

enum { MAX_MIPS = 16 };

// Fills one region per mip and returns the bytes they take; 0 = unknown format.
static VkDeviceSize plan_regions(const struct fw_gpu_image *image, VkBufferImageCopy *region)
{
    unsigned edge;
    const unsigned bytes = block_bytes(image->format, &edge);
    VkDeviceSize offset = 0;
    for (uint32_t i = 0; i < image->mip_levels; i++) {
        const uint32_t w = image->extent.width >> i ? image->extent.width >> i : 1;
        const uint32_t h = image->extent.height >> i ? image->extent.height >> i : 1;
        region[i] = (VkBufferImageCopy){
            .bufferOffset = offset,
            .imageSubresource = {
                .aspectMask = VK_IMAGE_ASPECT_COLOR_BIT,
                .mipLevel = i,
                .layerCount = image->layers,
            },
            .imageExtent = { w, h, 1 },
        };
        const VkDeviceSize layer =
            (VkDeviceSize)((w + edge - 1) / edge) * ((h + edge - 1) / edge) * bytes;
        offset += layer * image->layers;
    }
    return offset;
}

enum fw_err fw_gpu_upload_image(struct fw_gpu *gpu, struct fw_gpu_image *dst, const void *data,
                                VkDeviceSize size)
{
    struct fw_gpu_buffer staging;
    VkBufferImageCopy region[MAX_MIPS];
    if (dst->mip_levels > MAX_MIPS) {
        return FW_ERR_INVALID;
    }
    const VkDeviceSize need = plan_regions(dst, region);
    if (need == 0) {
        return FW_ERR_UNSUPPORTED;
    }
    if (need != size) {
        return FW_ERR_INVALID;
    }
    VkCommandBuffer cmd;
    enum fw_err err = stage(gpu, data, size, &staging, &cmd);
    if (err) {
        goto error;
    }
    fw_gpu_barrier(cmd, dst->image, VK_IMAGE_LAYOUT_UNDEFINED,
                   VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    vkCmdCopyBufferToImage(cmd, staging.buffer, dst->image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                           dst->mip_levels, region);
    fw_gpu_barrier(cmd, dst->image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                   VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL);
    err = fw_gpu_once_end(gpu, cmd);
error:
    fw_gpu_buffer_finish(gpu, &staging);
    return err;
}
