// SPDX-License-Identifier: MIT
// Puts pictures on the screen through Vulkan: decoded planes are copied to the device and turned
// into RGB as they are drawn, letterboxed, with panels of text over them.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "session/cli/view_gpu.h"

enum { FW_VIEW_PANELS = 2, FW_VIEW_PICTURE_MAX = 4096 }; // the latter: pixels a side

// Decoded planes; they may go once fw_view_present_draw() returns.
struct fw_view_picture {
    const uint8_t *plane[3]; // Y, Cb, Cr; or Y, CbCr when `interleaved`
    int stride[3];           // bytes
    bool interleaved;
    bool full_range;               // of the values: 0-255, else 16-235
    int width, height;             // true size
    int coded_width, coded_height; // even; planes have this size
};

struct fw_view_panel {
    const uint32_t *pixels; // R, G, B, A bytes, straight alpha, rows without gaps; NULL = hidden
    int width, height;
    int x, y;         // of its corner, framebuffer pixels
    unsigned version; // changes with the pixels
};

// Where the picture is in the framebuffer, pixels.
struct fw_view_box {
    float x, y, width, height;
};
// As object-fit: contain does in the page; pixel for pixel when the sizes are the same.
struct fw_view_box fw_view_fit(int width, int height, int picture_width, int picture_height);

struct fw_view_present; // Thread: the one that has the window

// Where planes become RGB.
enum fw_view_convert {
    FW_VIEW_CONVERT_AUTO, // on the device, unless that is a CPU
    FW_VIEW_CONVERT_GPU,  // in a fragment shader
    FW_VIEW_CONVERT_CPU,  // by our own code, and copied
};

struct fw_view_present_params {
    struct fw_view_gpu *gpu; // outlives it
    enum fw_view_convert convert;
    int width, height; // of the framebuffer
};

enum fw_err fw_view_present_create(struct fw_view_present **present,
                                   const struct fw_view_present_params *params);
void fw_view_present_destroy(struct fw_view_present **present);

struct fw_view_scene {
    const struct fw_view_picture *picture; // NULL: the one before
    bool dark;                             // hide the picture
    struct fw_view_panel panels[FW_VIEW_PANELS];
};

// Draws and presents; the framebuffer has that size now. `*id` (may be NULL) is to be asked
// fw_view_present_shown() for, 0 = nothing was presented (minimised).
// FW_ERR_AGAIN: the display had no image to draw into within the time: try again.
enum fw_err fw_view_present_draw(struct fw_view_present *present, const struct fw_view_scene *scene,
                                 int width, int height, uint64_t *id);
// Has the picture of that id reached the screen? Never waits. Where the device can't tell, a
// picture counts when it is drawn: the display has it next.
bool fw_view_present_shown(struct fw_view_present *present, uint64_t id);
// "mailbox, NAME OF DEVICE", and how it is known when a picture is shown.
const char *fw_view_present_how(const struct fw_view_present *present);
bool fw_view_present_exact(const struct fw_view_present *present); // shown is really shown
