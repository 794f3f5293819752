// SPDX-License-Identifier: MIT
// One session looked at picture by picture, for checks that must see what is in them.
// Thread: one.
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/frame.h"
#include "session/cli/bench_options.h"
#include "stream/client/watch.h"

struct fw_bench_picture {
    struct fw_wire_video head; // without payload
    struct fw_frame *frame;    // NV12; ours until the next call
    int64_t shown_ns;
    uint64_t drawn_id; // the newest frame that was drawn, not just sent sharper
    int64_t key_ns;    // when the newest key frame so far was begun, on the server's clock
};

struct fw_bench_probe;

// Starts a session and watches it. On failure `error` says why.
enum fw_err fw_bench_probe_create(struct fw_bench_probe **probe, const struct fw_remote *remote,
                                  const struct fw_bench_load_options *options,
                                  const volatile sig_atomic_t *stop, struct fw_remote_error *error);
// Ends the session.
void fw_bench_probe_destroy(struct fw_bench_probe **probe);
// Waits for the next picture; of several that come at once it gives the newest. FW_ERR_TIMEOUT;
// FW_ERR_CLOSED: the session is over or we are stopped; FW_ERR_FORMAT: it can't be decoded.
enum fw_err fw_bench_probe_next(struct fw_bench_probe *probe, int timeout_ms,
                                struct fw_bench_picture *picture);
// Moves there and presses the left button; `press` false lets it go.
void fw_bench_probe_button(struct fw_bench_probe *probe, bool press, float x, float y);
const char *fw_bench_probe_id(const struct fw_bench_probe *probe);
struct fw_watch *fw_bench_probe_watch(struct fw_bench_probe *probe);
