// SPDX-License-Identifier: MIT
// What the encoder tests share: pictures that move, and a measure of how alike two are.
#pragma once

#include <stdint.h>

#include "base/frame.h"
#include "base/log.h"
#include "base/packet.h"
#include "encode/decode.h"
#include "encode/encoder.h"

// A frame with gradients, edges, colour and a bar; `step` moves them. True size w x h.
struct fw_frame *fixture_frame(int width, int height, int step);
// Paints over the frame in place.
void fixture_draw(struct fw_frame *frame, int step);
// PSNR in dB over luma and chroma of the coded picture; 99 when equal.
double fixture_psnr(const struct fw_frame *a, const struct fw_frame *b);
// Opens or fails the test with the encoder's message.
struct fw_encoder *fixture_open(const char *name, int width, int height, int bitrate_kbps,
                                struct fw_log *log);
// NAL unit types of a packet as text, "7 8 5"; slices of one type in a row count once.
void fixture_nal_order(const struct fw_packet *packet, char *out, size_t out_size);

// A log that counts lines at WARN and above and keeps the last.
struct fixture_log {
    struct fw_log log;
    int lines;
    char last[512];
};
void fixture_log_init(struct fixture_log *log);
