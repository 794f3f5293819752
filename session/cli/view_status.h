// SPDX-License-Identifier: MIT
// What is wrong, if anything, in plain words: for the window and for the terminal.
#pragma once

#include "session/cli/view_link.h"
#include "session/cli/view_text.h"

enum fw_view_level {
    FW_VIEW_LEVEL_OK,
    FW_VIEW_LEVEL_BANNER, // beside the picture
    FW_VIEW_LEVEL_VEIL,   // instead of the picture
};

struct fw_view_status {
    enum fw_view_level level;
    bool over; // nothing more will come
    char title[80], text[480];
};

// `pictures`: how many have been on screen.
void fw_view_status_of(const struct fw_view_link_state *state, uint64_t pictures,
                       struct fw_view_status *out);
// A card of words, for a window of `width` pixels.
void fw_view_status_draw(struct fw_view_canvas *canvas, const struct fw_view_status *status,
                         int width, int dot);
