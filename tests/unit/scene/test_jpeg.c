// SPDX-License-Identifier: MIT
// JPEG files of all kinds, made here: each ends as the right picture or as a sentence.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jpeglib.h>

#include "render/source/scene/jpeg.h"
#include "render/source/scene/model.h"
#include "render/source/scene/picture.h"

enum { CLOSE = 6 }; // levels that quality 95 may be off in a smooth picture

static char text[200];
static const struct fw_scene_note trouble = { text, sizeof(text) };

struct file {
    unsigned char *bytes;
    unsigned long size;
};

struct kind {
    J_COLOR_SPACE in, stored; // JCS_UNKNOWN = the library's choice
    bool progressive, no_adobe;
};

static uint8_t level_at(uint32_t x, uint32_t y, int k, uint32_t w, uint32_t h)
{
    const uint32_t v[4] = { 40 + x * 160 / w, 60 + y * 140 / h, 90, 160 + x * 60 / w };
    return (uint8_t)v[k];
}

static struct file make(uint32_t w, uint32_t h, const struct kind *kind)
{
    struct file out = { NULL, 0 };
    struct jpeg_error_mgr errors;
    struct jpeg_compress_struct c = { .err = jpeg_std_error(&errors) };
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &out.bytes, &out.size);
    c.image_width = w;
    c.image_height = h;
    c.in_color_space = kind->in;
    c.input_components = kind->in == JCS_GRAYSCALE ? 1 : kind->in == JCS_CMYK ? 4 : 3;
    jpeg_set_defaults(&c);
    if (kind->stored != JCS_UNKNOWN)
        jpeg_set_colorspace(&c, kind->stored);
    jpeg_set_quality(&c, 95, TRUE);
    if (kind->progressive)
        jpeg_simple_progression(&c);
    if (kind->no_adobe)
        c.write_Adobe_marker = FALSE;
    jpeg_start_compress(&c, TRUE);
    uint8_t *row = malloc((size_t)w * 4);
    assert_non_null(row);
    while (c.next_scanline < h) {
        uint8_t *p = row;
        for (uint32_t x = 0; x < w; x++)
            for (int k = 0; k < c.input_components; k++)
                *p++ = level_at(x, c.next_scanline, k, w, h);
        jpeg_write_scanlines(&c, &row, 1);
    }
    free(row);
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    return out;
}

static const struct kind plain = { JCS_RGB, JCS_UNKNOWN, false, false };
static const struct kind progressive = { JCS_RGB, JCS_UNKNOWN, true, false };

static enum fw_err decode(const struct file *f, uint32_t max_side, struct fw_scene_pixels *out)
{
    const struct fw_scene_picture in = { .bytes = f->bytes, .size = f->size };
    text[0] = 0;
    const enum fw_err err = fw_scene_picture_decode(&in, max_side, false, out, &trouble);
    if (err) {
        assert_null(out->rgba);
        assert_true(text[0] != 0); // never without a word
    }
    return err;
}

static void near(int got, int want, const char *what, uint32_t x, uint32_t y)
{
    if (abs(got - want) > CLOSE)
        fail_msg("%s at %u, %u is %d, not %d", what, x, y, got, want);
}

// Red, green and blue as the pattern has them, however much smaller the picture is.
static void check_pattern(const struct fw_scene_pixels *p, uint32_t w, uint32_t h)
{
    const uint32_t step = w / p->width;
    for (uint32_t y = 0; y < p->height; y++) {
        for (uint32_t x = 0; x < p->width; x++) {
            const uint8_t *c = p->rgba + ((size_t)y * p->width + x) * 4;
            for (int k = 0; k < 3; k++)
                near(c[k], level_at(x * step + step / 2, y * step + step / 2, k, w, h), "level", x,
                     y);
            assert_int_equal(c[3], 255);
        }
    }
}

static void check_kind(const struct kind *kind, uint32_t w, uint32_t h, uint32_t max_side)
{
    struct file f = make(w, h, kind);
    struct fw_scene_pixels p;
    assert_int_equal(decode(&f, max_side, &p), FW_OK);
    assert_string_equal(text, "");
    const unsigned halvings = fw_scene_halvings(w, h, max_side);
    assert_int_equal(p.width, w >> halvings ? w >> halvings : 1);
    assert_int_equal(p.height, h >> halvings ? h >> halvings : 1);
    check_pattern(&p, w, h);
    free(p.rgba);
    free(f.bytes);
}

static void test_sizes(void **state)
{
    (void)state;
    check_kind(&plain, 96, 64, 1024);
    check_kind(&plain, 97, 63, 1024);
    check_kind(&progressive, 97, 63, 1024);
    check_kind(&plain, 1, 1, 1024);
    check_kind(&progressive, 1, 1, 1024);
    // Smaller in the decoder, odd sides rounded down, and smaller still than it can.
    check_kind(&plain, 256, 128, 128);
    check_kind(&plain, 257, 131, 128);
    check_kind(&progressive, 259, 257, 64);
    check_kind(&plain, 511, 300, 63);
    check_kind(&plain, 640, 640, 20);
    struct file thin = make(300, 2, &plain);
    struct fw_scene_pixels p;
    assert_int_equal(decode(&thin, 32, &p), FW_OK);
    assert_int_equal(p.width, 18);
    assert_int_equal(p.height, 1);
    free(p.rgba);
    free(thin.bytes);
}

static void test_grey(void **state)
{
    (void)state;
    struct file f = make(40, 30, &(struct kind){ JCS_GRAYSCALE, JCS_UNKNOWN, false, false });
    struct fw_scene_pixels p;
    assert_int_equal(decode(&f, 1024, &p), FW_OK);
    for (uint32_t i = 0; i < 40 * 30; i++) {
        near(p.rgba[i * 4], level_at(i % 40, i / 40, 0, 40, 30), "grey", i % 40, i / 40);
        assert_int_equal(p.rgba[i * 4], p.rgba[i * 4 + 1]);
        assert_int_equal(p.rgba[i * 4], p.rgba[i * 4 + 2]);
        assert_int_equal(p.rgba[i * 4 + 3], 255);
    }
    free(p.rgba);
    free(f.bytes);
}

// Inks of print: inverted when Adobe's marker is there, as they are when it is not.
static void test_print(void **state)
{
    (void)state;
    const struct kind kinds[] = {
        { JCS_CMYK, JCS_CMYK, false, false },
        { JCS_CMYK, JCS_YCCK, true, false },
        { JCS_CMYK, JCS_CMYK, false, true },
    };
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct file f = make(40, 30, &kinds[i]);
        struct fw_scene_pixels p;
        assert_int_equal(decode(&f, 1024, &p), FW_OK);
        for (uint32_t n = 0; n < 40 * 30; n++) {
            for (int k = 0; k < 3; k++) {
                int ink = level_at(n % 40, n / 40, k, 40, 30);
                int black = level_at(n % 40, n / 40, 3, 40, 30);
                if (kinds[i].no_adobe)
                    ink = 255 - ink, black = 255 - black;
                near(p.rgba[n * 4 + k], ink * black / 255, "print", n % 40, n / 40);
            }
            assert_int_equal(p.rgba[n * 4 + 3], 255);
        }
        free(p.rgba);
        free(f.bytes);
    }
}

static void test_cut_off(void **state)
{
    (void)state;
    struct file f = make(96, 96, &plain);
    struct fw_scene_pixels p;
    const unsigned long whole = f.size;
    f.size = whole * 3 / 4;
    assert_int_equal(decode(&f, 1024, &p), FW_OK); // what is there is shown
    assert_non_null(strstr(text, "Premature end"));
    for (int k = 0; k < 3; k++)
        near(p.rgba[k], level_at(0, 0, k, 96, 96), "level", 0, 0);
    free(p.rgba);
    unsigned refused = 0;
    for (f.size = 0; f.size < whole; f.size++) {
        refused += decode(&f, 48, &p) != FW_OK;
        free(p.rgba);
    }
    assert_true(refused > 100); // all that end within the header
    free(f.bytes);
}

// The start of the frame header: marker, length, precision, height, width.
static unsigned char *frame_header(const struct file *f)
{
    for (unsigned long i = 2; i + 9 < f->size;) {
        const unsigned marker = f->bytes[i + 1];
        if (marker == 0xc0 || marker == 0xc2)
            return f->bytes + i;
        i += 2u + (unsigned)(f->bytes[i + 2] << 8 | f->bytes[i + 3]);
    }
    fail_msg("no frame header");
    return NULL;
}

static void claim_size(const struct file *f, unsigned w, unsigned h)
{
    unsigned char *head = frame_header(f);
    head[5] = (unsigned char)(h >> 8), head[6] = (unsigned char)h;
    head[7] = (unsigned char)(w >> 8), head[8] = (unsigned char)w;
}

static enum fw_err decode_in_model(const struct file *f, unsigned count,
                                   struct fw_scene_model *model, char *message, size_t size)
{
    struct fw_scene_picture pictures[4];
    *model = (struct fw_scene_model){ .textures = calloc(4, sizeof(*model->textures)) };
    assert_non_null(model->textures);
    for (unsigned i = 0; i < count; i++) {
        pictures[i] = (struct fw_scene_picture){ .bytes = f[i].bytes, .size = f[i].size };
        model->textures[i] =
            (struct fw_scene_texture){ .picture = (int)i, .occlusion = -1, .srgb = i & 1 };
    }
    model->texture_count = count;
    const struct fw_scene_note note = { message, size };
    message[0] = 0;
    return fw_scene_decode(model, pictures, count, 64, &note);
}

static void test_absurd_sizes(void **state)
{
    (void)state;
    char message[200];
    struct fw_scene_model model;
    struct fw_scene_pixels p;
    struct file f = make(32, 32, &plain);
    claim_size(&f, 60000, 16);
    assert_int_equal(decode_in_model(&f, 1, &model, message, sizeof(message)), FW_ERR_TOO_LARGE);
    assert_non_null(strstr(message, "60000 x 16"));
    fw_scene_model_finish(&model);
    claim_size(&f, 65535, 65535);
    assert_int_equal(decode(&f, 64, &p), FW_ERR_FORMAT);
    claim_size(&f, 0, 16);
    assert_int_equal(decode(&f, 64, &p), FW_ERR_FORMAT);
    claim_size(&f, 16, 0);
    assert_int_equal(decode(&f, 64, &p), FW_ERR_FORMAT);
    // Within the limits, but next to nothing is there: no more memory than is shown.
    claim_size(&f, 16384, 16384);
    assert_int_equal(decode(&f, 64, &p), FW_OK);
    assert_int_equal(p.width, 64);
    assert_true(text[0] != 0);
    free(p.rgba);
    free(f.bytes);

    f = make(32, 32, &progressive);
    claim_size(&f, FW_JPEG_MAX_SCAN_SIDE + 1, 8);
    assert_int_equal(decode(&f, 64, &p), FW_ERR_TOO_LARGE);
    assert_non_null(strstr(text, "progressive"));
    free(f.bytes);
}

// A hundred more of the last scan: small to send, long to decode.
static void test_scans(void **state)
{
    (void)state;
    struct file f = make(64, 64, &progressive);
    struct fw_scene_pixels p;
    unsigned long from = f.size - 2;
    while (f.bytes[from] != 0xff || f.bytes[from + 1] != 0xda)
        from--;
    const unsigned long scan = f.size - 2 - from;
    struct file bomb = { malloc(f.size + FW_JPEG_MAX_SCANS * scan), f.size - 2 };
    assert_non_null(bomb.bytes);
    memcpy(bomb.bytes, f.bytes, bomb.size);
    for (int i = 0; i < FW_JPEG_MAX_SCANS; i++, bomb.size += scan)
        memcpy(bomb.bytes + bomb.size, f.bytes + from, scan);
    assert_int_equal(decode(&bomb, 1024, &p), FW_ERR_TOO_LARGE);
    free(bomb.bytes);
    free(f.bytes);
}

static void test_unknown(void **state)
{
    (void)state;
    struct fw_scene_pixels p;
    struct file f = make(32, 32, &plain);
    frame_header(&f)[4] = 12; // bits
    assert_int_equal(decode(&f, 64, &p), FW_ERR_FORMAT);
    free(f.bytes);
    f = make(32, 32, &plain);
    frame_header(&f)[1] = 0xc3; // lossless
    assert_int_equal(decode(&f, 64, &p), FW_ERR_FORMAT);
    free(f.bytes);
    struct fw_scene_picture none = { 0 };
    text[0] = 0;
    assert_int_equal(fw_scene_picture_decode(&none, 64, false, &p, &trouble), FW_ERR_NOT_FOUND);
    assert_true(text[0] != 0);
}

// Bytes that changed on the way: whatever comes out, it is a picture or a sentence.
static void test_wounded(void **state)
{
    (void)state;
    uint32_t random = 12345;
    for (int k = 0; k < 2; k++) {
        struct file f = make(80, 56, k ? &progressive : &plain);
        struct file hurt = { malloc(f.size), f.size };
        assert_non_null(hurt.bytes);
        for (int round = 0; round < 600; round++) {
            struct fw_scene_pixels p;
            memcpy(hurt.bytes, f.bytes, f.size);
            for (int n = 0; n < 1 + round % 4; n++) {
                random = random * 1664525 + 1013904223;
                hurt.bytes[3 + (random >> 8) % (f.size - 3)] = (unsigned char)(random >> 24);
            }
            if (decode(&hurt, 64, &p) == FW_OK)
                assert_true(p.width >= 1 && p.height >= 1);
            free(p.rgba);
        }
        free(hurt.bytes);
        free(f.bytes);
    }
}

static void test_in_model(void **state)
{
    (void)state;
    char message[200];
    struct fw_scene_model model;
    struct file f[3] = { make(128, 128, &plain), make(128, 128, &plain), make(128, 128, &plain) };
    f[1].size = f[1].size / 2; // shown in part
    f[2].size = 30;            // not at all
    assert_int_equal(decode_in_model(f, 3, &model, message, sizeof(message)), FW_OK);
    assert_int_equal(model.damaged_pictures, 2);
    assert_int_equal(model.missing_textures, 1);
    assert_non_null(strstr(model.picture_trouble, "picture "));
    for (unsigned i = 0; i < 2; i++) {
        const struct fw_scene_texture *t = &model.textures[i];
        assert_non_null(t->texels);
        assert_int_equal(t->width, 64);
        assert_int_equal(t->height, 64);
        assert_int_equal(t->mips, 7); // 64 32 16 8 4 2 1
        near(t->texels[0], level_at(1, 1, 0, 128, 128), "level", 0, 0);
    }
    // The last level is the mean of all.
    const uint8_t *last = model.textures[0].texels + model.textures[0].bytes - 4;
    near(last[0], 40 + 80, "mean", 0, 0);
    near(last[1], 60 + 70, "mean", 0, 0);
    assert_null(model.textures[2].texels);
    fw_scene_model_finish(&model);
    for (unsigned i = 0; i < 3; i++)
        free(f[i].bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),    cmocka_unit_test(test_grey),
        cmocka_unit_test(test_print),    cmocka_unit_test(test_cut_off),
        cmocka_unit_test(test_scans),    cmocka_unit_test(test_absurd_sizes),
        cmocka_unit_test(test_unknown),  cmocka_unit_test(test_wounded),
        cmocka_unit_test(test_in_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
