// SPDX-License-Identifier: MIT
// The output target: the RGBA8 image the last draw of a frame lands in, and the way its pixels
// reach the CPU. One per render: a frame is waited for before the next one begins, and a target
// that is used again at once is still in the caches.
#pragma once

#include "render/gpu.h"

enum fw_target_kind {
    FW_TARGET_COMPUTE,  // sampled by the NV12 compute pass; pixels stay on the device
    FW_TARGET_IMPORT,   // a linear image on our own memory: nothing to copy
    FW_TARGET_READBACK, // copied into a host-cached buffer
};

static const VkFormat fw_target_format = VK_FORMAT_R8G8B8A8_UNORM;

struct fw_target {
    enum fw_target_kind kind;
    struct fw_gpu_image color;
    struct fw_gpu_buffer readback;
    void *host; // import: our mapping
    size_t host_size;
    const uint8_t *pixels; // import and readback: where the CPU finds R,G,B,A bytes
    size_t stride;
};

// FW_ERR_UNSUPPORTED when the device can't do that kind.
enum fw_err fw_target_create(struct fw_gpu *gpu, enum fw_target_kind kind, VkExtent2D extent,
                             struct fw_target *out);
void fw_target_finish(struct fw_gpu *gpu, struct fw_target *target);
// Records what makes the pixels visible to the CPU; the image is in COLOR_ATTACHMENT_OPTIMAL.
// Not for FW_TARGET_COMPUTE.
void fw_target_record_to_host(VkCommandBuffer cmd, const struct fw_target *target);
