// SPDX-License-Identifier: MIT
// A finished picture on its way from render/ to encode/. Render makes it, encode reads it, they
// know nothing else of one another.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/ref.h"
#include "base/trace.h"

enum fw_pixel_format {
    FW_PIXEL_NV12,  // plane 0: Y, plane 1: interleaved CbCr at half size; BT.709 limited range
    FW_PIXEL_RGBA8, // plane 0: R,G,B,A bytes, sRGB encoded
};

enum { FW_FRAME_MIN_SIZE = 16, FW_FRAME_MAX_WIDTH = 3840, FW_FRAME_MAX_HEIGHT = 2160 };

// Thread: the object is handed from thread to thread by reference; planes are read-only once the
// frame has left its maker.
struct fw_frame {
    struct fw_ref ref;
    uint64_t id;                   // 1, 2, … per session; survives a worker restart
    uint64_t input_id;             // newest input this picture shows, 0 = none
    bool animating;                // the source changes all the time, not only on input
    int width, height;             // true size in pixels, 16x16 to 3840x2160, may be odd
    int coded_width, coded_height; // rounded up to even; planes have this size, edge repeated
    enum fw_pixel_format format;
    struct {
        uint8_t *data;
        size_t stride; // bytes
    } plane[2];
    struct fw_frame_times times;
    struct fw_frame_facts facts;
    // Called once when the last reference goes, on the thread that dropped it. Returns the slot to
    // its pool or frees the memory, the struct included. Never NULL.
    void (*release)(struct fw_frame *frame);
    void *owner; // for `release`
};

// Takes one more reference; returns `frame` for chaining.
struct fw_frame *fw_frame_ref(struct fw_frame *frame);
// Drops the reference in `*frame`, nulls it. NULL and pointer to NULL are fine.
void fw_frame_unref(struct fw_frame **frame);
// A free-standing host frame (planes in one 64-byte aligned block); planes are not initialised.
// Returns NULL when out of memory or when the size is out of range.
struct fw_frame *fw_frame_alloc(int width, int height, enum fw_pixel_format format);
