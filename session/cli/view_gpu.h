// SPDX-License-Identifier: MIT
// The viewer's own small piece of Vulkan: one instance, one surface, one device that can present on
// it. (render/gpu.h is for drawing without a display and stays in its folder.)
#pragma once

#define GLFW_INCLUDE_VULKAN
#include <GLFW/glfw3.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/log.h"

// Thread: the one that has the window. Fields are read-only outside view_gpu.c.
struct fw_view_gpu {
    struct fw_log *log;
    VkInstance instance;
    VkDebugUtilsMessengerEXT messenger;
    VkSurfaceKHR surface;
    VkPhysicalDevice physical;
    VkPhysicalDeviceProperties props;
    VkPhysicalDeviceMemoryProperties memory;
    VkDevice device;
    VkQueue queue;
    uint32_t family;
    bool is_cpu;                              // lavapipe and the like
    PFN_vkWaitForPresentKHR wait_for_present; // NULL: the device can't tell when it was shown
    unsigned validation_messages;
    char why[256]; // in words, after a failure
};

struct fw_view_gpu_params {
    GLFWwindow *window;
    const char *select; // part of the device's name; NULL = the best that can present here
    bool validation;
    struct fw_log *log;
};

struct fw_view_image {
    VkImage image;
    VkImageView view;
    VkDeviceMemory memory;
    int width, height;
    VkFormat format;
};

struct fw_view_buffer {
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkDeviceSize size;
    void *map; // coherent
};

enum fw_err fw_view_gpu_create(struct fw_view_gpu *gpu, const struct fw_view_gpu_params *params);
void fw_view_gpu_finish(struct fw_view_gpu *gpu); // accepts half-built

// FW_OK for success and for VK_SUBOPTIMAL_KHR; logs and puts into words what else there is.
enum fw_err fw_view_gpu_check(struct fw_view_gpu *gpu, VkResult result, const char *call);

// `goto error` with `err` set when the call fails.
#define FW_VIEW_VK(gpu, call)                                                                      \
    do {                                                                                           \
        err = fw_view_gpu_check((gpu), (call), #call);                                             \
        if (err)                                                                                   \
            goto error;                                                                            \
    } while (0)

// A sampled image that copies go to, layout UNDEFINED.
enum fw_err fw_view_image_create(struct fw_view_gpu *gpu, int width, int height, VkFormat format,
                                 struct fw_view_image *out);
void fw_view_image_finish(struct fw_view_gpu *gpu, struct fw_view_image *image);
// Host-visible, mapped, to copy from.
enum fw_err fw_view_buffer_create(struct fw_view_gpu *gpu, VkDeviceSize size,
                                  struct fw_view_buffer *out);
void fw_view_buffer_finish(struct fw_view_gpu *gpu, struct fw_view_buffer *buffer);

struct fw_view_barrier {
    VkImage image;
    VkImageLayout from, to;
    VkPipelineStageFlags2 after, before;
    VkAccessFlags2 written, used;
};
void fw_view_gpu_barrier(VkCommandBuffer cmd, const struct fw_view_barrier *barrier);
