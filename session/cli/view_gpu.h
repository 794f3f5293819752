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
struct view_gpu {
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

struct view_gpu_params {
    GLFWwindow *window;
    const char *select; // part of the device's name; NULL = the best that can present here
    bool validation;
    struct fw_log *log;
};

struct view_image {
    VkImage image;
    VkImageView view;
    VkDeviceMemory memory;
    int width, height;
    VkFormat format;
};

struct view_buffer {
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkDeviceSize size;
    void *map; // coherent
};

enum fw_err view_gpu_create(struct view_gpu *gpu, const struct view_gpu_params *params);
void view_gpu_finish(struct view_gpu *gpu); // accepts half-built

// FW_OK for success and for VK_SUBOPTIMAL_KHR; logs and puts into words what else there is.
enum fw_err view_gpu_check(struct view_gpu *gpu, VkResult result, const char *call);

// `goto error` with `err` set when the call fails.
#define VIEW_VK(gpu, call)                                                                         \
    do {                                                                                           \
        err = view_gpu_check((gpu), (call), #call);                                                \
        if (err)                                                                                   \
            goto error;                                                                            \
    } while (0)

// A sampled image that copies go to, layout UNDEFINED.
enum fw_err view_image_create(struct view_gpu *gpu, int width, int height, VkFormat format,
                              struct view_image *out);
void view_image_finish(struct view_gpu *gpu, struct view_image *image);
// Host-visible, mapped, to copy from.
enum fw_err view_buffer_create(struct view_gpu *gpu, VkDeviceSize size, struct view_buffer *out);
void view_buffer_finish(struct view_gpu *gpu, struct view_buffer *buffer);

struct view_barrier {
    VkImage image;
    VkImageLayout from, to;
    VkPipelineStageFlags2 after, before;
    VkAccessFlags2 written, used;
};
void view_gpu_barrier(VkCommandBuffer cmd, const struct view_barrier *barrier);
