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
    FW_VIEW_HUD_MS = 250,
    FW_VIEW_PENDING = 8, // pictures handed to the display and not known to be shown
};

struct fw_view_run {
    const struct fw_view_options *options;
    struct fw_log *log;
    struct fw_view_window window;
    struct fw_view_gpu gpu;
    struct fw_view_present *present;
    struct fw_view_figures *figures;
    struct fw_view_player *player;
    struct fw_view_record *record;
    struct fw_view_link *link;
    AVFrame *picture; // newest; has data until it was drawn
    struct fw_view_frame_info info;
    bool picture_due;

    struct {
        uint64_t present_id, frame_id;
    } pending[FW_VIEW_PENDING];
    unsigned pending_count;

    enum {
        FW_VIEW_HUD_OFF,
        FW_VIEW_HUD_SMALL,
        FW_VIEW_HUD_FULL,
        FW_VIEW_HUD_SIZES
    } hud; // F2 goes round
    bool help;
    struct fw_view_canvas hud_canvas, card_canvas;
    struct fw_view_status status;
    int64_t hud_ns, size_ns, first_ns;
    int sent_width, sent_height;
    uint64_t presented;
    bool redraw;
    enum fw_view_phase phase; // of the link, as seen last
};

// ---- view_show.c
// Words for the state of things: in the window, its title, and the terminal.
void fw_view_follow_status(struct fw_view_run *r);
// The panels, where they are due.
void fw_view_follow_words(struct fw_view_run *r, int64_t now_ns);
// What is due on the screen.
enum fw_err fw_view_show(struct fw_view_run *r);
// Which of the pictures handed to the display are on screen by now.
void fw_view_settle(struct fw_view_run *r);
