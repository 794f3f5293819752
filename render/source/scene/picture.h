// SPDX-License-Identifier: MIT
// One picture of a file as pixels, no larger than asked for.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "render/source/scene/limits.h"
#include "render/source/scene/model.h"

struct fw_scene_pixels {
    uint32_t width, height;
    uint8_t *rgba; // NULL = none
};

// False: of no kind that can be read. Nothing is decoded.
bool fw_scene_picture_size(const struct fw_scene_picture *in, uint32_t *width, uint32_t *height);

// How often a picture is halved until neither side is above `max_side`.
unsigned fw_scene_halvings(uint32_t width, uint32_t height, uint32_t max_side);

// On FW_OK the caller frees `out->rgba`. `srgb`: colours, averaged as light where it is halved.
// `trouble`: what was wrong with the file, even when a picture came out.
// Thread: any, several at once.
enum fw_err fw_scene_picture_decode(const struct fw_scene_picture *in, uint32_t max_side, bool srgb,
                                    struct fw_scene_pixels *out,
                                    const struct fw_scene_note *trouble);

// Makes the tables of fw_scene_halve(), which does so itself otherwise. Any thread.
void fw_scene_tables(void);

// Halves a picture: 2x2 box, sides rounded down. `dst` may be `src`.
void fw_scene_halve(const uint8_t *src, uint32_t w, uint32_t h, bool srgb, uint8_t *dst);
