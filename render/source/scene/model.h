// SPDX-License-Identifier: MIT
// A model in host memory, ready for upload: whatever the file was, this is what is drawn.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "render/source/scene/limits.h"

struct fw_scene_vertex {
    float position[3];
    int16_t normal[4];  // snorm; w unused
    int16_t tangent[4]; // snorm; w = handedness
    float uv[4];        // two sets; 0,0 is the top left corner of the picture
    uint16_t color[4];  // unorm, linear
};

enum fw_scene_slot { FW_SLOT_BASE, FW_SLOT_ORM, FW_SLOT_NORMAL, FW_SLOT_EMISSIVE, FW_SLOT_COUNT };
enum fw_scene_alpha { FW_ALPHA_OPAQUE, FW_ALPHA_MASK, FW_ALPHA_BLEND };
enum fw_scene_wrap { FW_WRAP_REPEAT, FW_WRAP_CLAMP, FW_WRAP_MIRROR };

struct fw_scene_material {
    float base[4];     // linear
    float emissive[3]; // linear
    float metallic, roughness, normal_scale, occlusion, cutoff;
    float uv_transform[6];      // of set 0: two rows of three
    int texture[FW_SLOT_COUNT]; // into model->textures; -1 = none
    uint8_t uv_set[FW_SLOT_COUNT];
    bool has_occlusion, has_rough_metal; // which channels of the ORM picture count
    uint8_t wrap_u, wrap_v;              // enum fw_scene_wrap
    uint8_t alpha;                       // enum fw_scene_alpha
    bool double_sided, unlit;
};

// Where a picture comes from. Bytes belong to the importer until the pictures are decoded.
struct fw_scene_picture {
    const uint8_t *bytes; // encoded file, or raw BGRA texels when raw_width > 0
    size_t size;
    uint32_t raw_width, raw_height;
};

// RGBA8 with a full chain of mips, tightly packed. Made of one picture, or of two: red from
// `occlusion`, green and blue from `picture`.
struct fw_scene_texture {
    int picture, occlusion; // into the importer's pictures; -1 = none
    bool srgb;
    uint32_t width, height, mips;
    size_t bytes;
    uint8_t *texels; // NULL = could not be decoded: drawn as plain white
};

struct fw_scene_mesh {
    uint32_t first_index, index_count, material;
    float min[3], max[3];
};

struct fw_scene_item {
    uint32_t mesh;
    float world[16]; // column-major
};

// Thread: one at a time.
struct fw_scene_model {
    char name[128];
    struct fw_scene_vertex *vertices;
    uint32_t *indices;
    struct fw_scene_mesh *meshes;
    struct fw_scene_item *items;
    struct fw_scene_material *materials;
    struct fw_scene_texture *textures;
    uint32_t vertex_count, index_count, mesh_count, item_count, material_count, texture_count;
    uint32_t missing_textures;
    uint32_t damaged_pictures; // as read: some are shown all the same, in part
    char picture_trouble[160]; // of the first of them
    uint64_t triangles;        // drawn
    float min[3], max[3];
};

void fw_scene_model_finish(struct fw_scene_model *model);
void fw_scene_material_default(struct fw_scene_material *material);
int16_t fw_scene_snorm(float v);
// Box of all items, triangle count. FW_ERR_FORMAT when nothing finite is drawn.
enum fw_err fw_scene_model_measure(struct fw_scene_model *model, const struct fw_scene_note *note);

struct fw_scene_progress {
    void (*call)(void *user, int percent, const char *what); // may be NULL
    void *user;
};

// ---- import.c: a file, through assimp. On failure `model` is empty and `note` says why.
enum fw_err fw_scene_import(struct fw_scene_model *model, const char *path, uint32_t max_side,
                            const struct fw_scene_progress *progress,
                            const struct fw_scene_note *note);
// ---- demo.c: the built-in scene.
enum fw_err fw_scene_demo(struct fw_scene_model *model);

// ---- image.c: decodes on all cores, builds textures and mips. What is wrong with pictures is
// noted in the model, it is no failure; sizes beyond the limits are. `max_side` in pixels.
enum fw_err fw_scene_decode(struct fw_scene_model *model, const struct fw_scene_picture *pictures,
                            unsigned picture_count, uint32_t max_side,
                            const struct fw_scene_note *note);
