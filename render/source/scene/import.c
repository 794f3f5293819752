// SPDX-License-Identifier: MIT
#include <assimp/cfileio.h>
#include <assimp/cimport.h>
#include <assimp/config.h>
#include <assimp/postprocess.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "render/source/scene/claims.h"
#include "render/source/scene/gltf.h"
#include "render/source/scene/import_priv.h"

static void report(const struct fw_scene_progress *progress, int percent, const char *what)
{
    if (progress && progress->call)
        progress->call(progress->user, percent, what);
}

static bool has_suffix(const char *name, const char *suffix)
{
    size_t n = strlen(name), s = strlen(suffix);
    return n > s && !strcasecmp(name + n - s, suffix);
}

static enum fw_err read_scene(struct fw_import *in)
{
    const char *name = in->files.main_name;
    const char *dot = strrchr(name, '.');
    if (!dot || !aiIsExtensionSupported(dot))
        return fw_scene_fail(in->note, FW_ERR_UNSUPPORTED,
                             "\"%s\" is not of a kind that can be shown; glTF, OBJ, FBX, STL, PLY "
                             "and others are.",
                             name);
    struct aiPropertyStore *store = aiCreatePropertyStore();
    if (!store)
        return FW_ERR_NOMEM;
    aiSetImportPropertyInteger(store, AI_CONFIG_PP_SBP_REMOVE,
                               aiPrimitiveType_POINT | aiPrimitiveType_LINE);
    aiSetImportPropertyFloat(store, AI_CONFIG_PP_GSN_MAX_SMOOTHING_ANGLE, 50);
    unsigned flags = aiProcess_ValidateDataStructure | aiProcess_Triangulate |
                     aiProcess_SortByPType | aiProcess_CalcTangentSpace;
    // glTF is ready to draw, and asks for flat faces where normals are missing.
    if (!in->gltf)
        flags |= aiProcess_GenSmoothNormals | aiProcess_JoinIdenticalVertices |
                 aiProcess_GenUVCoords | aiProcess_TransformUVCoords;
    struct aiFileIO io;
    fw_import_io(&io, &in->files);
    in->scene = aiImportFileExWithProperties(name, flags, &io, store);
    aiReleasePropertyStore(store);
    if (!in->scene || !in->scene->mRootNode) {
        const char *why = aiGetErrorString();
        return fw_scene_fail(in->note, FW_ERR_FORMAT, "\"%s\" can't be read: %.200s", name,
                             why && *why ? why : "the file is broken.");
    }
    return FW_OK;
}

static enum fw_err import_file(struct fw_import *in, const char *path, uint32_t max_side,
                               const struct fw_scene_progress *progress)
{
    report(progress, 5, "reading");
    enum fw_err err = fw_scene_files_open(&in->files, path, in->note);
    if (err)
        return err;
    const char *name = in->files.main_name;
    in->gltf = has_suffix(name, ".gltf") || has_suffix(name, ".glb");
    if (in->gltf)
        err = fw_gltf_check(&in->files, in->note);
    const struct fw_scene_bytes *bytes = fw_scene_files_main(&in->files);
    if (!err)
        err = fw_scene_check_claims(name, bytes->data, bytes->size, in->note);
    if (err)
        return err;
    report(progress, 15, "geometry");
    err = read_scene(in);
    if (!err)
        err = fw_import_materials(in);
    if (!err)
        err = fw_import_meshes(in);
    if (!err)
        err = fw_scene_model_measure(in->model, in->note);
    if (err)
        return err;
    report(progress, 45, "textures");
    snprintf(in->model->name, sizeof(in->model->name), "%s", name);
    return fw_scene_decode(in->model, in->pictures, in->picture_count, max_side, in->note);
}

enum fw_err fw_scene_import(struct fw_scene_model *model, const char *path, uint32_t max_side,
                            const struct fw_scene_progress *progress,
                            const struct fw_scene_note *note)
{
    memset(model, 0, sizeof(*model));
    struct fw_import *in = calloc(1, sizeof(*in));
    if (!in)
        return FW_ERR_NOMEM;
    in->model = model;
    in->note = note;
    in->files.dir = -1;
    enum fw_err err = import_file(in, path, max_side, progress);
    if (in->scene)
        aiReleaseImport(in->scene);
    for (unsigned i = 0; i < in->picture_count; i++)
        free((void *)in->picture_name[i]);
    fw_scene_files_finish(&in->files);
    free(in);
    if (err) {
        fw_scene_model_finish(model);
        fw_scene_fail(note, err, "The model could not be loaded: %s.", fw_err_name(err));
    }
    return err;
}
