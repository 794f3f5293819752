// SPDX-License-Identifier: MIT
#include "session/cli/view_rgb.h"

enum { SHIFT = 13 };

// Fixed point with SHIFT bits: BT.709.
struct sums {
    int base, luma, red, green_cb, green_cr, blue;
};

static int fixed(double v)
{
    return (int)(v * (1 << SHIFT) + 0.5);
}

static uint32_t clamp(int v)
{
    v >>= SHIFT;
    return (uint32_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

// Two pixels share one Cb and Cr; `step` is 2 where these lie side by side. `first` and `third`
// are the sums of the bytes at 0 and 2.
struct row {
    const uint8_t *y, *cb, *cr;
    int step, pairs;
    uint32_t *out;
};

static inline void convert_row(const struct row *row, const struct sums *k, bool bgr)
{
    const uint8_t *restrict y = row->y, *restrict cb = row->cb, *restrict cr = row->cr;
    uint32_t *restrict out = row->out;
    const int round = 1 << (SHIFT - 1);
    for (int i = 0; i < row->pairs; i++) {
        const int b = cb[i * row->step] - 128, r = cr[i * row->step] - 128;
        const int red = r * k->red + round, blue = b * k->blue + round;
        const int green = round - b * k->green_cb - r * k->green_cr;
        const int first = bgr ? blue : red, third = bgr ? red : blue;
        const int left = (y[2 * i] - k->base) * k->luma, right = (y[2 * i + 1] - k->base) * k->luma;
        out[2 * i] = clamp(left + first) | clamp(left + green) << 8 | clamp(left + third) << 16 |
                     0xff000000u;
        out[2 * i + 1] = clamp(right + first) | clamp(right + green) << 8 |
                         clamp(right + third) << 16 | 0xff000000u;
    }
}

void view_rgb_convert(const struct view_picture *p, bool bgr, uint32_t *out)
{
    const double luma = p->full_range ? 1 : 255.0 / 219, chroma = p->full_range ? 1 : 255.0 / 224;
    const struct sums k = {
        .base = p->full_range ? 0 : 16,
        .luma = fixed(luma),
        .red = fixed(1.5748 * chroma),
        .green_cb = fixed(0.1873 * chroma),
        .green_cr = fixed(0.4681 * chroma),
        .blue = fixed(1.8556 * chroma),
    };
    for (int line = 0; line < p->height; line++) {
        uint32_t *to = out + (size_t)line * (size_t)p->width;
        struct row row = {
            .y = p->plane[0] + (ptrdiff_t)line * p->stride[0],
            .cb = p->plane[1] + (ptrdiff_t)(line / 2) * p->stride[1],
            .step = p->interleaved ? 2 : 1,
            .pairs = p->width / 2,
            .out = to,
        };
        row.cr = p->interleaved ? row.cb + 1 : p->plane[2] + (ptrdiff_t)(line / 2) * p->stride[2];
        if (row.step == 1)
            convert_row(&(struct row){ row.y, row.cb, row.cr, 1, row.pairs, to }, &k, bgr);
        else
            convert_row(&(struct row){ row.y, row.cb, row.cr, 2, row.pairs, to }, &k, bgr);
        if (p->width % 2) { // the last pixel alone: its right neighbour is in the padding
            uint32_t two[2];
            const int last = p->width / 2;
            convert_row(&(struct row){ row.y + 2 * last, row.cb + last * row.step,
                                       row.cr + last * row.step, row.step, 1, two },
                        &k, bgr);
            to[p->width - 1] = two[0];
        }
    }
}
