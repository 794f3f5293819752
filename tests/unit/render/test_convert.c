// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "reference.h"
#include "render/convert.h"

enum { GUARD = 64, GUARD_BYTE = 0xa5 };

static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

struct picture {
    int width, height;
    size_t rgba_stride, stride;
    uint8_t *rgba, *luma, *chroma;
    size_t luma_size, chroma_size;
};

static struct picture make_picture(int width, int height)
{
    struct picture p = { .width = width, .height = height };
    const size_t cw = ((size_t)width + 1) & ~(size_t)1, ch = ((size_t)height + 1) & ~(size_t)1;
    p.rgba_stride = (size_t)width * 4;
    p.stride = cw;
    p.luma_size = cw * ch;
    p.chroma_size = cw * ch / 2;
    // Exactly as large as needed, so that a sanitizer sees a read too far.
    p.rgba = malloc(p.rgba_stride * (size_t)height);
    p.luma = malloc(p.luma_size + GUARD);
    p.chroma = malloc(p.chroma_size + GUARD);
    assert_true(p.rgba && p.luma && p.chroma);
    memset(p.luma, GUARD_BYTE, p.luma_size + GUARD);
    memset(p.chroma, GUARD_BYTE, p.chroma_size + GUARD);
    return p;
}

static void free_picture(struct picture *p)
{
    for (int i = 0; i < GUARD; i++) {
        assert_int_equal(p->luma[p->luma_size + (size_t)i], GUARD_BYTE);
        assert_int_equal(p->chroma[p->chroma_size + (size_t)i], GUARD_BYTE);
    }
    free(p->rgba);
    free(p->luma);
    free(p->chroma);
}

static struct fw_convert job(const struct picture *p)
{
    return (struct fw_convert){
        .rgba = p->rgba,
        .rgba_stride = p->rgba_stride,
        .width = p->width,
        .height = p->height,
        .luma = p->luma,
        .chroma = p->chroma,
        .luma_stride = p->stride,
        .chroma_stride = p->stride,
    };
}

static double worst(const struct picture *p)
{
    return reference_worst(&(struct reference_picture){
        .rgba = p->rgba,
        .rgba_stride = p->rgba_stride,
        .width = p->width,
        .height = p->height,
        .luma = p->luma,
        .chroma = p->chroma,
        .luma_stride = p->stride,
        .chroma_stride = p->stride,
    });
}

static void fill_random(struct picture *p, uint32_t seed)
{
    for (size_t i = 0; i < p->rgba_stride * (size_t)p->height; i++) {
        const uint32_t r = next_random(&seed);
        // Half of all values at the ends of the range, where overflow would show.
        p->rgba[i] = r & 1 ? (r & 2 ? 255 : 0) : (uint8_t)(r >> 8);
    }
}

static void test_sizes(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 16, 16 },  { 17, 17 },   { 31, 16 },    { 32, 18 },
                                    { 33, 19 },  { 63, 31 },   { 64, 64 },    { 65, 33 },
                                    { 100, 50 }, { 641, 479 }, { 1007, 601 }, { 1366, 768 },
                                    { 95, 16 },  { 16, 95 },   { 1, 1 },      { 3, 2 } };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct picture c = make_picture(sizes[i][0], sizes[i][1]);
        struct picture best = make_picture(sizes[i][0], sizes[i][1]);
        fill_random(&c, 77 + (uint32_t)i);
        memcpy(best.rgba, c.rgba, c.rgba_stride * (size_t)c.height);
        struct fw_convert convert = job(&c);
        assert_true(fw_convert_nv12_with(FW_CONVERT_C, &convert));
        convert = job(&best);
        fw_convert_nv12(&convert);
        assert_true(worst(&c) <= 1.0);
        assert_memory_equal(c.luma, best.luma, c.luma_size);
        assert_memory_equal(c.chroma, best.chroma, c.chroma_size);
        free_picture(&c);
        free_picture(&best);
    }
}

// Every colour of a 32-step cube plus the ends, each as a flat 2x2 block.
static void test_colour_cube(void **state)
{
    (void)state;
    enum { STEPS = 52 };
    struct picture p = make_picture(2 * STEPS, 2 * STEPS * STEPS);
    for (int y = 0; y < p.height; y++) {
        for (int x = 0; x < p.width; x++) {
            uint8_t *px = p.rgba + (size_t)y * p.rgba_stride + (size_t)x * 4;
            px[0] = (uint8_t)(x / 2 * 5);
            px[1] = (uint8_t)(y / 2 % STEPS * 5);
            px[2] = (uint8_t)(y / 2 / STEPS * 5);
            px[3] = 255;
        }
    }
    for (int v = 0; v < FW_CONVERT_COUNT; v++) {
        const struct fw_convert convert = job(&p);
        if (fw_convert_nv12_with((enum fw_convert_variant)v, &convert)) {
            assert_true(worst(&p) <= 1.0);
        }
    }
    free_picture(&p);
}

// Known answers, so that the reference itself is checked: studio levels of the plain colours.
static void test_known(void **state)
{
    (void)state;
    static const uint8_t rows[][6] = {
        { 0, 0, 0, 16, 128, 128 },     { 255, 255, 255, 235, 128, 128 },
        { 255, 0, 0, 63, 102, 240 },   { 0, 255, 0, 173, 42, 26 },
        { 0, 0, 255, 32, 240, 118 },   { 128, 128, 128, 126, 128, 128 },
        { 0, 255, 255, 188, 154, 16 }, { 255, 255, 0, 219, 16, 138 },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (int v = 0; v < FW_CONVERT_COUNT; v++) {
            struct picture p = make_picture(64, 16);
            for (int k = 0; k < p.width * p.height; k++) {
                memcpy(p.rgba + (size_t)k * 4, rows[i], 3);
                p.rgba[k * 4 + 3] = (uint8_t)(k * 37); // alpha must not matter
            }
            const struct fw_convert convert = job(&p);
            if (fw_convert_nv12_with((enum fw_convert_variant)v, &convert)) {
                assert_in_range(p.luma[0] + 1, rows[i][3], rows[i][3] + 2);
                assert_in_range(p.chroma[0] + 1, rows[i][4], rows[i][4] + 2);
                assert_in_range(p.chroma[1] + 1, rows[i][5], rows[i][5] + 2);
            }
            free_picture(&p);
        }
    }
}

// Prints, never fails: a shared machine's clock proves nothing.
static void test_speed(void **state)
{
    (void)state;
    struct picture p = make_picture(1280, 720);
    fill_random(&p, 5);
    static const char *const names[] = { "C", "AVX2" };
    for (int v = 0; v < FW_CONVERT_COUNT; v++) {
        int64_t best = INT64_MAX;
        const struct fw_convert convert = job(&p);
        for (int i = 0; i < 30; i++) {
            const int64_t start = fw_now_ns();
            if (!fw_convert_nv12_with((enum fw_convert_variant)v, &convert)) {
                break;
            }
            const int64_t took = fw_now_ns() - start;
            best = took < best ? took : best;
        }
        if (best != INT64_MAX) {
            printf("1280x720 %s: %.3f ms\n", names[v], (double)best / FW_NS_PER_MS);
        }
    }
    free_picture(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_colour_cube),
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
