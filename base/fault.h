// SPDX-License-Identifier: MIT
// Delays put into stages on purpose, to prove that the trace finds them where they are, and for
// drills. Only a server started with --allow-faults has any.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum fw_fault {
    FW_FAULT_RENDER,  // the GPU takes longer
    FW_FAULT_CONVERT, // to NV12 planes
    FW_FAULT_ENCODE,
    FW_FAULT_FRONT,  // between the ring and the viewers' sockets; all sessions of the front wait
    FW_FAULT_DECODE, // in the page, which is told of it
    FW_FAULT_COUNT
};

enum { FW_FAULT_MAX_MS = 2000 }; // below what counts as a hang

struct fw_faults {
    int64_t delay_ns[FW_FAULT_COUNT]; // 0-2 s, for each frame
};

// "encode:20ms,front:1.5ms": the same stage twice, an unknown one, a number without unit or above
// 2 s is FW_ERR_INVALID with a sentence. NULL and "" are no delays. Pure.
enum fw_err fw_faults_parse(struct fw_faults *faults, const char *text, char *message,
                            size_t message_size);
// As the parser takes it; "" when there are none. Returns `out`.
char *fw_faults_print(const struct fw_faults *faults, char *out, size_t size);
// Waits. Nothing to wait for costs nothing.
void fw_fault_wait(int64_t delay_ns);
