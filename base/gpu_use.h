// SPDX-License-Identifier: MIT
// What device memory is used for: counted where it is allocated, shown to operators.
#pragma once

enum fw_gpu_use {
    FW_GPU_USE_TARGET,   // what is drawn into
    FW_GPU_USE_TEXTURE,  // pictures of a source
    FW_GPU_USE_GEOMETRY, // vertices, indices and what goes with them
    FW_GPU_USE_STAGING,  // on their way to the device or back
    FW_GPU_USE_ENCODE,   // planes for the encoder
    FW_GPU_USE_COUNT,
};

// Words, for labels.
extern const char *const fw_gpu_use_names[FW_GPU_USE_COUNT];
