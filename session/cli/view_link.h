// SPDX-License-Identifier: MIT
// The connection to one session on a thread of its own: everything that comes is read at once, what
// is to be said leaves at once, and a cut connection is made anew, later each time.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "session/cli/view_figures.h"
#include "stream/client/watch.h"

enum fw_view_phase { FW_VIEW_CONNECTING, FW_VIEW_OPEN, FW_VIEW_WAITING, FW_VIEW_ENDED };

struct fw_view_link_state {
    enum fw_view_phase phase;
    unsigned attempt;          // of coming back, 0 = the first connection
    bool silent;               // open, but nothing was heard for some seconds
    char code[48];             // why it ended or was cut: the server's code
    char message[400];         // … in words
    struct fw_watch_info info; // what the server said last
};

struct fw_view_link_params {
    const struct fw_remote *remote; // outlives the link
    const char *id, *token;         // of the session; outlive the link
    int width, height;              // of the window, device pixels
    double pixel_ratio;
    struct fw_view_figures *figures;
    // On the link's thread; they must not call fw_view_link_stop().
    void (*video)(void *user, const struct fw_wire_video *video, int64_t now_ns);
    void (*restart)(void *user); // pictures start anew with a key frame
    void (*changed)(void *user); // fw_view_link_state() has news
    void *user;
    struct fw_log *log;
};

struct fw_view_link;

enum fw_err fw_view_link_start(struct fw_view_link **link,
                               const struct fw_view_link_params *params);
// Says bye and waits half a second at most. False: its thread is still inside of a connection
// attempt, and what the link was given must stay until the process ends.
// The functions below may be called until it is destroyed.
bool fw_view_link_stop(struct fw_view_link *link);
// After fw_view_link_stop() has said true.
void fw_view_link_destroy(struct fw_view_link **link);

// Thread: any, from here on. None of them waits for the network.
void fw_view_link_get(struct fw_view_link *link, struct fw_view_link_state *out);
void fw_view_link_ack(struct fw_view_link *link, uint64_t frame_id, enum fw_wire_ack_what what,
                      int64_t at_ns);
// seq and time are filled in; motion is left out when too much waits, the rest is kept.
void fw_view_link_input(struct fw_view_link *link, const struct fw_wire_input *event);
void fw_view_link_viewport(struct fw_view_link *link, int width, int height);
void fw_view_link_visible(struct fw_view_link *link, bool visible);
void fw_view_link_want_key(struct fw_view_link *link, const char *reason);
// Tries again at once, if it waits.
void fw_view_link_nudge(struct fw_view_link *link);
