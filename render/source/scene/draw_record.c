// SPDX-License-Identifier: MIT
#include <cglm/cglm.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "render/source/scene/draw.h"

static void fill_block(const struct fw_draw *draw, const struct fw_draw_frame *f,
                       struct fw_draw_frame_block *out)
{
    *out = (struct fw_draw_frame_block){
        .ground_turn = { cosf(f->turn), sinf(f->turn), f->grid ? 1.0f : 0.0f, 0 },
    };
    mat4 both;
    glm_mat4_mul((vec4 *)f->projection, (vec4 *)f->view_matrix, both);
    memcpy(out->view_projection, both, sizeof(both));
    memcpy(out->eye, f->eye, sizeof(f->eye));
    memcpy(out->ground, draw->ground, sizeof(out->ground));
}

static void update_block(const struct fw_draw *draw, const struct fw_draw_frame *f)
{
    struct fw_draw_frame_block block;
    fill_block(draw, f, &block);
    // Ordered against the frame before as well, should it still be drawing.
    VkMemoryBarrier2 barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
        .srcStageMask =
            VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT | VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT,
        .srcAccessMask = VK_ACCESS_2_UNIFORM_READ_BIT,
        .dstStageMask = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
        .dstAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT,
    };
    const VkDependencyInfo dependency = {
        .sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO,
        .memoryBarrierCount = 1,
        .pMemoryBarriers = &barrier,
    };
    vkCmdPipelineBarrier2(f->cmd, &dependency);
    vkCmdUpdateBuffer(f->cmd, draw->frame.buffer, 0, sizeof(block), &block);
    VkPipelineStageFlags2 stages = barrier.srcStageMask;
    barrier.srcStageMask = barrier.dstStageMask;
    barrier.srcAccessMask = barrier.dstAccessMask;
    barrier.dstStageMask = stages;
    barrier.dstAccessMask = VK_ACCESS_2_UNIFORM_READ_BIT;
    vkCmdPipelineBarrier2(f->cmd, &dependency);
}

static int by_depth(const void *a, const void *b, void *depth)
{
    const float *d = depth;
    float x = d[*(const uint32_t *)a], y = d[*(const uint32_t *)b];
    return x < y ? -1 : x > y;
}

// Opaque items from front to back (hidden pixels cost nothing then), blended from back to front.
static void sort_items(struct fw_draw *draw, const struct fw_draw_frame *f, mat4 turn)
{
    for (uint32_t i = 0; i < draw->item_count; i++) {
        vec3 at;
        glm_mat4_mulv3(turn, draw->items[i].centre, 1, at);
        float d = glm_vec3_distance2(at, (float *)f->eye);
        draw->order[i] = i;
        draw->order_depth[i] = i < draw->blend_from ? d : -d;
    }
    qsort_r(draw->order, draw->blend_from, sizeof(*draw->order), by_depth, draw->order_depth);
    qsort_r(draw->order + draw->blend_from, draw->item_count - draw->blend_from,
            sizeof(*draw->order), by_depth, draw->order_depth);
}

static void draw_items(struct fw_draw *draw, const struct fw_draw_pipelines *set,
                       VkCommandBuffer cmd, mat4 turn, uint32_t from, uint32_t to)
{
    VkPipeline bound = VK_NULL_HANDLE;
    uint32_t material = UINT32_MAX;
    for (uint32_t o = from; o < to; o++) {
        const struct fw_draw_item *item = &draw->items[draw->order[o]];
        const struct fw_scene_mesh *mesh = &draw->meshes[item->mesh];
        VkPipeline pipeline = set->material[draw->keys[item->material]];
        if (pipeline != bound)
            vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_GRAPHICS, bound = pipeline);
        if (item->material != material) {
            material = item->material;
            vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_GRAPHICS, draw->layout, 1, 1,
                                    &draw->material_sets[material], 0, NULL);
        }
        mat4 world;
        glm_mat4_mul(turn, (vec4 *)item->world, world);
        vkCmdPushConstants(cmd, draw->layout, VK_SHADER_STAGE_VERTEX_BIT, 0, sizeof(world), world);
        vkCmdSetFrontFace(cmd, item->mirrored ? VK_FRONT_FACE_CLOCKWISE
                                              : VK_FRONT_FACE_COUNTER_CLOCKWISE);
        bool twice = draw->double_sided[material] && draw->keys[material] & FW_KEY_BLEND;
        if (twice) { // the far side first, so that glass looks like glass
            vkCmdSetCullMode(cmd, VK_CULL_MODE_FRONT_BIT);
            vkCmdDrawIndexed(cmd, mesh->index_count, 1, mesh->first_index, 0, 0);
        }
        vkCmdSetCullMode(cmd, twice || !draw->double_sided[material] ? VK_CULL_MODE_BACK_BIT
                                                                     : VK_CULL_MODE_NONE);
        vkCmdDrawIndexed(cmd, mesh->index_count, 1, mesh->first_index, 0, 0);
    }
}

static void draw_all(struct fw_draw *draw, const struct fw_draw_pipelines *set,
                     const struct fw_draw_frame *f, mat4 turn)
{
    VkCommandBuffer cmd = f->cmd;
    const VkViewport viewport = { 0, 0, (float)f->extent.width, (float)f->extent.height, 0, 1 };
    vkCmdSetViewport(cmd, 0, 1, &viewport);
    vkCmdSetScissor(cmd, 0, 1, &(VkRect2D){ .extent = f->extent });
    vkCmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_GRAPHICS, draw->layout, 0, 1,
                            &draw->frame_set, 0, NULL);
    const VkDeviceSize zero = 0;
    vkCmdBindVertexBuffers(cmd, 0, 1, &draw->vertices.buffer, &zero);
    vkCmdBindIndexBuffer(cmd, draw->indices.buffer, 0, VK_INDEX_TYPE_UINT32);
    draw_items(draw, set, cmd, turn, 0, draw->blend_from);

    vkCmdSetCullMode(cmd, VK_CULL_MODE_NONE);
    vkCmdSetFrontFace(cmd, VK_FRONT_FACE_COUNTER_CLOCKWISE);
    vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_GRAPHICS, set->backdrop);
    vkCmdDraw(cmd, 3, 1, 0, 0);
    if (f->eye[1] > draw->ground[1]) { // the ground has no underside
        vkCmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_GRAPHICS, set->ground);
        vkCmdDraw(cmd, 6, 1, 0, 0);
    }
    draw_items(draw, set, cmd, turn, draw->blend_from, draw->item_count);
}

static void begin(const struct fw_draw_pipelines *set, const struct fw_draw_frame *f)
{
    bool many = set->samples != VK_SAMPLE_COUNT_1_BIT;
    const VkRenderingAttachmentInfo color = {
        .sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
        .imageView = many ? set->color.view : f->view,
        .imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
        .resolveMode = many ? VK_RESOLVE_MODE_AVERAGE_BIT : VK_RESOLVE_MODE_NONE,
        .resolveImageView = many ? f->view : VK_NULL_HANDLE,
        .resolveImageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
        .loadOp = VK_ATTACHMENT_LOAD_OP_DONT_CARE, // the backdrop covers what nothing else does
        .storeOp = many ? VK_ATTACHMENT_STORE_OP_DONT_CARE : VK_ATTACHMENT_STORE_OP_STORE,
    };
    const VkRenderingAttachmentInfo depth = {
        .sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO,
        .imageView = set->depth.view,
        .imageLayout = VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_OPTIMAL,
        .loadOp = VK_ATTACHMENT_LOAD_OP_CLEAR,
        .storeOp = VK_ATTACHMENT_STORE_OP_DONT_CARE,
        .clearValue.depthStencil.depth = 1,
    };
    const VkRenderingInfo info = {
        .sType = VK_STRUCTURE_TYPE_RENDERING_INFO,
        .renderArea.extent = f->extent,
        .layerCount = 1,
        .colorAttachmentCount = 1,
        .pColorAttachments = &color,
        .pDepthAttachment = &depth,
    };
    vkCmdBeginRendering(f->cmd, &info);
}

enum fw_err fw_draw_record(struct fw_draw *draw, const struct fw_draw_frame *f)
{
    if (f->format != draw->format || f->tone_mapped != draw->tone_mapped) {
        fw_draw_pipelines_finish(draw, &draw->plain);
        fw_draw_pipelines_finish(draw, &draw->smooth);
        draw->format = f->format;
        draw->tone_mapped = f->tone_mapped;
    }
    struct fw_draw_pipelines *set = f->smooth ? &draw->smooth : &draw->plain;
    enum fw_err err = fw_draw_prepare(draw, set, f->extent);
    if (err)
        return err;
    update_block(draw, f);
    fw_gpu_barrier(f->cmd, set->depth.image, VK_IMAGE_LAYOUT_UNDEFINED,
                   VK_IMAGE_LAYOUT_DEPTH_ATTACHMENT_OPTIMAL);
    if (set->color.image)
        fw_gpu_barrier(f->cmd, set->color.image, VK_IMAGE_LAYOUT_UNDEFINED,
                       VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL);
    mat4 turn, back;
    glm_translate_make(turn, (float *)f->centre);
    glm_rotate(turn, f->turn, (vec3){ 0, 1, 0 });
    glm_translate_make(back, (vec3){ -f->centre[0], -f->centre[1], -f->centre[2] });
    glm_mat4_mul(turn, back, turn);
    sort_items(draw, f, turn);
    begin(set, f);
    draw_all(draw, set, f, turn);
    vkCmdEndRendering(f->cmd);
    return FW_OK;
}
