// SPDX-License-Identifier: MIT
// For the session: a source becomes frames. Passes: source → output merge → colour conversion.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/frame.h"
#include "base/gpu_use.h"
#include "base/input.h"
#include "base/log.h"
#include "render/source_arg.h"

struct fw_render;

struct fw_render_params {
    const char *gpu; // see fw_gpu_params.select
    bool no_device;  // no Vulkan at all: host sources only
    bool validation;
    const char *cache_dir; // pipeline cache; NULL = none
    struct fw_log *log;
    // For tests and measurements; NULL = chosen by device and measurement.
    const char *force_target;  // "host-import" or "readback"; only with SIMD conversion
    const char *force_convert; // "compute" or "simd"
    const char *force_merge;   // "on": the merge pass always runs; "off": only where it must
};

struct fw_render_info {
    char gpu[256]; // "llvmpipe (LLVM 15.0.6, 256 bits)", or "none"
    bool is_cpu;
    char convert[32];  // "compute" or "simd"
    char target[32];   // "host-import" or "readback": how pixels reach the CPU, chosen by measuring
    char no_parts[96]; // why the parts of a pass are not told apart; "" = they are
    unsigned validation_messages;                         // so far
    uint64_t used_bytes[FW_GPU_USE_COUNT];                // device memory we allocated
    uint64_t budget_bytes, budget_used_bytes, heap_bytes; // see struct fw_gpu_budget; 0 = not told
};

// Makes the device and all pipelines that need no source: slow (100 ms), done by warm workers.
enum fw_err fw_render_create(struct fw_render **render, const struct fw_render_params *params);
// Makes what sources need on the host whatever they show. Any thread, with or without a render.
void fw_render_warm_up(void);
// Closes the source too. Accepts NULL. Outstanding frames must have been unreferenced.
void fw_render_destroy(struct fw_render **render);
void fw_render_get_info(const struct fw_render *render, struct fw_render_info *info);

struct fw_render_open_params {
    const char *source; // "scene", "testcard", "null"
    const struct fw_source_arg *args;
    unsigned arg_count;
    int width, height; // 16x16 to 3840x2160
    int fps;
    int scale_percent; // 25-200, 0 = 100: the source draws at this scale, the merge scales back
    char *message;     // a sentence for the user on failure
    size_t message_size;
    void (*progress)(void *user, int percent, const char *what); // may be NULL
    void *progress_user;
};
// Opens the source and the targets. One source per render at a time; opening again closes the
// first.
enum fw_err fw_render_open(struct fw_render *render, const struct fw_render_open_params *params);
const char *fw_render_describe(struct fw_render *render); // source facts as JSON, or "{}"

// See fw_source_impl.save and .restore; 0 bytes where the source has neither.
size_t fw_render_save(struct fw_render *render, void *out, size_t room);
void fw_render_restore(struct fw_render *render, const void *data, size_t size);

void fw_render_input(struct fw_render *render, const struct fw_input_event *event);
// FW_ERR_INVALID when out of range: nothing has changed then.
enum fw_err fw_render_resize(struct fw_render *render, int width, int height);
bool fw_render_wants_frame(struct fw_render *render, int64_t now_ns, int64_t *next_ns,
                           bool *animating);
// Draws one frame and waits for it, bounded to 2 s (8 s on a CPU device). On FW_OK `*frame` is a
// reference the caller owns (NV12, `id` set, times.begun…converted set). FW_ERR_AGAIN: no free slot
// (3 slots; the encoder holds them); FW_ERR_DEVICE_LOST, FW_ERR_TIMEOUT: end the worker.
enum fw_err fw_render_frame(struct fw_render *render, uint64_t frame_id, int64_t now_ns,
                            struct fw_frame **frame);

// For --allow-faults: drawing and conversion take this much longer, 0 = none.
void fw_render_set_delays(struct fw_render *render, int64_t render_ns, int64_t convert_ns);

// A small picture blended over the output, such as a software cursor. Not over host sources.
struct fw_render_overlay {
    const uint8_t *rgba; // sRGB-encoded, straight alpha, tightly packed; NULL = take it away
    int width, height;   // 1-256
    int x, y;            // its top left corner in output pixels; may lie outside
};
// Copies the picture; blocks for an upload. FW_ERR_INVALID when out of range.
enum fw_err fw_render_set_overlay(struct fw_render *render,
                                  const struct fw_render_overlay *overlay);
void fw_render_move_overlay(struct fw_render *render, int x, int y);

// What `--gpu` can name. `*count` in: room, out: how many were filled in.
struct fw_render_device {
    char name[256];
    char uuid[33];     // hex
    char missing[128]; // required features it lacks; "" = fit
    bool is_cpu;
};
enum fw_err fw_render_list_devices(struct fw_render_device *out, unsigned *count,
                                   struct fw_log *log);
