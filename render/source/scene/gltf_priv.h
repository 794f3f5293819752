// SPDX-License-Identifier: MIT
// For gltf*.c only: one glTF under examination.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "render/source/scene/gltf.h"

enum { FW_GLTF_BUFFERS = 256 };

struct fw_gltf {
    struct fw_scene_files *files;
    const struct fw_scene_note *note;
    json_t *root;
    const uint8_t *bin; // the GLB's second chunk
    size_t bin_size;
    size_t buffer_count;
    struct {
        uint64_t length;     // as stated
        const uint8_t *data; // NULL: not looked into
    } buffer[FW_GLTF_BUFFERS];
};

struct fw_gltf_accessor {
    uint64_t count;
    unsigned component; // GL enum
    unsigned component_size, components;
    const uint8_t *data; // NULL: zeros, or not looked into
    uint64_t stride;
};

// An element of a top-level array; NULL when there is none.
const json_t *fw_gltf_get(const struct fw_gltf *g, const char *array, uint64_t index);
size_t fw_gltf_count(const struct fw_gltf *g, const char *array);
// An integer member in [0, 2^53]; `otherwise` when absent. False when it is anything else.
bool fw_gltf_uint(const json_t *object, const char *key, uint64_t otherwise, uint64_t *out);
// The reference `key` of `object` is absent or within `array`.
enum fw_err fw_gltf_ref(const struct fw_gltf *g, const json_t *object, const char *key,
                        const char *array, const char *where);
enum fw_err fw_gltf_broken(const struct fw_gltf *g, const char *what);
// A checked accessor, by index; false when there is none.
bool fw_gltf_accessor(const struct fw_gltf *g, uint64_t index, struct fw_gltf_accessor *out);
// ---- gltf_data.c: buffers, views, accessors
enum fw_err fw_gltf_check_data(struct fw_gltf *g);
// ---- gltf_refs.c: meshes, nodes, skins, materials …
enum fw_err fw_gltf_check_refs(struct fw_gltf *g);
