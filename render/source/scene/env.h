// SPDX-License-Identifier: MIT
// The studio everything stands in: soft boxes in a dim room, and what a mirror and a wall see of
// it. And the soft shadow below the model.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "render/source/scene/model.h"

enum { FW_ENV_SIDE = 64, FW_ENV_MIPS = 6, FW_SHADOW_SIDE = 128 };

// Radiance from `dir` (unit vector) into `out`, linear.
void fw_env_radiance(const float dir[3], float out[3]);
// Irradiance / pi as nine coefficients that fit the shader's polynomial.
void fw_env_sh(float sh[9][4]);
// Half-float RGBA, for each mip six faces: mip m is what a surface of roughness m / (mips - 1)
// reflects. Made at the first call, by any thread, and kept.
const uint16_t *fw_env_cube(size_t *bytes);

// Darkness (0-255) on the ground, seen from above over the square centre +- half around the model.
struct fw_scene_shadow {
    float centre[3], half;
    uint8_t texels[FW_SHADOW_SIDE * FW_SHADOW_SIDE];
};
void fw_scene_shadow_bake(const struct fw_scene_model *model, struct fw_scene_shadow *shadow);
