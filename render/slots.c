// SPDX-License-Identifier: MIT
#include "render/slots.h"

#include <stdlib.h>
#include <string.h>

static void destroy_slot(struct fw_slots *slots, struct fw_slot **pointer)
{
    struct fw_slot *slot = *pointer;
    *pointer = NULL;
    if (!slot) {
        return;
    }
    if (slot->buffer.buffer) {
        fw_gpu_buffer_finish(slots->gpu, &slot->buffer);
    }
    free(slot->block);
    free(slot);
}

static void release(struct fw_frame *frame)
{
    struct fw_slot *slot = frame->owner;
    // From here on the session thread may use or free the slot.
    atomic_store_explicit(&slot->busy, false, memory_order_release);
}

static enum fw_err create_slot(struct fw_slots *slots, int width, int height, struct fw_slot **out)
{
    struct fw_slot *slot = calloc(1, sizeof(*slot));
    *out = slot;
    if (!slot) {
        return FW_ERR_NOMEM;
    }
    atomic_init(&slot->busy, false);
    struct fw_frame *frame = &slot->frame;
    frame->owner = slot;
    frame->release = release;
    frame->format = FW_PIXEL_NV12;
    frame->width = width;
    frame->height = height;
    frame->coded_width = (width + 1) & ~1;
    frame->coded_height = (height + 1) & ~1;
    const size_t stride = ((size_t)width + 63) & ~(size_t)63;
    slot->chroma_offset = stride * (size_t)frame->coded_height;
    const size_t size = slot->chroma_offset + slot->chroma_offset / 2;
    uint8_t *base;
    if (slots->on_device) {
        const struct fw_gpu_buffer_params params = {
            .size = size,
            .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
            .host_visible = true,
            .use = FW_GPU_USE_ENCODE,
        };
        const enum fw_err err = fw_gpu_buffer_create(slots->gpu, &params, &slot->buffer);
        if (err) {
            return err;
        }
        base = slot->buffer.map;
    } else {
        base = slot->block = aligned_alloc(64, (size + 63) & ~(size_t)63);
        if (!base) {
            return FW_ERR_NOMEM;
        }
    }
    frame->plane[0].data = base;
    frame->plane[0].stride = stride;
    frame->plane[1].data = base + slot->chroma_offset;
    frame->plane[1].stride = stride;
    return FW_OK;
}

static bool is_busy(const struct fw_slot *slot)
{
    return slot && atomic_load_explicit(&slot->busy, memory_order_acquire);
}

static void reap(struct fw_slots *slots)
{
    for (int i = 0; i < FW_SLOT_COUNT; i++) {
        if (!is_busy(slots->retired[i])) {
            destroy_slot(slots, &slots->retired[i]);
        }
    }
}

static void retire(struct fw_slots *slots, struct fw_slot *slot)
{
    for (int i = 0; i < FW_SLOT_COUNT; i++) {
        if (!slots->retired[i]) {
            slots->retired[i] = slot;
            return;
        }
    }
}

enum fw_err fw_slots_resize(struct fw_slots *slots, int width, int height)
{
    struct fw_slot *made[FW_SLOT_COUNT] = { NULL };
    for (int i = 0; i < FW_SLOT_COUNT; i++) {
        const enum fw_err err = create_slot(slots, width, height, &made[i]);
        if (err) {
            for (int k = 0; k <= i; k++) {
                destroy_slot(slots, &made[k]);
            }
            return err;
        }
    }
    reap(slots);
    for (int i = 0; i < FW_SLOT_COUNT; i++) {
        if (is_busy(slots->slot[i])) {
            // There is always room: acquire never lets more than 3 be out at once.
            retire(slots, slots->slot[i]);
        } else {
            destroy_slot(slots, &slots->slot[i]);
        }
        slots->slot[i] = made[i];
    }
    return FW_OK;
}

void fw_slots_finish(struct fw_slots *slots)
{
    for (int i = 0; i < FW_SLOT_COUNT; i++) {
        destroy_slot(slots, &slots->slot[i]);
        destroy_slot(slots, &slots->retired[i]);
    }
}

struct fw_slot *fw_slots_acquire(struct fw_slots *slots)
{
    reap(slots);
    struct fw_slot *unused = NULL;
    int out = 0;
    for (int i = 0; i < FW_SLOT_COUNT; i++) {
        out += slots->retired[i] != NULL;
        if (is_busy(slots->slot[i])) {
            out++;
        } else {
            unused = slots->slot[i];
        }
    }
    if (!unused || out >= FW_SLOT_COUNT) {
        return NULL;
    }
    atomic_store_explicit(&unused->busy, true, memory_order_relaxed);
    fw_ref_init(&unused->frame.ref);
    unused->frame.times = (struct fw_frame_times){ 0 };
    unused->frame.facts = (struct fw_frame_facts){ 0 };
    return unused;
}
