// SPDX-License-Identifier: MIT
// JPEG through libjpeg-turbo, which is told to make a large picture smaller while it decodes: of
// what is shown at half the size only a quarter is computed.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "render/source/scene/picture.h"

enum {
    FW_JPEG_MAX_SCANS = 100,      // of a progressive file; real ones have about ten
    FW_JPEG_MAX_SCAN_SIDE = 8192, // its coefficients are all in memory at once
};

bool fw_jpeg_is(const uint8_t *bytes, size_t size);
// False when the header can't be read. Nothing is decoded.
bool fw_jpeg_size(const uint8_t *bytes, size_t size, uint32_t *width, uint32_t *height);

// Decodes to a picture halved `halvings` times or, at one eighth, less often: `*done` says how many
// were done. A halved side is rounded down, as fw_scene_halve() does. On FW_OK the caller frees
// `out->rgba`. `trouble` says what was wrong with the file, even when a picture came out: a file
// that is cut off gives what was there, the rest grey.
enum fw_err fw_jpeg_decode(const uint8_t *bytes, size_t size, unsigned halvings, unsigned *done,
                           struct fw_scene_pixels *out, const struct fw_scene_note *trouble);
