// SPDX-License-Identifier: MIT
// What is in a packet.
#pragma once

#include "base/packet.h"
#include "encode/decode.h"

// Decodes the packet and reads the frame id that the source painted. Fails the test when the packet
// does not decode or has another size than its head says.
uint64_t picture_id(struct fw_decoder *decoder, const struct fw_packet *packet);
// The decoded frame; the caller owns the reference.
struct fw_frame *picture_decode(struct fw_decoder *decoder, const struct fw_packet *packet);
// Mean absolute difference of luma between a frame and the null source's ramp (animate=0, `steps`
// inputs), leaving out the rows with the id.
double picture_ramp_error(const struct fw_frame *frame, unsigned steps);
