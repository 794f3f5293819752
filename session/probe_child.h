// SPDX-License-Identifier: MIT
// Which encoder works here is found out in a process of its own (`framewire encoders --json`), so
// that a driver's crash or hang costs the front nothing.
#pragma once

#include <uv.h>

#include "base/err.h"
#include "base/log.h"

struct fw_probe_child;

struct fw_probe_child_params {
    uv_loop_t *loop;
    struct fw_log *log;
    const char *encoder; // "auto" or a name
    // Exactly once, from the loop. `name` NULL: none usable, or the named one can't open; `text` is
    // the reason then, else the summary for people.
    void (*done)(void *user, const char *name, const char *text);
    void *user;
};

enum fw_err fw_probe_child_start(struct fw_probe_child **probe,
                                 const struct fw_probe_child_params *params);
// Ends it if it still runs, without `done`. The loop must run once more.
void fw_probe_child_destroy(struct fw_probe_child **probe);
