// SPDX-License-Identifier: MIT
// The load: sessions on a server, each watched by a client of ours. One thread serves all of them;
// the caller's makes and ends sessions, reads records, and may take its time.
// Thread: one caller.
#pragma once

#include <signal.h>
#include <stdbool.h>

#include "session/cli/bench_figures.h"
#include "session/cli/bench_options.h"
#include "stream/client/remote.h"

struct fw_bench_load;

// `options` and `remote` must outlive it. `stop`: turns true on Ctrl-C; waits end early then.
enum fw_err fw_bench_load_create(struct fw_bench_load **load, const struct fw_remote *remote,
                                 const struct fw_bench_load_options *options,
                                 const volatile sig_atomic_t *stop);
// Ends all sessions.
void fw_bench_load_destroy(struct fw_bench_load **load);

unsigned fw_bench_load_count(const struct fw_bench_load *load);
// Starts or ends sessions until there are `count`, and waits until each has shown a picture.
// FW_ERR_CLOSED: stopped. Otherwise `error` says what went wrong, and with which number of them.
enum fw_err fw_bench_load_resize(struct fw_bench_load *load, unsigned count,
                                 struct fw_remote_error *error);

// Figures count from now until end() .
void fw_bench_load_begin(struct fw_bench_load *load);
void fw_bench_load_end(struct fw_bench_load *load);
// Reads the records of frames that are new, which must happen at least every
// fw_bench_load_collect_s() seconds. `last`: the window has ended and nothing more will be read;
// waits for what is still on its way first.
enum fw_err fw_bench_load_collect(struct fw_bench_load *load, bool last,
                                  struct fw_remote_error *error);
int fw_bench_load_collect_s(const struct fw_bench_load *load);

// A copy of what is known of session `index` so far.
void fw_bench_load_figures(struct fw_bench_load *load, unsigned index,
                           struct fw_bench_figures *figures);
const char *fw_bench_load_session_id(const struct fw_bench_load *load, unsigned index);
// What the server has said of itself and of the first session that is over; "" = nothing.
struct fw_bench_said {
    char gpu[128], encoder[64];
    unsigned same_encoder; // sessions on that encoder
    unsigned ended;        // sessions that are over
    char why[320];         // of the first of them
    int64_t rtt_ns;        // the smallest of all
    uint32_t clock_us;     // bound of the clock's error, the largest
};
void fw_bench_load_said(struct fw_bench_load *load, struct fw_bench_said *said);
// CPU time of this process so far, and of the thread that serves the sockets, ns.
void fw_bench_load_cpu(const struct fw_bench_load *load, int64_t *process_ns, int64_t *thread_ns);
