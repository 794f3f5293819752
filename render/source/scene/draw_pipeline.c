// SPDX-License-Identifier: MIT
#include <stddef.h>
#include <string.h>

#include "render/source/scene/draw.h"

#include "scene.frag.spv.h"
#include "scene.vert.spv.h"
#include "scene_backdrop.frag.spv.h"
#include "scene_backdrop.vert.spv.h"
#include "scene_ground.frag.spv.h"
#include "scene_ground.vert.spv.h"

static enum fw_err set_layout(struct fw_draw *draw, const VkDescriptorSetLayoutBinding *bindings,
                              uint32_t count, VkDescriptorSetLayout *out)
{
    enum fw_err err = FW_OK;
    const VkDescriptorSetLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = count,
        .pBindings = bindings,
    };
    VK(draw->gpu, vkCreateDescriptorSetLayout(draw->gpu->device, &info, NULL, out));
error:
    return err;
}

enum fw_err fw_draw_pipeline_layout(struct fw_draw *draw)
{
    VkDescriptorSetLayoutBinding bindings[1 + FW_SLOT_COUNT];
    for (uint32_t i = 0; i < 1 + FW_SLOT_COUNT; i++) {
        bindings[i] = (VkDescriptorSetLayoutBinding){
            .binding = i,
            .descriptorType =
                i ? VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER : VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
            .descriptorCount = 1,
            .stageFlags = VK_SHADER_STAGE_FRAGMENT_BIT | (i ? 0 : VK_SHADER_STAGE_VERTEX_BIT),
        };
    }
    enum fw_err err = set_layout(draw, bindings, 3, &draw->frame_layout);
    if (!err)
        err = set_layout(draw, bindings, 1 + FW_SLOT_COUNT, &draw->material_layout);
    if (err)
        return err;
    const VkDescriptorSetLayout sets[] = { draw->frame_layout, draw->material_layout };
    const VkPushConstantRange push = {
        .stageFlags = VK_SHADER_STAGE_VERTEX_BIT,
        .size = sizeof(float) * 16,
    };
    const VkPipelineLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .setLayoutCount = 2,
        .pSetLayouts = sets,
        .pushConstantRangeCount = 1,
        .pPushConstantRanges = &push,
    };
    VK(draw->gpu, vkCreatePipelineLayout(draw->gpu->device, &info, NULL, &draw->layout));
error:
    return err;
}

// In the order of the constant_ids of scene.frag.
struct constants {
    VkBool32 tone_mapped, base, rough_metal, occlusion, normal, emissive, unlit;
    int32_t alpha_mode;
    float top_lod;
    VkBool32 color, second_uv;
    float sh[9][3];
};

static enum fw_err material_pipeline(struct fw_draw *draw, const struct fw_draw_pipelines *set,
                                     unsigned key, VkPipeline *out)
{
    const VkVertexInputBindingDescription binding = {
        .stride = sizeof(struct fw_scene_vertex),
        .inputRate = VK_VERTEX_INPUT_RATE_VERTEX,
    };
    const VkVertexInputAttributeDescription attributes[] = {
        { 0, 0, VK_FORMAT_R32G32B32_SFLOAT, offsetof(struct fw_scene_vertex, position) },
        { 1, 0, VK_FORMAT_R16G16B16A16_SNORM, offsetof(struct fw_scene_vertex, normal) },
        { 2, 0, VK_FORMAT_R16G16B16A16_SNORM, offsetof(struct fw_scene_vertex, tangent) },
        { 3, 0, VK_FORMAT_R32G32B32A32_SFLOAT, offsetof(struct fw_scene_vertex, uv) },
        { 4, 0, VK_FORMAT_R16G16B16A16_UNORM, offsetof(struct fw_scene_vertex, color) },
    };
    const VkPipelineVertexInputStateCreateInfo input = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
        .vertexBindingDescriptionCount = 1,
        .pVertexBindingDescriptions = &binding,
        .vertexAttributeDescriptionCount = sizeof(attributes) / sizeof(attributes[0]),
        .pVertexAttributeDescriptions = attributes,
    };
    struct constants constants = {
        .tone_mapped = draw->tone_mapped,
        .base = (key & FW_KEY_BASE) != 0,
        .rough_metal = (key & FW_KEY_ROUGH_METAL) != 0,
        .occlusion = (key & FW_KEY_OCCLUSION) != 0,
        .normal = (key & FW_KEY_NORMAL) != 0,
        .emissive = (key & FW_KEY_EMISSIVE) != 0,
        .unlit = (key & FW_KEY_UNLIT) != 0,
        .alpha_mode = key & FW_KEY_MASK    ? 1
                      : key & FW_KEY_BLEND ? 2
                                           : 0,
        .top_lod = FW_ENV_MIPS - 1,
        .color = (key & FW_KEY_COLOR) != 0,
        .second_uv = (key & FW_KEY_SECOND_UV) != 0,
    };
    for (int i = 0; i < 9; i++)
        memcpy(constants.sh[i], draw->sh[i], sizeof(constants.sh[i]));
    enum { COUNT = sizeof(constants) / 4 };
    VkSpecializationMapEntry entries[COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        entries[i] = (VkSpecializationMapEntry){ i, i * 4, 4 };
    const VkSpecializationInfo special = { COUNT, entries, sizeof(constants), &constants };
    return fw_gpu_graphics_pipeline(draw->gpu,
                                    &(struct fw_gpu_graphics_params){
                                        .vertex = FW_SPIRV(fw_spv_scene_vert),
                                        .fragment = FW_SPIRV(fw_spv_scene_frag),
                                        .layout = draw->layout,
                                        .input = &input,
                                        .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
                                        .color_format = draw->format,
                                        .depth_format = VK_FORMAT_D32_SFLOAT,
                                        .depth_write = !(key & FW_KEY_BLEND),
                                        .blend = (key & FW_KEY_BLEND) != 0,
                                        .samples = set->samples,
                                        .fragment_constants = &special,
                                        .name = "scene material",
                                    },
                                    out);
}

static enum fw_err fixed_pipelines(struct fw_draw *draw, struct fw_draw_pipelines *set)
{
    const VkBool32 tone_mapped = draw->tone_mapped;
    const VkSpecializationMapEntry entry = { 0, 0, sizeof(tone_mapped) };
    const VkSpecializationInfo special = { 1, &entry, sizeof(tone_mapped), &tone_mapped };
    struct fw_gpu_graphics_params params = {
        .vertex = FW_SPIRV(fw_spv_scene_backdrop_vert),
        .fragment = FW_SPIRV(fw_spv_scene_backdrop_frag),
        .layout = draw->layout,
        .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
        .color_format = draw->format,
        .depth_format = VK_FORMAT_D32_SFLOAT,
        .samples = set->samples,
        .fragment_constants = &special,
        .name = "scene backdrop",
    };
    enum fw_err err = FW_OK;
    if (!set->backdrop)
        err = fw_gpu_graphics_pipeline(draw->gpu, &params, &set->backdrop);
    if (err || set->ground)
        return err;
    params.vertex = FW_SPIRV(fw_spv_scene_ground_vert);
    params.fragment = FW_SPIRV(fw_spv_scene_ground_frag);
    params.blend = true;
    params.name = "scene ground";
    return fw_gpu_graphics_pipeline(draw->gpu, &params, &set->ground);
}

static enum fw_err targets(struct fw_draw *draw, struct fw_draw_pipelines *set, VkExtent2D extent)
{
    if (set->depth.image && set->depth.extent.width == extent.width &&
        set->depth.extent.height == extent.height)
        return FW_OK;
    fw_gpu_image_finish(draw->gpu, &set->depth);
    fw_gpu_image_finish(draw->gpu, &set->color);
    struct fw_gpu_image_params params = {
        .width = extent.width,
        .height = extent.height,
        .format = VK_FORMAT_D32_SFLOAT,
        .usage = VK_IMAGE_USAGE_DEPTH_STENCIL_ATTACHMENT_BIT,
        .samples = set->samples,
        .use = FW_GPU_USE_TARGET,
        .name = "scene depth",
    };
    enum fw_err err = fw_gpu_image_create(draw->gpu, &params, &set->depth);
    if (err || set->samples == VK_SAMPLE_COUNT_1_BIT)
        return err;
    params.format = draw->format;
    params.usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT;
    params.name = "scene samples";
    return fw_gpu_image_create(draw->gpu, &params, &set->color);
}

enum fw_err fw_draw_prepare(struct fw_draw *draw, struct fw_draw_pipelines *set, VkExtent2D extent)
{
    enum fw_err err = fixed_pipelines(draw, set);
    for (uint32_t i = 0; !err && i < draw->item_count; i++) {
        unsigned key = draw->keys[draw->items[i].material];
        if (!set->material[key])
            err = material_pipeline(draw, set, key, &set->material[key]);
    }
    return err ? err : targets(draw, set, extent);
}

void fw_draw_pipelines_finish(struct fw_draw *draw, struct fw_draw_pipelines *set)
{
    VkDevice device = draw->gpu->device;
    for (unsigned i = 0; i < FW_DRAW_KEYS; i++)
        vkDestroyPipeline(device, set->material[i], NULL);
    vkDestroyPipeline(device, set->backdrop, NULL);
    vkDestroyPipeline(device, set->ground, NULL);
    fw_gpu_image_finish(draw->gpu, &set->color);
    fw_gpu_image_finish(draw->gpu, &set->depth);
    VkSampleCountFlagBits samples = set->samples;
    memset(set, 0, sizeof(*set));
    set->samples = samples;
}
