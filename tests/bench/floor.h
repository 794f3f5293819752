// SPDX-License-Identifier: MIT
// The floors of the benchmark: drawing, converting and encoding alone, as short as they can be.
// What the streamed session costs is measured against these.
#pragma once

#include <stdbool.h>

#include "base/frame.h"
#include "base/input.h"

struct fw_source_arg;
struct floor_render;
struct floor_encode;

struct floor_params {
    const char *source;
    const struct fw_source_arg *args;
    unsigned arg_count;
    int width, height;
    int fps;          // sizes the one-frame VBV, as in the session
    int bitrate_kbps; // as in the session
};

// NULL on failure, said on stderr.
struct floor_render *floor_render_open(const struct floor_params *params);
// How long opening took: the device; the source, its pipelines and the target.
void floor_render_opened(const struct floor_render *render, int64_t *device_ns, int64_t *source_ns);
void floor_render_close(struct floor_render **render);
void floor_render_input(struct floor_render *render, const struct fw_input_event *event);
bool floor_render_draw(struct floor_render *render);
// Whether there is something new to draw; if not, when there will be (INT64_MAX: after input).
bool floor_render_wants(struct floor_render *render, int64_t *next_ns);
// The picture drawn last with blue and red swapped: what an X server of 24 bits takes.
void floor_render_bgrx(struct floor_render *render, char *pixels, int stride);
// The picture drawn last into `frame` (NV12 of the same size).
void floor_render_convert(struct floor_render *render, struct fw_frame *frame);

struct floor_encode *floor_encode_open(const struct floor_params *params);
void floor_encode_close(struct floor_encode **encode);
// Bytes of the packet, -1 on failure.
int floor_encode_frame(struct floor_encode *encode, const struct fw_frame *frame);
// Those bytes, until the next frame is encoded.
const void *floor_encode_data(const struct floor_encode *encode);

// Frames a second of the bare parts overlapped: one thread draws and converts, one encodes, nothing
// is sent. What a machine's scheduler gives to any pipeline of these parts. `buffers`: 3 of NV12.
// -1 on failure.
double floor_pipeline_fps(struct floor_render *render, struct floor_encode *encode,
                          struct fw_frame **buffers, int frames, bool drag);
