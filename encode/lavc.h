// SPDX-License-Identifier: MIT
// What the back ends that go through libavcodec share. Only encode/ sees this header.
#pragma once

#include <libavcodec/avcodec.h>

#include "encode/encoder_impl.h"
#include "encode/h264_stream.h"

// Thread: that of its encoder.
struct fw_lavc {
    AVCodecContext *ctx;
    AVPacket *packet;
    AVFrame *host;   // a view on the planes of a fw_frame, empty between calls
    AVFrame *upload; // a surface of ctx->hw_frames_ctx, for encoders that don't take host planes
    int64_t pts;
    int fps;
    int width, height;
    struct fw_h264_stream stream;
};

struct fw_lavc_option {
    const char *name, *value;
};

struct fw_lavc_params {
    const char *codec;                    // libavcodec's name
    const struct fw_lavc_option *options; // ends with a NULL name
    enum AVPixelFormat format;            // what the encoder is fed: NV12 or a hardware format
    AVBufferRef *hw_frames; // surfaces of `format`; the context takes its own reference
};

// Whether this libavcodec was built with the encoder; the reason otherwise.
bool fw_lavc_has(const char *codec, char *reason, size_t reason_size);

// ---- the slots of a back end whose whole state is a fw_lavc
// Allocates and opens with the settings all our encoders share: no reordering, no delay, endless
// GOP, one reference, one-frame VBV, BT.709 limited, level from size and rate. Nothing is left
// behind on error.
enum fw_err fw_lavc_open(void **state, const struct fw_encoder_config *config,
                         const struct fw_lavc_params *params, char *message, size_t message_size);
// One frame in, one packet out, or an error: an encoder that keeps a frame back is of no use here.
enum fw_err fw_lavc_encode(void *state, struct fw_frame *frame, bool key, struct fw_packet **packet,
                           char *message, size_t message_size);
// Writes the rate into the open context; encoders that look at it obey from the next frame.
enum fw_err fw_lavc_set_rate(void *state, int bitrate_kbps, int frame_bytes);
void fw_lavc_close(void **state);
