// SPDX-License-Identifier: MIT
#include "base/packet.h"

#include <stdlib.h>

struct fw_packet *fw_packet_alloc(size_t size)
{
    if (size > FW_PACKET_MAX_BYTES) {
        return NULL;
    }
    // One block: struct, headroom, payload. Zero only the struct, the payload is overwritten.
    struct fw_packet *p = malloc(sizeof(*p) + FW_PACKET_HEADROOM + size);
    if (!p) {
        return NULL;
    }
    *p = (struct fw_packet){ .size = size, .data = (uint8_t *)(p + 1) + FW_PACKET_HEADROOM };
    fw_ref_init(&p->ref);
    return p;
}

struct fw_packet *fw_packet_ref(struct fw_packet *packet)
{
    fw_ref_inc(&packet->ref);
    return packet;
}

void fw_packet_unref(struct fw_packet **packet)
{
    if (!packet || !*packet) {
        return;
    }
    struct fw_packet *p = *packet;
    *packet = NULL;
    if (fw_ref_dec(&p->ref)) {
        free(p);
    }
}
