// SPDX-License-Identifier: MIT
#include <stdint.h>
#include <stdlib.h>

#include "overlay.frag.spv.h"
#include "overlay.vert.spv.h"
#include "session/cli/view_present_impl.h"
#include "view_picture.frag.spv.h"

// As the shaders have it: the rectangle for the vertices, the rest for the picture's fragments.
struct push {
    float rect[4]; // left, top, right, bottom in clip space
    float crop[2];
    float luma_base, luma_scale, chroma_scale;
    int32_t interleaved;
};
_Static_assert(sizeof(struct push) == 40, "view_picture.frag");

// ---- pipelines

static enum fw_err make_module(struct fw_view_gpu *gpu, const uint32_t *code, size_t size,
                               VkShaderModule *out)
{
    const VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = size,
        .pCode = code,
    };
    return fw_view_gpu_check(gpu, vkCreateShaderModule(gpu->device, &info, NULL, out),
                             "vkCreateShaderModule");
}

static VkResult make_pipeline(struct fw_view_present *p, const VkShaderModule modules[2],
                              bool blend, VkPipeline *out)
{
    const VkPipelineShaderStageCreateInfo stages[2] = {
        { .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
          .stage = VK_SHADER_STAGE_VERTEX_BIT,
          .module = modules[0],
          .pName = "main" },
        { .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
          .stage = VK_SHADER_STAGE_FRAGMENT_BIT,
          .module = modules[1],
          .pName = "main" },
    };
    const VkPipelineVertexInputStateCreateInfo input = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
    };
    const VkPipelineInputAssemblyStateCreateInfo assembly = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
        .topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_STRIP,
    };
    const VkPipelineViewportStateCreateInfo viewport = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
        .viewportCount = 1,
        .scissorCount = 1,
    };
    const VkPipelineRasterizationStateCreateInfo raster = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
        .lineWidth = 1,
    };
    const VkPipelineMultisampleStateCreateInfo samples = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
        .rasterizationSamples = VK_SAMPLE_COUNT_1_BIT,
    };
    const VkPipelineColorBlendAttachmentState over = {
        .blendEnable = blend,
        .srcColorBlendFactor = VK_BLEND_FACTOR_SRC_ALPHA,
        .dstColorBlendFactor = VK_BLEND_FACTOR_ONE_MINUS_SRC_ALPHA,
        .srcAlphaBlendFactor = VK_BLEND_FACTOR_ONE,
        .dstAlphaBlendFactor = VK_BLEND_FACTOR_ONE_MINUS_SRC_ALPHA,
        .colorWriteMask = 0xf,
    };
    const VkPipelineColorBlendStateCreateInfo blending = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
        .attachmentCount = 1,
        .pAttachments = &over,
    };
    static const VkDynamicState states[] = { VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR };
    const VkPipelineDynamicStateCreateInfo dynamic = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
        .dynamicStateCount = 2,
        .pDynamicStates = states,
    };
    const VkPipelineRenderingCreateInfo rendering = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
        .colorAttachmentCount = 1,
        .pColorAttachmentFormats = &p->chain.format.format,
    };
    const VkGraphicsPipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
        .pNext = &rendering,
        .stageCount = 2,
        .pStages = stages,
        .pVertexInputState = &input,
        .pInputAssemblyState = &assembly,
        .pViewportState = &viewport,
        .pRasterizationState = &raster,
        .pMultisampleState = &samples,
        .pColorBlendState = &blending,
        .pDynamicState = &dynamic,
        .layout = p->layout,
    };
    return vkCreateGraphicsPipelines(p->gpu->device, VK_NULL_HANDLE, 1, &info, NULL, out);
}

static enum fw_err make_pipelines(struct fw_view_present *p)
{
    struct fw_view_gpu *gpu = p->gpu;
    VkShaderModule vertex = VK_NULL_HANDLE, picture = VK_NULL_HANDLE, panel = VK_NULL_HANDLE;
    enum fw_err err = make_module(gpu, fw_spv_overlay_vert, sizeof(fw_spv_overlay_vert), &vertex);
    if (!err)
        err =
            make_module(gpu, fw_spv_view_picture_frag, sizeof(fw_spv_view_picture_frag), &picture);
    if (!err)
        err = make_module(gpu, fw_spv_overlay_frag, sizeof(fw_spv_overlay_frag), &panel);
    if (!err)
        FW_VIEW_VK(gpu, make_pipeline(p, (const VkShaderModule[2]){ vertex, picture }, false,
                                      &p->picture_pipeline));
    if (!err)
        FW_VIEW_VK(gpu, make_pipeline(p, (const VkShaderModule[2]){ vertex, panel }, true,
                                      &p->panel_pipeline));
error:
    vkDestroyShaderModule(gpu->device, vertex, NULL);
    vkDestroyShaderModule(gpu->device, picture, NULL);
    vkDestroyShaderModule(gpu->device, panel, NULL);
    return err;
}

static enum fw_err make_layout(struct fw_view_present *p)
{
    struct fw_view_gpu *gpu = p->gpu;
    VkDescriptorSetLayoutBinding bindings[3];
    enum fw_err err;
    const VkSamplerCreateInfo sampler = {
        .sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
        .magFilter = VK_FILTER_LINEAR,
        .minFilter = VK_FILTER_LINEAR,
        .addressModeU = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
        .addressModeV = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
        .addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
    };
    FW_VIEW_VK(gpu, vkCreateSampler(gpu->device, &sampler, NULL, &p->sampler));
    for (uint32_t i = 0; i < 3; i++)
        bindings[i] = (VkDescriptorSetLayoutBinding){
            .binding = i,
            .descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
            .descriptorCount = 1,
            .stageFlags = VK_SHADER_STAGE_FRAGMENT_BIT,
            .pImmutableSamplers = &p->sampler,
        };
    const VkDescriptorSetLayoutCreateInfo set = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = 3,
        .pBindings = bindings,
    };
    FW_VIEW_VK(gpu, vkCreateDescriptorSetLayout(gpu->device, &set, NULL, &p->set_layout));
    const VkPushConstantRange range = {
        .stageFlags = VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT,
        .size = sizeof(struct push),
    };
    const VkPipelineLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .setLayoutCount = 1,
        .pSetLayouts = &p->set_layout,
        .pushConstantRangeCount = 1,
        .pPushConstantRanges = &range,
    };
    FW_VIEW_VK(gpu, vkCreatePipelineLayout(gpu->device, &layout, NULL, &p->layout));
error:
    return err;
}

static enum fw_err make_sets(struct fw_view_present *p)
{
    struct fw_view_gpu *gpu = p->gpu;
    VkDescriptorSet sets[1 + FW_VIEW_PANELS];
    VkDescriptorSetLayout layouts[1 + FW_VIEW_PANELS];
    enum fw_err err;
    const VkDescriptorPoolSize size = {
        .type = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
        .descriptorCount = 3 * (1 + FW_VIEW_PANELS),
    };
    const VkDescriptorPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
        .maxSets = 1 + FW_VIEW_PANELS,
        .poolSizeCount = 1,
        .pPoolSizes = &size,
    };
    FW_VIEW_VK(gpu, vkCreateDescriptorPool(gpu->device, &pool, NULL, &p->pool));
    for (int i = 0; i < 1 + FW_VIEW_PANELS; i++)
        layouts[i] = p->set_layout;
    const VkDescriptorSetAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
        .descriptorPool = p->pool,
        .descriptorSetCount = 1 + FW_VIEW_PANELS,
        .pSetLayouts = layouts,
    };
    FW_VIEW_VK(gpu, vkAllocateDescriptorSets(gpu->device, &info, sets));
    p->picture_set = sets[0];
    for (int i = 0; i < FW_VIEW_PANELS; i++)
        p->panel[i].set = sets[1 + i];
error:
    return err;
}

static enum fw_err make_slots(struct fw_view_present *p)
{
    struct fw_view_gpu *gpu = p->gpu;
    enum fw_err err;
    const VkCommandPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
        .queueFamilyIndex = gpu->family,
    };
    FW_VIEW_VK(gpu, vkCreateCommandPool(gpu->device, &pool, NULL, &p->commands));
    for (int i = 0; i < FW_VIEW_SLOTS; i++) {
        struct fw_view_slot *slot = &p->slots[i];
        const VkCommandBufferAllocateInfo cmd = {
            .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
            .commandPool = p->commands,
            .commandBufferCount = 1,
        };
        const VkSemaphoreCreateInfo semaphore = {
            .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
        };
        const VkFenceCreateInfo fence = {
            .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO,
            .flags = VK_FENCE_CREATE_SIGNALED_BIT,
        };
        FW_VIEW_VK(gpu, vkAllocateCommandBuffers(gpu->device, &cmd, &slot->cmd));
        FW_VIEW_VK(gpu, vkCreateSemaphore(gpu->device, &semaphore, NULL, &slot->acquired));
        FW_VIEW_VK(gpu, vkCreateFence(gpu->device, &fence, NULL, &slot->done));
    }
error:
    return err;
}

enum fw_err fw_view_present_create(struct fw_view_present **present,
                                   const struct fw_view_present_params *params)
{
    struct fw_view_present *p = calloc(1, sizeof(*p));
    if (!p)
        return FW_ERR_NOMEM;
    p->gpu = params->gpu;
    p->on_cpu = params->convert == FW_VIEW_CONVERT_CPU ||
                (params->convert == FW_VIEW_CONVERT_AUTO && p->gpu->is_cpu);
    enum fw_err err = fw_view_swapchain_choose(&p->chain, p->gpu);
    if (!err)
        err = make_layout(p);
    if (!err)
        err = make_pipelines(p);
    if (!err)
        err = make_sets(p);
    if (!err)
        err = make_slots(p);
    if (!err)
        err = fw_view_swapchain_resize(&p->chain, p->gpu, params->width, params->height);
    if (err)
        fw_view_present_destroy(&p);
    *present = p;
    return err;
}

void fw_view_present_destroy(struct fw_view_present **present)
{
    struct fw_view_present *p = *present;
    *present = NULL;
    if (!p)
        return;
    const VkDevice device = p->gpu->device;
    if (p->gpu->queue)
        vkQueueWaitIdle(p->gpu->queue);
    for (int i = 0; i < FW_VIEW_SLOTS; i++) {
        vkDestroySemaphore(device, p->slots[i].acquired, NULL);
        vkDestroyFence(device, p->slots[i].done, NULL);
        fw_view_buffer_finish(p->gpu, &p->slots[i].staging);
    }
    vkDestroyCommandPool(device, p->commands, NULL);
    for (int i = 0; i < 3; i++)
        fw_view_image_finish(p->gpu, &p->plane[i]);
    for (int i = 0; i < 2; i++)
        fw_view_buffer_finish(p->gpu, &p->rgb[i]);
    for (int i = 0; i < FW_VIEW_PANELS; i++)
        fw_view_image_finish(p->gpu, &p->panel[i].image);
    vkDestroyDescriptorPool(device, p->pool, NULL);
    vkDestroyPipeline(device, p->picture_pipeline, NULL);
    vkDestroyPipeline(device, p->panel_pipeline, NULL);
    vkDestroyPipelineLayout(device, p->layout, NULL);
    vkDestroyDescriptorSetLayout(device, p->set_layout, NULL);
    vkDestroySampler(device, p->sampler, NULL);
    fw_view_swapchain_finish(&p->chain, p->gpu);
    free(p);
}

// ---- drawing

void fw_view_draw_bind(struct fw_view_present *p, VkDescriptorSet set, const VkImageView views[3])
{
    VkDescriptorImageInfo images[3];
    VkWriteDescriptorSet writes[3];
    for (uint32_t i = 0; i < 3; i++) {
        images[i] = (VkDescriptorImageInfo){
            .imageView = views[i],
            .imageLayout = VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL,
        };
        writes[i] = (VkWriteDescriptorSet){
            .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
            .dstSet = set,
            .dstBinding = i,
            .descriptorCount = 1,
            .descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
            .pImageInfo = &images[i],
        };
    }
    vkUpdateDescriptorSets(p->gpu->device, 3, writes, 0, NULL);
}

static void draw_quad(struct fw_view_present *p, VkCommandBuffer cmd, VkPipeline pipeline,
                      VkDescriptorSet set, const struct fw_view_box *box, struct push *push)
{
    const float w = (float)p->chain.width / 2, h = (float)p->chain.height / 2;
    push->rect[0] = box->x / w - 1;
    push->rect[1] = box->y / h - 1;
    push->rect[2] = (box->x + box->width) / w - 1;
    push->rect[3] = (box->y + box->height) / h - 1;
    vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_GRAPHICS, pipeline);
    vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_GRAPHICS, p->layout, 0, 1, &set, 0, NULL);
    vkCmdPushConstants(cmd, p->layout, VK_SHADER_STAGE_VERTEX_BIT | VK_SHADER_STAGE_FRAGMENT_BIT, 0,
                       sizeof(*push), push);
    vkCmdDraw(cmd, 4, 1, 0, 0);
}

static void draw_picture(struct fw_view_present *p, VkCommandBuffer cmd)
{
    const struct fw_view_picture *in = &p->shown;
    const struct fw_view_box box =
        fw_view_fit(p->chain.width, p->chain.height, in->width, in->height);
    struct push push = {
        .crop = { (float)in->width / (float)in->coded_width,
                  (float)in->height / (float)in->coded_height },
        .luma_base = in->full_range ? 0 : 16.0f / 255,
        .luma_scale = in->full_range ? 1 : 255.0f / 219,
        .chroma_scale = in->full_range ? 1 : 255.0f / 224,
        .interleaved = in->interleaved,
    };
    draw_quad(p, cmd, p->on_cpu ? p->panel_pipeline : p->picture_pipeline, p->picture_set, &box,
              &push);
}

static void draw_panels(struct fw_view_present *p, VkCommandBuffer cmd,
                        const struct fw_view_scene *scene)
{
    for (int i = 0; i < FW_VIEW_PANELS; i++) {
        const struct fw_view_panel *panel = &scene->panels[i];
        const struct fw_view_box box = { (float)panel->x, (float)panel->y, (float)panel->width,
                                         (float)panel->height };
        if (panel->pixels)
            draw_quad(p, cmd, p->panel_pipeline, p->panel[i].set, &box, &(struct push){ 0 });
    }
}

static bool has_panels(const struct fw_view_scene *scene)
{
    for (int i = 0; i < FW_VIEW_PANELS; i++)
        if (scene->panels[i].pixels)
            return true;
    return false;
}

void fw_view_draw(struct fw_view_present *p, VkCommandBuffer cmd, uint32_t image,
                  const struct fw_view_scene *scene, bool kept)
{
    if (kept && !has_panels(scene))
        return;
    const VkRect2D area = { .extent = { (uint32_t)p->chain.width, (uint32_t)p->chain.height } };
    const VkRenderingAttachmentInfo color = {
        .sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
        .imageView = p->chain.views[image],
        .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
        .loadOp = kept ? VK_ATTACHMENT_LOAD_OP_LOAD : VK_ATTACHMENT_LOAD_OP_CLEAR,
        .storeOp = VK_ATTACHMENT_STORE_OP_STORE,
        .clearValue.color.float32 = { 0, 0, 0, 1 },
    };
    vkCmdBeginRendering(cmd, &(VkRenderingInfo){
                                 .sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
                                 .renderArea = area,
                                 .layerCount = 1,
                                 .colorAttachmentCount = 1,
                                 .pColorAttachments = &color,
                             });
    vkCmdSetViewport(cmd, 0, 1,
                     &(VkViewport){ .width = (float)p->chain.width,
                                    .height = (float)p->chain.height,
                                    .maxDepth = 1 });
    vkCmdSetScissor(cmd, 0, 1, &area);
    if (p->shown.width && !scene->dark && !kept)
        draw_picture(p, cmd);
    draw_panels(p, cmd, scene);
    vkCmdEndRendering(cmd);
}
