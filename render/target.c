// SPDX-License-Identifier: MIT
#include "render/target.h"

#include <sys/mman.h>

#include "render/gpu_priv.h"

static const VkImageUsageFlags import_usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT;

static bool can_import(struct fw_gpu *gpu, VkExtent2D extent)
{
    if (!gpu->host_import) {
        return false;
    }
    const VkPhysicalDeviceExternalImageFormatInfo external = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO,
        .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
    };
    const VkPhysicalDeviceImageFormatInfo2 info = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2,
        .pNext = &external,
        .format = fw_target_format,
        .type = VK_IMAGE_TYPE_2D,
        .tiling = VK_IMAGE_TILING_LINEAR,
        .usage = import_usage,
    };
    VkExternalImageFormatProperties external_props = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES,
    };
    VkImageFormatProperties2 props = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2,
        .pNext = &external_props,
    };
    if (vkGetPhysicalDeviceImageFormatProperties2(gpu->physical, &info, &props)) {
        return false;
    }
    const VkExternalMemoryFeatureFlags features =
        external_props.externalMemoryProperties.externalMemoryFeatures;
    return features & VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT &&
           !(features & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT) &&
           props.imageFormatProperties.maxExtent.width >= extent.width &&
           props.imageFormatProperties.maxExtent.height >= extent.height;
}

static enum fw_err import_memory(struct fw_gpu *gpu, struct fw_target *t)
{
    enum fw_err err = FW_OK;
    VkMemoryRequirements req;
    vkGetImageMemoryRequirements(gpu->device, t->color.image, &req);
    const uint64_t align = gpu->host_import_align;
    t->host_size = (size_t)((req.size + align - 1) / align * align);
    // mmap gives page alignment; a device that wants more is served by the other kind.
    t->host = mmap(NULL, t->host_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (t->host == MAP_FAILED) {
        t->host = NULL;
        return FW_ERR_NOMEM;
    }
    if ((uintptr_t)t->host % align || req.alignment > align) {
        return FW_ERR_UNSUPPORTED;
    }
    VkMemoryHostPointerPropertiesEXT pointer = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT,
    };
    VK(gpu,
       gpu->priv->host_pointer_properties(
           gpu->device, VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT, t->host, &pointer));
    const int type = fw_gpu_memory_type(gpu, req.memoryTypeBits & pointer.memoryTypeBits,
                                        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                            VK_MEMORY_PROPERTY_HOST_COHERENT_BIT |
                                            VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
    if (type < 0) {
        return FW_ERR_UNSUPPORTED;
    }
    const VkImportMemoryHostPointerInfoEXT import = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
        .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
        .pHostPointer = t->host,
    };
    const VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .pNext = &import,
        .allocationSize = t->host_size,
        .memoryTypeIndex = (uint32_t)type,
    };
    VK(gpu, vkAllocateMemory(gpu->device, &info, NULL, &t->color.memory));
    t->color.bytes = t->host_size;
    gpu->used_bytes[t->color.use] += t->color.bytes;
    VK(gpu, vkBindImageMemory(gpu->device, t->color.image, t->color.memory, 0));
error:
    return err;
}

static enum fw_err create_import(struct fw_gpu *gpu, VkExtent2D extent, struct fw_target *t)
{
    enum fw_err err = FW_OK;
    if (!can_import(gpu, extent)) {
        return FW_ERR_UNSUPPORTED;
    }
    t->color = (struct fw_gpu_image){
        .format = fw_target_format,
        .extent = extent,
        .mip_levels = 1,
        .layers = 1,
        .use = FW_GPU_USE_TARGET,
    };
    const VkExternalMemoryImageCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
    };
    const VkImageCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
        .pNext = &external,
        .imageType = VK_IMAGE_TYPE_2D,
        .format = fw_target_format,
        .extent = { extent.width, extent.height, 1 },
        .mipLevels = 1,
        .arrayLayers = 1,
        .samples = VK_SAMPLE_COUNT_1_BIT,
        .tiling = VK_IMAGE_TILING_LINEAR,
        .usage = import_usage,
        .sharingMode = VK_SHARING_MODE_EXCLUSIVE,
    };
    VK(gpu, vkCreateImage(gpu->device, &info, NULL, &t->color.image));
    fw_gpu_set_name(gpu, VK_OBJECT_TYPE_IMAGE, (uint64_t)(uintptr_t)t->color.image, "target");
    err = import_memory(gpu, t);
    if (err) {
        goto error;
    }
    const VkImageViewCreateInfo view = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
        .image = t->color.image,
        .viewType = VK_IMAGE_VIEW_TYPE_2D,
        .format = fw_target_format,
        .subresourceRange = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1 },
    };
    VK(gpu, vkCreateImageView(gpu->device, &view, NULL, &t->color.view));
    VkSubresourceLayout layout;
    vkGetImageSubresourceLayout(gpu->device, t->color.image,
                                &(VkImageSubresource){ VK_IMAGE_ASPECT_COLOR_BIT, 0, 0 }, &layout);
    t->pixels = (const uint8_t *)t->host + layout.offset;
    t->stride = (size_t)layout.rowPitch;
error:
    return err;
}

static enum fw_err create_optimal(struct fw_gpu *gpu, VkExtent2D extent, struct fw_target *t)
{
    const bool compute = t->kind == FW_TARGET_COMPUTE;
    const struct fw_gpu_image_params image = {
        .width = extent.width,
        .height = extent.height,
        .format = fw_target_format,
        .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT |
                 (compute ? VK_IMAGE_USAGE_SAMPLED_BIT : VK_IMAGE_USAGE_TRANSFER_SRC_BIT),
        .use = FW_GPU_USE_TARGET,
        .name = "target",
    };
    enum fw_err err = fw_gpu_image_create(gpu, &image, &t->color);
    if (err || compute) {
        return err;
    }
    t->stride = (size_t)extent.width * 4;
    const struct fw_gpu_buffer_params buffer = {
        .size = t->stride * extent.height,
        .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT,
        .host_visible = true,
        .use = FW_GPU_USE_STAGING,
    };
    err = fw_gpu_buffer_create(gpu, &buffer, &t->readback);
    t->pixels = t->readback.map;
    return err;
}

enum fw_err fw_target_create(struct fw_gpu *gpu, enum fw_target_kind kind, VkExtent2D extent,
                             struct fw_target *out)
{
    *out = (struct fw_target){
        .kind = kind,
        .color.use = FW_GPU_USE_TARGET,
        .readback.use = FW_GPU_USE_STAGING,
    };
    const enum fw_err err = kind == FW_TARGET_IMPORT ? create_import(gpu, extent, out)
                                                     : create_optimal(gpu, extent, out);
    if (err) {
        fw_target_finish(gpu, out);
    }
    return err;
}

void fw_target_finish(struct fw_gpu *gpu, struct fw_target *target)
{
    fw_gpu_buffer_finish(gpu, &target->readback);
    fw_gpu_image_finish(gpu, &target->color);
    // A device that hangs may still write there.
    if (target->host && !gpu->priv->hung) {
        munmap(target->host, target->host_size);
    }
    *target = (struct fw_target){ .kind = target->kind };
}

void fw_target_record_to_host(VkCommandBuffer cmd, const struct fw_target *target)
{
    if (target->kind == FW_TARGET_IMPORT) {
        const VkImageMemoryBarrier2 barrier = {
            .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
            .srcStageMask = VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT,
            .srcAccessMask = VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT,
            .dstStageMask = VK_PIPELINE_STAGE_2_HOST_BIT,
            .dstAccessMask = VK_ACCESS_2_HOST_READ_BIT,
            .oldLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
            .newLayout = VK_IMAGE_LAYOUT_GENERAL, // the one layout the host may read
            .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
            .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
            .image = target->color.image,
            .subresourceRange = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1 },
        };
        vkCmdPipelineBarrier2(cmd, &(VkDependencyInfo){
                                       .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                       .imageMemoryBarrierCount = 1,
                                       .pImageMemoryBarriers = &barrier,
                                   });
        return;
    }
    fw_gpu_barrier(cmd, target->color.image, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                   VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    const VkBufferImageCopy copy = {
        .imageSubresource = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1 },
        .imageExtent = { target->color.extent.width, target->color.extent.height, 1 },
    };
    vkCmdCopyImageToBuffer(cmd, target->color.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                           target->readback.buffer, 1, &copy);
    fw_gpu_host_barrier(cmd, target->readback.buffer, VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
                        VK_ACCESS_2_TRANSFER_WRITE_BIT);
}
