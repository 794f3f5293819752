// SPDX-License-Identifier: MIT
// The passes after the source's: output merge (scale, tone map, overlay) and NV12 by compute.
#pragma once

#include "render/slots.h"
#include "render/target.h"

struct fw_output {
    struct fw_gpu *gpu;
    VkSampler sampler;
    VkDescriptorSetLayout picture_layout, nv12_layout;
    VkPipelineLayout merge_pipe_layout, overlay_pipe_layout, nv12_pipe_layout;
    VkDescriptorPool pool;
    VkDescriptorSet layer_set, overlay_set, nv12_set;
    VkPipeline merge_linear; // tone-maps a scene-linear layer
    VkPipeline merge_copy;   // takes a display-referred layer as it is
    VkPipeline overlay;
    VkPipeline nv12;
    struct fw_gpu_image picture; // of the overlay; no image = none shown
    int overlay_x, overlay_y;
};

// Makes all pipelines.
enum fw_err fw_output_init(struct fw_output *output, struct fw_gpu *gpu);
void fw_output_finish(struct fw_output *output);

// NULL `rgba` takes the overlay away. The device must be idle: no frame is in flight.
enum fw_err fw_output_set_overlay(struct fw_output *output, const uint8_t *rgba, int width,
                                  int height);
// What the merge reads from now on. The same holds.
void fw_output_set_layer(struct fw_output *output, const struct fw_gpu_image *layer);

// `layer` (in COLOR_ATTACHMENT_OPTIMAL) into the target (made COLOR_ATTACHMENT_OPTIMAL), overlay
// included.
void fw_output_record_merge(const struct fw_output *output, VkCommandBuffer cmd,
                            const struct fw_gpu_image *layer, const struct fw_target *target);
// The overlay alone over a target that has been drawn already.
void fw_output_record_overlay(const struct fw_output *output, VkCommandBuffer cmd,
                              const struct fw_target *target);
// The target (in COLOR_ATTACHMENT_OPTIMAL) into the slot's planes.
void fw_output_record_nv12(const struct fw_output *output, VkCommandBuffer cmd,
                           const struct fw_target *target, const struct fw_slot *slot);

// ---- measure.c
// Which of import and read-back gives pixels to the CPU sooner, tried with real frames.
enum fw_target_kind fw_measure_target(struct fw_output *output);
