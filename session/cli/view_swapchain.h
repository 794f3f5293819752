// SPDX-License-Identifier: MIT
// The images of the window: made anew when the window changes, presented without waiting for one
// another where the display can.
#pragma once

#include "session/cli/view_gpu.h"

enum { FW_VIEW_SWAPCHAIN_IMAGES = 8 };

// Thread: the one that has the window.
struct fw_view_swapchain {
    VkSwapchainKHR handle;
    VkSurfaceFormatKHR format;
    VkPresentModeKHR mode;
    bool can_copy;     // pictures may be copied into its images
    int width, height; // 0 = none: the window is minimised
    uint32_t count;
    VkImage images[FW_VIEW_SWAPCHAIN_IMAGES];
    VkImageView views[FW_VIEW_SWAPCHAIN_IMAGES];
    VkSemaphore drawn[FW_VIEW_SWAPCHAIN_IMAGES]; // signalled when the image may be presented
};

// Picks format and mode. FW_ERR_UNSUPPORTED in words.
enum fw_err fw_view_swapchain_choose(struct fw_view_swapchain *chain, struct fw_view_gpu *gpu);
// (Re)makes the images for a framebuffer of that size; waits for what is on its way.
enum fw_err fw_view_swapchain_resize(struct fw_view_swapchain *chain, struct fw_view_gpu *gpu,
                                     int width, int height);
void fw_view_swapchain_finish(struct fw_view_swapchain *chain, struct fw_view_gpu *gpu);
const char *fw_view_swapchain_mode(const struct fw_view_swapchain *chain);
