// SPDX-License-Identifier: MIT
#include <assimp/GltfMaterial.h>
#include <assimp/material.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/source/scene/import_priv.h"

struct texture_ref {
    int picture; // -1 = none
    unsigned uv;
    enum aiTextureMapMode wrap[2];
    bool has_transform;
    struct aiUVTransform transform;
};

static bool get_float(const struct aiMaterial *m, const char *key, unsigned type, unsigned index,
                      float *out)
{
    float v;
    unsigned n = 1;
    if (aiGetMaterialFloatArray(m, key, type, index, &v, &n) || n < 1 || !isfinite(v))
        return false;
    *out = v;
    return true;
}

static bool get_color(const struct aiMaterial *m, const char *key, unsigned type, unsigned index,
                      float out[4])
{
    struct aiColor4D c;
    if (aiGetMaterialColor(m, key, type, index, &c))
        return false;
    if (!isfinite(c.r) || !isfinite(c.g) || !isfinite(c.b) || !isfinite(c.a))
        return false;
    out[0] = c.r, out[1] = c.g, out[2] = c.b, out[3] = c.a;
    return true;
}

static bool get_int(const struct aiMaterial *m, const char *key, unsigned type, unsigned index,
                    int *out)
{
    unsigned n = 1;
    return !aiGetMaterialIntegerArray(m, key, type, index, out, &n) && n >= 1;
}

static const struct aiTexture *embedded(const struct aiScene *scene, const char *path)
{
    if (path[0] == '*') {
        char *end;
        unsigned long i = strtoul(path + 1, &end, 10);
        return end != path + 1 && i < scene->mNumTextures ? scene->mTextures[i] : NULL;
    }
    for (unsigned i = 0; i < scene->mNumTextures; i++)
        if (scene->mTextures[i]->mFilename.length &&
            !strcmp(scene->mTextures[i]->mFilename.data, path))
            return scene->mTextures[i];
    return NULL;
}

static void load_picture(struct fw_import *in, const char *path, struct fw_scene_picture *out)
{
    const struct aiTexture *t = embedded(in->scene, path);
    if (t && t->mHeight == 0) {
        out->bytes = (const uint8_t *)t->pcData;
        out->size = t->mWidth;
    } else if (t && t->mWidth <= FW_SCENE_MAX_TEXTURE && t->mHeight <= FW_SCENE_MAX_TEXTURE) {
        out->bytes = (const uint8_t *)t->pcData;
        out->raw_width = t->mWidth;
        out->raw_height = t->mHeight;
    } else if (!t) {
        struct fw_scene_bytes bytes;
        enum fw_err err = fw_scene_files_get(&in->files, path, &bytes);
        // Files from other machines name "C:\textures\a.png": look beside the model.
        const char *slash = strrchr(path, '/'), *back = strrchr(path, '\\');
        const char *base = back > slash ? back : slash;
        if (err && base)
            err = fw_scene_files_get(&in->files, base + 1, &bytes);
        if (!err) {
            out->bytes = bytes.data;
            out->size = bytes.size;
        }
    }
}

// Index of the picture `path`; -1 when the table is full.
static int find_picture(struct fw_import *in, const char *path)
{
    for (unsigned i = 0; i < in->picture_count; i++)
        if (!strcmp(in->picture_name[i], path))
            return (int)i;
    if (in->picture_count == FW_SCENE_MAX_PICTURES)
        return -1;
    char *name = strdup(path);
    if (!name)
        return -1;
    unsigned i = in->picture_count++;
    in->picture_name[i] = name;
    load_picture(in, path, &in->pictures[i]);
    return (int)i;
}

static struct texture_ref get_texture(struct fw_import *in, const struct aiMaterial *m,
                                      enum aiTextureType type)
{
    struct texture_ref ref = { .picture = -1 };
    struct aiString path;
    unsigned uv = 0;
    enum aiTextureMapMode wrap[3] = { aiTextureMapMode_Wrap, aiTextureMapMode_Wrap,
                                      aiTextureMapMode_Wrap };
    if (aiGetMaterialTexture(m, type, 0, &path, NULL, &uv, NULL, NULL, wrap, NULL) || !path.length)
        return ref;
    ref.picture = find_picture(in, path.data);
    ref.uv = uv > 1 ? 0 : uv;
    ref.wrap[0] = wrap[0];
    ref.wrap[1] = wrap[1];
    unsigned n = sizeof(ref.transform) / sizeof(float);
    ref.has_transform =
        !aiGetMaterialFloatArray(m, AI_MATKEY_UVTRANSFORM(type, 0), (float *)&ref.transform, &n) &&
        n == sizeof(ref.transform) / sizeof(float);
    return ref;
}

static int find_texture(struct fw_import *in, int picture, int occlusion, bool srgb)
{
    struct fw_scene_model *model = in->model;
    for (uint32_t i = 0; i < model->texture_count; i++) {
        const struct fw_scene_texture *t = &model->textures[i];
        if (t->picture == picture && t->occlusion == occlusion && t->srgb == srgb)
            return (int)i;
    }
    if (model->texture_count == FW_SCENE_MAX_TEXTURES)
        return -1;
    model->textures[model->texture_count] =
        (struct fw_scene_texture){ .picture = picture, .occlusion = occlusion, .srgb = srgb };
    return (int)model->texture_count++;
}

static uint8_t wrap_of(enum aiTextureMapMode mode)
{
    return mode == aiTextureMapMode_Mirror  ? FW_WRAP_MIRROR
           : mode == aiTextureMapMode_Clamp ? FW_WRAP_CLAMP
                                            : FW_WRAP_REPEAT;
}

// assimp turns glTF's transform into one with v upwards, and the offsets with it; this goes the
// same way back, to rows that apply to v downwards. A positive rotation turns the picture
// clockwise.
static void set_transform(struct fw_scene_material *out, const struct aiUVTransform *t)
{
    float c = cosf(-t->mRotation), s = sinf(-t->mRotation);
    float sx = t->mScaling.x, sy = t->mScaling.y;
    float offset_x = t->mTranslation.x - 0.5f * sx * (1 - c + s);
    float offset_y = 1 - sy - t->mTranslation.y + 0.5f * sy * (s + c - 1);
    const float m[6] = { c * sx, s * sy, offset_x, -s * sx, c * sy, offset_y };
    for (int i = 0; i < 6; i++)
        if (!isfinite(m[i]))
            return;
    memcpy(out->uv_transform, m, sizeof(m));
}

static void set_slot(struct fw_scene_material *out, enum fw_scene_slot slot, int texture,
                     const struct texture_ref *ref)
{
    out->texture[slot] = texture;
    out->uv_set[slot] = (uint8_t)ref->uv;
    if (slot == FW_SLOT_BASE || out->texture[FW_SLOT_BASE] < 0) {
        out->wrap_u = wrap_of(ref->wrap[0]);
        out->wrap_v = wrap_of(ref->wrap[1]);
        if (ref->has_transform)
            set_transform(out, &ref->transform);
    }
}

static void import_textures(struct fw_import *in, const struct aiMaterial *m,
                            struct fw_scene_material *out)
{
    struct texture_ref base = get_texture(in, m, aiTextureType_BASE_COLOR);
    if (base.picture < 0)
        base = get_texture(in, m, aiTextureType_DIFFUSE);
    if (base.picture >= 0)
        set_slot(out, FW_SLOT_BASE, find_texture(in, base.picture, -1, true), &base);

    struct texture_ref normal = get_texture(in, m, aiTextureType_NORMALS);
    if (normal.picture >= 0) {
        set_slot(out, FW_SLOT_NORMAL, find_texture(in, normal.picture, -1, false), &normal);
        get_float(m, AI_MATKEY_GLTF_TEXTURE_SCALE(aiTextureType_NORMALS, 0), &out->normal_scale);
    }
    struct texture_ref glow = get_texture(in, m, aiTextureType_EMISSIVE);
    if (glow.picture >= 0)
        set_slot(out, FW_SLOT_EMISSIVE, find_texture(in, glow.picture, -1, true), &glow);

    struct texture_ref rough = get_texture(in, m, aiTextureType_UNKNOWN);
    struct texture_ref occlusion = get_texture(in, m, aiTextureType_LIGHTMAP);
    if (!in->gltf)
        rough.picture = -1; // other formats mean anything by "unknown"
    if (occlusion.picture >= 0 && (!in->gltf || (rough.picture >= 0 && occlusion.uv != rough.uv)))
        occlusion.picture = -1; // one fetch has one pair of coordinates
    if (rough.picture < 0 && occlusion.picture < 0)
        return;
    bool same = occlusion.picture == rough.picture;
    int texture = find_texture(in, rough.picture,
                               same || occlusion.picture < 0 ? -1 : occlusion.picture, false);
    set_slot(out, FW_SLOT_ORM, texture, rough.picture >= 0 ? &rough : &occlusion);
    out->has_rough_metal = rough.picture >= 0;
    out->has_occlusion = occlusion.picture >= 0;
    get_float(m, AI_MATKEY_GLTF_TEXTURE_STRENGTH(aiTextureType_LIGHTMAP, 0), &out->occlusion);
}

static void import_gltf(const struct aiMaterial *m, struct fw_scene_material *out)
{
    out->metallic = out->roughness = 1;
    get_color(m, AI_MATKEY_BASE_COLOR, out->base);
    get_float(m, AI_MATKEY_METALLIC_FACTOR, &out->metallic);
    get_float(m, AI_MATKEY_ROUGHNESS_FACTOR, &out->roughness);
    struct aiString mode;
    if (!aiGetMaterialString(m, AI_MATKEY_GLTF_ALPHAMODE, &mode)) {
        if (!strcmp(mode.data, "MASK"))
            out->alpha = FW_ALPHA_MASK;
        else if (!strcmp(mode.data, "BLEND"))
            out->alpha = FW_ALPHA_BLEND;
    }
    get_float(m, AI_MATKEY_GLTF_ALPHACUTOFF, &out->cutoff);
}

// Colours of older formats are meant as they look: sRGB.
static void import_classic(const struct aiMaterial *m, struct fw_scene_material *out)
{
    float color[4] = { 0.8f, 0.8f, 0.8f, 1 }, specular[4] = { 0 };
    bool pbr = get_color(m, AI_MATKEY_BASE_COLOR, color);
    if (!pbr)
        get_color(m, AI_MATKEY_COLOR_DIFFUSE, color);
    // A texture over a black or missing diffuse colour is meant to be seen.
    if (aiGetMaterialTextureCount(m, aiTextureType_DIFFUSE) &&
        color[0] + color[1] + color[2] < 0.01f)
        color[0] = color[1] = color[2] = 1;
    for (int i = 0; i < 3; i++)
        out->base[i] = powf(fminf(fmaxf(color[i], 0), 1), 2.2f);
    float opacity = 1;
    get_float(m, AI_MATKEY_OPACITY, &opacity);
    out->base[3] = opacity > 0.01f ? fminf(opacity, 1) : 1; // 0 is an exporter's mistake
    if (out->base[3] < 0.99f)
        out->alpha = FW_ALPHA_BLEND;
    else if (aiGetMaterialTextureCount(m, aiTextureType_OPACITY))
        out->alpha = FW_ALPHA_MASK;
    float shininess = 0;
    get_color(m, AI_MATKEY_COLOR_SPECULAR, specular);
    get_float(m, AI_MATKEY_SHININESS, &shininess);
    float strength = (specular[0] + specular[1] + specular[2]) / 3;
    out->roughness = shininess > 1 && strength > 0.01f ? powf(2 / (shininess + 2), 0.25f) : 0.7f;
    get_float(m, AI_MATKEY_ROUGHNESS_FACTOR, &out->roughness);
    get_float(m, AI_MATKEY_METALLIC_FACTOR, &out->metallic);
}

static void import_one(struct fw_import *in, const struct aiMaterial *m,
                       struct fw_scene_material *out)
{
    fw_scene_material_default(out);
    if (in->gltf)
        import_gltf(m, out);
    else
        import_classic(m, out);
    float glow[4] = { 0 };
    if (get_color(m, AI_MATKEY_COLOR_EMISSIVE, glow)) {
        float intensity = 1;
        get_float(m, AI_MATKEY_EMISSIVE_INTENSITY, &intensity);
        for (int i = 0; i < 3; i++)
            out->emissive[i] = fminf(fmaxf(glow[i] * intensity, 0), 1e4f);
    }
    int flag = 0;
    // The default of other formats is to show both sides: their faces are often turned wrongly.
    out->double_sided = get_int(m, AI_MATKEY_TWOSIDED, &flag) ? flag != 0 : !in->gltf;
    if (!in->gltf)
        out->double_sided = true;
    int shading = 0;
    out->unlit =
        in->gltf && get_int(m, AI_MATKEY_SHADING_MODEL, &shading) && shading == aiShadingMode_Unlit;
    import_textures(in, m, out);
    out->metallic = fminf(fmaxf(out->metallic, 0), 1);
    out->roughness = fminf(fmaxf(out->roughness, 0), 1);
}

enum fw_err fw_import_materials(struct fw_import *in)
{
    struct fw_scene_model *model = in->model;
    uint32_t count = in->scene->mNumMaterials;
    if (count > 65536)
        return fw_scene_fail(in->note, FW_ERR_TOO_LARGE,
                             "The model has %u materials; the limit is 65536.", count);
    model->materials = calloc(count + 1, sizeof(*model->materials));
    model->textures = calloc(FW_SCENE_MAX_TEXTURES, sizeof(*model->textures));
    if (!model->materials || !model->textures)
        return FW_ERR_NOMEM;
    for (uint32_t i = 0; i < count; i++)
        import_one(in, in->scene->mMaterials[i], &model->materials[i]);
    fw_scene_material_default(&model->materials[count]);
    model->material_count = count + 1;
    return FW_OK;
}
