// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <string.h>

#include "render/source/scene/gltf_priv.h"

static enum fw_err check_buffer(struct fw_gltf *g, size_t i, const json_t *buffer)
{
    uint64_t length, have;
    const char *uri = json_string_value(json_object_get(buffer, "uri"));
    if (!json_object_get(buffer, "byteLength") || !fw_gltf_uint(buffer, "byteLength", 0, &length))
        return fw_gltf_broken(g, "a buffer has no usable length");
    if (length > FW_SCENE_MAX_FILE)
        return fw_scene_fail(g->note, FW_ERR_TOO_LARGE,
                             "A buffer of the file claims %" PRIu64 " MiB; the limit is %d MiB.",
                             length >> 20, FW_SCENE_MAX_FILE >> 20);
    if (!uri) {
        if (i != 0 || !g->bin)
            return fw_gltf_broken(g, "a buffer has no data");
        have = g->bin_size;
        g->buffer[i].data = g->bin;
    } else if (!strncmp(uri, "data:", 5)) {
        const char *comma = strchr(uri, ',');
        if (!comma)
            return fw_gltf_broken(g, "a data URI has no data");
        size_t n = strlen(comma + 1);
        while (n && comma[n] == '=')
            n--;
        have = (uint64_t)n * 3 / 4;
    } else {
        struct fw_scene_bytes bytes;
        enum fw_err err = fw_scene_files_get(g->files, uri, &bytes);
        if (err)
            return fw_scene_fail(g->note, err,
                                 "The file \"%.100s\" that the model refers to can't be read (%s).",
                                 uri, fw_err_name(err));
        have = bytes.size;
        g->buffer[i].data = bytes.data;
    }
    if (length > have)
        return fw_scene_fail(g->note, FW_ERR_FORMAT,
                             "The file is broken: a buffer claims %" PRIu64 " bytes, %" PRIu64
                             " are there.",
                             length, have);
    g->buffer[i].length = length;
    return FW_OK;
}

static enum fw_err check_view(const struct fw_gltf *g, const json_t *view)
{
    uint64_t buffer, offset, length, stride;
    if (!fw_gltf_uint(view, "buffer", UINT64_MAX, &buffer) ||
        !fw_gltf_uint(view, "byteOffset", 0, &offset) ||
        !fw_gltf_uint(view, "byteLength", UINT64_MAX, &length) ||
        !fw_gltf_uint(view, "byteStride", 0, &stride))
        return fw_gltf_broken(g, "a buffer view is not made of numbers");
    if (buffer >= g->buffer_count)
        return fw_gltf_broken(g, "a buffer view names a buffer that is not there");
    uint64_t whole = g->buffer[buffer].length;
    if (offset > whole || length > whole - offset)
        return fw_gltf_broken(g, "a buffer view reaches beyond its buffer");
    if (stride > 252)
        return fw_gltf_broken(g, "a buffer view has a stride above 252");
    return FW_OK;
}

static unsigned component_size(uint64_t type)
{
    switch (type) {
    case 5120:
    case 5121: return 1;
    case 5122:
    case 5123: return 2;
    case 5125:
    case 5126: return 4;
    default: return 0;
    }
}

static unsigned component_count(const char *type)
{
    static const struct {
        const char *name;
        unsigned count;
    } types[] = { { "SCALAR", 1 }, { "VEC2", 2 }, { "VEC3", 3 }, { "VEC4", 4 },
                  { "MAT2", 4 },   { "MAT3", 9 }, { "MAT4", 16 } };
    for (size_t i = 0; type && i < sizeof(types) / sizeof(types[0]); i++)
        if (!strcmp(types[i].name, type))
            return types[i].count;
    return 0;
}

// `count` elements of `size` bytes lie within view `index`. *data: where, when it is in memory.
static bool fits(const struct fw_gltf *g, uint64_t index, uint64_t offset, uint64_t count,
                 uint64_t size, bool strided, const uint8_t **data, uint64_t *stride)
{
    const json_t *view = fw_gltf_get(g, "bufferViews", index);
    uint64_t buffer, start, length, step;
    if (!view || !fw_gltf_uint(view, "buffer", UINT64_MAX, &buffer) ||
        !fw_gltf_uint(view, "byteOffset", 0, &start) ||
        !fw_gltf_uint(view, "byteLength", 0, &length) ||
        !fw_gltf_uint(view, "byteStride", 0, &step))
        return false;
    if (!step || !strided)
        step = size;
    // All below 2^53 and count below 2^32: no product here can wrap.
    if (count == 0 || count > UINT32_MAX || size > length || offset > length - size ||
        step * (count - 1) > length - size - offset)
        return false;
    *stride = step;
    *data = buffer < g->buffer_count && g->buffer[buffer].data
                ? g->buffer[buffer].data + start + offset
                : NULL;
    return true;
}

bool fw_gltf_accessor(const struct fw_gltf *g, uint64_t index, struct fw_gltf_accessor *out)
{
    const json_t *a = fw_gltf_get(g, "accessors", index);
    uint64_t component, offset, view;
    *out = (struct fw_gltf_accessor){ 0 };
    if (!a || !fw_gltf_uint(a, "count", 0, &out->count) ||
        !fw_gltf_uint(a, "componentType", 0, &component) ||
        !fw_gltf_uint(a, "byteOffset", 0, &offset) || !fw_gltf_uint(a, "bufferView", 0, &view))
        return false;
    out->component = (unsigned)component;
    out->component_size = component_size(component);
    out->components = component_count(json_string_value(json_object_get(a, "type")));
    if (!out->component_size || !out->components || !out->count || out->count > UINT32_MAX)
        return false;
    uint64_t size = (uint64_t)out->component_size * out->components;
    if (out->count * size > 2ull * FW_SCENE_MAX_FILE)
        return false; // without a view nothing else bounds what gets allocated
    out->stride = size;
    return !json_object_get(a, "bufferView") ||
           fits(g, view, offset, out->count, size, true, &out->data, &out->stride);
}

static enum fw_err check_sparse(const struct fw_gltf *g, const json_t *sparse,
                                const struct fw_gltf_accessor *whole)
{
    const json_t *indices = json_object_get(sparse, "indices");
    const json_t *values = json_object_get(sparse, "values");
    uint64_t count, index_view, index_offset, component, value_view, value_offset, stride;
    const uint8_t *data;
    if (!fw_gltf_uint(sparse, "count", 0, &count) || !count || count > whole->count ||
        !fw_gltf_uint(indices, "bufferView", UINT64_MAX, &index_view) ||
        !fw_gltf_uint(indices, "byteOffset", 0, &index_offset) ||
        !fw_gltf_uint(indices, "componentType", 0, &component) ||
        !fw_gltf_uint(values, "bufferView", UINT64_MAX, &value_view) ||
        !fw_gltf_uint(values, "byteOffset", 0, &value_offset))
        return fw_gltf_broken(g, "a sparse accessor is not usable");
    unsigned size = component_size(component);
    if (!size || component == 5126 ||
        !fits(g, value_view, value_offset, count,
              (uint64_t)whole->component_size * whole->components, false, &data, &stride) ||
        !fits(g, index_view, index_offset, count, size, false, &data, &stride))
        return fw_gltf_broken(g, "a sparse accessor reaches beyond its data");
    for (uint64_t i = 0; data && i < count; i++) {
        uint32_t v = 0;
        memcpy(&v, data + i * stride, size); // little-endian, as the file is
        if (v >= whole->count)
            return fw_gltf_broken(g, "a sparse accessor names an element that is not there");
    }
    return FW_OK;
}

enum fw_err fw_gltf_check_data(struct fw_gltf *g)
{
    static const char *const lists[] = { "buffers", "bufferViews", "accessors", "meshes",
                                         "nodes",   "skins",       "materials", "textures",
                                         "images",  "samplers",    "scenes",    "animations",
                                         "cameras" };
    enum fw_err err = FW_OK;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        const json_t *list = json_object_get(g->root, lists[i]);
        if (list && !json_is_array(list))
            return fw_gltf_broken(g, "a list of its JSON is not a list");
        size_t k;
        const json_t *entry;
        json_array_foreach(list, k, entry) if (!json_is_object(entry)) return fw_gltf_broken(
            g, "an entry of its JSON is not an object");
    }
    g->buffer_count = fw_gltf_count(g, "buffers");
    if (g->buffer_count > FW_GLTF_BUFFERS)
        return fw_scene_fail(g->note, FW_ERR_TOO_LARGE,
                             "The file has %zu buffers; the limit is %d.", g->buffer_count,
                             FW_GLTF_BUFFERS);
    for (size_t i = 0; !err && i < g->buffer_count; i++)
        err = check_buffer(g, i, fw_gltf_get(g, "buffers", i));
    for (size_t i = 0; !err && i < fw_gltf_count(g, "bufferViews"); i++)
        err = check_view(g, fw_gltf_get(g, "bufferViews", i));
    for (size_t i = 0; !err && i < fw_gltf_count(g, "accessors"); i++) {
        struct fw_gltf_accessor accessor;
        if (!fw_gltf_accessor(g, i, &accessor)) {
            err = fw_scene_fail(g->note, FW_ERR_FORMAT,
                                "The file is broken: accessor %zu is empty, unknown or reaches "
                                "beyond its data.",
                                i);
            break;
        }
        const json_t *sparse = json_object_get(fw_gltf_get(g, "accessors", i), "sparse");
        if (sparse)
            err = check_sparse(g, sparse, &accessor);
    }
    return err;
}
