// SPDX-License-Identifier: MIT
#include "render/source/scene/draw.h"

#include <cglm/cglm.h>
#include <stdlib.h>
#include <string.h>

static enum fw_err upload_buffer(struct fw_draw *draw, const void *data, VkDeviceSize size,
                                 VkBufferUsageFlags usage, struct fw_gpu_buffer *out)
{
    enum fw_err err = fw_gpu_buffer_create(draw->gpu,
                                           &(struct fw_gpu_buffer_params){
                                               .size = size,
                                               .usage = usage | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                                               .use = FW_GPU_USE_GEOMETRY,
                                           },
                                           out);
    return err ? err : fw_gpu_upload_buffer(draw->gpu, out, data, size);
}

static enum fw_err upload_image(struct fw_draw *draw, const struct fw_gpu_image_params *from,
                                const void *data, size_t bytes, struct fw_gpu_image *out)
{
    struct fw_gpu_image_params params = *from;
    params.usage = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    params.use = FW_GPU_USE_TEXTURE;
    enum fw_err err = fw_gpu_image_create(draw->gpu, &params, out);
    return err ? err : fw_gpu_upload_image(draw->gpu, out, data, bytes);
}

static enum fw_err upload_fixed(struct fw_draw *draw, const struct fw_scene_model *model)
{
    const uint8_t white[4] = { 255, 255, 255, 255 };
    enum fw_err err = upload_image(
        draw,
        &(struct fw_gpu_image_params){
            .width = 1, .height = 1, .format = VK_FORMAT_R8G8B8A8_UNORM, .name = "white" },
        white, sizeof(white), &draw->white);
    if (err)
        return err;
    size_t bytes;
    const uint16_t *cube = fw_env_cube(&bytes);
    err = upload_image(draw,
                       &(struct fw_gpu_image_params){ .width = FW_ENV_SIDE,
                                                      .height = FW_ENV_SIDE,
                                                      .mip_levels = FW_ENV_MIPS,
                                                      .layers = 6,
                                                      .cube = true,
                                                      .format = VK_FORMAT_R16G16B16A16_SFLOAT,
                                                      .name = "studio" },
                       cube, bytes, &draw->studio);
    if (err)
        return err;
    fw_env_sh(draw->sh);
    struct fw_scene_shadow *shadow = malloc(sizeof(*shadow));
    if (!shadow)
        return FW_ERR_NOMEM;
    fw_scene_shadow_bake(model, shadow);
    memcpy(draw->ground, shadow->centre, sizeof(shadow->centre));
    draw->ground[3] = shadow->half;
    err = upload_image(draw,
                       &(struct fw_gpu_image_params){ .width = FW_SHADOW_SIDE,
                                                      .height = FW_SHADOW_SIDE,
                                                      .format = VK_FORMAT_R8_UNORM,
                                                      .name = "shadow" },
                       shadow->texels, sizeof(shadow->texels), &draw->shadow);
    free(shadow);
    return err;
}

static enum fw_err upload_textures(struct fw_draw *draw, const struct fw_scene_model *model)
{
    draw->textures = calloc(model->texture_count + 1, sizeof(*draw->textures));
    if (!draw->textures)
        return FW_ERR_NOMEM;
    draw->texture_count = model->texture_count;
    for (uint32_t i = 0; i < model->texture_count; i++) {
        const struct fw_scene_texture *t = &model->textures[i];
        if (!t->texels)
            continue;
        enum fw_err err =
            upload_image(draw,
                         &(struct fw_gpu_image_params){
                             .width = t->width,
                             .height = t->height,
                             .mip_levels = t->mips,
                             .format = t->srgb ? VK_FORMAT_R8G8B8A8_SRGB : VK_FORMAT_R8G8B8A8_UNORM,
                             .name = "texture",
                         },
                         t->texels, t->bytes, &draw->textures[i]);
        if (err)
            return err;
    }
    return FW_OK;
}

static enum fw_err make_sampler(struct fw_draw *draw, VkSamplerAddressMode u,
                                VkSamplerAddressMode v, VkSampler *out)
{
    enum fw_err err = FW_OK;
    const struct fw_gpu *gpu = draw->gpu;
    float most = gpu->props.limits.maxSamplerAnisotropy;
    const VkSamplerCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO,
        .magFilter = VK_FILTER_LINEAR,
        .minFilter = VK_FILTER_LINEAR,
        // Between mips: twice the fetches, which a CPU feels and an eye hardly.
        .mipmapMode = gpu->is_cpu && u != VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER
                          ? VK_SAMPLER_MIPMAP_MODE_NEAREST
                          : VK_SAMPLER_MIPMAP_MODE_LINEAR,
        .addressModeU = u,
        .addressModeV = v,
        .addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
        .anisotropyEnable = gpu->anisotropy && !gpu->is_cpu,
        .maxAnisotropy = gpu->anisotropy && !gpu->is_cpu ? (most < 8 ? most : 8) : 1,
        .maxLod = VK_LOD_CLAMP_NONE,
    };
    VK(draw->gpu, vkCreateSampler(gpu->device, &info, NULL, out));
error:
    return err;
}

static enum fw_err make_samplers(struct fw_draw *draw)
{
    static const VkSamplerAddressMode modes[] = {
        [FW_WRAP_REPEAT] = VK_SAMPLER_ADDRESS_MODE_REPEAT,
        [FW_WRAP_CLAMP] = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE,
        [FW_WRAP_MIRROR] = VK_SAMPLER_ADDRESS_MODE_MIRRORED_REPEAT,
    };
    enum fw_err err = FW_OK;
    for (int i = 0; !err && i < FW_DRAW_WRAPS; i++)
        err = make_sampler(draw, modes[i / 3], modes[i % 3], &draw->samplers[i]);
    // The studio's: border is never reached, the mode only tells it from the others.
    if (!err)
        err = make_sampler(draw, VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_BORDER,
                           VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE, &draw->clamp);
    return err;
}

static VkDeviceSize block_stride(const struct fw_draw *draw)
{
    VkDeviceSize align = draw->gpu->props.limits.minUniformBufferOffsetAlignment;
    VkDeviceSize size = sizeof(struct fw_draw_material_block);
    return (size + align - 1) / align * align;
}

static unsigned key_of(const struct fw_draw *draw, const struct fw_scene_material *m)
{
    unsigned key = 0;
    bool there[FW_SLOT_COUNT];
    for (int s = 0; s < FW_SLOT_COUNT; s++)
        there[s] = m->texture[s] >= 0 && draw->textures[m->texture[s]].image;
    key |= there[FW_SLOT_BASE] ? FW_KEY_BASE : 0;
    key |= there[FW_SLOT_NORMAL] && !m->unlit ? FW_KEY_NORMAL : 0;
    key |= there[FW_SLOT_EMISSIVE] && !m->unlit ? FW_KEY_EMISSIVE : 0;
    key |= there[FW_SLOT_ORM] && m->has_rough_metal && !m->unlit ? FW_KEY_ROUGH_METAL : 0;
    key |= there[FW_SLOT_ORM] && m->has_occlusion && !m->unlit ? FW_KEY_OCCLUSION : 0;
    for (int s = 0; s < FW_SLOT_COUNT; s++)
        key |= there[s] && m->uv_set[s] ? FW_KEY_SECOND_UV : 0;
    key |= m->unlit ? FW_KEY_UNLIT : 0;
    key |= m->alpha == FW_ALPHA_MASK ? FW_KEY_MASK : m->alpha == FW_ALPHA_BLEND ? FW_KEY_BLEND : 0;
    return key;
}

static bool has_color(const struct fw_scene_model *model, const struct fw_scene_mesh *mesh)
{
    static const uint16_t white[4] = { 65535, 65535, 65535, 65535 };
    for (uint32_t i = 0; i < mesh->index_count; i++) {
        uint32_t index = model->indices[mesh->first_index + i];
        if (memcmp(model->vertices[index].color, white, sizeof(white)) != 0)
            return true;
    }
    return false;
}

static enum fw_err upload_materials(struct fw_draw *draw, const struct fw_scene_model *model)
{
    VkDeviceSize stride = block_stride(draw);
    uint32_t count = draw->material_count = model->material_count;
    uint8_t *blocks = calloc(count, stride);
    draw->keys = calloc(count, sizeof(*draw->keys));
    draw->double_sided = calloc(count, sizeof(*draw->double_sided));
    draw->material_sets = calloc(count, sizeof(*draw->material_sets));
    enum fw_err err = FW_ERR_NOMEM;
    if (!blocks || !draw->keys || !draw->double_sided || !draw->material_sets)
        goto error;
    for (uint32_t i = 0; i < count; i++) {
        const struct fw_scene_material *m = &model->materials[i];
        struct fw_draw_material_block *b = (void *)(blocks + i * stride);
        memcpy(b->base, m->base, sizeof(b->base));
        memcpy(b->emissive, m->emissive, sizeof(m->emissive));
        const float factors[4] = { m->metallic, m->roughness, m->normal_scale, m->occlusion };
        memcpy(b->factors, factors, sizeof(factors));
        b->more[0] = m->cutoff;
        memcpy(b->uv_rows[0], m->uv_transform, 3 * sizeof(float));
        memcpy(b->uv_rows[1], m->uv_transform + 3, 3 * sizeof(float));
        for (int s = 0; s < FW_SLOT_COUNT; s++)
            b->uv_set[s] = m->uv_set[s];
        draw->keys[i] = (uint16_t)key_of(draw, m);
        draw->double_sided[i] = m->double_sided;
    }
    for (uint32_t i = 0; i < model->mesh_count; i++)
        if (has_color(model, &model->meshes[i]))
            draw->keys[model->meshes[i].material] |= FW_KEY_COLOR;
    err = upload_buffer(draw, blocks, count * stride, VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT,
                        &draw->materials);
error:
    free(blocks);
    return err;
}

static void write_set(struct fw_draw *draw, VkDescriptorSet set, VkDescriptorBufferInfo buffer,
                      const VkDescriptorImageInfo *images, uint32_t image_count)
{
    const VkWriteDescriptorSet writes[] = {
        {
            .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
            .dstSet = set,
            .descriptorCount = 1,
            .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
            .pBufferInfo = &buffer,
        },
        {
            // Runs on over the bindings that follow: they are of one kind.
            .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
            .dstSet = set,
            .dstBinding = 1,
            .descriptorCount = image_count,
            .descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
            .pImageInfo = images,
        },
    };
    vkUpdateDescriptorSets(draw->gpu->device, 2, writes, 0, NULL);
}

static enum fw_err allocate_set(struct fw_draw *draw, VkDescriptorSetLayout layout,
                                VkDescriptorSet *out)
{
    enum fw_err err = FW_OK;
    const VkDescriptorSetAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
        .descriptorPool = draw->pool,
        .descriptorSetCount = 1,
        .pSetLayouts = &layout,
    };
    VK(draw->gpu, vkAllocateDescriptorSets(draw->gpu->device, &info, out));
error:
    return err;
}

static enum fw_err make_sets(struct fw_draw *draw, const struct fw_scene_model *model)
{
    enum fw_err err = FW_OK;
    uint32_t count = draw->material_count;
    const VkDescriptorPoolSize sizes[] = {
        { VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, count + 1 },
        { VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, count * FW_SLOT_COUNT + 2 },
    };
    const VkDescriptorPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
        .maxSets = count + 1,
        .poolSizeCount = 2,
        .pPoolSizes = sizes,
    };
    VK(draw->gpu, vkCreateDescriptorPool(draw->gpu->device, &info, NULL, &draw->pool));
    err = allocate_set(draw, draw->frame_layout, &draw->frame_set);
    if (err)
        goto error;
    const VkImageLayout read = VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL;
    const VkDescriptorImageInfo fixed[] = { { draw->clamp, draw->studio.view, read },
                                            { draw->clamp, draw->shadow.view, read } };
    write_set(draw, draw->frame_set,
              (VkDescriptorBufferInfo){ draw->frame.buffer, 0, VK_WHOLE_SIZE }, fixed, 2);
    for (uint32_t i = 0; i < count; i++) {
        const struct fw_scene_material *m = &model->materials[i];
        VkDescriptorImageInfo images[FW_SLOT_COUNT];
        for (int s = 0; s < FW_SLOT_COUNT; s++) {
            VkImageView view = draw->white.view;
            if (m->texture[s] >= 0 && draw->textures[m->texture[s]].image)
                view = draw->textures[m->texture[s]].view;
            images[s] =
                (VkDescriptorImageInfo){ draw->samplers[m->wrap_u * 3 + m->wrap_v], view, read };
        }
        err = allocate_set(draw, draw->material_layout, &draw->material_sets[i]);
        if (err)
            goto error;
        write_set(draw, draw->material_sets[i],
                  (VkDescriptorBufferInfo){ draw->materials.buffer, i * block_stride(draw),
                                            sizeof(struct fw_draw_material_block) },
                  images, FW_SLOT_COUNT);
    }
error:
    return err;
}

static enum fw_err make_items(struct fw_draw *draw, const struct fw_scene_model *model)
{
    draw->meshes = malloc((model->mesh_count + 1) * sizeof(*draw->meshes));
    draw->items = aligned_alloc(32, (model->item_count + 1) * sizeof(*draw->items));
    draw->order = calloc(model->item_count + 1, sizeof(*draw->order));
    draw->order_depth = calloc(model->item_count + 1, sizeof(*draw->order_depth));
    if (!draw->meshes || !draw->items || !draw->order || !draw->order_depth)
        return FW_ERR_NOMEM;
    memcpy(draw->meshes, model->meshes, model->mesh_count * sizeof(*draw->meshes));
    for (int blended = 0; blended < 2; blended++) {
        if (blended)
            draw->blend_from = draw->item_count;
        for (uint32_t i = 0; i < model->item_count; i++) {
            const struct fw_scene_mesh *mesh = &model->meshes[model->items[i].mesh];
            bool blend = model->materials[mesh->material].alpha == FW_ALPHA_BLEND;
            if (blend != (bool)blended)
                continue;
            struct fw_draw_item *item = &draw->items[draw->item_count++];
            item->mesh = model->items[i].mesh;
            item->material = mesh->material;
            memcpy(item->world, model->items[i].world, sizeof(item->world));
            item->mirrored = glm_mat4_det(item->world) < 0;
            vec3 centre;
            for (int k = 0; k < 3; k++)
                centre[k] = (mesh->min[k] + mesh->max[k]) / 2;
            glm_mat4_mulv3(item->world, centre, 1, item->centre);
        }
    }
    return FW_OK;
}

enum fw_err fw_draw_init(struct fw_draw *draw, struct fw_gpu *gpu,
                         const struct fw_scene_model *model, VkFormat format, bool tone_mapped)
{
    *draw = (struct fw_draw){
        .gpu = gpu,
        .format = format,
        .tone_mapped = tone_mapped,
        .plain.samples = VK_SAMPLE_COUNT_1_BIT,
        .smooth.samples = VK_SAMPLE_COUNT_4_BIT,
    };
    enum fw_err err = upload_fixed(draw, model);
    if (!err)
        err = upload_textures(draw, model);
    if (!err)
        err = make_samplers(draw);
    if (!err)
        err = upload_materials(draw, model);
    if (!err)
        err = upload_buffer(draw, model->vertices, model->vertex_count * sizeof(*model->vertices),
                            VK_BUFFER_USAGE_VERTEX_BUFFER_BIT, &draw->vertices);
    if (!err)
        err = upload_buffer(draw, model->indices, model->index_count * sizeof(*model->indices),
                            VK_BUFFER_USAGE_INDEX_BUFFER_BIT, &draw->indices);
    if (!err)
        err = fw_gpu_buffer_create(
            gpu,
            &(struct fw_gpu_buffer_params){
                .size = sizeof(struct fw_draw_frame_block),
                .usage = VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                .use = FW_GPU_USE_GEOMETRY,
            },
            &draw->frame);
    if (!err)
        err = make_items(draw, model);
    if (!err)
        err = fw_draw_pipeline_layout(draw);
    if (!err)
        err = make_sets(draw, model);
    return err;
}

void fw_draw_finish(struct fw_draw *draw)
{
    struct fw_gpu *gpu = draw->gpu;
    if (!gpu)
        return;
    fw_draw_pipelines_finish(draw, &draw->plain);
    fw_draw_pipelines_finish(draw, &draw->smooth);
    vkDestroyDescriptorPool(gpu->device, draw->pool, NULL);
    vkDestroyPipelineLayout(gpu->device, draw->layout, NULL);
    vkDestroyDescriptorSetLayout(gpu->device, draw->frame_layout, NULL);
    vkDestroyDescriptorSetLayout(gpu->device, draw->material_layout, NULL);
    for (int i = 0; i < FW_DRAW_WRAPS; i++)
        vkDestroySampler(gpu->device, draw->samplers[i], NULL);
    vkDestroySampler(gpu->device, draw->clamp, NULL);
    for (uint32_t i = 0; draw->textures && i < draw->texture_count; i++)
        fw_gpu_image_finish(gpu, &draw->textures[i]);
    fw_gpu_image_finish(gpu, &draw->white);
    fw_gpu_image_finish(gpu, &draw->studio);
    fw_gpu_image_finish(gpu, &draw->shadow);
    fw_gpu_buffer_finish(gpu, &draw->vertices);
    fw_gpu_buffer_finish(gpu, &draw->indices);
    fw_gpu_buffer_finish(gpu, &draw->materials);
    fw_gpu_buffer_finish(gpu, &draw->frame);
    free(draw->textures);
    free(draw->keys);
    free(draw->double_sided);
    free(draw->material_sets);
    free(draw->meshes);
    free(draw->items);
    free(draw->order);
    free(draw->order_depth);
    memset(draw, 0, sizeof(*draw));
}
