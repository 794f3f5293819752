// SPDX-License-Identifier: MIT
// The time stamps that a frame collects on its way. All monotonic ns of the server; 0 = not
// stamped.
#pragma once

#include <stdint.h>

struct fw_frame_times {
    int64_t input_rx_ns;  // the newest input shown: received by the front
    int64_t change_ns;    // oldest source change this frame shows that the one before did not
    int64_t begun_ns;     // frame begun, input latched
    int64_t submitted_ns; // command buffer handed to the driver
    int64_t rendered_ns;  // GPU work known to be finished
    int64_t converted_ns; // NV12 planes ready
    int64_t enc_begin_ns; // encoder entered
    int64_t enc_end_ns;   // encoder returned the access unit
    int64_t ring_ns;      // written into the ring to the front
    uint32_t pass_us[4];  // GPU time of passes: source, merge, convert, (spare); 0 = not measured
};

enum fw_pass { FW_PASS_SOURCE, FW_PASS_MERGE, FW_PASS_CONVERT, FW_PASS_COUNT };
