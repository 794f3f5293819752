// SPDX-License-Identifier: MIT
// H.264 to pictures for the screen by libavcodec: in hardware where a device opens, else on the
// CPU. Nothing is held back: one access unit in, one picture out.
#pragma once

#include <libavutil/frame.h>
#include <stdbool.h>

#include "base/err.h"
#include "base/log.h"

struct AVPacket;
struct fw_view_decoder; // Thread: one at a time

struct fw_view_decoder_params {
    bool software;  // no hardware, even where there is some
    const char *hw; // "vaapi", "cuda", …: that kind only; NULL = what there is
    struct fw_log *log;
};

// FW_ERR_UNSUPPORTED: this libavcodec decodes no H.264; FW_ERR_NOT_FOUND: no device of kind `hw`.
enum fw_err fw_view_decoder_create(struct fw_view_decoder **decoder,
                                   const struct fw_view_decoder_params *params);
void fw_view_decoder_destroy(struct fw_view_decoder **decoder);
// Fills `picture` (the caller's; unreferenced first) with planes in memory, YUV420P or NV12.
// FW_ERR_AGAIN: it waits for more, which a stream of ours never makes it do; FW_ERR_FORMAT: damaged
// data, or the decoder broke: go on with a new one at a key frame.
enum fw_err fw_view_decoder_decode(struct fw_view_decoder *decoder, const struct AVPacket *packet,
                                   AVFrame *picture);
// "VAAPI", "CUDA", "CPU": by which the last picture came.
const char *fw_view_decoder_name(const struct fw_view_decoder *decoder);
bool fw_view_decoder_hardware(const struct fw_view_decoder *decoder);
// Why the last call failed, one line.
const char *fw_view_decoder_reason(const struct fw_view_decoder *decoder);
