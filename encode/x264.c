// SPDX-License-Identifier: MIT
// Software H.264 by libx264: always there, the last in every fallback.
#include "encode/lavc.h"
#include "encode/x264_options.h"

static enum fw_err x264_open(void **state, const struct fw_encoder_config *config, char *message,
                             size_t message_size)
{
    const struct fw_lavc_params params = { .codec = "libx264",
                                           .options = fw_x264_options,
                                           .format = AV_PIX_FMT_NV12 };
    return fw_lavc_open(state, config, &params, message, message_size);
}

static bool x264_present(const char *device, char *reason, size_t reason_size)
{
    (void)device;
    return fw_lavc_has("libx264", reason, reason_size);
}

const struct fw_encoder_backend fw_encoder_x264 = {
    .name = "x264",
    .automatic = true,
    .present = x264_present,
    .open = x264_open,
    .encode = fw_lavc_encode,
    .set_rate = fw_lavc_set_rate,
    .close = fw_lavc_close,
};
