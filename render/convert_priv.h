// SPDX-License-Identifier: MIT
// For convert*.c only.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Fixed point shared by all variants, so that they agree to the byte. Luma in 1/256 (fits bytes:
// error 0.39 level at most), chroma of the sum of 4 pixels in 1/2^17.
enum {
    FW_LUMA_R = 47, // 256 * 219/255 * 0.2126
    FW_LUMA_G = 157,
    FW_LUMA_B = 16,
    FW_LUMA_BIAS = 16 * 256 + 128,
    FW_CHROMA_SHIFT = 17,
    FW_CB_R = -3298, // 2^15 * 224/255 * -0.2126/1.8556
    FW_CB_G = -11094,
    FW_CHROMA_MAX = 14392, // 2^15 * 224/255 / 2
    FW_CR_G = -13072,
    FW_CR_B = -1320,
    FW_CHROMA_BIAS = (128 << FW_CHROMA_SHIFT) + (1 << (FW_CHROMA_SHIFT - 1)),
};

// Two rows of pixels to two rows of luma and one of chroma.
struct fw_convert_rows {
    const uint8_t *top, *bottom;
    uint8_t *luma_top, *luma_bottom, *chroma;
    int width; // pixels, may be odd
};

// Writes whole vectors only; returns how many pixels (an even number) it did.
int fw_convert_rows_avx2(const struct fw_convert_rows *rows);
bool fw_convert_can_avx2(void);
