// SPDX-License-Identifier: MIT
#include "render/source/scene/env.h"

#include <cglm/cglm.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct soft_box {
    float dir[3];         // towards it; need not be unit
    float half_u, half_v; // half size as tangents, across and along
    float edge;           // softness of its rim
    float color[3];
};

static const struct soft_box boxes[] = {
    { { -0.55f, 0.75f, 0.60f }, 0.55f, 0.40f, 0.10f, { 6.0f, 5.8f, 5.4f } },  // key, warm white
    { { 0.95f, 0.25f, 0.25f }, 0.16f, 0.80f, 0.08f, { 3.0f, 3.5f, 4.3f } },   // strip, cool
    { { -0.95f, 0.20f, -0.45f }, 0.20f, 0.70f, 0.10f, { 2.6f, 2.4f, 2.2f } }, // rim from behind
    { { 0.45f, 0.55f, -0.90f }, 0.55f, 0.22f, 0.10f, { 3.6f, 3.8f, 4.2f } },  // back light
    { { 0.05f, 1.00f, -0.05f }, 0.45f, 0.45f, 0.25f, { 2.2f, 2.3f, 2.4f } },  // from the ceiling
};

// Directions of the boxes: towards it, across, along.
static vec3 box_axis[sizeof(boxes) / sizeof(boxes[0])][3];
static pthread_once_t axes_once = PTHREAD_ONCE_INIT;

static void make_axes(void)
{
    for (size_t i = 0; i < sizeof(boxes) / sizeof(boxes[0]); i++) {
        float *w = box_axis[i][0], *u = box_axis[i][1], *v = box_axis[i][2];
        glm_vec3_normalize_to((float *)boxes[i].dir, w);
        glm_vec3_cross(fabsf(w[1]) > 0.9f ? (vec3){ 1, 0, 0 } : (vec3){ 0, 1, 0 }, w, u);
        glm_vec3_normalize(u);
        glm_vec3_cross(w, u, v);
    }
}

// So that white paper facing the camera comes out just short of white.
static const float exposure = 0.50f;

static float smooth(float edge0, float edge1, float x)
{
    float t = (x - edge0) / (edge1 - edge0);
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    return t * t * (3 - 2 * t);
}

static void radiance(const float dir[3], float out[3])
{
    // A dim room: bluish above, warm bounce from the floor.
    float up = dir[1];
    float sky = smooth(-0.25f, 0.9f, up), floor_bounce = smooth(0.15f, -0.9f, up);
    const float wall[3] = { 0.34f, 0.34f, 0.35f }, top[3] = { 0.56f, 0.60f, 0.66f };
    const float ground[3] = { 0.27f, 0.25f, 0.23f };
    for (int k = 0; k < 3; k++) {
        out[k] = wall[k] + (top[k] - wall[k]) * sky;
        out[k] += (ground[k] - out[k]) * floor_bounce;
    }
    for (size_t i = 0; i < sizeof(boxes) / sizeof(boxes[0]); i++) {
        const struct soft_box *b = &boxes[i];
        float facing = glm_vec3_dot(box_axis[i][0], (float *)dir);
        if (facing <= 0.05f)
            continue;
        float x = fabsf(glm_vec3_dot(box_axis[i][1], (float *)dir)) / facing;
        if (x >= b->half_u + b->edge)
            continue;
        float y = fabsf(glm_vec3_dot(box_axis[i][2], (float *)dir)) / facing;
        float on = smooth(b->half_u + b->edge, b->half_u - b->edge, x) *
                   smooth(b->half_v + b->edge, b->half_v - b->edge, y);
        for (int k = 0; k < 3; k++)
            out[k] += b->color[k] * on;
    }
    for (int k = 0; k < 3; k++)
        out[k] *= exposure;
}

void fw_env_radiance(const float dir[3], float out[3])
{
    pthread_once(&axes_once, make_axes);
    radiance(dir, out);
}

// Vulkan's cube faces: +X -X +Y -Y +Z -Z; s, t in -1..1.
static void face_direction(unsigned face, float s, float t, vec3 out)
{
    switch (face) {
    case 0: glm_vec3_copy((vec3){ 1, -t, -s }, out); break;
    case 1: glm_vec3_copy((vec3){ -1, -t, s }, out); break;
    case 2: glm_vec3_copy((vec3){ s, 1, t }, out); break;
    case 3: glm_vec3_copy((vec3){ s, -1, -t }, out); break;
    case 4: glm_vec3_copy((vec3){ s, -t, 1 }, out); break;
    default: glm_vec3_copy((vec3){ -s, -t, -1 }, out); break;
    }
    glm_vec3_normalize(out);
}

static void sh_basis(const float d[3], float out[9])
{
    out[0] = 0.282095f;
    out[1] = 0.488603f * d[1];
    out[2] = 0.488603f * d[2];
    out[3] = 0.488603f * d[0];
    out[4] = 1.092548f * d[0] * d[1];
    out[5] = 1.092548f * d[1] * d[2];
    out[6] = 0.315392f * (3 * d[2] * d[2] - 1);
    out[7] = 1.092548f * d[0] * d[2];
    out[8] = 0.546274f * (d[0] * d[0] - d[1] * d[1]);
}

void fw_env_sh(float sh[9][4])
{
    enum { SIDE = 24 };
    // Cosine lobe / pi per band, and the basis constants once more for the evaluation.
    static const float band[9] = { 1,     2 / 3.0f, 2 / 3.0f, 2 / 3.0f, 0.25f,
                                   0.25f, 0.25f,    0.25f,    0.25f };
    static const float basis[9] = { 0.282095f, 0.488603f, 0.488603f, 0.488603f, 1.092548f,
                                    1.092548f, 0.315392f, 1.092548f, 0.546274f };
    memset(sh, 0, sizeof(float) * 9 * 4);
    for (unsigned face = 0; face < 6; face++) {
        for (int i = 0; i < SIDE * SIDE; i++) {
            float s = ((float)(i % SIDE) + 0.5f) / SIDE * 2 - 1;
            float t = ((float)(i / SIDE) + 0.5f) / SIDE * 2 - 1;
            float solid = 4.0f / (SIDE * SIDE) / powf(1 + s * s + t * t, 1.5f);
            vec3 dir;
            float color[3], y[9];
            face_direction(face, s, t, dir);
            fw_env_radiance(dir, color);
            sh_basis(dir, y);
            for (int b = 0; b < 9; b++)
                for (int k = 0; k < 3; k++)
                    sh[b][k] += color[k] * y[b] * solid;
        }
    }
    for (int b = 0; b < 9; b++)
        for (int k = 0; k < 3; k++)
            sh[b][k] *= band[b] * basis[b];
}

static uint16_t half_of(float v)
{
    // Positive and below 65504 here; denormals are lost, nobody sees them.
    uint32_t bits;
    v = v > 60000 ? 60000 : v;
    memcpy(&bits, &v, sizeof(bits));
    int exponent = (int)(bits >> 23 & 255) - 112;
    if (exponent <= 0)
        return 0;
    return (uint16_t)(((uint32_t)exponent << 10 | (bits >> 13 & 1023)) + (bits >> 12 & 1));
}

// Where the light comes from that a rough surface sends straight up, and how much of it counts
// (GGX, the usual split-sum assumption). The same for every texel of a mip.
struct lobe {
    unsigned count;
    float weight; // of all
    struct {
        float x, y, z;
    } from[16 << (FW_ENV_MIPS - 1)];
};

static void make_lobe(unsigned mip, struct lobe *lobe)
{
    const unsigned samples = 16u << mip;
    const float roughness = (float)mip / (FW_ENV_MIPS - 1);
    const float a2 = roughness * roughness * roughness * roughness;
    lobe->count = 0;
    lobe->weight = 0;
    for (unsigned i = 0; i < samples; i++) {
        float u = ((float)i + 0.5f) / (float)samples;
        float phi = (float)i * 2.3999632f; // golden angle
        float cos2 = (1 - u) / (1 + (a2 - 1) * u);
        // The half vector mirrored: l = 2 (n.h) h - n
        float z = 2 * cos2 - 1, r = 2 * sqrtf(cos2) * sqrtf(1 - cos2);
        if (z <= 0)
            continue;
        lobe->from[lobe->count].x = r * cosf(phi);
        lobe->from[lobe->count].y = r * sinf(phi);
        lobe->from[lobe->count++].z = z;
        lobe->weight += z;
    }
}

// What a surface facing `n` reflects to a viewer straight above it.
static void reflect_rough(const vec3 n, const struct lobe *lobe, float out[3])
{
    vec3 tangent, across;
    glm_vec3_cross(fabsf(n[1]) < 0.9f ? (vec3){ 0, 1, 0 } : (vec3){ 1, 0, 0 }, (float *)n, tangent);
    glm_vec3_normalize(tangent);
    glm_vec3_cross((float *)n, tangent, across);
    out[0] = out[1] = out[2] = 0;
    for (unsigned i = 0; i < lobe->count; i++) {
        const float x = lobe->from[i].x, y = lobe->from[i].y, z = lobe->from[i].z;
        float l[3], color[3];
        for (int k = 0; k < 3; k++)
            l[k] = n[k] * z + tangent[k] * x + across[k] * y;
        radiance(l, color);
        for (int k = 0; k < 3; k++)
            out[k] += color[k] * z;
    }
    for (int k = 0; k < 3; k++)
        out[k] /= lobe->weight > 0 ? lobe->weight : 1;
}

enum { CUBE_TEXELS = 6 * (FW_ENV_SIDE * FW_ENV_SIDE * 4 - 1) / 3 }; // more than the mips there are
static uint16_t cube[CUBE_TEXELS * 4];
static size_t cube_bytes;
static pthread_once_t cube_once = PTHREAD_ONCE_INIT;

static void make_cube(void)
{
    uint16_t *out = cube;
    static struct lobe lobe;
    pthread_once(&axes_once, make_axes);
    for (unsigned m = 0; m < FW_ENV_MIPS; m++) {
        const unsigned side = FW_ENV_SIDE >> m;
        make_lobe(m, &lobe);
        for (unsigned i = 0; i < 6 * side * side; i++, out += 4) {
            float s = ((float)(i % side) + 0.5f) / (float)side * 2 - 1;
            float t = ((float)(i / side % side) + 0.5f) / (float)side * 2 - 1;
            vec3 dir;
            float color[3];
            face_direction(i / (side * side), s, t, dir);
            if (m == 0)
                radiance(dir, color);
            else
                reflect_rough(dir, &lobe, color);
            for (int k = 0; k < 3; k++)
                out[k] = half_of(color[k]);
            out[3] = 0x3c00;
        }
    }
    cube_bytes = (size_t)((const uint8_t *)out - (const uint8_t *)cube);
}

const uint16_t *fw_env_cube(size_t *bytes)
{
    pthread_once(&cube_once, make_cube);
    *bytes = cube_bytes;
    return cube;
}

static void blur(float *map, float *scratch, int radius)
{
    enum { N = FW_SHADOW_SIDE };
    for (int pass = 0; pass < 4; pass++) { // twice along each axis: nearly a Gaussian
        int step = pass & 1 ? N : 1, row = pass & 1 ? 1 : N;
        for (int y = 0; y < N; y++) {
            for (int x = 0; x < N; x++) {
                float sum = 0;
                for (int k = -radius; k <= radius; k++)
                    if (x + k >= 0 && x + k < N)
                        sum += map[y * row + (x + k) * step];
                scratch[y * row + x * step] = sum / (float)(2 * radius + 1);
            }
        }
        memcpy(map, scratch, sizeof(*map) * N * N);
    }
}

// Marks what one triangle covers, darker the nearer it is to the ground.
static void splat(const struct fw_scene_shadow *shadow, float p[3][3], float height,
                  float *near_map, float *far_map)
{
    enum { N = FW_SHADOW_SIDE };
    float scale = N / (2 * shadow->half), longest = 0;
    for (int e = 0; e < 3; e++) {
        const float *a = p[e], *b = p[(e + 1) % 3];
        longest = fmaxf(longest, hypotf(b[0] - a[0], b[2] - a[2]) * scale);
    }
    int steps = longest < 1 ? 1 : longest > 4 * N ? 4 * N : (int)(longest * 1.5f) + 1;
    for (int i = 0; i <= steps; i++) {
        for (int j = 0; j <= steps - i; j++) {
            float u = (float)i / (float)steps, v = (float)j / (float)steps, w = 1 - u - v, at[3];
            for (int k = 0; k < 3; k++)
                at[k] = p[0][k] * w + p[1][k] * u + p[2][k] * v;
            int x = (int)((at[0] - shadow->centre[0] + shadow->half) * scale);
            int y = (int)((at[2] - shadow->centre[2] + shadow->half) * scale);
            if (x < 0 || y < 0 || x >= N || y >= N)
                continue;
            float h = (at[1] - shadow->centre[1]) / height;
            float *n = &near_map[y * N + x], *f = &far_map[y * N + x];
            *n = fmaxf(*n, expf(-h * 14));
            *f = fmaxf(*f, expf(-h * 2.2f));
        }
    }
}

void fw_scene_shadow_bake(const struct fw_scene_model *model, struct fw_scene_shadow *shadow)
{
    enum { N = FW_SHADOW_SIDE };
    memset(shadow, 0, sizeof(*shadow));
    float width = fmaxf(model->max[0] - model->min[0], model->max[2] - model->min[2]);
    float height = fmaxf(fmaxf(model->max[1] - model->min[1], width * 0.3f), 1e-12f);
    shadow->half = fmaxf(width, height * 0.4f) * 0.85f;
    shadow->centre[0] = (model->min[0] + model->max[0]) / 2;
    // A little below, so that a flat model does not lie in the ground.
    shadow->centre[1] = model->min[1] - 0.003f * fmaxf(width, height);
    shadow->centre[2] = (model->min[2] + model->max[2]) / 2;
    float *maps = calloc((size_t)3 * N * N, sizeof(*maps));
    if (!maps)
        return;
    // A sample of the triangles is enough for something this soft.
    uint64_t stride = model->triangles / 200000 + 1;
    for (uint32_t i = 0; i < model->item_count; i++) {
        const struct fw_scene_mesh *mesh = &model->meshes[model->items[i].mesh];
        mat4 world;
        memcpy(world, model->items[i].world, sizeof(world));
        for (uint64_t t = 0; t + 2 < mesh->index_count; t += 3 * stride) {
            float p[3][3];
            for (int k = 0; k < 3; k++) {
                uint32_t index = model->indices[mesh->first_index + t + (uint64_t)k];
                glm_mat4_mulv3(world, model->vertices[index].position, 1, p[k]);
            }
            splat(shadow, p, height, maps, maps + N * N);
        }
    }
    blur(maps, maps + 2 * N * N, 2);
    blur(maps + N * N, maps + 2 * N * N, 7);
    for (int i = 0; i < N * N; i++) {
        // Nothing may touch the rim of the square: it would show.
        float x = fabsf((float)(i % N) - N / 2.0f) / (N / 2.0f);
        float y = fabsf((float)(i / N) - N / 2.0f) / (N / 2.0f);
        float rim = smooth(1, 0.75f, x) * smooth(1, 0.75f, y);
        float dark = 1 - (1 - 0.55f * maps[i]) * (1 - 0.6f * maps[N * N + i]);
        shadow->texels[i] = (uint8_t)lrintf(fminf(dark, 1) * rim * 255);
    }
    free(maps);
}
