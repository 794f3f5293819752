// SPDX-License-Identifier: MIT
// Planes to RGB on the CPU, for devices that are one: what a fragment shader does in 50 ms there
// takes 1 ms here. The same sums as shaders/view_picture.frag, chroma not interpolated. Pure.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "session/cli/view_present.h"

// Pictures are FW_VIEW_PICTURE_MAX wide at most. `out`: true width x height pixels without gaps, B
// first in memory when `bgr`, else R first.
void fw_view_rgb_convert(const struct fw_view_picture *picture, bool bgr, uint32_t *out);
