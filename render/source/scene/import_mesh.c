// SPDX-License-Identifier: MIT
#include <assimp/mesh.h>
#include <cglm/cglm.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "render/source/scene/import_priv.h"

struct node_entry {
    const struct aiNode *node;
    mat4 world;
    unsigned depth;
};

static void matrix_of(const struct aiMatrix4x4 *in, mat4 out)
{
    const float rows[16] = { in->a1, in->a2, in->a3, in->a4, in->b1, in->b2, in->b3, in->b4,
                             in->c1, in->c2, in->c3, in->c4, in->d1, in->d2, in->d3, in->d4 };
    for (int r = 0; r < 4; r++)
        for (int c = 0; c < 4; c++)
            out[c][r] = rows[r * 4 + c];
}

// All nodes with their world matrices, parents first; no recursion, so that a deep file costs heap
// and not stack.
static enum fw_err flatten(struct fw_import *in, struct node_entry **out, unsigned *out_count)
{
    unsigned count = 0, room = 256;
    struct node_entry *list = aligned_alloc(32, room * sizeof(*list));
    if (!list)
        return FW_ERR_NOMEM;
    *out = list;
    list[count].node = in->scene->mRootNode;
    list[count].depth = 1;
    matrix_of(&in->scene->mRootNode->mTransformation, list[count++].world);
    for (unsigned i = 0; i < count; i++) {
        const struct aiNode *node = list[i].node;
        if (list[i].depth > FW_SCENE_MAX_DEPTH)
            return fw_scene_fail(in->note, FW_ERR_TOO_LARGE,
                                 "The model nests nodes deeper than the limit of %d.",
                                 FW_SCENE_MAX_DEPTH);
        if (node->mNumChildren > FW_SCENE_MAX_NODES - count)
            return fw_scene_fail(in->note, FW_ERR_TOO_LARGE,
                                 "The model has more nodes than the limit of %d.",
                                 FW_SCENE_MAX_NODES);
        while (count + node->mNumChildren > room) {
            struct node_entry *more = aligned_alloc(32, (size_t)room * 2 * sizeof(*more));
            if (!more)
                return FW_ERR_NOMEM;
            memcpy(more, list, count * sizeof(*more));
            free(list);
            *out = list = more;
            room *= 2;
        }
        for (unsigned c = 0; c < node->mNumChildren; c++) {
            mat4 local;
            matrix_of(&node->mChildren[c]->mTransformation, local);
            glm_mat4_mul(list[i].world, local, list[count].world);
            list[count].node = node->mChildren[c];
            list[count++].depth = list[i].depth + 1;
        }
    }
    *out_count = count;
    return FW_OK;
}

static void find_world(const struct node_entry *nodes, unsigned count, const char *name, mat4 out)
{
    for (unsigned i = 0; i < count; i++) {
        if (!strcmp(nodes[i].node->mName.data, name)) {
            memcpy(out, nodes[i].world, sizeof(mat4));
            return;
        }
    }
    glm_mat4_identity(out);
}

// Per vertex the sum of weight x joint world x inverse bind matrix: the pose of the file's nodes.
// NULL when there is no memory.
static mat4 *skin_matrices(const struct aiMesh *mesh, const struct node_entry *nodes,
                           unsigned count)
{
    mat4 *out = aligned_alloc(32, (size_t)mesh->mNumVertices * sizeof(mat4));
    float *sum = calloc(mesh->mNumVertices, sizeof(*sum));
    if (!out || !sum) {
        free(out);
        free(sum);
        return NULL;
    }
    memset(out, 0, (size_t)mesh->mNumVertices * sizeof(mat4));
    for (unsigned b = 0; b < mesh->mNumBones; b++) {
        const struct aiBone *bone = mesh->mBones[b];
        mat4 world, bind, joint;
        find_world(nodes, count, bone->mName.data, world);
        matrix_of(&bone->mOffsetMatrix, bind);
        glm_mat4_mul(world, bind, joint);
        for (unsigned w = 0; w < bone->mNumWeights; w++) {
            unsigned v = bone->mWeights[w].mVertexId;
            float weight = bone->mWeights[w].mWeight;
            if (v >= mesh->mNumVertices || !isfinite(weight))
                continue;
            for (int k = 0; k < 16; k++)
                ((float *)out[v])[k] += ((float *)joint)[k] * weight;
            sum[v] += weight;
        }
    }
    for (unsigned v = 0; v < mesh->mNumVertices; v++) {
        if (sum[v] > 1e-6f)
            for (int k = 0; k < 16; k++)
                ((float *)out[v])[k] /= sum[v];
        else
            glm_mat4_identity(out[v]);
    }
    free(sum);
    return out;
}

static void fill_vertex(const struct aiMesh *mesh, unsigned i, mat4 *skin,
                        struct fw_scene_vertex *out)
{
    *out = (struct fw_scene_vertex){ .color = { 65535, 65535, 65535, 65535 } };
    vec3 position = { mesh->mVertices[i].x, mesh->mVertices[i].y, mesh->mVertices[i].z };
    vec3 normal = { 0, 1, 0 }, tangent = { 1, 0, 0 };
    if (mesh->mNormals)
        glm_vec3_copy((float *)&mesh->mNormals[i], normal);
    float hand = 1;
    if (mesh->mTangents && mesh->mBitangents) {
        glm_vec3_copy((float *)&mesh->mTangents[i], tangent);
        vec3 across;
        glm_vec3_cross(normal, tangent, across);
        hand = glm_vec3_dot(across, (float *)&mesh->mBitangents[i]) < 0 ? -1 : 1;
    }
    if (skin) {
        glm_mat4_mulv3(skin[i], position, 1, position);
        glm_mat4_mulv3(skin[i], normal, 0, normal);
        glm_mat4_mulv3(skin[i], tangent, 0, tangent);
    }
    glm_vec3_normalize(normal);
    glm_vec3_normalize(tangent);
    for (int k = 0; k < 3; k++) {
        out->position[k] = isfinite(position[k]) ? position[k] : 0;
        out->normal[k] = fw_scene_snorm(normal[k]);
        out->tangent[k] = fw_scene_snorm(tangent[k]);
    }
    out->tangent[3] = hand < 0 ? -32767 : 32767;
    for (int set = 0; set < 2; set++) {
        if (!mesh->mTextureCoords[set])
            continue;
        const struct aiVector3D *uv = &mesh->mTextureCoords[set][i];
        out->uv[set * 2] = isfinite(uv->x) ? uv->x : 0;
        out->uv[set * 2 + 1] = isfinite(uv->y) ? 1 - uv->y : 0; // assimp's v points upwards
    }
    if (!mesh->mTextureCoords[1])
        out->uv[2] = out->uv[0], out->uv[3] = out->uv[1];
    if (mesh->mColors[0]) {
        const float *c = (const float *)&mesh->mColors[0][i];
        for (int k = 0; k < 4; k++)
            out->color[k] = (uint16_t)lrintf((c[k] > 0 ? c[k] < 1 ? c[k] : 1 : 0) * 65535);
    }
}

// glTF wants flat faces where a file has no normals: each triangle gets vertices of its own.
static void flat_normals(struct fw_scene_vertex *v)
{
    vec3 a, b, n;
    glm_vec3_sub(v[1].position, v[0].position, a);
    glm_vec3_sub(v[2].position, v[0].position, b);
    glm_vec3_cross(a, b, n);
    glm_vec3_normalize(n);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            v[i].normal[k] = fw_scene_snorm(n[k]);
}

static void grow(struct fw_scene_mesh *mesh, const struct fw_scene_vertex *v)
{
    for (int k = 0; k < 3; k++) {
        mesh->min[k] = fminf(mesh->min[k], v->position[k]);
        mesh->max[k] = fmaxf(mesh->max[k], v->position[k]);
    }
}

static enum fw_err add_mesh(struct fw_import *in, const struct aiMesh *from, mat4 *skin,
                            struct fw_scene_mesh *mesh)
{
    struct fw_scene_model *model = in->model;
    uint32_t base = model->vertex_count;
    bool flat = !from->mNormals;
    *mesh = (struct fw_scene_mesh){
        .first_index = model->index_count,
        .material = from->mMaterialIndex < model->material_count ? from->mMaterialIndex
                                                                 : model->material_count - 1,
        .min = { INFINITY, INFINITY, INFINITY },
        .max = { -INFINITY, -INFINITY, -INFINITY },
    };
    for (unsigned i = 0; !flat && i < from->mNumVertices; i++)
        fill_vertex(from, i, skin, &model->vertices[model->vertex_count++]);
    for (unsigned f = 0; f < from->mNumFaces; f++) {
        const struct aiFace *face = &from->mFaces[f];
        if (face->mNumIndices != 3)
            continue;
        bool sane = true;
        for (int k = 0; k < 3; k++)
            sane = sane && face->mIndices[k] < from->mNumVertices;
        if (!sane)
            return fw_scene_fail(in->note, FW_ERR_FORMAT,
                                 "The file is broken: a face names a vertex that does not exist.");
        for (int k = 0; k < 3; k++) {
            uint32_t index = base + face->mIndices[k];
            if (flat) {
                index = model->vertex_count++;
                fill_vertex(from, face->mIndices[k], skin, &model->vertices[index]);
            }
            grow(mesh, &model->vertices[index]);
            model->indices[model->index_count++] = index;
        }
        if (flat)
            flat_normals(&model->vertices[model->vertex_count - 3]);
    }
    mesh->index_count = model->index_count - mesh->first_index;
    return FW_OK;
}

static enum fw_err reserve(struct fw_import *in)
{
    const struct aiScene *scene = in->scene;
    uint64_t vertices = 1, faces = 1;
    for (unsigned i = 0; i < scene->mNumMeshes; i++) {
        faces += scene->mMeshes[i]->mNumFaces;
        uint64_t own = scene->mMeshes[i]->mNumVertices, split = 3ull * scene->mMeshes[i]->mNumFaces;
        vertices += scene->mMeshes[i]->mNormals ? own : split;
    }
    if (faces > FW_SCENE_MAX_TRIANGLES || vertices > 3ull * FW_SCENE_MAX_TRIANGLES)
        return fw_scene_fail(in->note, FW_ERR_TOO_LARGE,
                             "The model has %llu triangles; the limit is %d.",
                             (unsigned long long)faces, FW_SCENE_MAX_TRIANGLES);
    struct fw_scene_model *model = in->model;
    model->vertices = malloc(vertices * sizeof(*model->vertices));
    model->indices = malloc(faces * 3 * sizeof(*model->indices));
    model->meshes = calloc(scene->mNumMeshes + 1, sizeof(*model->meshes));
    return model->vertices && model->indices && model->meshes ? FW_OK : FW_ERR_NOMEM;
}

static enum fw_err add_items(struct fw_import *in, const struct node_entry *nodes, unsigned count)
{
    struct fw_scene_model *model = in->model;
    uint64_t items = 0;
    for (unsigned i = 0; i < count; i++)
        items += nodes[i].node->mNumMeshes;
    if (items > FW_SCENE_MAX_ITEMS)
        return fw_scene_fail(in->note, FW_ERR_TOO_LARGE,
                             "The model draws %llu parts; the limit is %d.",
                             (unsigned long long)items, FW_SCENE_MAX_ITEMS);
    model->items = calloc(items + 1, sizeof(*model->items));
    if (!model->items)
        return FW_ERR_NOMEM;
    for (unsigned i = 0; i < count; i++) {
        for (unsigned m = 0; m < nodes[i].node->mNumMeshes; m++) {
            unsigned mesh = nodes[i].node->mMeshes[m];
            if (mesh >= model->mesh_count || !model->meshes[mesh].index_count)
                continue;
            struct fw_scene_item *item = &model->items[model->item_count++];
            item->mesh = mesh;
            mat4 world = GLM_MAT4_IDENTITY_INIT; // skinned vertices are in the world already
            if (!in->scene->mMeshes[mesh]->mNumBones)
                memcpy(world, nodes[i].world, sizeof(world));
            memcpy(item->world, world, sizeof(world));
        }
    }
    return FW_OK;
}

enum fw_err fw_import_meshes(struct fw_import *in)
{
    struct node_entry *nodes = NULL;
    unsigned count = 0;
    enum fw_err err = flatten(in, &nodes, &count);
    if (!err)
        err = reserve(in);
    for (unsigned i = 0; !err && i < in->scene->mNumMeshes; i++) {
        const struct aiMesh *mesh = in->scene->mMeshes[i];
        mat4 *skin = mesh->mNumBones ? skin_matrices(mesh, nodes, count) : NULL;
        if (mesh->mNumBones && !skin && mesh->mNumVertices)
            err = FW_ERR_NOMEM;
        else
            err = add_mesh(in, mesh, skin, &in->model->meshes[i]);
        in->model->mesh_count = i + 1;
        free(skin);
    }
    if (!err)
        err = add_items(in, nodes, count);
    free(nodes);
    return err;
}
