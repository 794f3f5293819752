// SPDX-License-Identifier: MIT
// 32 pixels of two rows at a time. Built for x86-64 only; others get convert_generic.c.
#include <immintrin.h>

#include "render/convert_priv.h"

#define AVX2 __attribute__((target("avx2")))

// Two constants of 16 bit as one 32-bit lane, the first one low.
enum { WORD_MASK = 0xffff };
static int pair(int low, int high)
{
    return (int)((uint32_t)(low & WORD_MASK) | (uint32_t)(high & WORD_MASK) << 16);
}

// After the packs, dwords stand lane by lane (0 2 4 6 | 1 3 5 7); this puts them in order.
AVX2 static inline __m256i in_order(__m256i v)
{
    return _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

AVX2 static inline __m256i luma16(__m256i a, __m256i b)
{
    // maddubs takes unsigned times signed bytes. The coefficients need all 8 bits, so the pixels
    // become signed by subtracting 128, which the bias puts back.
    const __m256i coefficients = _mm256_set1_epi32(FW_LUMA_R | FW_LUMA_G << 8 | FW_LUMA_B << 16);
    const __m256i flip = _mm256_set1_epi8((char)0x80);
    const __m256i bias =
        _mm256_set1_epi16(FW_LUMA_BIAS + 128 * (FW_LUMA_R + FW_LUMA_G + FW_LUMA_B));
    a = _mm256_maddubs_epi16(coefficients, _mm256_xor_si256(a, flip));
    b = _mm256_maddubs_epi16(coefficients, _mm256_xor_si256(b, flip));
    return _mm256_srli_epi16(_mm256_add_epi16(_mm256_hadd_epi16(a, b), bias), 8);
}

// 8 pixels of two rows to 4 chroma pairs as dwords: cb cb cr cr in each lane.
AVX2 static inline __m256i chroma8(__m256i top, __m256i bottom)
{
    const __m256i neighbours =
        _mm256_setr_epi8(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15, 0, 4, 1, 5, 2, 6, 3,
                         7, 8, 12, 9, 13, 10, 14, 11, 15);
    const __m256i ones = _mm256_set1_epi8(1);
    const __m256i cb =
        _mm256_setr_epi32(pair(FW_CB_R, FW_CB_G), pair(FW_CHROMA_MAX, 0), pair(FW_CB_R, FW_CB_G),
                          pair(FW_CHROMA_MAX, 0), pair(FW_CB_R, FW_CB_G), pair(FW_CHROMA_MAX, 0),
                          pair(FW_CB_R, FW_CB_G), pair(FW_CHROMA_MAX, 0));
    const __m256i cr = _mm256_setr_epi32(pair(FW_CHROMA_MAX, FW_CR_G), pair(FW_CR_B, 0),
                                         pair(FW_CHROMA_MAX, FW_CR_G), pair(FW_CR_B, 0),
                                         pair(FW_CHROMA_MAX, FW_CR_G), pair(FW_CR_B, 0),
                                         pair(FW_CHROMA_MAX, FW_CR_G), pair(FW_CR_B, 0));
    top = _mm256_maddubs_epi16(_mm256_shuffle_epi8(top, neighbours), ones);
    bottom = _mm256_maddubs_epi16(_mm256_shuffle_epi8(bottom, neighbours), ones);
    const __m256i sum = _mm256_add_epi16(top, bottom);
    const __m256i both = _mm256_hadd_epi32(_mm256_madd_epi16(sum, cb), _mm256_madd_epi16(sum, cr));
    return _mm256_srai_epi32(_mm256_add_epi32(both, _mm256_set1_epi32(FW_CHROMA_BIAS)),
                             FW_CHROMA_SHIFT);
}

AVX2 int fw_convert_rows_avx2(const struct fw_convert_rows *rows)
{
    const __m256i interleave =
        _mm256_setr_epi8(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15, 0, 2, 1, 3, 4, 6, 5,
                         7, 8, 10, 9, 11, 12, 14, 13, 15);
    int x = 0;
    for (; x + 32 <= rows->width; x += 32) {
        __m256i top[4], bottom[4];
        for (int i = 0; i < 4; i++) {
            const size_t at = (size_t)(x + 8 * i) * 4;
            top[i] = _mm256_loadu_si256((const __m256i *)(const void *)(rows->top + at));
            bottom[i] = _mm256_loadu_si256((const __m256i *)(const void *)(rows->bottom + at));
        }
        const __m256i luma_top =
            _mm256_packus_epi16(luma16(top[0], top[1]), luma16(top[2], top[3]));
        const __m256i luma_bottom =
            _mm256_packus_epi16(luma16(bottom[0], bottom[1]), luma16(bottom[2], bottom[3]));
        const __m256i left =
            _mm256_packs_epi32(chroma8(top[0], bottom[0]), chroma8(top[1], bottom[1]));
        const __m256i right =
            _mm256_packs_epi32(chroma8(top[2], bottom[2]), chroma8(top[3], bottom[3]));
        const __m256i chroma = _mm256_shuffle_epi8(_mm256_packus_epi16(left, right), interleave);
        _mm256_storeu_si256((__m256i *)(void *)(rows->luma_top + x), in_order(luma_top));
        _mm256_storeu_si256((__m256i *)(void *)(rows->luma_bottom + x), in_order(luma_bottom));
        _mm256_storeu_si256((__m256i *)(void *)(rows->chroma + x), in_order(chroma));
    }
    return x;
}

bool fw_convert_can_avx2(void)
{
    return __builtin_cpu_supports("avx2");
}
