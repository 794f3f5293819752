// SPDX-License-Identifier: MIT
// Runs one session in its worker: the calling thread becomes the session thread (commands, source,
// Vulkan), a second one encodes. Commands come from the transport, packets and messages go there.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "render/render.h"
#include "session/transport.h"
#include "session/watchdog.h"

struct fw_pipeline;

struct fw_pipeline_params {
    struct fw_transport *transport; // outlives the pipeline
    struct fw_render_params render;
    struct fw_watchdog *watchdog; // may be NULL
    struct fw_log *log;
    const char *warm_encoder; // opened once while no session is there yet; NULL = no warm-up
    unsigned refine_frames;   // how often a picture that stands still is encoded again, 0 = never
    int64_t refine_after_ns;  // 0 = 150 ms
};

// Makes the device and the pipelines, and sends WARM. On failure FAILED has been sent.
// Thread: create, run and destroy on one thread.
enum fw_err fw_pipeline_create(struct fw_pipeline **pipeline,
                               const struct fw_pipeline_params *params);
// Waits for START and runs until STOP, fw_pipeline_stop or the other end closes: FW_OK. On failure
// FAILED has been sent.
enum fw_err fw_pipeline_run(struct fw_pipeline *pipeline);
// Thread: any. `run` returns soon, if nothing hangs.
void fw_pipeline_stop(struct fw_pipeline *pipeline);
// False: a thread hangs, everything was leaked and the process must end. Nulls the pointer.
bool fw_pipeline_destroy(struct fw_pipeline **pipeline);
