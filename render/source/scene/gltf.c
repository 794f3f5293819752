// SPDX-License-Identifier: MIT
#include "render/source/scene/gltf.h"

#include <string.h>
#include <strings.h>

#include "render/source/scene/gltf_priv.h"

static uint32_t le32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

enum fw_err fw_gltf_broken(const struct fw_gltf *g, const char *what)
{
    return fw_scene_fail(g->note, FW_ERR_FORMAT, "The file is broken: %s.", what);
}

const json_t *fw_gltf_get(const struct fw_gltf *g, const char *array, uint64_t index)
{
    const json_t *list = json_object_get(g->root, array);
    return index < json_array_size(list) ? json_array_get(list, (size_t)index) : NULL;
}

size_t fw_gltf_count(const struct fw_gltf *g, const char *array)
{
    return json_array_size(json_object_get(g->root, array));
}

bool fw_gltf_uint(const json_t *object, const char *key, uint64_t otherwise, uint64_t *out)
{
    const json_t *value = json_object_get(object, key);
    *out = otherwise;
    if (!value)
        return true;
    double real = json_number_value(value); // some writers put 3.0 where 3 is meant
    if (!json_is_number(value) || !(real >= 0 && real <= 9007199254740992.0))
        return false;
    *out = (uint64_t)real;
    return (double)*out == real;
}

enum fw_err fw_gltf_ref(const struct fw_gltf *g, const json_t *object, const char *key,
                        const char *array, const char *where)
{
    uint64_t index;
    if (!json_object_get(object, key))
        return FW_OK;
    if (!fw_gltf_uint(object, key, 0, &index) || index >= fw_gltf_count(g, array))
        return fw_scene_fail(g->note, FW_ERR_FORMAT,
                             "The file is broken: %s refers to something in \"%s\" that is not "
                             "there.",
                             where, array);
    return FW_OK;
}

// Finds JSON and binary chunk of a GLB; a .gltf is all JSON.
static enum fw_err split(struct fw_gltf *g, const char **json, size_t *json_size)
{
    const struct fw_scene_bytes *file = fw_scene_files_main(g->files);
    const uint8_t *d = file->data;
    *json = (const char *)d;
    *json_size = file->size;
    size_t n = strlen(g->files->main_name);
    bool glb = file->size >= 4 && !memcmp(d, "glTF", 4);
    if (!glb && n > 4 && !strcasecmp(g->files->main_name + n - 4, ".glb"))
        return fw_gltf_broken(g, "it does not begin as a GLB");
    if (!glb)
        return FW_OK;
    if (file->size < 20)
        return fw_gltf_broken(g, "it ends within its header");
    if (le32(d + 4) != 2)
        return fw_scene_fail(g->note, FW_ERR_UNSUPPORTED,
                             "The file is a GLB of version %u; only version 2 is supported.",
                             le32(d + 4));
    uint64_t length = le32(d + 8), first = le32(d + 12);
    if (length > file->size)
        return fw_scene_fail(g->note, FW_ERR_FORMAT,
                             "The file is cut off: %zu of %llu bytes are there.", file->size,
                             (unsigned long long)length);
    if (length < 20 || first > length - 20 || memcmp(d + 16, "JSON", 4) != 0)
        return fw_gltf_broken(g, "its first chunk is not JSON of a possible length");
    *json = (const char *)d + 20;
    *json_size = (size_t)first;
    uint64_t next = 20 + first;
    if (next + 8 > length)
        return FW_OK; // no binary chunk
    uint64_t bin = le32(d + next);
    if (bin > length - next - 8)
        return fw_gltf_broken(g, "its binary chunk is longer than the file");
    if (!memcmp(d + next + 4, "BIN\0", 4)) {
        g->bin = d + next + 8;
        g->bin_size = (size_t)bin;
    }
    return FW_OK;
}

static enum fw_err parse(struct fw_gltf *g)
{
    const char *json;
    size_t size;
    enum fw_err err = split(g, &json, &size);
    if (err)
        return err;
    if (size > FW_SCENE_MAX_JSON)
        return fw_scene_fail(g->note, FW_ERR_TOO_LARGE,
                             "The file has %zu MiB of JSON; the limit is %d MiB.", size >> 20,
                             FW_SCENE_MAX_JSON >> 20);
    if (size >= 3 && !memcmp(json, "\xef\xbb\xbf", 3))
        json += 3, size -= 3;
    while (size && (json[size - 1] == 0 || json[size - 1] == ' '))
        size--; // chunks are padded with blanks, by some with zeros
    json_error_t error;
    g->root = json_loadb(json, size, 0, &error);
    if (!g->root)
        return fw_scene_fail(g->note, FW_ERR_FORMAT, "The file's JSON is broken: %s (line %d).",
                             error.text, error.line);
    if (!json_is_object(g->root))
        return fw_gltf_broken(g, "its JSON is not an object");
    const char *version =
        json_string_value(json_object_get(json_object_get(g->root, "asset"), "version"));
    if (!version)
        return fw_gltf_broken(g, "it does not say its glTF version");
    if (strncmp(version, "2.", 2) != 0)
        return fw_scene_fail(g->note, FW_ERR_UNSUPPORTED,
                             "The file is glTF %.16s; only version 2 is supported.", version);
    return FW_OK;
}

// What a file may require of a viewer and get.
static enum fw_err check_extensions(const struct fw_gltf *g)
{
    static const char *const fine[] = {
        "KHR_materials_unlit",     "KHR_texture_transform",
        "KHR_materials_clearcoat", // drawn without the coat: a look, not a shape, is missing
        "KHR_materials_sheen",     "KHR_materials_ior",     "KHR_materials_specular",
        "KHR_lights_punctual", // the studio's light is used instead
    };
    const json_t *list = json_object_get(g->root, "extensionsRequired");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        bool known = false;
        for (size_t k = 0; name && k < sizeof(fine) / sizeof(fine[0]); k++)
            known = known || !strcmp(fine[k], name);
        if (!known)
            return fw_scene_fail(g->note, FW_ERR_UNSUPPORTED,
                                 "The file needs the glTF extension \"%.80s\", which is not "
                                 "supported. Export it again without that extension.",
                                 name ? name : "?");
    }
    return FW_OK;
}

enum fw_err fw_gltf_check(struct fw_scene_files *files, const struct fw_scene_note *note)
{
    struct fw_gltf g = { .files = files, .note = note };
    enum fw_err err = parse(&g);
    if (!err)
        err = check_extensions(&g);
    if (!err)
        err = fw_gltf_check_data(&g);
    if (!err)
        err = fw_gltf_check_refs(&g);
    json_decref(g.root);
    return err;
}
