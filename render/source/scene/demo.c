// SPDX-License-Identifier: MIT
// The built-in scene: a knot of brushed metal on a round plinth, and spheres of every finish.
#include <cglm/cglm.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/source/scene/model.h"

// As coarse as it looks round: a CPU device shades small triangles at a loss.
enum { KNOT_LONG = 288, KNOT_ROUND = 24, SPHERE_LONG = 40, SPHERE_LAT = 20, RING = 96 };
enum { MAX_VERTICES = 60000, MAX_INDICES = 320000, MAX_PARTS = 24 };

static void add_part(struct fw_scene_model *m, struct fw_scene_material material)
{
    m->materials[m->material_count] = material;
    m->meshes[m->mesh_count] = (struct fw_scene_mesh){
        .first_index = m->index_count,
        .material = m->material_count++,
        .min = { INFINITY, INFINITY, INFINITY },
        .max = { -INFINITY, -INFINITY, -INFINITY },
    };
    struct fw_scene_item *item = &m->items[m->item_count++];
    item->mesh = m->mesh_count++;
    for (int i = 0; i < 4; i++)
        item->world[i * 5] = 1;
}

static void vertex(struct fw_scene_model *m, const vec3 position, const vec3 normal)
{
    struct fw_scene_vertex *v = &m->vertices[m->vertex_count++];
    struct fw_scene_mesh *mesh = &m->meshes[m->mesh_count - 1];
    *v = (struct fw_scene_vertex){ .color = { 65535, 65535, 65535, 65535 },
                                   .tangent = { 32767, 0, 0, 32767 } };
    for (int k = 0; k < 3; k++) {
        v->position[k] = position[k];
        v->normal[k] = fw_scene_snorm(normal[k]);
        mesh->min[k] = fminf(mesh->min[k], position[k]);
        mesh->max[k] = fmaxf(mesh->max[k], position[k]);
    }
}

// Triangles between `rows` rings of `columns` vertices each, from vertex `first` on.
static void grid(struct fw_scene_model *m, uint32_t first, uint32_t rows, uint32_t columns)
{
    for (uint32_t r = 0; r + 1 < rows; r++) {
        for (uint32_t c = 0; c + 1 < columns; c++) {
            uint32_t a = first + r * columns + c, b = a + columns;
            const uint32_t quad[6] = { a, b, a + 1, a + 1, b, b + 1 };
            memcpy(&m->indices[m->index_count], quad, sizeof(quad));
            m->index_count += 6;
        }
    }
    struct fw_scene_mesh *mesh = &m->meshes[m->mesh_count - 1];
    mesh->index_count = m->index_count - mesh->first_index;
}

static void knot_point(float t, vec3 out)
{
    float r = 1.0f + 0.42f * cosf(3 * t);
    out[0] = r * cosf(2 * t);
    out[1] = 0.50f * sinf(3 * t);
    out[2] = r * sinf(2 * t);
}

static void add_knot(struct fw_scene_model *m, struct fw_scene_material material, float lift)
{
    add_part(m, material);
    uint32_t first = m->vertex_count;
    for (int i = 0; i <= KNOT_LONG; i++) {
        float t = (float)i / KNOT_LONG * 2 * GLM_PIf;
        vec3 p, ahead, along, side, up;
        knot_point(t, p);
        knot_point(t + 0.01f, ahead);
        glm_vec3_sub(ahead, p, along);
        glm_vec3_normalize(along);
        glm_vec3_cross(along, (vec3){ p[0] * 0.4f, 1, p[2] * 0.4f }, side);
        glm_vec3_normalize(side);
        glm_vec3_cross(side, along, up);
        for (int j = 0; j <= KNOT_ROUND; j++) {
            float a = (float)j / KNOT_ROUND * 2 * GLM_PIf;
            vec3 normal, at;
            glm_vec3_scale(side, cosf(a), normal);
            glm_vec3_muladds(up, sinf(a), normal);
            glm_vec3_copy(p, at);
            glm_vec3_muladds(normal, 0.25f, at);
            at[1] += lift;
            vertex(m, at, normal);
        }
    }
    grid(m, first, KNOT_LONG + 1, KNOT_ROUND + 1);
}

static void add_sphere(struct fw_scene_model *m, struct fw_scene_material material, const vec3 at,
                       float radius)
{
    add_part(m, material);
    uint32_t first = m->vertex_count;
    for (int i = 0; i <= SPHERE_LAT; i++) {
        float polar = (float)i / SPHERE_LAT * GLM_PIf;
        for (int j = 0; j <= SPHERE_LONG; j++) {
            float a = -(float)j / SPHERE_LONG * 2 * GLM_PIf;
            vec3 n = { sinf(polar) * cosf(a), cosf(polar), sinf(polar) * sinf(a) }, p;
            glm_vec3_copy((float *)at, p);
            glm_vec3_muladds(n, radius, p);
            vertex(m, p, n);
        }
    }
    grid(m, first, SPHERE_LAT + 1, SPHERE_LONG + 1);
}

// A body of revolution; each profile point: radius, height, normal (radial, up).
static void add_lathe(struct fw_scene_model *m, struct fw_scene_material material,
                      const float (*profile)[4], uint32_t points)
{
    add_part(m, material);
    uint32_t first = m->vertex_count;
    for (uint32_t i = 0; i < points; i++) {
        for (int j = 0; j <= RING; j++) {
            float a = -(float)j / RING * 2 * GLM_PIf;
            const float *p = profile[i];
            vertex(m, (vec3){ p[0] * cosf(a), p[1], p[0] * sinf(a) },
                   (vec3){ p[2] * cosf(a), p[3], p[2] * sinf(a) });
        }
    }
    grid(m, first, points, RING + 1);
}

static struct fw_scene_material finish(float r, float g, float b, float metallic, float roughness)
{
    struct fw_scene_material material;
    fw_scene_material_default(&material);
    material.base[0] = r, material.base[1] = g, material.base[2] = b;
    material.metallic = metallic;
    material.roughness = roughness;
    return material;
}

static void build(struct fw_scene_model *m)
{
    enum { BEVEL = 8 };
    float profile[BEVEL + 4][4];
    uint32_t n = 0;
    const float top[4] = { 0, 0, 0, 1 };
    memcpy(profile[n++], top, sizeof(top));
    for (int i = 0; i <= BEVEL; i++) { // a rounded edge
        float a = (float)i / BEVEL * GLM_PI_2f;
        const float p[4] = { 2.42f + 0.06f * sinf(a), -0.06f + 0.06f * cosf(a), sinf(a), cosf(a) };
        memcpy(profile[n++], p, sizeof(p));
    }
    const float low[4] = { 2.48f, -0.20f, 1, 0 };
    memcpy(profile[n++], low, sizeof(low));
    add_lathe(m, finish(0.020f, 0.022f, 0.030f, 0, 0.22f), profile, n);
    add_knot(m, finish(1.00f, 0.56f, 0.20f, 1, 0.20f), 0.90f);

    static const struct {
        float color[3], metallic, roughness, angle, away, radius;
    } ball[] = {
        { { 0.93f, 0.93f, 0.95f }, 1, 0.03f, 0.30f, 2.02f, 0.27f },
        { { 0.80f, 0.05f, 0.04f }, 0, 0.16f, 0.98f, 2.10f, 0.20f },
        { { 0.96f, 0.55f, 0.40f }, 1, 0.34f, 1.52f, 2.06f, 0.15f },
        { { 0.90f, 0.88f, 0.84f }, 0, 0.90f, 2.22f, 2.05f, 0.24f },
        { { 0.03f, 0.16f, 0.62f }, 0, 0.08f, 3.02f, 2.05f, 0.25f },
        { { 0.52f, 0.54f, 0.56f }, 1, 0.50f, 3.80f, 2.08f, 0.19f },
        { { 0.02f, 0.42f, 0.34f }, 0, 0.28f, 4.58f, 2.05f, 0.23f },
        { { 0.95f, 0.62f, 0.05f }, 0, 0.45f, 5.42f, 2.07f, 0.18f },
    };
    for (size_t i = 0; i < sizeof(ball) / sizeof(ball[0]); i++) {
        vec3 at = { ball[i].away * cosf(ball[i].angle), ball[i].radius,
                    ball[i].away * sinf(ball[i].angle) };
        add_sphere(m,
                   finish(ball[i].color[0], ball[i].color[1], ball[i].color[2], ball[i].metallic,
                          ball[i].roughness),
                   at, ball[i].radius);
    }
}

enum fw_err fw_scene_demo(struct fw_scene_model *model)
{
    memset(model, 0, sizeof(*model));
    model->vertices = malloc(MAX_VERTICES * sizeof(*model->vertices));
    model->indices = malloc(MAX_INDICES * sizeof(*model->indices));
    model->meshes = calloc(MAX_PARTS, sizeof(*model->meshes));
    model->items = calloc(MAX_PARTS, sizeof(*model->items));
    model->materials = calloc(MAX_PARTS, sizeof(*model->materials));
    if (!model->vertices || !model->indices || !model->meshes || !model->items ||
        !model->materials) {
        fw_scene_model_finish(model);
        return FW_ERR_NOMEM;
    }
    snprintf(model->name, sizeof(model->name), "demo");
    build(model);
    return fw_scene_model_measure(model, NULL);
}
