// SPDX-License-Identifier: MIT
#include "render/convert.h"

#include "render/convert_priv.h"

static uint8_t luma(const uint8_t *p)
{
    return (uint8_t)((FW_LUMA_R * p[0] + FW_LUMA_G * p[1] + FW_LUMA_B * p[2] + FW_LUMA_BIAS) >> 8);
}

static void convert_rest(const struct fw_convert_rows *rows, int from)
{
    for (int x = from; x < rows->width; x += 2) {
        const int right = x + 1 < rows->width ? x + 1 : x;
        const uint8_t *const quad[4] = {
            rows->top + (size_t)x * 4,
            rows->top + (size_t)right * 4,
            rows->bottom + (size_t)x * 4,
            rows->bottom + (size_t)right * 4,
        };
        rows->luma_top[x] = luma(quad[0]);
        rows->luma_top[x + 1] = luma(quad[1]);
        rows->luma_bottom[x] = luma(quad[2]);
        rows->luma_bottom[x + 1] = luma(quad[3]);
        int sum[3];
        for (int c = 0; c < 3; c++) {
            sum[c] = quad[0][c] + quad[1][c] + quad[2][c] + quad[3][c];
        }
        const int cb =
            FW_CB_R * sum[0] + FW_CB_G * sum[1] + FW_CHROMA_MAX * sum[2] + FW_CHROMA_BIAS;
        const int cr =
            FW_CHROMA_MAX * sum[0] + FW_CR_G * sum[1] + FW_CR_B * sum[2] + FW_CHROMA_BIAS;
        rows->chroma[x] = (uint8_t)(cb >> FW_CHROMA_SHIFT);
        rows->chroma[x + 1] = (uint8_t)(cr >> FW_CHROMA_SHIFT);
    }
}

static void convert(const struct fw_convert *c, bool avx2)
{
    for (int y = 0; y < c->height; y += 2) {
        const int below = y + 1 < c->height ? y + 1 : y;
        const struct fw_convert_rows rows = {
            .top = c->rgba + (size_t)y * c->rgba_stride,
            .bottom = c->rgba + (size_t)below * c->rgba_stride,
            .luma_top = c->luma + (size_t)y * c->luma_stride,
            .luma_bottom = c->luma + ((size_t)y + 1) * c->luma_stride,
            .chroma = c->chroma + (size_t)(y / 2) * c->chroma_stride,
            .width = c->width,
        };
        convert_rest(&rows, avx2 ? fw_convert_rows_avx2(&rows) : 0);
    }
}

void fw_convert_nv12(const struct fw_convert *c)
{
    convert(c, fw_convert_can_avx2());
}

bool fw_convert_nv12_with(enum fw_convert_variant variant, const struct fw_convert *c)
{
    if (variant == FW_CONVERT_AVX2 && !fw_convert_can_avx2()) {
        return false;
    }
    convert(c, variant == FW_CONVERT_AVX2);
    return true;
}
