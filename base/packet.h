// SPDX-License-Identifier: MIT
// One encoded access unit on its way from encode/ to stream/.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ref.h"
#include "base/trace.h"

enum { FW_CODEC_STRING_SIZE = 32, FW_PACKET_MAX_BYTES = 8 << 20, FW_PACKET_HEADROOM = 256 };
enum { FW_PACKET_SKIPPED = 8 };

// Thread: as fw_frame.
struct fw_packet {
    struct fw_ref ref;
    uint64_t frame_id;
    uint64_t input_id;
    int width, height;             // true size
    int coded_width, coded_height; // size of the coded picture
    bool key;                      // an IDR with its parameter sets in front
    bool animating;
    char codec[FW_CODEC_STRING_SIZE]; // "avc1.42e01f", from the SPS produced; set on key packets
    struct fw_frame_times times;
    struct fw_frame_facts facts;
    // Why the ids before this one never became packets: [i] is that of frame_id - 1 - i. NEWER,
    // RING_FULL, or NONE: it did, or nothing is known of it.
    uint8_t skipped[FW_PACKET_SKIPPED]; // enum fw_reason
    size_t size;                        // payload bytes, up to FW_PACKET_MAX_BYTES
    uint8_t *data; // payload; FW_PACKET_HEADROOM writable bytes lie before it, for protocol headers
};

// A packet with room for `size` payload bytes. NULL when out of memory or over the limit.
struct fw_packet *fw_packet_alloc(size_t size);
struct fw_packet *fw_packet_ref(struct fw_packet *packet);
// Drops the reference in `*packet`, nulls it. NULL and pointer to NULL are fine.
void fw_packet_unref(struct fw_packet **packet);
