// SPDX-License-Identifier: MIT
// The window and what a person does in it, as input events of the protocol. Keys go by where they
// are on the keyboard. Whatever is held is let go when the window loses the focus.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "session/cli/view_gpu.h"
#include "session/cli/view_present.h"
#include "stream/wire.h"

struct fw_view_window_params {
    int width, height; // logical pixels
    bool fullscreen;
    void (*input)(void *user, const struct fw_wire_input *event);
    void *user;
};

// Thread: the main one, as GLFW wants it. Fields are read-only outside view_window.c, but for
// `picture_*`, and what the reader of a request sets back.
struct fw_view_window {
    struct fw_view_window_params p;
    GLFWwindow *handle;
    int width, height;     // of the framebuffer, device pixels
    double ratio;          // device pixels per logical one
    bool hidden, closed;   // minimised; a person has closed it
    bool resized, exposed; // requests: the size has changed; its content has to be drawn again
    unsigned hud_presses, help_presses; // requests, by the keys for it
    int picture_width, picture_height;  // of the picture shown, for places
    // what is held
    bool keys[256];
    unsigned buttons;
    bool placed;
    double x, y;     // newest place, pixels of the stream
    int windowed[4]; // place and size outside of full screen
    char why[256];   // in words, after a failure
};

// FW_ERR_UNSUPPORTED with words: no display.
enum fw_err fw_view_window_create(struct fw_view_window *window,
                                  const struct fw_view_window_params *params);
void fw_view_window_destroy(struct fw_view_window *window);
void fw_view_window_show(struct fw_view_window *window);
// Handles what has happened; waits for it up to `seconds`.
void fw_view_window_wait(struct fw_view_window *window, double seconds);
// Ends a wait. Thread: any.
void fw_view_window_wake(void);
// A new connection knows of nothing that is held.
void fw_view_window_forget(struct fw_view_window *window);
void fw_view_window_title(struct fw_view_window *window, const char *title);

// The evdev code of a GLFW key, 0 = none.
int fw_view_key_code(int glfw_key);
