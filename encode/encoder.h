// SPDX-License-Identifier: MIT
// For the session: frames become packets. One frame in, one packet out, no delay.
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/frame.h"
#include "base/log.h"
#include "base/packet.h"

struct fw_encoder;

struct fw_encoder_params {
    const char *name;   // "auto", "nvenc", "vaapi", "x264", "raw", "null", "fault"; NULL = auto
    int width, height;  // coded size, even
    int fps;            // 1-240, 0 = 60: sizes the one-frame VBV and the level
    int bitrate_kbps;   // 100-100000, 0 = 8000
    int threads;        // 0 = 1
    const char *device; // render node or CUDA index for hardware encoders; NULL = first
    struct fw_log *log;
};

// Opens a back end. "auto" walks the table in order of preference, using the results of the probe
// (run and cached in this process at first use). A named one that fails gives an error and a
// sentence in `message`.
enum fw_err fw_encoder_open(struct fw_encoder **encoder, const struct fw_encoder_params *params,
                            char *message, size_t message_size);
void fw_encoder_close(struct fw_encoder **encoder);

// Encodes one frame. `key`: an IDR, exactly this frame. The frame is only read during the call.
// On FW_OK the caller owns `*packet`. A back end that fails is replaced within the call, by an IDR;
// FW_ERR_CLOSED when none was left before. A frame of another size gives FW_ERR_INVALID: use
// resize.
enum fw_err fw_encoder_encode(struct fw_encoder *encoder, struct fw_frame *frame, bool key,
                              struct fw_packet **packet);
// Obeyed from the next frame on where the back end can (x264, nvenc); vaapi re-opens with an IDR.
// `frame_bytes`: the one-frame VBV, 0 = bitrate / fps. Where the back end can (x264), a key frame
// may take what 100 ms of that give: it stands alone.
enum fw_err fw_encoder_set_rate(struct fw_encoder *encoder, int bitrate_kbps, int frame_bytes);
// Re-opens in place at a new coded size; the next packet is an IDR. Falls back to software when the
// hardware refuses, and says so in the log.
enum fw_err fw_encoder_resize(struct fw_encoder *encoder, int width, int height);
const char *fw_encoder_name(const struct fw_encoder *encoder); // the back end in use now
bool fw_encoder_is_hardware(const struct fw_encoder *encoder);

// For --allow-faults: each call of encode takes this much longer, 0 = none.
void fw_encoder_set_delay(struct fw_encoder *encoder, int64_t delay_ns);

enum { FW_ENCODER_PROBE_MAX = 16 };
struct fw_encoder_probe {
    const char *name;
    bool usable;
    double ms_per_frame; // 1280x720, when usable
    char reason[160];    // why not, or what was measured
};
// Opens each back end with real frames and decodes the result. Quiet; `*count` in: room.
void fw_encoder_probe_all(struct fw_encoder_probe *out, unsigned *count, struct fw_log *log);
// The same for one of them only. FW_ERR_NOT_FOUND: "auto" knows none of that name.
enum fw_err fw_encoder_probe_named(const char *name, struct fw_encoder_probe *out);
// "x264 (nvenc: libcuda.so.1 is not installed; vaapi: no /dev/dri)", for the start-up line.
void fw_encoder_probe_summary(const struct fw_encoder_probe *probes, unsigned count, char *out,
                              size_t out_size);
