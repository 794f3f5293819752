// SPDX-License-Identifier: MIT
#include "session/cli/view_rgb.h"

enum { BITS = 5 }; // values carry BITS bits of fraction, so that sums fit 16 bits

// BT.709 as factors for the high half of a 16-bit product.
struct sums {
    int16_t base, luma, red, green_cb, green_cr, blue;
};

// What a row is made of, laid out so that a compiler uses vectors of 16-bit numbers.
struct row {
    int16_t luma[FW_VIEW_PICTURE_MAX], red[FW_VIEW_PICTURE_MAX], green[FW_VIEW_PICTURE_MAX],
        blue[FW_VIEW_PICTURE_MAX];
};

static int16_t high(int16_t a, int16_t b)
{
    return (int16_t)(((int32_t)a * b) >> 16);
}

static void take_luma(int16_t *restrict to, const uint8_t *restrict y, int width,
                      const struct sums *k)
{
    const int16_t base = k->base, luma = k->luma;
    for (int i = 0; i < width; i++)
        to[i] = (int16_t)(high((int16_t)((y[i] - base) * 128), luma) + (1 << (BITS - 1)));
}

static void take_chroma(struct row *restrict to, const uint8_t *restrict cb,
                        const uint8_t *restrict cr, int step, int pairs, const struct sums *sums)
{
    const struct sums k = *sums;
    for (int i = 0; i < pairs; i++) {
        const int16_t b = (int16_t)((cb[i * step] - 128) * 256);
        const int16_t r = (int16_t)((cr[i * step] - 128) * 256);
        const int16_t green = (int16_t) - (high(b, k.green_cb) + high(r, k.green_cr));
        to->red[2 * i] = to->red[2 * i + 1] = high(r, k.red);
        to->green[2 * i] = to->green[2 * i + 1] = green;
        to->blue[2 * i] = to->blue[2 * i + 1] = high(b, k.blue);
    }
}

static uint32_t level(int16_t v)
{
    v = (int16_t)(v >> BITS);
    v = v < 0 ? 0 : v;
    return (uint16_t)(v > 255 ? 255 : v);
}

static void put(uint32_t *restrict out, const int16_t *restrict luma, const int16_t *restrict first,
                const int16_t *restrict second, const int16_t *restrict third, int width)
{
    for (int i = 0; i < width; i++)
        out[i] = level((int16_t)(luma[i] + first[i])) | level((int16_t)(luma[i] + second[i])) << 8 |
                 level((int16_t)(luma[i] + third[i])) << 16 | 0xff000000u;
}

static int16_t factor(double v, int shift)
{
    return (int16_t)(v * (1 << shift) + 0.5);
}

void fw_view_rgb_convert(const struct fw_view_picture *p, bool bgr, uint32_t *out)
{
    const double luma = p->full_range ? 1 : 255.0 / 219, chroma = p->full_range ? 1 : 255.0 / 224;
    // Luma comes times 2^7, chroma times 2^8: the product's high half is to have BITS of fraction.
    const struct sums k = {
        .base = p->full_range ? 0 : 16,
        .luma = factor(luma, 16 + BITS - 7),
        .red = factor(1.5748 * chroma, 16 + BITS - 8),
        .green_cb = factor(0.1873 * chroma, 16 + BITS - 8),
        .green_cr = factor(0.4681 * chroma, 16 + BITS - 8),
        .blue = factor(1.8556 * chroma, 16 + BITS - 8),
    };
    const int width = p->width < FW_VIEW_PICTURE_MAX ? p->width : FW_VIEW_PICTURE_MAX;
    struct row row;
    for (int line = 0; line < p->height; line++) {
        if (line % 2 == 0) {
            const uint8_t *cb = p->plane[1] + (ptrdiff_t)(line / 2) * p->stride[1];
            if (p->interleaved)
                take_chroma(&row, cb, cb + 1, 2, (width + 1) / 2, &k);
            else
                take_chroma(&row, cb, p->plane[2] + (ptrdiff_t)(line / 2) * p->stride[2], 1,
                            (width + 1) / 2, &k);
        }
        take_luma(row.luma, p->plane[0] + (ptrdiff_t)line * p->stride[0], width, &k);
        put(out + (size_t)line * (size_t)p->width, row.luma, bgr ? row.blue : row.red, row.green,
            bgr ? row.red : row.blue, width);
    }
}
