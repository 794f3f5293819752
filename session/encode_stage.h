// SPDX-License-Identifier: MIT
// The encode thread of a session: takes jobs from the mailbox, owns the encoder, writes packets to
// the transport.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "session/mailbox.h"
#include "session/transport.h"
#include "session/watchdog.h"

struct fw_encode_stage;

struct fw_encode_stage_params {
    struct fw_transport *transport; // outlives the stage
    struct fw_watchdog *watchdog;   // may be NULL
    struct fw_log *log;
    const char *encoder, *device; // as fw_encoder_params; valid until `wait_open` returns
    int width, height;            // true size
    int fps, bitrate_kbps;
    // Called on the encode thread when the status has changed.
    void (*wake)(void *user);
    void *wake_user;
};

struct fw_encode_status {
    enum fw_err err;   // the thread has ended: CLOSED, or why it failed
    char message[512]; // a sentence with it
    char encoder[32];  // in use now; changes when it falls back
    unsigned pending;  // jobs submitted and not done
    bool waiting;      // one of them is in the mailbox behind one that is being encoded
    uint64_t written;  // packets
    uint64_t bytes;
    uint64_t skipped;        // jobs replaced and packets dropped
    int64_t free_ns;         // when the running encode is expected to end; 0 = idle
    int64_t encode_ns;       // how long one takes, smoothed; 0 = unknown
    int64_t stalled_ns;      // the last time that the ring was full, 0 = never
    bool key_wanted;         // asked for, not yet begun
    uint64_t newest_written; // frame id
    bool starved;            // the newest packet filled its share of the rate
};

// Starts the thread, which opens the encoder. Thread: all calls below on the session thread.
enum fw_err fw_encode_stage_create(struct fw_encode_stage **stage,
                                   const struct fw_encode_stage_params *params);
// Waits until the encoder is open, bounded to 20 s. On failure `message` has a sentence.
enum fw_err fw_encode_stage_wait_open(struct fw_encode_stage *stage, char *message,
                                      size_t message_size);
// Stops and joins, bounded to 2 s. False: the thread hangs, the stage is leaked and the process
// must end. Nulls the pointer either way.
bool fw_encode_stage_destroy(struct fw_encode_stage **stage);

// Takes over `job->frame`. Newest wins.
void fw_encode_stage_submit(struct fw_encode_stage *stage, const struct fw_job *job);
// The next job that is begun becomes an IDR. Requests before that are one.
void fw_encode_stage_request_key(struct fw_encode_stage *stage);
// Obeyed from the next job that is begun.
void fw_encode_stage_set_rate(struct fw_encode_stage *stage, int bitrate_kbps, int frame_bytes);
// For --allow-faults: as fw_encoder_set_delay, from the next job on.
void fw_encode_stage_set_delay(struct fw_encode_stage *stage, int64_t delay_ns);
void fw_encode_stage_get_status(struct fw_encode_stage *stage, struct fw_encode_status *status);

// Opens an encoder, encodes one frame and throws both away: libraries are loaded and the probe of
// "auto" is done before anybody waits for it. Thread: any, but not beside an open stage.
void fw_encode_warm_up(const char *encoder, const char *device, struct fw_log *log);
