// SPDX-License-Identifier: MIT
// For render*.c only.
#pragma once

#include "render/gpu_parts.h"
#include "render/output.h"
#include "render/render.h"
#include "render/source.h"

// What decides how a source's pixels travel.
struct fw_path {
    bool device;      // Vulkan; false = a host source fills the planes
    bool merge;       // source → layer → merge → target; false = source → target
    bool tone_mapped; // what the source writes
    enum fw_target_kind kind;
    VkFormat layer_format;
    VkExtent2D source_extent; // what the source draws
};

// Everything that depends on the size.
struct fw_targets {
    struct fw_target target;
    struct fw_gpu_image layer; // with merge only
};

// What has changed since the last frame, latched when the next one begins.
struct fw_pending {
    bool dirty;        // something other than the source: first frame, size, overlay
    int64_t change_ns; // oldest change, 0 = none
    uint64_t input_id; // newest input applied, kept from frame to frame
    int64_t input_rx_ns;
};

// Time stamps: the begin of each pass and the end of the last, then those within the source's.
enum { FW_QUERY_PARTS = FW_PASS_COUNT + 1, FW_QUERY_COUNT = FW_QUERY_PARTS + FW_PARTS_QUERIES };

// Thread: the session thread.
struct fw_render {
    struct fw_log *log;
    struct fw_gpu *gpu; // NULL with no_device
    struct fw_output output;
    enum fw_target_kind kind; // for device sources; import or read-back were measured
    bool always_merge;
    VkCommandPool command_pool;
    VkCommandBuffer cmd;
    VkSemaphore timeline;
    uint64_t timeline_value; // last submitted
    VkQueryPool queries;     // null = no timestamps
    VkQueryPool statistics;  // null = none
    bool timed;              // this frame writes them
    unsigned untimed_left;   // frames until one is timed again
    int64_t render_delay_ns, convert_delay_ns;
    // --- of the open source
    const struct fw_source_impl *impl;
    struct fw_source *source;
    int width, height, scale_percent;
    struct fw_path path;
    struct fw_targets targets;
    struct fw_slots slots;
    struct fw_pending pending;
};

// ---- render_frame.c
enum fw_err fw_render_init_frames(struct fw_render *render);
void fw_render_finish_frames(struct fw_render *render);
