// SPDX-License-Identifier: MIT
#include "base/frame.h"

#include <stdlib.h>

struct fw_frame *fw_frame_ref(struct fw_frame *frame)
{
    fw_ref_inc(&frame->ref);
    return frame;
}

void fw_frame_unref(struct fw_frame **frame)
{
    if (!frame || !*frame) {
        return;
    }
    struct fw_frame *f = *frame;
    *frame = NULL;
    if (fw_ref_dec(&f->ref)) {
        f->release(f);
    }
}

static void free_frame(struct fw_frame *frame)
{
    free(frame->owner);
    free(frame);
}

struct fw_frame *fw_frame_alloc(int width, int height, enum fw_pixel_format format)
{
    if (width < FW_FRAME_MIN_SIZE || height < FW_FRAME_MIN_SIZE || width > FW_FRAME_MAX_WIDTH ||
        height > FW_FRAME_MAX_HEIGHT) {
        return NULL;
    }
    const size_t cw = ((size_t)width + 1) & ~(size_t)1, ch = ((size_t)height + 1) & ~(size_t)1;
    const size_t bpp = format == FW_PIXEL_RGBA8 ? 4 : 1;
    const size_t stride = (cw * bpp + 63) & ~(size_t)63;
    const size_t luma = stride * ch, chroma = format == FW_PIXEL_NV12 ? stride * ch / 2 : 0;

    struct fw_frame *f = calloc(1, sizeof(*f));
    uint8_t *block = f ? aligned_alloc(64, (luma + chroma + 63) & ~(size_t)63) : NULL;
    if (!block) {
        free(f);
        return NULL;
    }
    fw_ref_init(&f->ref);
    f->width = width;
    f->height = height;
    f->coded_width = (int)cw;
    f->coded_height = (int)ch;
    f->format = format;
    f->plane[0].data = block;
    f->plane[0].stride = stride;
    if (chroma) {
        f->plane[1].data = block + luma;
        f->plane[1].stride = stride;
    }
    f->owner = block;
    f->release = free_frame;
    return f;
}
