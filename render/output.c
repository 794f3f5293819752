// SPDX-License-Identifier: MIT
#include "render/output.h"

#include "fullscreen.vert.spv.h"
#include "merge.frag.spv.h"
#include "nv12.comp.spv.h"
#include "overlay.frag.spv.h"
#include "overlay.vert.spv.h"
#include "render/gpu_priv.h"

static const VkFormat picture_format = VK_FORMAT_R8G8B8A8_UNORM;

struct nv12_push {
    int32_t width, height, blocks_x, blocks_y;
    uint32_t stride, chroma_base;
};
_Static_assert(sizeof(struct nv12_push) == 24, "shaders/nv12.comp");
enum { NV12_GROUP = 8 }; // local size in shaders/nv12.comp

struct overlay_push {
    float left, top, right, bottom;
};
_Static_assert(sizeof(struct overlay_push) == 16, "shaders/overlay.vert");

static enum fw_err create_set_layout(struct fw_gpu *gpu, VkShaderStageFlags stage, uint32_t count,
                                     VkDescriptorSetLayout *out)
{
    enum fw_err err = FW_OK;
    const VkDescriptorSetLayoutBinding bindings[] = {
        { 0, VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 1, stage, NULL },
        { 1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, stage, NULL },
    };
    const VkDescriptorSetLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = count,
        .pBindings = bindings,
    };
    VK(gpu, vkCreateDescriptorSetLayout(gpu->device, &info, NULL, out));
error:
    return err;
}

static enum fw_err create_pipe_layout(struct fw_gpu *gpu, VkDescriptorSetLayout set,
                                      VkShaderStageFlags push_stage, uint32_t push_size,
                                      VkPipelineLayout *out)
{
    enum fw_err err = FW_OK;
    const VkPushConstantRange range = { push_stage, 0, push_size };
    const VkPipelineLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .setLayoutCount = 1,
        .pSetLayouts = &set,
        .pushConstantRangeCount = push_size ? 1 : 0,
        .pPushConstantRanges = &range,
    };
    VK(gpu, vkCreatePipelineLayout(gpu->device, &info, NULL, out));
error:
    return err;
}

static enum fw_err create_sets(struct fw_output *o)
{
    enum fw_err err = FW_OK;
    struct fw_gpu *gpu = o->gpu;
    const VkDescriptorPoolSize sizes[] = {
        { VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, 3 },
        { VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1 },
    };
    const VkDescriptorPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
        .maxSets = 3,
        .poolSizeCount = 2,
        .pPoolSizes = sizes,
    };
    VK(gpu, vkCreateDescriptorPool(gpu->device, &pool, NULL, &o->pool));
    const VkDescriptorSetLayout layouts[] = { o->picture_layout, o->picture_layout,
                                              o->nv12_layout };
    const VkDescriptorSetAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
        .descriptorPool = o->pool,
        .descriptorSetCount = 3,
        .pSetLayouts = layouts,
    };
    VkDescriptorSet sets[3];
    VK(gpu, vkAllocateDescriptorSets(gpu->device, &info, sets));
    o->layer_set = sets[0];
    o->overlay_set = sets[1];
    o->nv12_set = sets[2];
error:
    return err;
}

static enum fw_err create_layouts(struct fw_output *o)
{
    struct fw_gpu *gpu = o->gpu;
    enum fw_err err = FW_OK;
    const VkSamplerCreateInfo sampler = {
        .sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
        .magFilter = VK_FILTER_LINEAR,
        .minFilter = VK_FILTER_LINEAR,
        .addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
        .addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
        .addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
    };
    VK(gpu, vkCreateSampler(gpu->device, &sampler, NULL, &o->sampler));
    err = create_set_layout(gpu, VK_SHADER_STAGE_FRAGMENT_BIT, 1, &o->picture_layout);
    if (!err) {
        err = create_set_layout(gpu, VK_SHADER_STAGE_COMPUTE_BIT, 2, &o->nv12_layout);
    }
    if (!err) {
        err = create_pipe_layout(gpu, o->picture_layout, 0, 0, &o->merge_pipe_layout);
    }
    if (!err) {
        err = create_pipe_layout(gpu, o->picture_layout, VK_SHADER_STAGE_VERTEX_BIT,
                                 sizeof(struct overlay_push), &o->overlay_pipe_layout);
    }
    if (!err) {
        err = create_pipe_layout(gpu, o->nv12_layout, VK_SHADER_STAGE_COMPUTE_BIT,
                                 sizeof(struct nv12_push), &o->nv12_pipe_layout);
    }
    if (!err) {
        err = create_sets(o);
    }
error:
    return err;
}

static enum fw_err create_merge(struct fw_output *o, bool scene_linear, VkPipeline *out)
{
    const VkBool32 value = scene_linear;
    const VkSpecializationMapEntry entry = { .constantID = 0, .size = sizeof(value) };
    const VkSpecializationInfo constants = { 1, &entry, sizeof(value), &value };
    const struct fw_gpu_graphics_params params = {
        .vertex = FW_SPIRV(fw_spv_fullscreen_vert),
        .fragment = FW_SPIRV(fw_spv_merge_frag),
        .layout = o->merge_pipe_layout,
        .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST,
        .color_format = fw_target_format,
        .fragment_constants = &constants,
        .name = scene_linear ? "merge, scene-linear" : "merge, display-referred",
    };
    return fw_gpu_graphics_pipeline(o->gpu, &params, out);
}

static enum fw_err create_pipelines(struct fw_output *o)
{
    const struct fw_gpu_graphics_params overlay = {
        .vertex = FW_SPIRV(fw_spv_overlay_vert),
        .fragment = FW_SPIRV(fw_spv_overlay_frag),
        .layout = o->overlay_pipe_layout,
        .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP,
        .color_format = fw_target_format,
        .blend = true,
        .name = "overlay",
    };
    enum fw_err err = create_merge(o, true, &o->merge_linear);
    if (!err) {
        err = create_merge(o, false, &o->merge_copy);
    }
    if (!err) {
        err = fw_gpu_graphics_pipeline(o->gpu, &overlay, &o->overlay);
    }
    if (!err) {
        err = fw_gpu_compute_pipeline(o->gpu, FW_SPIRV(fw_spv_nv12_comp), o->nv12_pipe_layout,
                                      &o->nv12);
    }
    return err;
}

enum fw_err fw_output_init(struct fw_output *o, struct fw_gpu *gpu)
{
    *o = (struct fw_output){ .gpu = gpu, .picture.use = FW_GPU_USE_TEXTURE };
    enum fw_err err = create_layouts(o);
    if (!err) {
        err = create_pipelines(o);
    }
    if (err) {
        fw_output_finish(o);
    }
    return err;
}

void fw_output_finish(struct fw_output *o)
{
    if (!o->gpu || o->gpu->priv->hung) {
        return;
    }
    const VkDevice device = o->gpu->device;
    fw_gpu_image_finish(o->gpu, &o->picture);
    vkDestroyPipeline(device, o->merge_linear, NULL);
    vkDestroyPipeline(device, o->merge_copy, NULL);
    vkDestroyPipeline(device, o->overlay, NULL);
    vkDestroyPipeline(device, o->nv12, NULL);
    vkDestroyDescriptorPool(device, o->pool, NULL);
    vkDestroyPipelineLayout(device, o->merge_pipe_layout, NULL);
    vkDestroyPipelineLayout(device, o->overlay_pipe_layout, NULL);
    vkDestroyPipelineLayout(device, o->nv12_pipe_layout, NULL);
    vkDestroyDescriptorSetLayout(device, o->picture_layout, NULL);
    vkDestroyDescriptorSetLayout(device, o->nv12_layout, NULL);
    vkDestroySampler(device, o->sampler, NULL);
    *o = (struct fw_output){ 0 };
}

static void write_picture(const struct fw_output *o, VkDescriptorSet set, VkImageView view)
{
    const VkDescriptorImageInfo image = {
        .sampler = o->sampler,
        .imageView = view,
        .imageLayout = VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL,
    };
    const VkWriteDescriptorSet write = {
        .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
        .dstSet = set,
        .descriptorCount = 1,
        .descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
        .pImageInfo = &image,
    };
    vkUpdateDescriptorSets(o->gpu->device, 1, &write, 0, NULL);
}

enum fw_err fw_output_set_overlay(struct fw_output *o, const uint8_t *rgba, int width, int height)
{
    struct fw_gpu_image made = { .use = FW_GPU_USE_TEXTURE };
    if (rgba) {
        const struct fw_gpu_image_params params = {
            .width = (uint32_t)width,
            .height = (uint32_t)height,
            .format = picture_format,
            .usage = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT,
            .use = FW_GPU_USE_TEXTURE,
            .name = "overlay",
        };
        enum fw_err err = fw_gpu_image_create(o->gpu, &params, &made);
        if (!err) {
            err = fw_gpu_upload_image(o->gpu, &made, rgba,
                                      (VkDeviceSize)width * (VkDeviceSize)height * 4);
        }
        if (err) {
            fw_gpu_image_finish(o->gpu, &made);
            return err;
        }
        write_picture(o, o->overlay_set, made.view);
    }
    fw_gpu_image_finish(o->gpu, &o->picture);
    o->picture = made;
    return FW_OK;
}

void fw_output_set_layer(struct fw_output *o, const struct fw_gpu_image *layer)
{
    write_picture(o, o->layer_set, layer->view);
}

static void begin_rendering(VkCommandBuffer cmd, const struct fw_target *target, bool keep)
{
    const VkRenderingAttachmentInfo color = {
        .sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
        .imageView = target->color.view,
        .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
        .loadOp = keep ? VK_ATTACHMENT_LOAD_OP_LOAD : VK_ATTACHMENT_LOAD_OP_DONT_CARE,
        .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
    };
    const VkRenderingInfo info = {
        .sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
        .renderArea.extent = target->color.extent,
        .layerCount = 1,
        .colorAttachmentCount = 1,
        .pColorAttachments = &color,
    };
    vkCmdBeginRendering(cmd, &info);
    fw_gpu_set_raster(cmd, target->color.extent, VK_CULL_MODE_NONE);
}

static void draw_overlay(const struct fw_output *o, VkCommandBuffer cmd,
                         const struct fw_target *target)
{
    if (!o->picture.image) {
        return;
    }
    const float w = 2.0f / (float)target->color.extent.width;
    const float h = 2.0f / (float)target->color.extent.height;
    const float x = (float)o->overlay_x, y = (float)o->overlay_y;
    const struct overlay_push push = {
        .left = x * w - 1.0f,
        .top = y * h - 1.0f,
        .right = (x + (float)o->picture.extent.width) * w - 1.0f,
        .bottom = (y + (float)o->picture.extent.height) * h - 1.0f,
    };
    vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_GRAPHICS, o->overlay);
    vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_GRAPHICS, o->overlay_pipe_layout, 0, 1,
                            &o->overlay_set, 0, NULL);
    vkCmdPushConstants(cmd, o->overlay_pipe_layout, VK_SHADER_STAGE_VERTEX_BIT, 0, sizeof(push),
                       &push);
    vkCmdDraw(cmd, 4, 1, 0, 0);
}

void fw_output_record_merge(const struct fw_output *o, VkCommandBuffer cmd,
                            const struct fw_gpu_image *layer, const struct fw_target *target)
{
    fw_gpu_barrier(cmd, layer->image, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                   VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL);
    fw_gpu_barrier(cmd, target->color.image, VK_IMAGE_LAYOUT_UNDEFINED,
                   VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    begin_rendering(cmd, target, false);
    vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_GRAPHICS,
                      layer->format == fw_target_format ? o->merge_copy : o->merge_linear);
    vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_GRAPHICS, o->merge_pipe_layout, 0, 1,
                            &o->layer_set, 0, NULL);
    vkCmdDraw(cmd, 3, 1, 0, 0);
    draw_overlay(o, cmd, target);
    vkCmdEndRendering(cmd);
}

void fw_output_record_overlay(const struct fw_output *o, VkCommandBuffer cmd,
                              const struct fw_target *target)
{
    if (!o->picture.image) {
        return;
    }
    fw_gpu_barrier(cmd, target->color.image, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                   VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    begin_rendering(cmd, target, true);
    draw_overlay(o, cmd, target);
    vkCmdEndRendering(cmd);
}

static void write_nv12_set(const struct fw_output *o, const struct fw_target *target,
                           const struct fw_slot *slot)
{
    const VkDescriptorBufferInfo buffer = {
        .buffer = slot->buffer.buffer,
        .range = VK_WHOLE_SIZE,
    };
    const VkWriteDescriptorSet write = {
        .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
        .dstSet = o->nv12_set,
        .dstBinding = 1,
        .descriptorCount = 1,
        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
        .pBufferInfo = &buffer,
    };
    write_picture(o, o->nv12_set, target->color.view);
    vkUpdateDescriptorSets(o->gpu->device, 1, &write, 0, NULL);
}

void fw_output_record_nv12(const struct fw_output *o, VkCommandBuffer cmd,
                           const struct fw_target *target, const struct fw_slot *slot)
{
    const struct fw_frame *frame = &slot->frame;
    const struct nv12_push push = {
        .width = frame->width,
        .height = frame->height,
        .blocks_x = (frame->width + 3) / 4,
        .blocks_y = (frame->height + 1) / 2,
        .stride = (uint32_t)(frame->plane[0].stride / 4),
        .chroma_base = (uint32_t)(slot->chroma_offset / 4),
    };
    write_nv12_set(o, target, slot);
    fw_gpu_barrier(cmd, target->color.image, VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
                   VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL);
    vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, o->nv12);
    vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, o->nv12_pipe_layout, 0, 1,
                            &o->nv12_set, 0, NULL);
    vkCmdPushConstants(cmd, o->nv12_pipe_layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(push),
                       &push);
    vkCmdDispatch(cmd, ((uint32_t)push.blocks_x + NV12_GROUP - 1) / NV12_GROUP,
                  ((uint32_t)push.blocks_y + NV12_GROUP - 1) / NV12_GROUP, 1);
    fw_gpu_host_barrier(cmd, slot->buffer.buffer, VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
                        VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT);
}
