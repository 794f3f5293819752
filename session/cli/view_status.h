// SPDX-License-Identifier: MIT
// What is wrong, if anything, in plain words: for the window and for the terminal.
#pragma once

#include "session/cli/view_link.h"
#include "session/cli/view_text.h"

enum view_level {
    VIEW_LEVEL_OK,
    VIEW_LEVEL_BANNER, // beside the picture
    VIEW_LEVEL_VEIL,   // instead of the picture
};

struct view_status {
    enum view_level level;
    bool over; // nothing more will come
    char title[80], text[480];
};

// `pictures`: how many have been on screen.
void view_status_of(const struct view_link_state *state, uint64_t pictures,
                    struct view_status *out);
// A card of words, for a window of `width` pixels.
void view_status_draw(struct view_canvas *canvas, const struct view_status *status, int width,
                      int dot);
