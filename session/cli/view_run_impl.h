// SPDX-License-Identifier: MIT
// For view_run.c and view_show.c only.
#pragma once

#include "session/cli/view_hud.h"
#include "session/cli/view_link.h"
#include "session/cli/view_player.h"
#include "session/cli/view_present.h"
#include "session/cli/view_run.h"
#include "session/cli/view_status.h"
#include "session/cli/view_window.h"

enum {
    VIEW_HUD_MS = 250,
    VIEW_PENDING = 8, // pictures handed to the display and not known to be shown
};

struct view_run {
    const struct view_options *options;
    struct fw_log *log;
    struct view_window window;
    struct view_gpu gpu;
    struct view_present *present;
    struct view_figures *figures;
    struct view_player *player;
    struct view_record *record;
    struct view_link *link;
    AVFrame *picture; // newest; has data until it was drawn
    struct view_frame_info info;
    bool picture_due;

    struct {
        uint64_t present_id, frame_id;
    } pending[VIEW_PENDING];
    unsigned pending_count;

    enum { VIEW_HUD_OFF, VIEW_HUD_SMALL, VIEW_HUD_FULL, VIEW_HUD_SIZES } hud; // F2 goes round
    bool help;
    struct view_canvas hud_canvas, card_canvas;
    struct view_status status;
    int64_t hud_ns, size_ns, first_ns;
    int sent_width, sent_height;
    uint64_t presented;
    bool redraw, stuck;
};

// ---- view_show.c
// Words for the state of things: in the window, its title, and the terminal.
void view_follow_status(struct view_run *r);
// The panels, where they are due.
void view_follow_words(struct view_run *r, int64_t now_ns);
// What is due on the screen.
enum fw_err view_show(struct view_run *r);
// Which of the pictures handed to the display are on screen by now.
void view_settle(struct view_run *r);
