// SPDX-License-Identifier: MIT
#include "loopback/picture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>

#include "render/source/testcard.h"

struct fw_frame *picture_decode(struct fw_decoder *decoder, const struct fw_packet *packet)
{
    struct fw_frame *frame = NULL;
    assert_int_equal(fw_decoder_decode(decoder, packet->data, packet->size, &frame), FW_OK);
    assert_int_equal(frame->width, packet->coded_width); // the crop to odd sizes is the client's
    assert_int_equal(frame->height, packet->coded_height);
    return frame;
}

uint64_t picture_id(struct fw_decoder *decoder, const struct fw_packet *packet)
{
    struct fw_frame *frame = picture_decode(decoder, packet);
    const uint64_t id = fw_testcard_read_id(frame->plane[0].data, (int)frame->plane[0].stride,
                                            packet->width, packet->height);
    fw_frame_unref(&frame);
    return id;
}

double picture_ramp_error(const struct fw_frame *frame, unsigned steps)
{
    enum { BLACK = 16, LEVELS = 220 };
    const int rows = fw_testcard_id_place(frame->width, frame->height).y0;
    uint64_t sum = 0;
    for (int y = 0; y < rows; y++) {
        const uint8_t *row = frame->plane[0].data + (size_t)y * frame->plane[0].stride;
        for (int x = 0; x < frame->width; x++) {
            const int want = BLACK + (int)((unsigned)(x + y) + steps * 16) % LEVELS;
            sum += (uint64_t)abs(row[x] - want);
        }
    }
    return (double)sum / ((double)rows * frame->width);
}
