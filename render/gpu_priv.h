// SPDX-License-Identifier: MIT
// For gpu*.c only.
#pragma once

#include "render/gpu.h"

struct fw_gpu_private {
    char cache_path[512]; // "" = no pipeline cache on disk
    uint64_t cache_hash;  // of what is on disk, so that an unchanged cache is not written again
    VkFence once_fence;
    bool hung; // a wait ran out: the device may still use our objects, so nothing is destroyed
    PFN_vkDestroyDebugUtilsMessengerEXT destroy_messenger;
    PFN_vkSetDebugUtilsObjectNameEXT set_name;
    PFN_vkGetMemoryHostPointerPropertiesEXT host_pointer_properties;
    // --- gpu_clock.c
    bool calibrated;                             // VK_EXT_calibrated_timestamps, enabled
    PFN_vkGetCalibratedTimestampsEXT get_clocks; // NULL = can't be placed on our clock
    uint64_t clock_ticks;                        // both clocks, read at once …
    int64_t clock_ns, clock_read_ns;             // … and when; 0 = not yet
};

// ---- gpu_select.c
// Fills one row; `missing` names the required features the device lacks.
void fw_gpu_describe(VkPhysicalDevice physical, struct fw_gpu_info *out);
// Picks from `infos`. FW_ERR_NOT_FOUND: nothing matches; FW_ERR_UNSUPPORTED: what matches lacks
// features. `why` then says so in one line for the user.
enum fw_err fw_gpu_choose(const struct fw_gpu_info *infos, unsigned count, const char *select,
                          unsigned *index, char *why, size_t why_size);

// ---- gpu_cache.c
enum fw_err fw_gpu_cache_open(struct fw_gpu *gpu, const char *dir);
// Writes the cache when it has changed. For the end, and after a source has made its pipelines.
void fw_gpu_cache_save(struct fw_gpu *gpu);

// ---- gpu_clock.c
// Once the device stands.
void fw_gpu_clock_init(struct fw_gpu *gpu);
// Ticks of a time stamp on the CPU's monotonic clock; 0 = they can't be placed there.
int64_t fw_gpu_clock_ns(struct fw_gpu *gpu, uint64_t ticks, int64_t now_ns);

// ---- gpu_upload.c
// Notes that a bounded wait ran out.
void fw_gpu_hang(struct fw_gpu *gpu);

// ---- gpu_memory.c
// Index of a memory type in `bits` with all of `want`, or -1.
int fw_gpu_memory_type(const struct fw_gpu *gpu, uint32_t bits, VkMemoryPropertyFlags want);
void fw_gpu_set_name(struct fw_gpu *gpu, VkObjectType type, uint64_t object, const char *name);

// ---- gpu_pipeline.c
// Makes what a stage wrote to a buffer visible to the CPU once the work is waited for.
void fw_gpu_host_barrier(VkCommandBuffer cmd, VkBuffer buffer, VkPipelineStageFlags2 stage,
                         VkAccessFlags2 access);
