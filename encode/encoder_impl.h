// SPDX-License-Identifier: MIT
// For back ends: what each must implement. The list of them is encode/backends.c.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "encode/encoder.h"

enum { FW_ENCODER_MESSAGE_SIZE = 160 };

// What a back end is opened with: checked, defaults filled in.
struct fw_encoder_config {
    int width, height;   // even, 16x16 to 3840x2160
    int fps;             // 1-240
    int bitrate_kbps;    // 100-100000
    int frame_bytes;     // one-frame VBV, never 0
    int threads;         // 1 or more
    const char *device;  // valid during the call; NULL = first
    const char *options; // what followed "name:" in the name; NULL = nothing. Valid during the call
    unsigned open_index; // 1 for the first open of this back end by this encoder, then 2, …
    uint64_t frame_index; // frames this encoder was given before
};

// Thread: all calls on one state come from one thread at a time.
struct fw_encoder_backend {
    const char *name;
    const char *codec; // optional: what libavcodec calls it, taken as a name as well
    bool hardware;
    bool automatic;      // "auto" and fallback may choose it
    bool strict;         // nothing may take its place: its packets are not H.264
    bool rate_costs_key; // a change of rate makes an IDR: the front door then bounds how often
    // optional: NULL = always there. A look that opens nothing; false with the reason when the
    // back end can't work on this machine.
    bool (*present)(const char *device, char *reason, size_t reason_size);
    // On FW_OK the caller owns `*state`. On error a sentence without a full stop is in `message`.
    enum fw_err (*open)(void **state, const struct fw_encoder_config *config, char *message,
                        size_t message_size);
    // On FW_OK the caller owns `*packet`; data, size, key and codec are set, facts.qp_plus1
    // where it is known; the front door fills the rest. Any error means that the back end is
    // broken: it is closed and another takes over.
    enum fw_err (*encode)(void *state, struct fw_frame *frame, bool key, struct fw_packet **packet,
                          char *message, size_t message_size);
    // FW_ERR_UNSUPPORTED = not while open: the front door opens the back end again.
    enum fw_err (*set_rate)(void *state, int bitrate_kbps, int frame_bytes);
    // Frees `*state` and nulls it.
    void (*close)(void **state);
};

// In order of preference, NULL-terminated.
extern const struct fw_encoder_backend *const fw_encoder_backends[];
// By name, or the part of it before ':'. NULL when there is none.
const struct fw_encoder_backend *fw_encoder_backend_find(const char *name);

extern const struct fw_encoder_backend fw_encoder_nvenc;
extern const struct fw_encoder_backend fw_encoder_vaapi;
extern const struct fw_encoder_backend fw_encoder_x264;
extern const struct fw_encoder_backend fw_encoder_raw;
extern const struct fw_encoder_backend fw_encoder_null;
extern const struct fw_encoder_backend fw_encoder_fault;

// The probe of one back end, run at first use and kept for the process. Thread: any.
void fw_encoder_probe_one(const struct fw_encoder_backend *backend, struct fw_encoder_probe *out);
// The same without the cache, for a back end that need not be in the table.
void fw_encoder_probe_run(const struct fw_encoder_backend *backend, struct fw_encoder_probe *out);
// Makes the next probe of this back end a real one again: it failed while it was in use.
void fw_encoder_probe_forget(const struct fw_encoder_backend *backend);

// Whether a back end that pays for a new rate with an IDR should pay now. Sizes are bytes a frame;
// `since_ns`: time since the last change. Cuts come soon, rises wait, trifles never. Pure.
bool fw_encoder_rate_due(int current_bytes, int wanted_bytes, int64_t since_ns);
