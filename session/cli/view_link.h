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

enum view_phase { VIEW_CONNECTING, VIEW_OPEN, VIEW_WAITING, VIEW_ENDED };

struct view_link_state {
    enum view_phase phase;
    unsigned attempt;          // of coming back, 0 = the first connection
    bool silent;               // open, but nothing was heard for some seconds
    char code[48];             // why it ended or was cut: the server's code
    char message[400];         // … in words
    struct fw_watch_info info; // what the server said last
};

struct view_link_params {
    const struct fw_remote *remote; // outlives the link
    const char *id, *token;         // of the session; outlive the link
    int width, height;              // of the window, device pixels
    double pixel_ratio;
    struct view_figures *figures;
    // On the link's thread; they must not call view_link_stop().
    void (*video)(void *user, const struct fw_wire_video *video, int64_t now_ns);
    void (*restart)(void *user); // pictures start anew with a key frame
    void (*changed)(void *user); // view_link_state() has news
    void *user;
    struct fw_log *log;
};

struct view_link;

enum fw_err view_link_start(struct view_link **link, const struct view_link_params *params);
// Says bye and waits half a second at most. False: its thread is still inside of a connection
// attempt, and what the link was given must stay until the process ends.
// The functions below may be called until it is destroyed.
bool view_link_stop(struct view_link *link);
// After view_link_stop() has said true.
void view_link_destroy(struct view_link **link);

// Thread: any, from here on. None of them waits for the network.
void view_link_get(struct view_link *link, struct view_link_state *out);
void view_link_ack(struct view_link *link, uint64_t frame_id, enum fw_wire_ack_what what,
                   int64_t at_ns);
// seq and time are filled in; motion is left out when too much waits, the rest is kept.
void view_link_input(struct view_link *link, const struct fw_wire_input *event);
void view_link_viewport(struct view_link *link, int width, int height);
void view_link_visible(struct view_link *link, bool visible);
void view_link_want_key(struct view_link *link, const char *reason);
// Tries again at once, if it waits.
void view_link_nudge(struct view_link *link);
