// SPDX-License-Identifier: MIT
// Costs nothing: each packet is "fwnull" and the low 16 bits of the frame id, little-endian.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "encode/encoder_impl.h"

enum { NULL_PACKET_SIZE = 8 };

static enum fw_err null_open(void **state, const struct fw_encoder_config *config, char *message,
                             size_t message_size)
{
    (void)config;
    bool *started = calloc(1, sizeof(*started));
    if (!started) {
        snprintf(message, message_size, "out of memory");
        return FW_ERR_NOMEM;
    }
    *state = started;
    return FW_OK;
}

static enum fw_err null_encode(void *state, struct fw_frame *frame, bool key,
                               struct fw_packet **packet, char *message, size_t message_size)
{
    bool *started = state;
    struct fw_packet *p = fw_packet_alloc(NULL_PACKET_SIZE);
    if (!p) {
        snprintf(message, message_size, "out of memory");
        return FW_ERR_NOMEM;
    }
    memcpy(p->data, "fwnull", 6);
    p->data[6] = (uint8_t)frame->id;
    p->data[7] = (uint8_t)(frame->id >> 8);
    p->key = key || !*started;
    *started = true;
    if (p->key) {
        snprintf(p->codec, sizeof(p->codec), "null");
    }
    *packet = p;
    return FW_OK;
}

static enum fw_err null_set_rate(void *state, int bitrate_kbps, int frame_bytes)
{
    (void)state;
    (void)bitrate_kbps;
    (void)frame_bytes;
    return FW_OK;
}

static void null_close(void **state)
{
    free(*state);
    *state = NULL;
}

const struct fw_encoder_backend fw_encoder_null = {
    .name = "null",
    .strict = true,
    .open = null_open,
    .encode = null_encode,
    .set_rate = null_set_rate,
    .close = null_close,
};
