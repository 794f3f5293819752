// SPDX-License-Identifier: MIT
// How much of a model file is believed, and the sentence a person gets when it is not.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
    FW_SCENE_MAX_FILE = 512 << 20,     // bytes, the model and each file it refers to
    FW_SCENE_MAX_TRIANGLES = 20000000, // drawn, instances counted each time
    FW_SCENE_MAX_TEXTURE = 16384,      // pixels per side
    FW_SCENE_MAX_DEPTH = 256,          // nodes on the way from the root
    FW_SCENE_MAX_NODES = 1 << 20,      // nodes in a file
    FW_SCENE_MAX_ITEMS = 1 << 18,      // meshes drawn, instances counted each time
    FW_SCENE_MAX_JSON = 128 << 20,     // bytes of JSON in a glTF
    FW_SCENE_TEXTURE_BUDGET = 1 << 30, // bytes of decoded pictures; smaller pictures beyond it
    FW_SCENE_MAX_SIDE_CPU = 1024,      // pixels per side where the CPU draws
};

// Where the sentence goes. Zero-initialised swallows it.
struct fw_scene_note {
    char *text;
    size_t size;
};

// Writes the sentence (the first one stays) and returns `err`, for `return fw_scene_fail(...)`.
enum fw_err fw_scene_fail(const struct fw_scene_note *note, enum fw_err err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
