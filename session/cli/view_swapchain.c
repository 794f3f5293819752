// SPDX-License-Identifier: MIT
#include "session/cli/view_swapchain.h"

#include <stdio.h>
#include <string.h>

enum { FORMATS_MAX = 64, MODES_MAX = 16 };

// A format that takes what we write as it is: pictures come encoded for the screen already.
static enum fw_err choose_format(struct fw_view_swapchain *chain, struct fw_view_gpu *gpu)
{
    VkSurfaceFormatKHR formats[FORMATS_MAX];
    uint32_t count = FORMATS_MAX;
    const VkResult result =
        vkGetPhysicalDeviceSurfaceFormatsKHR(gpu->physical, gpu->surface, &count, formats);
    if (result != VK_SUCCESS && result != VK_INCOMPLETE)
        return fw_view_gpu_check(gpu, result, "vkGetPhysicalDeviceSurfaceFormatsKHR");
    for (uint32_t i = 0; i < count; i++) {
        if (formats[i].colorSpace == VK_COLOR_SPACE_SRGB_NONLINEAR_KHR &&
            (formats[i].format == VK_FORMAT_B8G8R8A8_UNORM ||
             formats[i].format == VK_FORMAT_R8G8B8A8_UNORM)) {
            chain->format = formats[i];
            return FW_OK;
        }
    }
    snprintf(gpu->why, sizeof(gpu->why), "the display takes no 8-bit RGB pictures");
    return FW_ERR_UNSUPPORTED;
}

// The newest picture next, without tearing; else at once; else in turn.
static void choose_mode(struct fw_view_swapchain *chain, struct fw_view_gpu *gpu)
{
    static const VkPresentModeKHR wanted[] = { VK_PRESENT_MODE_MAILBOX_KHR,
                                               VK_PRESENT_MODE_IMMEDIATE_KHR };
    VkPresentModeKHR modes[MODES_MAX];
    uint32_t count = MODES_MAX;
    const VkResult result =
        vkGetPhysicalDeviceSurfacePresentModesKHR(gpu->physical, gpu->surface, &count, modes);
    chain->mode = VK_PRESENT_MODE_FIFO_KHR;
    for (size_t w = 0; result >= 0 && w < sizeof(wanted) / sizeof(wanted[0]); w++)
        for (uint32_t i = 0; i < count; i++)
            if (modes[i] == wanted[w]) {
                chain->mode = wanted[w];
                return;
            }
}

enum fw_err fw_view_swapchain_choose(struct fw_view_swapchain *chain, struct fw_view_gpu *gpu)
{
    choose_mode(chain, gpu);
    return choose_format(chain, gpu);
}

static void drop_images(struct fw_view_swapchain *chain, struct fw_view_gpu *gpu)
{
    for (uint32_t i = 0; i < chain->count; i++) {
        vkDestroyImageView(gpu->device, chain->views[i], NULL);
        vkDestroySemaphore(gpu->device, chain->drawn[i], NULL);
    }
    memset(chain->views, 0, sizeof(chain->views));
    memset(chain->drawn, 0, sizeof(chain->drawn));
    chain->count = 0;
}

static enum fw_err take_images(struct fw_view_swapchain *chain, struct fw_view_gpu *gpu)
{
    enum fw_err err;
    uint32_t count = FW_VIEW_SWAPCHAIN_IMAGES;
    FW_VIEW_VK(gpu, vkGetSwapchainImagesKHR(gpu->device, chain->handle, &count, chain->images));
    for (uint32_t i = 0; i < count; i++) {
        const VkImageViewCreateInfo view = {
            .sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO,
            .image = chain->images[i],
            .viewType = VK_IMAGE_VIEW_TYPE_2D,
            .format = chain->format.format,
            .subresourceRange = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1 },
        };
        const VkSemaphoreCreateInfo semaphore = {
            .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
        };
        chain->count = i + 1;
        FW_VIEW_VK(gpu, vkCreateImageView(gpu->device, &view, NULL, &chain->views[i]));
        FW_VIEW_VK(gpu, vkCreateSemaphore(gpu->device, &semaphore, NULL, &chain->drawn[i]));
    }
error:
    return err;
}

static uint32_t clamp(uint32_t v, uint32_t low, uint32_t high)
{
    return v < low ? low : v > high ? high : v;
}

// Modes in which nothing waits need one image more: one shown, one queued, one drawn into.
static uint32_t images_wanted(const struct fw_view_swapchain *chain,
                              const VkSurfaceCapabilitiesKHR *caps)
{
    const uint32_t least = chain->mode == VK_PRESENT_MODE_FIFO_KHR ? 2 : 3;
    const uint32_t want = caps->minImageCount > least ? caps->minImageCount : least;
    return caps->maxImageCount && want > caps->maxImageCount ? caps->maxImageCount : want;
}

enum fw_err fw_view_swapchain_resize(struct fw_view_swapchain *chain, struct fw_view_gpu *gpu,
                                     int width, int height)
{
    VkSurfaceCapabilitiesKHR caps;
    const VkSwapchainKHR old = chain->handle;
    enum fw_err err;
    FW_VIEW_VK(gpu, vkGetPhysicalDeviceSurfaceCapabilitiesKHR(gpu->physical, gpu->surface, &caps));
    VkExtent2D extent = caps.currentExtent;
    if (extent.width == UINT32_MAX) {
        extent.width = clamp((uint32_t)width, caps.minImageExtent.width, caps.maxImageExtent.width);
        extent.height =
            clamp((uint32_t)height, caps.minImageExtent.height, caps.maxImageExtent.height);
    }
    chain->can_copy = caps.supportedUsageFlags & VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    chain->width = chain->height = 0;
    if (!extent.width || !extent.height)
        return FW_OK;
    FW_VIEW_VK(gpu, vkQueueWaitIdle(gpu->queue));
    drop_images(chain, gpu);
    const VkSwapchainCreateInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR,
        .surface = gpu->surface,
        .minImageCount = images_wanted(chain, &caps),
        .imageFormat = chain->format.format,
        .imageColorSpace = chain->format.colorSpace,
        .imageExtent = extent,
        .imageArrayLayers = 1,
        .imageUsage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT |
                      (chain->can_copy ? VK_IMAGE_USAGE_TRANSFER_DST_BIT : 0),
        .preTransform = caps.currentTransform,
        .compositeAlpha = caps.supportedCompositeAlpha & VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR
                              ? VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR
                              : VK_COMPOSITE_ALPHA_INHERIT_BIT_KHR,
        .presentMode = chain->mode,
        .clipped = VK_TRUE,
        .oldSwapchain = old,
    };
    chain->handle = VK_NULL_HANDLE;
    err = fw_view_gpu_check(gpu, vkCreateSwapchainKHR(gpu->device, &info, NULL, &chain->handle),
                            "vkCreateSwapchainKHR");
    vkDestroySwapchainKHR(gpu->device, old, NULL);
    if (!err)
        err = take_images(chain, gpu);
    if (!err) {
        chain->width = (int)extent.width;
        chain->height = (int)extent.height;
    }
error:
    return err;
}

void fw_view_swapchain_finish(struct fw_view_swapchain *chain, struct fw_view_gpu *gpu)
{
    drop_images(chain, gpu);
    vkDestroySwapchainKHR(gpu->device, chain->handle, NULL);
    chain->handle = VK_NULL_HANDLE;
}

const char *fw_view_swapchain_mode(const struct fw_view_swapchain *chain)
{
    switch (chain->mode) {
    case VK_PRESENT_MODE_MAILBOX_KHR: return "mailbox";
    case VK_PRESENT_MODE_IMMEDIATE_KHR: return "immediate";
    default: return "fifo";
    }
}
