// SPDX-License-Identifier: MIT
// The Vulkan core that render/ and its sources share: one instance, device and queue per worker
// process, memory counted by use, blocking uploads, and builders with sane defaults.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "base/err.h"
#include "base/gpu_use.h"
#include "base/log.h"

struct fw_gpu_params {
    const char *select; // UUID (hex), index ("0") or part of the name; NULL = best real GPU first
    bool validation;    // Khronos validation layer; every message is logged as an error and counted
    const char *cache_dir; // where the pipeline cache is kept; NULL = nowhere
    struct fw_log *log;
};

// Thread: the session thread only. Fields are read-only outside gpu*.c.
struct fw_gpu {
    struct fw_log *log;
    VkInstance instance;
    VkDebugUtilsMessengerEXT messenger;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    uint32_t queue_family; // graphics + compute + transfer
    VkPhysicalDeviceProperties props;
    VkPhysicalDeviceMemoryProperties memory;
    uint8_t uuid[VK_UUID_SIZE];
    char driver[64];  // VkPhysicalDeviceDriverProperties name and info, shortened
    bool is_cpu;      // lavapipe and the like
    bool host_import; // VK_EXT_external_memory_host usable
    uint64_t host_import_align;
    bool memory_budget;  // VK_EXT_memory_budget usable
    bool anisotropy;     // samplerAnisotropy, enabled
    bool timestamps;     // timestamp queries valid on the queue
    double timestamp_ns; // ns per tick
    unsigned timestamp_bits;
    bool statistics;   // pipeline statistics queries, enabled
    bool parts;        // tells the parts of a pass apart, see gpu_parts.h
    char no_parts[96]; // why not
    VkPipelineCache pipeline_cache;
    VkCommandPool upload_pool;
    uint64_t used_bytes[FW_GPU_USE_COUNT];
    unsigned validation_messages;
    bool lost; // a call returned VK_ERROR_DEVICE_LOST; nothing but destroy works any more
    struct fw_gpu_private *priv;
};

// One row per device for choosing and for `--gpu list`.
struct fw_gpu_info {
    char name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE];
    char uuid[2 * VK_UUID_SIZE + 1]; // hex
    char missing[128]; // required features the device lacks, comma separated; "" = fit
    VkPhysicalDeviceType type;
    bool is_cpu;
    uint32_t api_version;
};

enum fw_err fw_gpu_create(struct fw_gpu **gpu, const struct fw_gpu_params *params);
// Accepts half-built. Saves the pipeline cache. Nulls the pointer.
void fw_gpu_destroy(struct fw_gpu **gpu);

// Maps a failed VkResult to an error, logs "call: VK_ERROR_X" once, and notes a lost device.
enum fw_err fw_gpu_check(struct fw_gpu *gpu, VkResult result, const char *call);

// The one checked call: `goto error` with `err` set when the call fails.
#define VK(gpu, call)                                                                              \
    do {                                                                                           \
        err = fw_gpu_check((gpu), (call), #call);                                                  \
        if (err)                                                                                   \
            goto error;                                                                            \
    } while (0)

// ---- memory ------------------------------------------------------------------------------------

struct fw_gpu_buffer {
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkDeviceSize size;
    void *map; // NULL unless host_visible; coherent
    enum fw_gpu_use use;
};

struct fw_gpu_buffer_params {
    VkDeviceSize size;
    VkBufferUsageFlags usage;
    bool host_visible; // mapped and coherent; cached where the device has it
    enum fw_gpu_use use;
};

struct fw_gpu_image {
    VkImage image;
    VkImageView view;
    VkDeviceMemory memory;
    VkFormat format;
    VkExtent2D extent;
    uint32_t mip_levels;
    uint32_t layers;
    VkDeviceSize bytes;
    enum fw_gpu_use use;
};

struct fw_gpu_image_params {
    uint32_t width, height;
    uint32_t mip_levels; // 0 = 1
    uint32_t layers;     // 0 = 1
    VkFormat format;
    VkImageUsageFlags usage;
    VkSampleCountFlagBits samples; // 0 = 1
    bool cube;                     // 6 layers, cube view
    enum fw_gpu_use use;
    const char *name; // for debuggers; may be NULL
};

// What the driver says of the device's own memory (VK_EXT_memory_budget).
struct fw_gpu_budget {
    uint64_t budget_bytes; // what this process may have before others or it suffer; 0 = not told
    uint64_t used_bytes;   // what it has, by the driver's count
    uint64_t heap_bytes;   // all there is
};
void fw_gpu_get_budget(const struct fw_gpu *gpu, struct fw_gpu_budget *out);

enum fw_err fw_gpu_buffer_create(struct fw_gpu *gpu, const struct fw_gpu_buffer_params *params,
                                 struct fw_gpu_buffer *out);
void fw_gpu_buffer_finish(struct fw_gpu *gpu, struct fw_gpu_buffer *buffer);
// Image with an all-aspects view over all mips and layers, layout UNDEFINED.
enum fw_err fw_gpu_image_create(struct fw_gpu *gpu, const struct fw_gpu_image_params *params,
                                struct fw_gpu_image *out);
void fw_gpu_image_finish(struct fw_gpu *gpu, struct fw_gpu_image *image);

// ---- one-off work, blocking, bounded to 10 s: for open and resize, never in a frame
// --------------

enum fw_err fw_gpu_once_begin(struct fw_gpu *gpu, VkCommandBuffer *cmd);
enum fw_err fw_gpu_once_end(struct fw_gpu *gpu, VkCommandBuffer cmd); // submits and waits
enum fw_err fw_gpu_upload_buffer(struct fw_gpu *gpu, struct fw_gpu_buffer *dst, const void *data,
                                 VkDeviceSize size);
// Uploads all mips and layers (`data`: for each mip, for each layer, tightly packed rows) and
// leaves the image in SHADER_READ_ONLY_OPTIMAL.
enum fw_err fw_gpu_upload_image(struct fw_gpu *gpu, struct fw_gpu_image *dst, const void *data,
                                VkDeviceSize size);

// ---- pipelines
// -----------------------------------------------------------------------------------

struct fw_gpu_spirv {
    const uint32_t *code;
    size_t bytes;
};
#define FW_SPIRV(array) ((struct fw_gpu_spirv){ (array), sizeof(array) })

struct fw_gpu_graphics_params {
    struct fw_gpu_spirv vertex, fragment;
    VkPipelineLayout layout;
    const VkPipelineVertexInputStateCreateInfo *input; // NULL = no vertex buffers
    VkPrimitiveTopology topology;                      // 0 = POINT_LIST: say what you mean
    VkCullModeFlags cull;                              // front face is counter-clockwise
    VkFormat color_format;
    VkFormat depth_format; // UNDEFINED = no depth; else less-or-equal
    bool depth_write;
    bool blend;                                     // straight alpha over
    VkSampleCountFlagBits samples;                  // 0 = 1
    const VkSpecializationInfo *fragment_constants; // may be NULL
    const char *name;
};

// Dynamic state, which the caller sets before the first draw: viewport, scissor, cull mode, front
// face (`cull` above is then only a note of intent). Dynamic rendering, no render pass object.
enum fw_err fw_gpu_graphics_pipeline(struct fw_gpu *gpu,
                                     const struct fw_gpu_graphics_params *params, VkPipeline *out);
// Sets all of that dynamic state: viewport and scissor to the whole extent, front face
// counter-clockwise (in clip space with y down, as Vulkan has it).
void fw_gpu_set_raster(VkCommandBuffer cmd, VkExtent2D extent, VkCullModeFlags cull);
enum fw_err fw_gpu_compute_pipeline(struct fw_gpu *gpu, struct fw_gpu_spirv shader,
                                    VkPipelineLayout layout, VkPipeline *out);

// A full-subresource layout transition with synchronization2. Depth images go by the depth layouts
// (DEPTH_ATTACHMENT_OPTIMAL for formats without stencil); GENERAL and UNDEFINED order everything.
void fw_gpu_barrier(VkCommandBuffer cmd, VkImage image, VkImageLayout from, VkImageLayout to);

// Lists devices without making one. `*count` in: room, out: found.
enum fw_err fw_gpu_list(struct fw_gpu_info *out, unsigned *count, struct fw_log *log);
