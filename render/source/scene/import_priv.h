// SPDX-License-Identifier: MIT
// For import*.c only: the state of one import.
#pragma once

#include <assimp/scene.h>

#include "render/source/scene/file.h"
#include "render/source/scene/model.h"

enum { FW_SCENE_MAX_PICTURES = 1024, FW_SCENE_MAX_TEXTURES = 2048 };

struct fw_import {
    const struct aiScene *scene;
    struct fw_scene_files files;
    struct fw_scene_model *model;
    const struct fw_scene_note *note;
    bool gltf;
    struct fw_scene_picture pictures[FW_SCENE_MAX_PICTURES];
    const char *picture_name[FW_SCENE_MAX_PICTURES]; // owned copies
    unsigned picture_count;
};

// ---- import_material.c: all materials and the list of pictures they use.
enum fw_err fw_import_materials(struct fw_import *in);
// ---- import_mesh.c: vertices, indices, items.
enum fw_err fw_import_meshes(struct fw_import *in);
// ---- import_io.c: assimp's view of `files`. Valid while `files` lives.
struct aiFileIO;
void fw_import_io(struct aiFileIO *io, struct fw_scene_files *files);
