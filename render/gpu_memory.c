// SPDX-License-Identifier: MIT
// Buffers and images, each with memory of its own: a session has tens of them, not thousands.
#include <stdlib.h>
#include <string.h>

#include "render/gpu_priv.h"

int fw_gpu_memory_type(const struct fw_gpu *gpu, uint32_t bits, VkMemoryPropertyFlags want)
{
    for (uint32_t i = 0; i < gpu->memory.memoryTypeCount; i++) {
        if (bits & 1u << i && (gpu->memory.memoryTypes[i].propertyFlags & want) == want) {
            return (int)i;
        }
    }
    return -1;
}

void fw_gpu_set_name(struct fw_gpu *gpu, VkObjectType type, uint64_t object, const char *name)
{
    if (!gpu->priv->set_name || !name) {
        return;
    }
    const VkDebugUtilsObjectNameInfoEXT info = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
        .objectType = type,
        .objectHandle = object,
        .pObjectName = name,
    };
    gpu->priv->set_name(gpu->device, &info); // only debuggers would miss it
}

static enum fw_err allocate(struct fw_gpu *gpu, const VkMemoryRequirements *req, bool host,
                            VkDeviceMemory *out)
{
    enum fw_err err = FW_OK;
    const VkMemoryPropertyFlags coherent =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    // Reading back through uncached memory is tens of times slower.
    int type = fw_gpu_memory_type(gpu, req->memoryTypeBits,
                                  host ? coherent | VK_MEMORY_PROPERTY_HOST_CACHED_BIT
                                       : VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    if (type < 0) {
        type = fw_gpu_memory_type(gpu, req->memoryTypeBits, host ? coherent : 0);
    }
    if (type < 0) {
        fw_log(gpu->log, FW_LOG_ERROR, "gpu", "no fitting memory type");
        return FW_ERR_UNSUPPORTED;
    }
    const VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .allocationSize = req->size,
        .memoryTypeIndex = (uint32_t)type,
    };
    VK(gpu, vkAllocateMemory(gpu->device, &info, NULL, out));
error:
    return err;
}

enum fw_err fw_gpu_buffer_create(struct fw_gpu *gpu, const struct fw_gpu_buffer_params *params,
                                 struct fw_gpu_buffer *out)
{
    enum fw_err err = FW_OK;
    *out = (struct fw_gpu_buffer){ .use = params->use };
    const VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = params->size,
        // A host-visible buffer is filled through its map, any other by a copy.
        .usage = params->usage | (params->host_visible ? 0 : VK_BUFFER_USAGE_TRANSFER_DST_BIT),
        .sharingMode = VK_SHARING_MODE_EXCLUSIVE,
    };
    if (params->size == 0) {
        return FW_ERR_INVALID;
    }
    VK(gpu, vkCreateBuffer(gpu->device, &info, NULL, &out->buffer));
    VkMemoryRequirements req;
    vkGetBufferMemoryRequirements(gpu->device, out->buffer, &req);
    err = allocate(gpu, &req, params->host_visible, &out->memory);
    if (err) {
        goto error;
    }
    out->size = req.size;
    gpu->used_bytes[out->use] += out->size;
    VK(gpu, vkBindBufferMemory(gpu->device, out->buffer, out->memory, 0));
    if (params->host_visible) {
        VK(gpu, vkMapMemory(gpu->device, out->memory, 0, VK_WHOLE_SIZE, 0, &out->map));
    }
    return FW_OK;

error:
    fw_gpu_buffer_finish(gpu, out);
    return err;
}

void fw_gpu_buffer_finish(struct fw_gpu *gpu, struct fw_gpu_buffer *buffer)
{
    if (!gpu->priv->hung) {
        vkDestroyBuffer(gpu->device, buffer->buffer, NULL);
        vkFreeMemory(gpu->device, buffer->memory, NULL); // unmaps as well
    }
    gpu->used_bytes[buffer->use] -= buffer->size;
    *buffer = (struct fw_gpu_buffer){ .use = buffer->use };
}

void fw_gpu_get_budget(const struct fw_gpu *gpu, struct fw_gpu_budget *out)
{
    *out = (struct fw_gpu_budget){ 0 };
    if (!gpu->memory_budget) {
        return;
    }
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT,
    };
    VkPhysicalDeviceMemoryProperties2 memory = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2,
        .pNext = &budget,
    };
    vkGetPhysicalDeviceMemoryProperties2(gpu->physical, &memory);
    for (uint32_t i = 0; i < memory.memoryProperties.memoryHeapCount; i++) {
        if (memory.memoryProperties.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) {
            out->budget_bytes += budget.heapBudget[i];
            out->used_bytes += budget.heapUsage[i];
            out->heap_bytes += memory.memoryProperties.memoryHeaps[i].size;
        }
    }
}

static VkImageAspectFlags aspects(VkFormat format)
{
    switch (format) {
    case VK_FORMAT_D16_UNORM:
    case VK_FORMAT_X8_D24_UNORM_PACK32:
    case VK_FORMAT_D32_SFLOAT: return VK_IMAGE_ASPECT_DEPTH_BIT;
    case VK_FORMAT_D24_UNORM_S8_UINT:
    case VK_FORMAT_D32_SFLOAT_S8_UINT:
        return VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT;
    default: return VK_IMAGE_ASPECT_COLOR_BIT;
    }
}

static enum fw_err create_view(struct fw_gpu *gpu, bool cube, struct fw_gpu_image *image)
{
    enum fw_err err = FW_OK;
    VkImageViewType type = VK_IMAGE_VIEW_TYPE_2D;
    if (cube) {
        type = VK_IMAGE_VIEW_TYPE_CUBE;
    } else if (image->layers > 1) {
        type = VK_IMAGE_VIEW_TYPE_2D_ARRAY;
    }
    const VkImageViewCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
        .image = image->image,
        .viewType = type,
        .format = image->format,
        .subresourceRange = {
            .aspectMask = aspects(image->format),
            .levelCount = image->mip_levels,
            .layerCount = image->layers,
        },
    };
    VK(gpu, vkCreateImageView(gpu->device, &info, NULL, &image->view));
error:
    return err;
}

enum fw_err fw_gpu_image_create(struct fw_gpu *gpu, const struct fw_gpu_image_params *params,
                                struct fw_gpu_image *out)
{
    enum fw_err err = FW_OK;
    *out = (struct fw_gpu_image){
        .format = params->format,
        .extent = { params->width, params->height },
        .mip_levels = params->mip_levels ? params->mip_levels : 1,
        .layers = params->cube     ? 6
                  : params->layers ? params->layers
                                   : 1,
        .use = params->use,
    };
    const uint32_t limit = gpu->props.limits.maxImageDimension2D;
    if (params->width == 0 || params->height == 0) {
        return FW_ERR_INVALID;
    }
    if (params->width > limit || params->height > limit ||
        out->layers > gpu->props.limits.maxImageArrayLayers) {
        fw_log(gpu->log, FW_LOG_ERROR, "gpu", "image %ux%u: the device's limit is %u",
               params->width, params->height, limit);
        return FW_ERR_TOO_LARGE;
    }
    const VkImageCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .flags = params->cube ? VK_IMAGE_CREATE_CUBE_COMPATIBLE_BIT : 0,
        .imageType = VK_IMAGE_TYPE_2D,
        .format = params->format,
        .extent = { params->width, params->height, 1 },
        .mipLevels = out->mip_levels,
        .arrayLayers = out->layers,
        .samples = params->samples ? params->samples : VK_SAMPLE_COUNT_1_BIT,
        .tiling = VK_IMAGE_TILING_OPTIMAL,
        .usage = params->usage,
        .sharingMode = VK_SHARING_MODE_EXCLUSIVE,
    };
    VK(gpu, vkCreateImage(gpu->device, &info, NULL, &out->image));
    fw_gpu_set_name(gpu, VK_OBJECT_TYPE_IMAGE, (uint64_t)(uintptr_t)out->image, params->name);
    VkMemoryRequirements req;
    vkGetImageMemoryRequirements(gpu->device, out->image, &req);
    err = allocate(gpu, &req, false, &out->memory);
    if (err) {
        goto error;
    }
    out->bytes = req.size;
    gpu->used_bytes[out->use] += out->bytes;
    VK(gpu, vkBindImageMemory(gpu->device, out->image, out->memory, 0));
    err = create_view(gpu, params->cube, out);
    if (err) {
        goto error;
    }
    return FW_OK;

error:
    fw_gpu_image_finish(gpu, out);
    return err;
}

void fw_gpu_image_finish(struct fw_gpu *gpu, struct fw_gpu_image *image)
{
    if (!gpu->priv->hung) {
        vkDestroyImageView(gpu->device, image->view, NULL);
        vkDestroyImage(gpu->device, image->image, NULL);
        vkFreeMemory(gpu->device, image->memory, NULL);
    }
    gpu->used_bytes[image->use] -= image->bytes;
    *image = (struct fw_gpu_image){ .use = image->use };
}
