// SPDX-License-Identifier: MIT
#include "base/gpu_use.h"

const char *const fw_gpu_use_names[FW_GPU_USE_COUNT] = {
    [FW_GPU_USE_TARGET] = "target",     [FW_GPU_USE_TEXTURE] = "texture",
    [FW_GPU_USE_GEOMETRY] = "geometry", [FW_GPU_USE_STAGING] = "staging",
    [FW_GPU_USE_ENCODE] = "encode",
};
