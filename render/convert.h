// SPDX-License-Identifier: MIT
// RGB to NV12 on the CPU: BT.709 limited range, chroma as the mean of 2x2 pixels. Within 1 level
// of the real-valued formula; all variants give the same bytes.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Thread: pure; any thread.
struct fw_convert {
    const uint8_t *rgba; // R,G,B,A bytes; alpha is ignored
    size_t rgba_stride;  // bytes
    int width, height;   // true size; the planes are this rounded up to even, the edge repeated
    uint8_t *luma, *chroma;
    size_t luma_stride, chroma_stride; // bytes
};

// With the best variant for this CPU.
void fw_convert_nv12(const struct fw_convert *convert);

// For tests and measurements: one variant by name.
enum fw_convert_variant { FW_CONVERT_C, FW_CONVERT_AVX2, FW_CONVERT_COUNT };
// False when this CPU or build has no such variant; nothing is written then.
bool fw_convert_nv12_with(enum fw_convert_variant variant, const struct fw_convert *convert);
