// SPDX-License-Identifier: MIT
#include "render/gpu_priv.h"

static enum fw_err create_module(struct fw_gpu *gpu, struct fw_gpu_spirv code, VkShaderModule *out)
{
    enum fw_err err = FW_OK;
    const VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = code.bytes,
        .pCode = code.code,
    };
    VK(gpu, vkCreateShaderModule(gpu->device, &info, NULL, out));
error:
    return err;
}

static enum fw_err build_graphics(struct fw_gpu *gpu, const struct fw_gpu_graphics_params *p,
                                  const VkShaderModule module[2], VkPipeline *out)
{
    enum fw_err err = FW_OK;
    const VkPipelineShaderStageCreateInfo stages[] = {
        {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
            .stage = VK_SHADER_STAGE_VERTEX_BIT,
            .module = module[0],
            .pName = "main",
        },
        {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
            .stage = VK_SHADER_STAGE_FRAGMENT_BIT,
            .module = module[1],
            .pName = "main",
            .pSpecializationInfo = p->fragment_constants,
        },
    };
    const VkPipelineVertexInputStateCreateInfo no_input = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VERTEX_INPUT_STATE_CREATE_INFO,
    };
    const VkPipelineInputAssemblyStateCreateInfo assembly = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_INPUT_ASSEMBLY_STATE_CREATE_INFO,
        .topology = p->topology,
    };
    const VkPipelineViewportStateCreateInfo viewport = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_VIEWPORT_STATE_CREATE_INFO,
        .viewportCount = 1,
        .scissorCount = 1,
    };
    const VkPipelineRasterizationStateCreateInfo raster = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RASTERIZATION_STATE_CREATE_INFO,
        .cullMode = p->cull,
        .frontFace = VK_FRONT_FACE_COUNTER_CLOCKWISE,
        .lineWidth = 1.0f,
    };
    const VkPipelineMultisampleStateCreateInfo multisample = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_MULTISAMPLE_STATE_CREATE_INFO,
        .rasterizationSamples = p->samples ? p->samples : VK_SAMPLE_COUNT_1_BIT,
    };
    const VkPipelineDepthStencilStateCreateInfo depth = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_DEPTH_STENCIL_STATE_CREATE_INFO,
        .depthTestEnable = p->depth_format != VK_FORMAT_UNDEFINED,
        .depthWriteEnable = p->depth_write,
        .depthCompareOp = VK_COMPARE_OP_LESS_OR_EQUAL,
    };
    // Alpha is blended so that an opaque target stays opaque.
    const VkPipelineColorBlendAttachmentState attachment = {
        .blendEnable = p->blend,
        .srcColorBlendFactor = VK_BLEND_FACTOR_SRC_ALPHA,
        .dstColorBlendFactor = VK_BLEND_FACTOR_ONE_MINUS_SRC_ALPHA,
        .colorBlendOp = VK_BLEND_OP_ADD,
        .srcAlphaBlendFactor = VK_BLEND_FACTOR_ONE,
        .dstAlphaBlendFactor = VK_BLEND_FACTOR_ONE_MINUS_SRC_ALPHA,
        .alphaBlendOp = VK_BLEND_OP_ADD,
        .colorWriteMask = VK_COLOR_COMPONENT_R_BIT | VK_COLOR_COMPONENT_G_BIT |
                          VK_COLOR_COMPONENT_B_BIT | VK_COLOR_COMPONENT_A_BIT,
    };
    const VkPipelineColorBlendStateCreateInfo blend = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_COLOR_BLEND_STATE_CREATE_INFO,
        .attachmentCount = p->color_format != VK_FORMAT_UNDEFINED,
        .pAttachments = &attachment,
    };
    const VkDynamicState states[] = { VK_DYNAMIC_STATE_VIEWPORT, VK_DYNAMIC_STATE_SCISSOR,
                                      VK_DYNAMIC_STATE_CULL_MODE, VK_DYNAMIC_STATE_FRONT_FACE };
    const VkPipelineDynamicStateCreateInfo dynamic = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_DYNAMIC_STATE_CREATE_INFO,
        .dynamicStateCount = sizeof(states) / sizeof(states[0]),
        .pDynamicStates = states,
    };
    const VkPipelineRenderingCreateInfo rendering = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_RENDERING_CREATE_INFO,
        .colorAttachmentCount = p->color_format != VK_FORMAT_UNDEFINED,
        .pColorAttachmentFormats = &p->color_format,
        .depthAttachmentFormat = p->depth_format,
    };
    const VkGraphicsPipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_GRAPHICS_PIPELINE_CREATE_INFO,
        .pNext = &rendering,
        .stageCount = 2,
        .pStages = stages,
        .pVertexInputState = p->input ? p->input : &no_input,
        .pInputAssemblyState = &assembly,
        .pViewportState = &viewport,
        .pRasterizationState = &raster,
        .pMultisampleState = &multisample,
        .pDepthStencilState = &depth,
        .pColorBlendState = &blend,
        .pDynamicState = &dynamic,
        .layout = p->layout,
    };
    VK(gpu, vkCreateGraphicsPipelines(gpu->device, gpu->pipeline_cache, 1, &info, NULL, out));
    fw_gpu_set_name(gpu, VK_OBJECT_TYPE_PIPELINE, (uint64_t)(uintptr_t)*out, p->name);
error:
    return err;
}

enum fw_err fw_gpu_graphics_pipeline(struct fw_gpu *gpu,
                                     const struct fw_gpu_graphics_params *params, VkPipeline *out)
{
    VkShaderModule module[2] = { VK_NULL_HANDLE, VK_NULL_HANDLE };
    *out = VK_NULL_HANDLE;
    enum fw_err err = create_module(gpu, params->vertex, &module[0]);
    if (!err) {
        err = create_module(gpu, params->fragment, &module[1]);
    }
    if (!err) {
        err = build_graphics(gpu, params, module, out);
    }
    vkDestroyShaderModule(gpu->device, module[0], NULL);
    vkDestroyShaderModule(gpu->device, module[1], NULL);
    return err;
}

enum fw_err fw_gpu_compute_pipeline(struct fw_gpu *gpu, struct fw_gpu_spirv shader,
                                    VkPipelineLayout layout, VkPipeline *out)
{
    VkShaderModule module = VK_NULL_HANDLE;
    *out = VK_NULL_HANDLE;
    enum fw_err err = create_module(gpu, shader, &module);
    if (err) {
        return err;
    }
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
            .stage = VK_SHADER_STAGE_COMPUTE_BIT,
            .module = module,
            .pName = "main",
        },
        .layout = layout,
    };
    VK(gpu, vkCreateComputePipelines(gpu->device, gpu->pipeline_cache, 1, &info, NULL, out));
error:
    vkDestroyShaderModule(gpu->device, module, NULL);
    return err;
}

void fw_gpu_set_raster(VkCommandBuffer cmd, VkExtent2D extent, VkCullModeFlags cull)
{
    const VkViewport viewport = {
        .width = (float)extent.width,
        .height = (float)extent.height,
        .maxDepth = 1.0f,
    };
    vkCmdSetViewport(cmd, 0, 1, &viewport);
    vkCmdSetScissor(cmd, 0, 1, &(VkRect2D){ .extent = extent });
    vkCmdSetCullMode(cmd, cull);
    vkCmdSetFrontFace(cmd, VK_FRONT_FACE_COUNTER_CLOCKWISE);
}

struct layout_use {
    VkPipelineStageFlags2 stages;
    VkAccessFlags2 reads, writes;
};

static struct layout_use use_of(VkImageLayout layout)
{
    const VkPipelineStageFlags2 shaders = VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT |
                                          VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT |
                                          VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT;
    switch (layout) {
    case VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL:
        return (struct layout_use){ VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT,
                                    VK_ACCESS_2_COLOR_ATTACHMENT_READ_BIT,
                                    VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT };
    case VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_OPTIMAL:
    case VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL:
        return (struct layout_use){ VK_PIPELINE_STAGE_2_EARLY_FRAGMENT_TESTS_BIT |
                                        VK_PIPELINE_STAGE_2_LATE_FRAGMENT_TESTS_BIT,
                                    VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_READ_BIT,
                                    VK_ACCESS_2_DEPTH_STENCIL_ATTACHMENT_WRITE_BIT };
    case VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL:
        return (struct layout_use){ shaders, VK_ACCESS_2_SHADER_SAMPLED_READ_BIT, 0 };
    case VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL:
        return (struct layout_use){ VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
                                    VK_ACCESS_2_TRANSFER_READ_BIT, 0 };
    case VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL:
        return (struct layout_use){ VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT, 0,
                                    VK_ACCESS_2_TRANSFER_WRITE_BIT };
    default:
        // UNDEFINED: what was there before may be anything, the last frame's use included.
        return (struct layout_use){ VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT,
                                    VK_ACCESS_2_MEMORY_READ_BIT, VK_ACCESS_2_MEMORY_WRITE_BIT };
    }
}

void fw_gpu_barrier(VkCommandBuffer cmd, VkImage image, VkImageLayout from, VkImageLayout to)
{
    const struct layout_use before = use_of(from), after = use_of(to);
    VkImageAspectFlags aspect = VK_IMAGE_ASPECT_COLOR_BIT;
    if (to == VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_OPTIMAL ||
        from == VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_OPTIMAL) {
        aspect = VK_IMAGE_ASPECT_DEPTH_BIT;
    } else if (to == VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL ||
               from == VK_IMAGE_LAYOUT_DEPTH_STENCIL_ATTACHMENT_OPTIMAL) {
        aspect = VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT;
    }
    const VkImageMemoryBarrier2 barrier = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2,
        .srcStageMask = before.stages,
        .srcAccessMask = before.writes,
        .dstStageMask = after.stages,
        .dstAccessMask = after.reads | after.writes,
        .oldLayout = from,
        .newLayout = to,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .image = image,
        .subresourceRange = {
            .aspectMask = aspect,
            .levelCount = VK_REMAINING_MIP_LEVELS,
            .layerCount = VK_REMAINING_ARRAY_LAYERS,
        },
    };
    vkCmdPipelineBarrier2(cmd, &(VkDependencyInfo){
                                   .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .imageMemoryBarrierCount = 1,
                                   .pImageMemoryBarriers = &barrier,
                               });
}

void fw_gpu_host_barrier(VkCommandBuffer cmd, VkBuffer buffer, VkPipelineStageFlags2 stage,
                         VkAccessFlags2 access)
{
    const VkBufferMemoryBarrier2 barrier = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER_2,
        .srcStageMask = stage,
        .srcAccessMask = access,
        .dstStageMask = VK_PIPELINE_STAGE_2_HOST_BIT,
        .dstAccessMask = VK_ACCESS_2_HOST_READ_BIT,
        .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
        .buffer = buffer,
        .size = VK_WHOLE_SIZE,
    };
    vkCmdPipelineBarrier2(cmd, &(VkDependencyInfo){
                                   .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
                                   .bufferMemoryBarrierCount = 1,
                                   .pBufferMemoryBarriers = &barrier,
                               });
}
