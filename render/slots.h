// SPDX-License-Identifier: MIT
// The NV12 planes of frames on their way to the encoder: 3 slots. A slot comes back when its frame
// loses the last reference, on any thread; only the session thread makes and destroys them.
#pragma once

#include <stdatomic.h>

#include "base/frame.h"
#include "render/gpu.h"

enum { FW_SLOT_COUNT = 3 };

struct fw_slot {
    struct fw_frame frame;
    atomic_bool busy;
    void *block;                 // planes in host memory …
    struct fw_gpu_buffer buffer; // … or in a mapped buffer, for the compute pass
    size_t chroma_offset;        // bytes from the start of either
};

struct fw_slots {
    struct fw_gpu *gpu; // NULL: host memory only
    bool on_device;
    struct fw_slot *slot[FW_SLOT_COUNT];
    // Slots of an earlier size that the encoder still holds. What it holds counts against the 3.
    struct fw_slot *retired[FW_SLOT_COUNT];
};

// Makes the slots anew for a size; those in use live on until they come back. On failure the old
// ones are untouched.
enum fw_err fw_slots_resize(struct fw_slots *slots, int width, int height);
// All frames must have come back.
void fw_slots_finish(struct fw_slots *slots);
// A free slot with a fresh frame (one reference) in it, or NULL.
struct fw_slot *fw_slots_acquire(struct fw_slots *slots);
