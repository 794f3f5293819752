// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "render/source/scene/gltf_priv.h"

static uint32_t element(const struct fw_gltf_accessor *a, uint64_t i, unsigned component)
{
    uint32_t v = 0;
    memcpy(&v, a->data + i * a->stride + (uint64_t)component * a->component_size,
           a->component_size);
    return v;
}

static bool is_unsigned(const struct fw_gltf_accessor *a)
{
    return a->component == 5121 || a->component == 5123 || a->component == 5125;
}

// All attributes of a primitive (or of a morph target) exist and have `count` elements.
static enum fw_err check_attributes(const struct fw_gltf *g, const json_t *attributes,
                                    uint64_t count)
{
    const char *name;
    json_t *value;
    if (attributes && !json_is_object(attributes))
        return fw_gltf_broken(g, "the attributes of a mesh are not an object");
    json_object_foreach((json_t *)attributes, name, value)
    {
        struct fw_gltf_accessor a;
        if (!json_is_integer(value) || json_integer_value(value) < 0 ||
            !fw_gltf_accessor(g, (uint64_t)json_integer_value(value), &a))
            return fw_gltf_broken(g, "a mesh refers to an accessor that is not there");
        if (a.count != count)
            return fw_gltf_broken(g, "the attributes of a mesh differ in length");
        static const struct {
            const char *name;
            unsigned components;
        } shapes[] = { { "POSITION", 3 },   { "NORMAL", 3 },   { "TEXCOORD_0", 2 },
                       { "TEXCOORD_1", 2 }, { "JOINTS_0", 4 }, { "WEIGHTS_0", 4 } };
        for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
            if (!strcmp(shapes[i].name, name) && shapes[i].components != a.components)
                return fw_gltf_broken(g, "an attribute of a mesh has the wrong shape");
        // assimp takes the bytes for floats whatever they are.
        bool floats = !strcmp(name, "POSITION") || !strcmp(name, "NORMAL") ||
                      !strcmp(name, "TANGENT") || !strncmp(name, "TEXCOORD_", 9);
        if (floats && a.component != 5126)
            return fw_scene_fail(g->note, FW_ERR_UNSUPPORTED,
                                 "The file stores \"%.32s\" as integers, which is not supported. "
                                 "Export it again with floating-point attributes.",
                                 name);
    }
    return FW_OK;
}

static enum fw_err check_indices(const struct fw_gltf *g, const json_t *primitive, uint64_t count,
                                 uint64_t *drawn)
{
    *drawn = count;
    const json_t *value = json_object_get(primitive, "indices");
    if (!value)
        return FW_OK;
    struct fw_gltf_accessor a;
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        !fw_gltf_accessor(g, (uint64_t)json_integer_value(value), &a) || a.components != 1 ||
        !is_unsigned(&a))
        return fw_gltf_broken(g, "the indices of a mesh are not usable");
    for (uint64_t i = 0; a.data && i < a.count; i++)
        if (element(&a, i, 0) >= count)
            return fw_gltf_broken(g, "an index names a vertex that is not there");
    *drawn = a.count;
    return FW_OK;
}

static enum fw_err check_primitive(const struct fw_gltf *g, const json_t *primitive,
                                   uint64_t *triangles)
{
    const json_t *attributes = json_object_get(primitive, "attributes");
    const json_t *position = json_object_get(attributes, "POSITION");
    struct fw_gltf_accessor a;
    uint64_t mode, drawn;
    if (!fw_gltf_uint(primitive, "mode", 4, &mode) || mode > 6)
        return fw_gltf_broken(g, "a mesh is made of an unknown kind of primitive");
    if (!position)
        return FW_OK; // draws nothing
    if (!json_is_integer(position) || json_integer_value(position) < 0 ||
        !fw_gltf_accessor(g, (uint64_t)json_integer_value(position), &a))
        return fw_gltf_broken(g, "a mesh refers to an accessor that is not there");
    enum fw_err err = check_attributes(g, attributes, a.count);
    if (!err)
        err = check_indices(g, primitive, a.count, &drawn);
    if (!err)
        err = fw_gltf_ref(g, primitive, "material", "materials", "a mesh");
    const json_t *targets = json_object_get(primitive, "targets");
    for (size_t i = 0; !err && i < json_array_size(targets); i++)
        err = check_attributes(g, json_array_get(targets, i), a.count);
    if (!err)
        *triangles += mode == 4 ? drawn / 3 : mode > 4 && drawn > 2 ? drawn - 2 : 0;
    return err;
}

static enum fw_err check_meshes(const struct fw_gltf *g)
{
    enum fw_err err = FW_OK;
    uint64_t triangles = 0;
    for (size_t i = 0; !err && i < fw_gltf_count(g, "meshes"); i++) {
        const json_t *list = json_object_get(fw_gltf_get(g, "meshes", i), "primitives");
        for (size_t k = 0; !err && k < json_array_size(list); k++)
            err = check_primitive(g, json_array_get(list, k), &triangles);
    }
    if (!err && triangles > FW_SCENE_MAX_TRIANGLES)
        err = fw_scene_fail(g->note, FW_ERR_TOO_LARGE,
                            "The model has %" PRIu64 " triangles; the limit is %d.", triangles,
                            FW_SCENE_MAX_TRIANGLES);
    return err;
}

// Children form trees no deeper than the limit: each node has one parent at most, no cycles.
static enum fw_err check_tree(const struct fw_gltf *g)
{
    size_t count = fw_gltf_count(g, "nodes");
    if (count > FW_SCENE_MAX_NODES)
        return fw_scene_fail(g->note, FW_ERR_TOO_LARGE, "The model has %zu nodes; the limit is %d.",
                             count, FW_SCENE_MAX_NODES);
    uint32_t *parent = calloc(count + 1, sizeof(*parent)); // plus one; 0 = root
    if (!parent)
        return FW_ERR_NOMEM;
    enum fw_err err = FW_OK;
    for (size_t i = 0; !err && i < count; i++) {
        const json_t *children = json_object_get(fw_gltf_get(g, "nodes", i), "children");
        for (size_t k = 0; !err && k < json_array_size(children); k++) {
            const json_t *child = json_array_get(children, k);
            json_int_t c = json_is_integer(child) ? json_integer_value(child) : -1;
            if (c < 0 || (uint64_t)c >= count)
                err = fw_gltf_broken(g, "a node has a child that is not there");
            else if (parent[c])
                err = fw_gltf_broken(g, "a node has two parents");
            else
                parent[c] = (uint32_t)i + 1;
        }
    }
    for (size_t i = 0; !err && i < count; i++) {
        unsigned depth = 1;
        for (uint32_t p = parent[i]; p && depth <= FW_SCENE_MAX_DEPTH; p = parent[p - 1])
            depth++;
        if (depth > FW_SCENE_MAX_DEPTH)
            err = fw_scene_fail(g->note, FW_ERR_TOO_LARGE,
                                "The model nests nodes deeper than the limit of %d, or in a ring.",
                                FW_SCENE_MAX_DEPTH);
    }
    free(parent);
    return err;
}

// A skinned mesh has joints and weights, and each joint is one of the skin's.
static enum fw_err check_skinned(const struct fw_gltf *g, const json_t *node)
{
    uint64_t mesh, skin;
    if (!json_object_get(node, "skin") || !json_object_get(node, "mesh") ||
        !fw_gltf_uint(node, "skin", 0, &skin) || !fw_gltf_uint(node, "mesh", 0, &mesh))
        return FW_OK;
    size_t joints = json_array_size(json_object_get(fw_gltf_get(g, "skins", skin), "joints"));
    const json_t *list = json_object_get(fw_gltf_get(g, "meshes", mesh), "primitives");
    for (size_t k = 0; k < json_array_size(list); k++) {
        const json_t *attributes = json_object_get(json_array_get(list, k), "attributes");
        const json_t *value = json_object_get(attributes, "JOINTS_0");
        struct fw_gltf_accessor a;
        if (!value || !json_object_get(attributes, "WEIGHTS_0"))
            return fw_gltf_broken(g, "a node has a skin, and its mesh no joints or no weights");
        if (!fw_gltf_accessor(g, (uint64_t)json_integer_value(value), &a) || !is_unsigned(&a))
            return fw_gltf_broken(g, "the joints of a mesh are not usable");
        for (uint64_t i = 0; a.data && i < a.count; i++)
            for (unsigned c = 0; c < 4; c++)
                if (element(&a, i, c) >= joints)
                    return fw_gltf_broken(g, "a mesh names a joint that is not there");
    }
    return FW_OK;
}

static enum fw_err check_nodes(const struct fw_gltf *g)
{
    enum fw_err err = check_tree(g);
    for (size_t i = 0; !err && i < fw_gltf_count(g, "nodes"); i++) {
        const json_t *node = fw_gltf_get(g, "nodes", i);
        err = fw_gltf_ref(g, node, "mesh", "meshes", "a node");
        if (!err)
            err = fw_gltf_ref(g, node, "skin", "skins", "a node");
        if (!err)
            err = fw_gltf_ref(g, node, "camera", "cameras", "a node");
        if (!err)
            err = check_skinned(g, node);
    }
    return err;
}

// Every number of a list is an index into `array`.
static enum fw_err check_list(const struct fw_gltf *g, const json_t *list, const char *array,
                              const char *where)
{
    size_t i;
    json_t *value;
    json_array_foreach((json_t *)list, i, value) if (
        !json_is_integer(value) || json_integer_value(value) < 0 ||
        (uint64_t)json_integer_value(value) >=
            fw_gltf_count(
                g,
                array)) return fw_scene_fail(g->note, FW_ERR_FORMAT,
                                             "The file is broken: %s refers to something in \"%s\" that is not "
                                             "there.",
                                             where, array);
    return FW_OK;
}

static enum fw_err check_skins(const struct fw_gltf *g)
{
    enum fw_err err = FW_OK;
    for (size_t i = 0; !err && i < fw_gltf_count(g, "skins"); i++) {
        const json_t *skin = fw_gltf_get(g, "skins", i);
        const json_t *joints = json_object_get(skin, "joints");
        if (!json_array_size(joints))
            return fw_gltf_broken(g, "a skin has no joints");
        err = check_list(g, joints, "nodes", "a skin");
        if (!err)
            err = fw_gltf_ref(g, skin, "skeleton", "nodes", "a skin");
        if (!err)
            err = fw_gltf_ref(g, skin, "inverseBindMatrices", "accessors", "a skin");
        uint64_t matrices;
        struct fw_gltf_accessor a;
        if (err || !json_object_get(skin, "inverseBindMatrices") ||
            !fw_gltf_uint(skin, "inverseBindMatrices", 0, &matrices))
            continue;
        if (!fw_gltf_accessor(g, matrices, &a) || a.components != 16 ||
            a.count < json_array_size(joints))
            err = fw_gltf_broken(g, "a skin has fewer matrices than joints");
    }
    return err;
}

static enum fw_err check_materials(const struct fw_gltf *g)
{
    static const char *const slots[] = { "normalTexture", "occlusionTexture", "emissiveTexture" };
    static const char *const pbr_slots[] = { "baseColorTexture", "metallicRoughnessTexture" };
    enum fw_err err = FW_OK;
    for (size_t i = 0; !err && i < fw_gltf_count(g, "materials"); i++) {
        const json_t *m = fw_gltf_get(g, "materials", i);
        const json_t *pbr = json_object_get(m, "pbrMetallicRoughness");
        for (size_t s = 0; !err && s < 3; s++)
            err = fw_gltf_ref(g, json_object_get(m, slots[s]), "index", "textures", "a material");
        for (size_t s = 0; !err && s < 2; s++)
            err = fw_gltf_ref(g, json_object_get(pbr, pbr_slots[s]), "index", "textures",
                              "a material");
    }
    for (size_t i = 0; !err && i < fw_gltf_count(g, "textures"); i++) {
        const json_t *t = fw_gltf_get(g, "textures", i);
        err = fw_gltf_ref(g, t, "source", "images", "a texture");
        if (!err)
            err = fw_gltf_ref(g, t, "sampler", "samplers", "a texture");
    }
    for (size_t i = 0; !err && i < fw_gltf_count(g, "images"); i++)
        err = fw_gltf_ref(g, fw_gltf_get(g, "images", i), "bufferView", "bufferViews", "an image");
    return err;
}

static enum fw_err check_animations(const struct fw_gltf *g)
{
    enum fw_err err = FW_OK;
    for (size_t i = 0; !err && i < fw_gltf_count(g, "animations"); i++) {
        const json_t *animation = fw_gltf_get(g, "animations", i);
        const json_t *samplers = json_object_get(animation, "samplers");
        const json_t *channels = json_object_get(animation, "channels");
        for (size_t k = 0; !err && k < json_array_size(samplers); k++) {
            const json_t *sampler = json_array_get(samplers, k);
            err = fw_gltf_ref(g, sampler, "input", "accessors", "an animation");
            if (!err)
                err = fw_gltf_ref(g, sampler, "output", "accessors", "an animation");
        }
        for (size_t k = 0; !err && k < json_array_size(channels); k++) {
            const json_t *channel = json_array_get(channels, k);
            uint64_t sampler;
            if (!fw_gltf_uint(channel, "sampler", UINT64_MAX, &sampler) ||
                sampler >= json_array_size(samplers))
                return fw_gltf_broken(g, "an animation names a sampler that is not there");
            err =
                fw_gltf_ref(g, json_object_get(channel, "target"), "node", "nodes", "an animation");
        }
    }
    return err;
}

enum fw_err fw_gltf_check_refs(struct fw_gltf *g)
{
    enum fw_err err = check_meshes(g);
    if (!err)
        err = check_nodes(g);
    if (!err)
        err = check_skins(g);
    if (!err)
        err = check_materials(g);
    if (!err)
        err = check_animations(g);
    if (!err)
        err = fw_gltf_ref(g, g->root, "scene", "scenes", "the file");
    for (size_t i = 0; !err && i < fw_gltf_count(g, "scenes"); i++)
        err = check_list(g, json_object_get(fw_gltf_get(g, "scenes", i), "nodes"), "nodes",
                         "a scene");
    return err;
}
