// SPDX-License-Identifier: MIT
#include "render/source/scene/picture.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "render/source/scene/jpeg.h"

#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#define STBI_NO_STDIO
#define STBI_NO_HDR
#define STBI_NO_JPEG
#define STBI_NO_LINEAR
#define STBI_NO_PIC
#define STBI_NO_PNM
#define STBI_NO_PSD
#define STBI_NO_GIF
#define STBI_MAX_DIMENSIONS FW_SCENE_MAX_TEXTURE
#pragma GCC diagnostic ignored "-Wunused-function" // what we leave out leaves declarations behind
#include <stb_image.h>

// sRGB bytes to 16-bit linear and back, made once.
static uint16_t to_linear[256];
static uint8_t to_srgb[4097];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
    for (int i = 0; i < 256; i++) {
        double c = i / 255.0;
        double l = c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
        to_linear[i] = (uint16_t)lrint(l * 65535);
    }
    for (int i = 0; i <= 4096; i++) {
        double l = i / 4096.0;
        double c = l <= 0.0031308 ? l * 12.92 : 1.055 * pow(l, 1 / 2.4) - 0.055;
        to_srgb[i] = (uint8_t)lrint(c * 255);
    }
}

static void halve_colors(const uint8_t *a, const uint8_t *b, const uint8_t *c, const uint8_t *d,
                         uint8_t *out)
{
    for (int k = 0; k < 3; k++) {
        const uint32_t sum = to_linear[a[k]] + to_linear[b[k]] + to_linear[c[k]] + to_linear[d[k]];
        out[k] = to_srgb[(sum + 32) >> 6];
    }
    out[3] = (uint8_t)((a[3] + b[3] + c[3] + d[3] + 2) / 4);
}

static void halve_numbers(const uint8_t *a, const uint8_t *b, const uint8_t *c, const uint8_t *d,
                          uint8_t *out)
{
    for (int k = 0; k < 4; k++)
        out[k] = (uint8_t)((a[k] + b[k] + c[k] + d[k] + 2) / 4);
}

void fw_scene_tables(void)
{
    pthread_once(&tables_once, make_tables);
}

void fw_scene_halve(const uint8_t *src, uint32_t w, uint32_t h, bool srgb, uint8_t *dst)
{
    fw_scene_tables();
    const uint32_t nw = w > 1 ? w / 2 : 1, nh = h > 1 ? h / 2 : 1;
    const size_t right = w > 1 ? 4 : 0, below = h > 1 ? (size_t)w * 4 : 0;
    for (uint32_t y = 0; y < nh; y++) {
        const uint8_t *a = src + (size_t)(y * 2) * w * 4;
        if (srgb)
            for (uint32_t x = 0; x < nw; x++, a += 8, dst += 4)
                halve_colors(a, a + right, a + below, a + below + right, dst);
        else
            for (uint32_t x = 0; x < nw; x++, a += 8, dst += 4)
                halve_numbers(a, a + right, a + below, a + below + right, dst);
    }
}

unsigned fw_scene_halvings(uint32_t width, uint32_t height, uint32_t max_side)
{
    unsigned n = 0;
    for (uint32_t side = width > height ? width : height; side > max_side && side > 1; side /= 2)
        n++;
    return n;
}

static void shrink(struct fw_scene_pixels *p, unsigned halvings, bool srgb)
{
    if (!p->rgba || !halvings)
        return;
    while (halvings--) {
        // In place: a row is written only where it has been read already.
        fw_scene_halve(p->rgba, p->width, p->height, srgb, p->rgba);
        p->width = p->width > 1 ? p->width / 2 : 1;
        p->height = p->height > 1 ? p->height / 2 : 1;
    }
    uint8_t *less = realloc(p->rgba, (size_t)p->width * p->height * 4);
    if (less)
        p->rgba = less;
}

bool fw_scene_picture_size(const struct fw_scene_picture *in, uint32_t *width, uint32_t *height)
{
    int w = 0, h = 0, n;
    if (in->raw_width) {
        *width = in->raw_width, *height = in->raw_height;
        return true;
    }
    if (!in->bytes || in->size > INT32_MAX)
        return false;
    if (fw_jpeg_is(in->bytes, in->size))
        return fw_jpeg_size(in->bytes, in->size, width, height);
    if (!stbi_info_from_memory(in->bytes, (int)in->size, &w, &h, &n) || w < 1 || h < 1)
        return false;
    *width = (uint32_t)w, *height = (uint32_t)h;
    return true;
}

static uint8_t *copy_raw(const struct fw_scene_picture *in)
{
    const size_t count = (size_t)in->raw_width * in->raw_height;
    uint8_t *rgba = malloc(count * 4);
    for (size_t k = 0; rgba && k < count; k++) {
        const uint8_t *s = in->bytes + k * 4; // assimp's texels are b, g, r, a
        uint8_t *d = rgba + k * 4;
        d[0] = s[2], d[1] = s[1], d[2] = s[0], d[3] = s[3];
    }
    return rgba;
}

enum fw_err fw_scene_picture_decode(const struct fw_scene_picture *in, uint32_t max_side, bool srgb,
                                    struct fw_scene_pixels *out,
                                    const struct fw_scene_note *trouble)
{
    uint32_t width, height;
    unsigned done = 0;
    enum fw_err err = FW_OK;
    *out = (struct fw_scene_pixels){ 0 };
    if (!in->bytes)
        return fw_scene_fail(trouble, FW_ERR_NOT_FOUND, "It is not there.");
    if (!fw_scene_picture_size(in, &width, &height))
        return fw_scene_fail(trouble, FW_ERR_FORMAT, "It is of no kind that can be read.");
    const unsigned halvings = fw_scene_halvings(width, height, max_side);
    if (!in->raw_width && fw_jpeg_is(in->bytes, in->size)) {
        err = fw_jpeg_decode(in->bytes, in->size, halvings, &done, out, trouble);
    } else {
        int w, h, n;
        out->width = width, out->height = height;
        out->rgba = in->raw_width ? copy_raw(in)
                                  : stbi_load_from_memory(in->bytes, (int)in->size, &w, &h, &n, 4);
        if (!out->rgba)
            err = fw_scene_fail(trouble, FW_ERR_FORMAT, "%s",
                                in->raw_width ? "No memory for it." : stbi_failure_reason());
    }
    shrink(out, halvings - done, srgb);
    return err;
}
