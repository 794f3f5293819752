// SPDX-License-Identifier: MIT
// For view_present.c and view_draw.c only.
#pragma once

#include "session/cli/view_present.h"
#include "session/cli/view_swapchain.h"

enum { FW_VIEW_SLOTS = 2 };

struct fw_view_present {
    struct fw_view_gpu *gpu;
    struct fw_view_swapchain chain;
    bool stale; // the window's images no longer fit
    uint64_t next_id, first_id;

    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipeline picture_pipeline, panel_pipeline;
    VkSampler sampler;
    VkDescriptorPool pool;
    VkDescriptorSet picture_set;

    VkCommandPool commands;
    struct fw_view_slot {
        VkCommandBuffer cmd;
        VkSemaphore acquired;
        VkFence done;
        uint64_t id; // of what it presented last
        struct fw_view_buffer staging;
    } slots[FW_VIEW_SLOTS];
    unsigned turn;

    bool on_cpu; // pictures are made RGB by the CPU, into one of these in turn
    struct fw_view_buffer rgb[2];
    unsigned rgb_now;

    struct fw_view_image plane[3]; // only the first one, as RGB, when `on_cpu`
    struct fw_view_picture shown;  // sizes and kind of what is there to show; width 0 = nothing yet
    struct {
        struct fw_view_image image;
        VkDescriptorSet set;
        unsigned version;
    } panel[FW_VIEW_PANELS];
};

// ---- view_draw.c
// What a set's three samplers see.
void fw_view_draw_bind(struct fw_view_present *p, VkDescriptorSet set, const VkImageView views[3]);
// Records the pass into the window's image `image`. `kept`: the picture is in it already.
void fw_view_draw(struct fw_view_present *p, VkCommandBuffer cmd, uint32_t image,
                  const struct fw_view_scene *scene, bool kept);
