// SPDX-License-Identifier: MIT
// Files that are right, broken, hostile: each ends as a model or as a sentence.
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "render/source/scene/model.h"

enum { BIN = 36 + 8 };
static char dir[] = "/tmp/fw-scene-XXXXXX";
static char message[512];

#define ASSET "\"asset\":{\"version\":\"2.0\"},"
#define VIEWS                                                                                      \
    "\"buffers\":[{\"byteLength\":44}],\"bufferViews\":[{\"buffer\":0,\"byteLength\":36},"         \
    "{\"buffer\":0,\"byteOffset\":36,\"byteLength\":6}],"
#define ACCESSORS                                                                                  \
    "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":3,\"type\":\"VEC3\","       \
    "\"min\":[0,0,0],\"max\":[1,1,0]},{\"bufferView\":1,\"componentType\":5123,\"count\":3,"       \
    "\"type\":\"SCALAR\"}],"
#define MESHES "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0},\"indices\":1}]}],"
#define NODES  "\"nodes\":[{\"mesh\":0}],\"scenes\":[{\"nodes\":[0]}],\"scene\":0"
static const char good[] = "{" ASSET VIEWS ACCESSORS MESHES NODES "}";

static size_t make_glb(const char *json, uint8_t *out, uint16_t last_index)
{
    const float position[9] = { 0, 0, 0, 1, 0, 0, 0, 1, 0 };
    const uint16_t index[4] = { 0, 1, last_index, 0 };
    uint32_t padded = (uint32_t)(strlen(json) + 3) & ~3u;
    const uint32_t head[5] = { 0x46546c67, 2, 20 + padded + 8 + BIN, padded, 0x4e4f534a };
    const uint32_t bin[2] = { BIN, 0x004e4942 };
    memcpy(out, head, 20);
    memset(out + 20, ' ', padded);
    memcpy(out + 20, json, strlen(json));
    uint8_t *p = out + 20 + padded;
    memcpy(p, bin, 8);
    memcpy(p + 8, position, 36);
    memcpy(p + 44, index, 8);
    return 20 + padded + 8 + BIN;
}

static enum fw_err import_bytes(const char *name, const void *data, size_t size)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    fclose(f);
    struct fw_scene_model model;
    const struct fw_scene_note note = { message, sizeof(message) };
    message[0] = 0;
    enum fw_err err = fw_scene_import(&model, path, 64, NULL, &note);
    if (err)
        assert_true(message[0] != 0); // never without a word
    else
        assert_true(model.triangles > 0);
    fw_scene_model_finish(&model);
    return err;
}

static enum fw_err import_json(const char *json, uint16_t last_index)
{
    uint8_t glb[4096];
    return import_bytes("t.glb", glb, make_glb(json, glb, last_index));
}

static void refused(const char *json, enum fw_err want, const char *word)
{
    assert_int_equal(import_json(json, 2), want);
    if (!strstr(message, word))
        fail_msg("\"%s\" does not say \"%s\"", message, word);
}

static void test_good(void **state)
{
    (void)state;
    assert_int_equal(import_json(good, 2), FW_OK);
}

static void test_extensions(void **state)
{
    (void)state;
#define NEEDS(name)                                                                                \
    "{" ASSET "\"extensionsRequired\":[\"" name "\"]," VIEWS ACCESSORS MESHES NODES "}"
    refused(NEEDS("KHR_draco_mesh_compression"), FW_ERR_UNSUPPORTED, "KHR_draco_mesh_compression");
    refused(NEEDS("EXT_meshopt_compression"), FW_ERR_UNSUPPORTED, "EXT_meshopt_compression");
    // assimp would read quantised positions as garbage.
    refused(NEEDS("KHR_mesh_quantization"), FW_ERR_UNSUPPORTED, "KHR_mesh_quantization");
    refused(NEEDS("XX_unknown"), FW_ERR_UNSUPPORTED, "XX_unknown");
    assert_int_equal(import_json(NEEDS("KHR_materials_unlit"), 2), FW_OK);
}

static void test_claims(void **state)
{
    (void)state;
    refused("{" ASSET VIEWS "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":0,"
            "\"type\":\"VEC3\"}]," MESHES NODES "}",
            FW_ERR_FORMAT, "accessor 0");
    refused("{" ASSET VIEWS
            "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"count\":4294967295,"
            "\"type\":\"VEC3\"}]," MESHES NODES "}",
            FW_ERR_FORMAT, "accessor 0");
    refused("{" ASSET "\"buffers\":[{\"byteLength\":45}]," ACCESSORS MESHES NODES "}",
            FW_ERR_FORMAT, "claims 45 bytes");
    refused("{" ASSET "\"buffers\":[{\"byteLength\":44}],\"bufferViews\":[{\"buffer\":0,"
            "\"byteOffset\":40,\"byteLength\":9007199254740991}]," ACCESSORS MESHES NODES "}",
            FW_ERR_FORMAT, "buffer view");
    refused("{" ASSET VIEWS ACCESSORS MESHES
            "\"nodes\":[{\"mesh\":7}],\"scenes\":[{\"nodes\":[0]}]}",
            FW_ERR_FORMAT, "meshes");
    refused("{" ASSET VIEWS ACCESSORS MESHES
            "\"nodes\":[{\"mesh\":0,\"children\":[1]},{\"children\":[0]}],"
            "\"scenes\":[{\"nodes\":[0]}]}",
            FW_ERR_TOO_LARGE, "ring");
    // assimp follows a null pointer here.
    refused("{" ASSET VIEWS ACCESSORS MESHES "\"skins\":[{\"joints\":[0]}],"
            "\"nodes\":[{\"mesh\":0,\"skin\":0}],\"scenes\":[{\"nodes\":[0]}]}",
            FW_ERR_FORMAT, "has a skin");
    refused("{\"asset\":{\"version\":\"1.0\"}}", FW_ERR_UNSUPPORTED, "version 2");
    refused("{" ASSET NODES "}", FW_ERR_FORMAT, "meshes");
    refused(
        "{" ASSET VIEWS
        "\"accessors\":[{\"bufferView\":0,\"componentType\":5122,\"count\":3,\"type\":\"VEC3\"},"
        "{\"bufferView\":1,\"componentType\":5123,\"count\":3,\"type\":\"SCALAR\"}]," MESHES NODES
        "}",
        FW_ERR_UNSUPPORTED, "POSITION");
    assert_int_equal(import_json(good, 3), FW_ERR_FORMAT);
    assert_non_null(strstr(message, "vertex"));
}

static void test_outside_files(void **state)
{
    (void)state;
    refused("{" ASSET "\"buffers\":[{\"byteLength\":4,\"uri\":\"/etc/passwd\"}]}", FW_ERR_DENIED,
            "passwd");
    refused("{" ASSET "\"buffers\":[{\"byteLength\":4,\"uri\":\"../../etc/passwd\"}]}",
            FW_ERR_DENIED, "passwd");
    refused("{" ASSET "\"buffers\":[{\"byteLength\":4,\"uri\":\"..%2f..%2fetc/passwd\"}]}",
            FW_ERR_DENIED, "passwd");
    refused("{" ASSET "\"buffers\":[{\"byteLength\":4,\"uri\":\"absent.bin\"}]}", FW_ERR_NOT_FOUND,
            "absent.bin");
    char link[300];
    snprintf(link, sizeof(link), "%s/link.bin", dir);
    assert_int_equal(symlink("/etc/passwd", link), 0);
    refused("{" ASSET "\"buffers\":[{\"byteLength\":4,\"uri\":\"link.bin\"}]}", FW_ERR_DENIED,
            "link.bin");
}

static void test_names(void **state)
{
    (void)state;
    assert_int_equal(import_bytes("x.txt.exe", "hello", 5), FW_ERR_UNSUPPORTED);
    assert_int_equal(import_bytes("e.glb", "", 0), FW_ERR_FORMAT);
    assert_int_equal(import_bytes("n.glb", "no model at all, only words", 27), FW_ERR_FORMAT);
    struct fw_scene_model model;
    const struct fw_scene_note note = { message, sizeof(message) };
    message[0] = 0;
    assert_int_equal(fw_scene_import(&model, "/nowhere/at/all.glb", 64, NULL, &note),
                     FW_ERR_NOT_FOUND);
    const char obj[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
    assert_int_equal(import_bytes("t.obj", obj, sizeof(obj) - 1), FW_OK);
}

static void hurt(const char *name, const uint8_t *data, size_t size, unsigned rounds)
{
    uint8_t *copy = malloc(size);
    assert_non_null(copy);
    uint32_t seed = 1;
    for (unsigned i = 0; i < rounds; i++) {
        seed = seed * 1664525u + 1013904223u;
        memcpy(copy, data, size);
        size_t length = size;
        if (i % 3 == 0)
            length = 1 + seed % (uint32_t)size;
        for (unsigned k = 0; i % 3 != 0 && k < 1 + i % 4; k++) {
            seed = seed * 1664525u + 1013904223u;
            // Half of the wounds go where the structure is.
            copy[(seed >> 8) % (k & 1 || size < 4096 ? size : 4096)] ^= (uint8_t)(1u << (seed & 7));
        }
        import_bytes(name, copy, length); // whatever comes of it: a model or a sentence
    }
    free(copy);
}

static void test_wounded(void **state)
{
    (void)state;
    uint8_t glb[4096];
    hurt("w.glb", glb, make_glb(good, glb, 2), 1500);
    const char *models = getenv("FW_MODELS");
    DIR *d = models ? opendir(models) : NULL;
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[600];
        size_t n = strlen(e->d_name);
        snprintf(path, sizeof(path), "%s/%s", models, e->d_name);
        FILE *f = n > 4 && !strcmp(e->d_name + n - 4, ".glb") ? fopen(path, "rb") : NULL;
        uint8_t *data = f ? malloc(600000) : NULL;
        size_t size = data ? fread(data, 1, 600000, f) : 0;
        if (size && size < 600000)
            hurt("m.glb", data, size, 25);
        free(data);
        if (f)
            fclose(f);
    }
    if (d)
        closedir(d);
}

static int setup(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] != '.')
            unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    return rmdir(dir);
}

static void text_is(const char *name, const char *text, enum fw_err want)
{
    const enum fw_err err = import_bytes(name, text, strlen(text));
    if (err != want || (want && !strstr(message, "claims")))
        fail_msg("%s: %d, \"%s\"", text, err, message);
}

// Counts that the file can't hold are refused before room is made for them.
static void test_counts(void **state)
{
    (void)state;
    static const char triangle[] = "0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";
    char text[512];
    snprintf(text, sizeof(text), "OFF\n# a comment\n3 1 0\n%s", triangle);
    text_is("t.off", text, FW_OK);
    snprintf(text, sizeof(text), "OFF\n353535235358 1 0\n%s", triangle);
    text_is("t.off", text, FW_ERR_FORMAT);
    snprintf(text, sizeof(text), "OFF # 1 1 0\n3 99999999999999999999999 0\n%s", triangle);
    text_is("t.OFF", text, FW_ERR_FORMAT);
#define PLY(vertices)                                                                              \
    "ply\nformat ascii 1.0\ncomment element face 9999999\nelement vertex " vertices                \
    "\nproperty float x\nproperty float y\nproperty float z\nelement face 1\n"                     \
    "property list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"
    text_is("t.ply", PLY("3"), FW_OK);
    text_is("t.ply", PLY("4000000000"), FW_ERR_FORMAT);

    uint8_t stl[84 + 50] = { [80] = 1, [84 + 24] = 0x80, [84 + 25] = 0x3f };
    stl[84 + 12 + 12 + 2] = stl[84 + 12 + 24 + 4 + 2] = 0x80; // corners 1 0 0 and 0 1 0
    stl[84 + 12 + 12 + 3] = stl[84 + 12 + 24 + 4 + 3] = 0x3f;
    assert_int_equal(import_bytes("t.stl", stl, sizeof(stl)), FW_OK);
    // 50 times this wraps round to a few bytes where one reckons in 32 bits.
    const uint32_t wraps = UINT32_MAX / 50 + 1;
    memcpy(stl + 80, &wraps, sizeof(wraps));
    assert_int_equal(import_bytes("t.stl", stl, sizeof(stl)), FW_ERR_FORMAT);
    assert_non_null(strstr(message, "claims"));
    text_is("t.stl",
            "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\n"
            "vertex 0 1 0\nendloop\nendfacet\nendsolid a\n",
            FW_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),   cmocka_unit_test(test_extensions),
        cmocka_unit_test(test_claims), cmocka_unit_test(test_outside_files),
        cmocka_unit_test(test_names),  cmocka_unit_test(test_wounded),
        cmocka_unit_test(test_counts),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
