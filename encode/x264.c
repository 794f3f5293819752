// SPDX-License-Identifier: MIT
// Software H.264 by libx264: always there, the last in every fallback.
#include <stdlib.h>

#include "encode/lavc.h"
#include "encode/x264_options.h"

// A key frame may take as much as this of the rate: with a share of one frame it would be a blur.
// x264 fills a buffer only at the rate it is given, so each key frame is the first of a codec
// opened anew (1-3 ms) with a buffer that is full; then the buffer shrinks to one frame.
enum { KEY_SHARE_MS = 100 };

// Thread: that of its encoder.
struct x264 {
    void *lavc;
    struct fw_encoder_config config; // strings are not kept
    bool fresh;                      // has encoded nothing yet
};

static int key_bytes(const struct fw_encoder_config *config)
{
    const int64_t bytes = (int64_t)config->frame_bytes * config->fps * KEY_SHARE_MS / 1000;
    return bytes > FW_PACKET_MAX_BYTES   ? FW_PACKET_MAX_BYTES
           : bytes > config->frame_bytes ? (int)bytes
                                         : config->frame_bytes;
}

static enum fw_err open_codec(struct x264 *x, char *message, size_t message_size)
{
    const struct fw_lavc_params params = { .codec = "libx264",
                                           .options = fw_x264_options,
                                           .format = AV_PIX_FMT_NV12 };
    struct fw_encoder_config config = x->config;
    config.frame_bytes = key_bytes(&x->config);
    x->fresh = true;
    return fw_lavc_open(&x->lavc, &config, &params, message, message_size);
}

static void x264_close(void **state)
{
    struct x264 *x = *state;
    if (x->lavc) {
        fw_lavc_close(&x->lavc);
    }
    free(x);
    *state = NULL;
}

static enum fw_err x264_open(void **state, const struct fw_encoder_config *config, char *message,
                             size_t message_size)
{
    struct x264 *x = calloc(1, sizeof(*x));
    if (!x) {
        return FW_ERR_NOMEM;
    }
    x->config = *config;
    x->config.device = x->config.options = NULL;
    *state = x;
    const enum fw_err err = open_codec(x, message, message_size);
    if (err) {
        x264_close(state);
    }
    return err;
}

static enum fw_err x264_encode(void *state, struct fw_frame *frame, bool key,
                               struct fw_packet **packet, char *message, size_t message_size)
{
    struct x264 *x = state;
    if (key && !x->fresh) {
        fw_lavc_close(&x->lavc);
        const enum fw_err err = open_codec(x, message, message_size);
        if (err) {
            return err;
        }
    }
    const enum fw_err err = fw_lavc_encode(x->lavc, frame, key, packet, message, message_size);
    if (!err && x->fresh) {
        x->fresh = false;
        return fw_lavc_set_rate(x->lavc, x->config.bitrate_kbps, x->config.frame_bytes);
    }
    return err;
}

static enum fw_err x264_set_rate(void *state, int bitrate_kbps, int frame_bytes)
{
    struct x264 *x = state;
    x->config.bitrate_kbps = bitrate_kbps;
    x->config.frame_bytes = frame_bytes;
    if (x->fresh) {
        const int bytes = key_bytes(&x->config);
        return fw_lavc_set_rate(x->lavc, bitrate_kbps, bytes);
    }
    return fw_lavc_set_rate(x->lavc, bitrate_kbps, frame_bytes);
}

static bool x264_present(const char *device, char *reason, size_t reason_size)
{
    (void)device;
    return fw_lavc_has("libx264", reason, reason_size);
}

const struct fw_encoder_backend fw_encoder_x264 = {
    .name = "x264",
    .codec = "libx264",
    .automatic = true,
    .present = x264_present,
    .open = x264_open,
    .encode = x264_encode,
    .set_rate = x264_set_rate,
    .close = x264_close,
};
