// SPDX-License-Identifier: MIT
// The figures over the picture, as the page shows them.
#pragma once

#include "session/cli/view_figures.h"
#include "session/cli/view_text.h"

struct fw_view_hud_words {
    const char *encoder, *decoder; // "x264", "CPU"
    const char *present;           // "mailbox, when shown"
    const char *recording;         // the file; NULL = none
};

// `dot`: pixels per dot of the letters, 1 and up.
void fw_view_hud_draw(struct fw_view_canvas *canvas, const struct fw_view_reading *reading,
                      const struct fw_view_hud_words *words, bool full, int dot);
// The keys, when a person asks for them.
void fw_view_help_draw(struct fw_view_canvas *canvas, int dot);
