// SPDX-License-Identifier: MIT
// H.264 back into pictures: for the probe, tests, bench and the native viewer. One access unit in,
// one picture out.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/frame.h"

// Thread: one at a time.
struct fw_decoder;

enum fw_err fw_decoder_create(struct fw_decoder **decoder);
void fw_decoder_destroy(struct fw_decoder **decoder);
// Decodes one access unit. On FW_OK the caller owns `*frame` (NV12, cropped). FW_ERR_AGAIN when the
// decoder waits for more (a stream of ours never makes it), FW_ERR_FORMAT when the data is damaged,
// FW_ERR_UNSUPPORTED for pictures that are not 8-bit 4:2:0 or over the size limits of fw_frame.
enum fw_err fw_decoder_decode(struct fw_decoder *decoder, const uint8_t *data, size_t size,
                              struct fw_frame **frame);
