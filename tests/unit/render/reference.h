// SPDX-License-Identifier: MIT
// RGB to NV12 in double precision, straight from the formulas of BT.709.
#pragma once

#include <math.h>
#include <stdint.h>

static inline double reference_luma(double r, double g, double b)
{
    return 16.0 + 219.0 * (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255.0;
}

// `sum` is R, G, B added up over 4 pixels.
static inline void reference_chroma(const double sum[3], double *cb, double *cr)
{
    const double r = sum[0] / 1020.0, g = sum[1] / 1020.0, b = sum[2] / 1020.0;
    const double y = 0.2126 * r + 0.7152 * g + 0.0722 * b;
    *cb = 128.0 + 224.0 * (b - y) / (2.0 * (1.0 - 0.0722));
    *cr = 128.0 + 224.0 * (r - y) / (2.0 * (1.0 - 0.2126));
}

struct reference_picture {
    const uint8_t *rgba;
    size_t rgba_stride;
    int width, height;
    const uint8_t *luma, *chroma;
    size_t luma_stride, chroma_stride;
};

static inline const uint8_t *reference_pixel(const struct reference_picture *p, int x, int y)
{
    x = x < p->width ? x : p->width - 1;
    y = y < p->height ? y : p->height - 1;
    return p->rgba + (size_t)y * p->rgba_stride + (size_t)x * 4;
}

static inline double reference_max(double worst, double exact, uint8_t got)
{
    const double off = fabs(round(exact) - (double)got);
    return off > worst ? off : worst;
}

// The largest distance in levels between the planes and the rounded formula.
static inline double reference_worst(const struct reference_picture *p)
{
    double worst = 0;
    for (int y = 0; y < p->height; y += 2) {
        for (int x = 0; x < p->width; x += 2) {
            double sum[3] = { 0, 0, 0 };
            for (int i = 0; i < 4; i++) {
                const int px = x + i % 2, py = y + i / 2;
                const uint8_t *c = reference_pixel(p, px, py);
                worst = reference_max(worst, reference_luma(c[0], c[1], c[2]),
                                      p->luma[(size_t)py * p->luma_stride + (size_t)px]);
                for (int k = 0; k < 3; k++) {
                    sum[k] += c[k];
                }
            }
            double cb, cr;
            reference_chroma(sum, &cb, &cr);
            const uint8_t *uv = p->chroma + (size_t)(y / 2) * p->chroma_stride + (size_t)x;
            worst = reference_max(worst, cb, uv[0]);
            worst = reference_max(worst, cr, uv[1]);
        }
    }
    return worst;
}
