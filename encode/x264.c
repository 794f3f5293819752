// SPDX-License-Identifier: MIT
// Software H.264 by libx264: always there, the last in every fallback.
#include <stdlib.h>

#include "encode/lavc.h"
#include "encode/x264_options.h"

static enum fw_err x264_open(void **state, const struct fw_encoder_config *config, char *message,
                             size_t message_size)
{
    struct fw_lavc *lavc = malloc(sizeof(*lavc));
    if (!lavc) {
        return FW_ERR_NOMEM;
    }
    const struct fw_lavc_params params = { .codec = "libx264",
                                           .options = fw_x264_options,
                                           .format = AV_PIX_FMT_NV12 };
    const enum fw_err err = fw_lavc_init(lavc, config, &params, message, message_size);
    if (err) {
        fw_lavc_finish(lavc);
        free(lavc);
        return err;
    }
    *state = lavc;
    return FW_OK;
}

static enum fw_err x264_encode(void *state, struct fw_frame *frame, bool key,
                               struct fw_packet **packet, char *message, size_t message_size)
{
    return fw_lavc_encode(state, frame, key, packet, message, message_size);
}

static enum fw_err x264_set_rate(void *state, int bitrate_kbps, int frame_bytes)
{
    fw_lavc_set_rate(state, bitrate_kbps, frame_bytes);
    return FW_OK;
}

static void x264_close(void **state)
{
    fw_lavc_finish(*state);
    free(*state);
    *state = NULL;
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
    .encode = x264_encode,
    .set_rate = x264_set_rate,
    .close = x264_close,
};
