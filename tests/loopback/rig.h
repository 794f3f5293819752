// SPDX-License-Identifier: MIT
// A session on a thread of its own, with the front's part played by the test.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "session/pipeline.h"

struct rig_params {
    bool no_device; // host sources only
    const char *source, *encoder;
    const char *key, *value; // one argument of the source, NULL = none
    int width, height;       // 0 = 320x240
    int fps;                 // 0 = 60
    int bitrate_kbps;
    uint64_t first_frame_id; // 0 = 1
    unsigned refine_frames;
    const struct fw_link_blob *view; // in START, NULL = none
    unsigned window; // rig_run grants this many packets more than were read; 0 = no limit
};

// Thread: the test's.
struct rig {
    struct rig_params params;
    struct fw_transport *transport;
    struct fw_pipeline *pipeline;
    pthread_t thread;
    enum fw_err create_result, run_result; // of the session's thread
    bool clean;                            // it was destroyed without a hung thread
    // --- seen so far
    struct fw_link_warm warm;
    struct fw_link_ready ready;
    struct fw_link_beacon beacon; // the last one
    struct fw_link_failed failed;
    struct fw_link_blob view; // the last one
    unsigned warms, readies, beacons, failures, views;
    unsigned packets, keys;
    uint64_t last_id;
};

// Starts the session's thread and waits for WARM.
void rig_start(struct rig *rig, const struct rig_params *params);
// Sends START and waits for READY.
void rig_open(struct rig *rig);
// The two, and credit.
void rig_run(struct rig *rig, const struct rig_params *params);
// Sends START alone.
void rig_send_start(struct rig *rig);
// STOP, join, and all must have ended well.
void rig_stop(struct rig *rig);
// Joins a session that ends by itself; returns what `run` gave.
enum fw_err rig_join(struct rig *rig);

void rig_credit(struct rig *rig, uint64_t allowed, bool active);
void rig_input(struct rig *rig, uint64_t id);
void rig_resize(struct rig *rig, int width, int height);
void rig_keyframe(struct rig *rig);
void rig_rate(struct rig *rig, int bitrate_kbps, int frame_bytes);

// The next packet within `timeout_ms`, or NULL; messages on the way are counted. Checked on the
// way: ids rise by one, the first is a key frame, the head would pass the link's check.
// The caller owns the reference.
struct fw_packet *rig_packet(struct rig *rig, int timeout_ms);
// Takes packets until none has come for `quiet_ms`. Returns how many came.
unsigned rig_drain(struct rig *rig, int quiet_ms);
// Waits until `*counter` is `value` or more; packets on the way are checked and dropped.
bool rig_wait(struct rig *rig, const unsigned *counter, unsigned value, int timeout_ms);
// Set-up of a group of tests: ends the program as skipped (77) where there is no Vulkan device.
int rig_needs_a_device(void **state);
