// SPDX-License-Identifier: MIT
#include "render/source/scene/model.h"

#include <cglm/cglm.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void fw_scene_model_finish(struct fw_scene_model *model)
{
    for (uint32_t i = 0; model->textures && i < model->texture_count; i++)
        free(model->textures[i].texels);
    free(model->textures);
    free(model->materials);
    free(model->items);
    free(model->meshes);
    free(model->indices);
    free(model->vertices);
    memset(model, 0, sizeof(*model));
}

void fw_scene_material_default(struct fw_scene_material *material)
{
    *material = (struct fw_scene_material){
        .base = { 1, 1, 1, 1 },
        .metallic = 0,
        .roughness = 0.6f,
        .normal_scale = 1,
        .occlusion = 1,
        .cutoff = 0.5f,
        .uv_transform = { 1, 0, 0, 0, 1, 0 },
        .texture = { -1, -1, -1, -1 },
    };
}

int16_t fw_scene_snorm(float v)
{
    if (!(v > -1))
        return v <= -1 ? -32767 : 0; // NaN becomes 0
    return (int16_t)lrintf((v > 1 ? 1 : v) * 32767);
}

enum fw_err fw_scene_model_measure(struct fw_scene_model *model, const struct fw_scene_note *note)
{
    vec3 box[2], all[2];
    glm_aabb_invalidate(all);
    model->triangles = 0;
    for (uint32_t i = 0; i < model->item_count; i++) {
        const struct fw_scene_mesh *mesh = &model->meshes[model->items[i].mesh];
        mat4 world;
        memcpy(world, model->items[i].world, sizeof(world));
        memcpy(box[0], mesh->min, sizeof(box[0]));
        memcpy(box[1], mesh->max, sizeof(box[1]));
        glm_aabb_transform(box, world, box);
        model->triangles += mesh->index_count / 3;
        bool sane = true;
        for (int k = 0; k < 3; k++)
            sane = sane && fabsf(box[0][k]) < 1e18f && fabsf(box[1][k]) < 1e18f;
        if (sane)
            glm_aabb_merge(all, box, all);
    }
    memcpy(model->min, all[0], sizeof(model->min));
    memcpy(model->max, all[1], sizeof(model->max));
    if (!model->triangles || !(all[0][0] <= all[1][0]))
        return fw_scene_fail(note, FW_ERR_FORMAT, "The model holds no triangles to draw.");
    if (model->triangles > FW_SCENE_MAX_TRIANGLES)
        return fw_scene_fail(note, FW_ERR_TOO_LARGE,
                             "The model draws %llu triangles; the limit is %d.",
                             (unsigned long long)model->triangles, FW_SCENE_MAX_TRIANGLES);
    return FW_OK;
}
