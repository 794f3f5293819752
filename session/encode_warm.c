// SPDX-License-Identifier: MIT
#include <string.h>

#include "base/frame.h"
#include "encode/encoder.h"
#include "session/encode_stage.h"

static void encode_grey(struct fw_encoder *encoder, int width, int height)
{
    struct fw_frame *frame = fw_frame_alloc(width, height, FW_PIXEL_NV12);
    if (!frame) {
        return;
    }
    memset(frame->plane[0].data, 128, frame->plane[0].stride * (size_t)height);
    memset(frame->plane[1].data, 128, frame->plane[1].stride * (size_t)height / 2);
    frame->id = 1;
    struct fw_packet *packet = NULL;
    if (fw_encoder_encode(encoder, frame, true, &packet) == FW_OK) {
        fw_packet_unref(&packet);
    }
    fw_frame_unref(&frame);
}

void fw_encode_warm_up(const char *encoder, const char *device, struct fw_log *log)
{
    enum { WIDTH = 1280, HEIGHT = 720 };
    struct fw_encoder *e = NULL;
    char message[256] = "";
    const enum fw_err err = fw_encoder_open(&e,
                                            &(struct fw_encoder_params){
                                                .name = encoder,
                                                .device = device,
                                                .width = WIDTH,
                                                .height = HEIGHT,
                                                .log = log,
                                            },
                                            message, sizeof(message));
    if (err) {
        // The session will say so when it really needs it.
        fw_log(log, FW_LOG_DEBUG, "encode", "no warm-up: %s", message);
        return;
    }
    encode_grey(e, WIDTH, HEIGHT);
    fw_encoder_close(&e);
}
