// SPDX-License-Identifier: MIT
// Shared by pipeline*.c alone.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "session/encode_stage.h"
#include "session/pacing.h"
#include "session/pipeline.h"

// Thread: the session thread, but for `stop` and `wake_fd`.
struct fw_pipeline {
    struct fw_pipeline_params params;
    struct fw_render *render;
    struct fw_encode_stage *stage; // NULL before START
    int wake_fd;
    atomic_bool stop;
    bool failed; // FAILED was sent
    char warm_encoder[32];
    pthread_t warm_thread;
    bool warming;

    // --- the session, from START on
    struct fw_pacing pacing;
    int width, height, fps;
    char title[128];
    uint64_t next_id;
    uint64_t allowed; // credit: packets that may be written since START
    bool active;      // somebody looks
    char encoder[32]; // as READY said last

    // --- the picture
    bool fresh;                      // must be drawn, whatever the source says
    bool drawn;                      // at least one picture of this session
    bool ahead;                      // `last` is the first picture, and nobody has got it yet
    int resize_width, resize_height; // asked for and not yet done; 0 = nothing
    uint64_t input_id;               // newest input the source has had
    int64_t input_rx_ns;             // of that input
    int64_t delivered_ns;            // that input was taken from the link
    bool pressed;                    // among what is not drawn yet is a press
    bool answering;    // the picture that shows one is being encoded: the cores are for that alone
    int64_t change_ns; // oldest change not yet drawn, 0 = none known
    struct fw_frame *last;          // as submitted last
    struct fw_encode_status status; // as of this step

    // --- the beacon
    int64_t beacon_ns; // sent last
    bool beacon_current;
    uint64_t beacon_frame;    // newest frame it named
    struct fw_link_blob view; // as the front has it
    int64_t view_ns;          // sent last

    _Alignas(8) uint8_t buf[FW_LINK_MAX_BYTES];
};

// pipeline_command.c: reads what the transport has. FW_ERR_CLOSED: the other end has gone or wants
// us to stop.
enum fw_err fw_pipeline_commands(struct fw_pipeline *p);

// pipeline_report.c
void fw_pipeline_send_warm(struct fw_pipeline *p);
void fw_pipeline_send_ready(struct fw_pipeline *p);
void fw_pipeline_send_progress(void *pipeline, int percent, const char *what);
// Sends a beacon when one is due; returns when the next one is.
int64_t fw_pipeline_beacon(struct fw_pipeline *p, int64_t now_ns, bool wants, bool animating);
// Tells the front where the source's user is, if that is news and not too soon: what the next
// worker needs to go on from there. Returns when to come back.
int64_t fw_pipeline_view(struct fw_pipeline *p, int64_t now_ns, bool wants, bool animating);
// Sends FAILED, once. Returns `err`.
enum fw_err fw_pipeline_fail(struct fw_pipeline *p, enum fw_err err, bool permanent,
                             const char *message);
