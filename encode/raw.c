// SPDX-License-Identifier: MIT
// No compression: a packet is the NV12 picture without padding, Y then CbCr. For tests.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "encode/encoder_impl.h"

struct raw_encoder {
    int width, height;
};

static size_t raw_bytes(int width, int height)
{
    return (size_t)width * (size_t)height * 3 / 2;
}

static enum fw_err raw_open(void **state, const struct fw_encoder_config *config, char *message,
                            size_t message_size)
{
    if (raw_bytes(config->width, config->height) > FW_PACKET_MAX_BYTES) {
        snprintf(message, message_size, "%dx%d is over the packet limit of %d bytes", config->width,
                 config->height, FW_PACKET_MAX_BYTES);
        return FW_ERR_TOO_LARGE;
    }
    struct raw_encoder *raw = malloc(sizeof(*raw));
    if (!raw) {
        return FW_ERR_NOMEM;
    }
    *raw = (struct raw_encoder){ .width = config->width, .height = config->height };
    *state = raw;
    return FW_OK;
}

static enum fw_err raw_encode(void *state, struct fw_frame *frame, bool key,
                              struct fw_packet **packet, char *message, size_t message_size)
{
    (void)key; // each picture stands alone
    const struct raw_encoder *raw = state;
    struct fw_packet *p = fw_packet_alloc(raw_bytes(raw->width, raw->height));
    if (!p) {
        snprintf(message, message_size, "out of memory");
        return FW_ERR_NOMEM;
    }
    uint8_t *out = p->data;
    for (int i = 0; i < 2; i++) {
        const int rows = i == 0 ? raw->height : raw->height / 2;
        for (int y = 0; y < rows; y++, out += raw->width) {
            memcpy(out, frame->plane[i].data + (size_t)y * frame->plane[i].stride,
                   (size_t)raw->width);
        }
    }
    p->key = true;
    snprintf(p->codec, sizeof(p->codec), "raw.nv12");
    *packet = p;
    return FW_OK;
}

static enum fw_err raw_set_rate(void *state, int bitrate_kbps, int frame_bytes)
{
    (void)state;
    (void)bitrate_kbps;
    (void)frame_bytes;
    return FW_OK;
}

static void raw_close(void **state)
{
    free(*state);
    *state = NULL;
}

const struct fw_encoder_backend fw_encoder_raw = {
    .name = "raw",
    .strict = true,
    .open = raw_open,
    .encode = raw_encode,
    .set_rate = raw_set_rate,
    .close = raw_close,
};
