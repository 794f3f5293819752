// SPDX-License-Identifier: MIT
// A model on the device, and how one frame of it is drawn.
#pragma once

#include <cglm/types.h>
#include <vulkan/vulkan.h>

#include "render/gpu.h"
#include "render/source/scene/env.h"
#include "render/source/scene/model.h"

enum { FW_DRAW_KEYS = 1 << 10, FW_DRAW_WRAPS = 9, FW_DRAW_FIXED = 2 };

// Bits of a material's pipeline key.
enum fw_draw_key {
    FW_KEY_BASE = 1,
    FW_KEY_ROUGH_METAL = 2,
    FW_KEY_OCCLUSION = 4,
    FW_KEY_NORMAL = 8,
    FW_KEY_EMISSIVE = 16,
    FW_KEY_UNLIT = 32,
    FW_KEY_MASK = 64,
    FW_KEY_BLEND = 128,
    FW_KEY_COLOR = 256,     // vertices have colours
    FW_KEY_SECOND_UV = 512, // a texture uses the second set
};

struct fw_draw_item {
    uint32_t mesh, material;
    bool mirrored;
    float centre[3];
    mat4 world;
};

// Pipelines for one number of samples.
struct fw_draw_pipelines {
    VkSampleCountFlagBits samples;
    VkPipeline material[FW_DRAW_KEYS];
    VkPipeline backdrop, ground;
    struct fw_gpu_image color, depth; // color: only with more than one sample
};

// Thread: the session thread.
struct fw_draw {
    struct fw_gpu *gpu;
    VkFormat format; // of the target
    bool tone_mapped;
    struct fw_gpu_buffer vertices, indices, materials, frame;
    struct fw_gpu_image *textures;
    uint32_t texture_count;
    struct fw_gpu_image white, studio, shadow;
    VkSampler samplers[FW_DRAW_WRAPS], clamp;
    VkDescriptorSetLayout frame_layout, material_layout;
    VkPipelineLayout layout;
    VkDescriptorPool pool;
    VkDescriptorSet frame_set;
    VkDescriptorSet *material_sets;
    uint16_t *keys; // per material
    bool *double_sided;
    struct fw_scene_mesh *meshes;
    struct fw_draw_item *items; // opaque and masked first, blended ones from `blend_from`
    uint32_t item_count, blend_from, material_count;
    uint32_t *order;                        // scratch: items sorted for this frame
    float *order_depth;                     // scratch: per item
    struct fw_draw_pipelines plain, smooth; // 1 sample; 4 samples
    float sh[9][4];
    float ground[4];
};

// Uploads everything; the model is not needed afterwards. Accepts being finished half-built.
enum fw_err fw_draw_init(struct fw_draw *draw, struct fw_gpu *gpu,
                         const struct fw_scene_model *model, VkFormat format, bool tone_mapped);
void fw_draw_finish(struct fw_draw *draw);

struct fw_draw_frame {
    VkCommandBuffer cmd;
    VkImageView view;
    VkFormat format;
    VkExtent2D extent;
    bool tone_mapped;
    bool smooth; // four samples per pixel
    bool grid;
    mat4 view_matrix, projection;
    vec3 eye;
    float turn;      // radians about Y
    float centre[3]; // the turntable's axis
};
enum fw_err fw_draw_record(struct fw_draw *draw, const struct fw_draw_frame *frame);

// ---- draw_pipeline.c
enum fw_err fw_draw_pipeline_layout(struct fw_draw *draw);
// Makes what is missing for `samples` and `extent`.
enum fw_err fw_draw_prepare(struct fw_draw *draw, struct fw_draw_pipelines *set, VkExtent2D extent);
void fw_draw_pipelines_finish(struct fw_draw *draw, struct fw_draw_pipelines *set);

// std140, as in shaders/scene_frame.glsl
struct fw_draw_frame_block {
    float view_projection[16];
    float eye[4], ground[4], ground_turn[4];
};
// std140, as in shaders/scene.frag
struct fw_draw_material_block {
    float base[4], emissive[4], factors[4], more[4], uv_rows[2][4];
    int32_t uv_set[4];
};
_Static_assert(sizeof(struct fw_draw_frame_block) == 64 + 3 * 16, "scene_frame.glsl");
_Static_assert(sizeof(struct fw_draw_material_block) == 7 * 16, "scene.frag");
