// SPDX-License-Identifier: MIT
// Puts the access units of any H.264 encoder into the one shape that browsers take without delay:
// AUD (if any), SPS, PPS, SEI, slices; parameter sets on every IDR; an SPS that forbids reordering
// and names the colours; no filler and no advertising SEI. Pure: no I/O.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/packet.h"
#include "encode/h264_sps.h"

enum fw_h264_nal_type {
    FW_H264_NAL_SLICE = 1,
    FW_H264_NAL_IDR = 5,
    FW_H264_NAL_SEI = 6,
    FW_H264_NAL_SPS = 7,
    FW_H264_NAL_PPS = 8,
    FW_H264_NAL_AUD = 9,
};

enum { FW_H264_MAX_NALS = 256, FW_H264_MAX_PPS = 4, FW_H264_PPS_MAX = 256 };

struct fw_h264_nal {
    const uint8_t *data; // header byte first
    size_t size;         // without start code and trailing zeros, at least 1
};

// Splits Annex B bytes at their start codes; empty units are left out. FW_ERR_FORMAT when there is
// no start code, FW_ERR_TOO_LARGE when there are more than `*count` (in: room, out: found).
enum fw_err fw_h264_split(const uint8_t *data, size_t size, struct fw_h264_nal *nals,
                          unsigned *count);

// Thread: that of its encoder. Zero-initialised is an empty stream; nothing to free.
struct fw_h264_stream {
    int level; // least level_idc the SPS may name; 0 = the encoder's
    size_t sps_size;
    uint8_t sps[FW_H264_SPS_MAX]; // as sent, after the fix
    char codec[FW_CODEC_STRING_SIZE];
    int width, height; // from the SPS, cropped
    unsigned pps_count;
    struct {
        uint32_t id;
        size_t size;
        uint8_t data[FW_H264_PPS_MAX];
    } pps[FW_H264_MAX_PPS];
};

// Takes parameter sets that an encoder keeps out of band (Annex B; other forms are ignored).
void fw_h264_stream_headers(struct fw_h264_stream *stream, const uint8_t *data, size_t size);
// Turns one access unit into a packet: `data`, `size`, `key` and `codec` are set. FW_ERR_FORMAT,
// with a static sentence in `*why`, when it is not exactly one picture, holds B slices, or is an
// IDR without parameter sets.
enum fw_err fw_h264_stream_convert(struct fw_h264_stream *stream, const uint8_t *data, size_t size,
                                   struct fw_packet **packet, const char **why);
