// SPDX-License-Identifier: MIT
// The viewer at work: window, connection, decoder and screen, wired together.
#pragma once

#include <signal.h>

#include "session/cli/view_options.h"
#include "stream/client/remote.h"

// Thread: the main one.
struct fw_view_run;

// The window (not shown yet), its device, the decoder and the file to record into, so that what
// can't work is told before a session is made. `message` says what is wrong.
enum fw_err fw_view_run_create(struct fw_view_run **run, const struct fw_view_options *options,
                               char *message, size_t size);
void fw_view_run_destroy(struct fw_view_run **run);
// Of the window, device pixels, within what a server takes.
void fw_view_run_size(const struct fw_view_run *run, int *width, int *height);
// Shows the session until the window is closed, a signal comes, or the options say so.
// The exit code.
int fw_view_run_session(struct fw_view_run *run, const struct fw_remote *remote,
                        const struct fw_remote_session *session);
// The signals that end a session in order; blocked by the caller before anything else.
void fw_view_run_signals(sigset_t *set);
