// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <ftw.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "session/models.h"

static char root[64];
static char message[512];

static void write_file(const char *name, const char *text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void make_dir(const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    assert_int_equal(mkdir(path, 0755), 0);
}

static void make_link(const char *to, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    assert_int_equal(symlink(to, path), 0);
}

static int setup(void **state)
{
    (void)state;
    snprintf(root, sizeof(root), "/tmp/fw-models-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int drop(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static int teardown(void **state)
{
    (void)state;
    return nftw(root, drop, 8, FTW_DEPTH | FTW_PHYS);
}

static struct fw_models *open_models(void)
{
    char dir[128];
    struct fw_models *m;
    snprintf(dir, sizeof(dir), "%s/m", root);
    assert_int_equal(fw_models_create(&m, dir, message, sizeof(message)), FW_OK);
    return m;
}

static void fill(void)
{
    make_dir("m");
    make_dir("m/Helmet");
    make_dir("m/a");
    make_dir("m/a/b");
    make_dir("m/a/b/c");
    make_dir("m/dir.glb");
    write_file("secret.glb", "secret");
    write_file("m/Duck.glb", "12345");
    write_file("m/apple.OBJ", "");
    write_file("m/notes.txt", "");
    write_file("m/.hidden.glb", "");
    write_file("m/glb", "");
    write_file("m/Helmet/helmet.gltf", "");
    write_file("m/Helmet/helmet.bin", "");
    write_file("m/a/b/deep.stl", "");
    write_file("m/a/b/c/deeper.stl", "");
    write_file("m/bad\xff.glb", "");
    write_file("m/new\nline.glb", "");
    write_file("m/\xc3\xa4.glb", "");
    make_link("../secret.glb", "m/out.glb");
    make_link("/etc/passwd", "m/passwd.glb");
    make_link("..", "m/up");
    make_link("Duck.glb", "m/same.glb");
    make_link("nowhere.glb", "m/dangling.glb");
    make_link(".", "m/loop");
}

static void test_list(void **state)
{
    (void)state;
    static const char *const want[] = { "a/b/deep.stl",       "apple.OBJ", "Duck.glb",
                                        "Helmet/helmet.gltf", "same.glb",  "\xc3\xa4.glb" };
    unsigned count;
    fill();
    struct fw_models *m = open_models();
    const struct fw_model *list = fw_models_list(m, 1, &count);
    for (unsigned i = 0; i < count && i < 6; i++)
        assert_string_equal(list[i].name, want[i]);
    assert_int_equal(count, 6);
    assert_int_equal(list[2].bytes, 5);
    assert_string_equal(list[2].title, "Duck");
    assert_string_equal(list[3].title, "helmet");
    fw_models_destroy(&m);
    assert_null(m);
}

static void test_looks_again(void **state)
{
    (void)state;
    unsigned count;
    make_dir("m");
    write_file("m/a.glb", "");
    struct fw_models *m = open_models();
    const int64_t t = FW_NS_PER_S;
    fw_models_list(m, t, &count);
    assert_int_equal(count, 1);
    write_file("m/b.glb", "");
    fw_models_list(m, t + FW_NS_PER_S, &count);
    assert_int_equal(count, 1); // remembered
    fw_models_list(m, t + 3 * (int64_t)FW_NS_PER_S, &count);
    assert_int_equal(count, 2);
    fw_models_destroy(&m);
}

static void test_paths(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        ".",
        "..",
        "/",
        "../secret.glb",
        "./Duck.glb",
        "Helmet/../Duck.glb",
        "Helmet//helmet.gltf",
        "Helmet/../../secret.glb",
        "/etc/passwd",
        "etc/passwd",
        "out.glb",
        "passwd.glb",
        "up/secret.glb",
        "up/m/Duck.glb",
        "loop/Duck.glb",
        "dangling.glb",
        "dir.glb",
        "dir.glb/",
        "Duck.glb/",
        "duck.glb",
        "Duck.glb ",
        "Duck%2eglb",
        "%2e%2e/secret.glb",
        "..%2fsecret.glb",
        "..\\secret.glb",
        "....//secret.glb",
        "notes.txt",
        ".hidden.glb",
        "Helmet/helmet.bin",
        "a/b/c/deeper.stl",
        "file:///etc/passwd",
        "\\\\host\\share.glb",
    };
    char path[PATH_MAX], want[PATH_MAX], real[PATH_MAX];
    fill();
    struct fw_models *m = open_models();
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (fw_models_path(m, bad[i], path, sizeof(path)) != FW_ERR_NOT_FOUND)
            fail_msg("taken: '%s'", bad[i]);
    assert_int_equal(fw_models_path(m, "Helmet/helmet.gltf", path, sizeof(path)), FW_OK);
    assert_non_null(realpath(root, real));
    snprintf(want, sizeof(want), "%.4000s/m/Helmet/helmet.gltf", real);
    assert_string_equal(path, want);
    assert_int_equal(fw_models_path(m, "Duck.glb", path, 8), FW_ERR_TOO_LARGE);
    fw_models_destroy(&m);
}

// The list is a few seconds old when a link takes a file's place: still no way out.
static void test_swapped(void **state)
{
    (void)state;
    char path[PATH_MAX], name[PATH_MAX];
    fill();
    struct fw_models *m = open_models();
    assert_int_equal(fw_models_path(m, "Duck.glb", path, sizeof(path)), FW_OK);
    snprintf(name, sizeof(name), "%s/m/Duck.glb", root);
    unlink(name);
    make_link("../secret.glb", "m/Duck.glb");
    assert_int_equal(fw_models_path(m, "Duck.glb", path, sizeof(path)), FW_ERR_NOT_FOUND);
    fw_models_destroy(&m);
}

// A new version of the folder is put in the place of the old one.
static void test_folder_replaced(void **state)
{
    (void)state;
    char from[128], to[128], path[600];
    unsigned count;
    fill();
    struct fw_models *m = open_models();
    fw_models_list(m, 1, &count);
    assert_int_equal(count, 6);
    snprintf(from, sizeof(from), "%s/m", root);
    snprintf(to, sizeof(to), "%s/old", root);
    assert_int_equal(rename(from, to), 0);
    fw_models_list(m, 4 * (int64_t)FW_NS_PER_S, &count);
    assert_int_equal(count, 0);
    make_dir("m");
    write_file("m/New.glb", "1");
    const struct fw_model *list = fw_models_list(m, 8 * (int64_t)FW_NS_PER_S, &count);
    assert_int_equal(count, 1);
    assert_string_equal(list[0].name, "New.glb");
    assert_int_equal(fw_models_path(m, "New.glb", path, sizeof(path)), FW_OK);
    assert_int_equal(fw_models_path(m, "Duck.glb", path, sizeof(path)), FW_ERR_NOT_FOUND);
    fw_models_destroy(&m);
}

static void test_bounds(void **state)
{
    (void)state;
    unsigned count;
    make_dir("m");
    for (int i = 0; i < FW_MODELS_MAX + 20; i++) {
        char name[32];
        snprintf(name, sizeof(name), "m/%04d.glb", i);
        write_file(name, "");
    }
    struct fw_models *m = open_models();
    fw_models_list(m, 1, &count);
    assert_int_equal(count, FW_MODELS_MAX);
    fw_models_destroy(&m);
}

static void test_none(void **state)
{
    (void)state;
    struct fw_models *m;
    unsigned count = 7;
    char path[64];
    assert_int_equal(fw_models_create(&m, NULL, message, sizeof(message)), FW_OK);
    fw_models_list(m, 1, &count);
    assert_int_equal(count, 0);
    assert_null(fw_models_dir(m));
    assert_int_equal(fw_models_path(m, "a.glb", path, sizeof(path)), FW_ERR_NOT_FOUND);
    fw_models_destroy(&m);
    assert_int_equal(fw_models_create(&m, "/nonexistent/x", message, sizeof(message)),
                     FW_ERR_NOT_FOUND);
    assert_non_null(strstr(message, "--models /nonexistent/x"));
    assert_null(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_list, setup, teardown),
        cmocka_unit_test_setup_teardown(test_looks_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_paths, setup, teardown),
        cmocka_unit_test_setup_teardown(test_swapped, setup, teardown),
        cmocka_unit_test_setup_teardown(test_folder_replaced, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bounds, setup, teardown),
        cmocka_unit_test(test_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
