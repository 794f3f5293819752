// SPDX-License-Identifier: MIT
// One session of the load generator: what its viewer does with pictures and when it moves. Inside
// of bench.
// Thread: that of the load, or whoever holds its lock.
#pragma once

#include "session/cli/bench_decode.h"
#include "session/cli/bench_figures.h"
#include "session/cli/bench_options.h"
#include "session/cli/bench_records.h"
#include "session/cli/bench_schedule.h"
#include "stream/age.h"
#include "stream/client/watch.h"

struct fw_bench_client {
    unsigned number; // from 0
    struct fw_remote_session session;
    struct fw_watch *watch;
    const struct fw_bench_load_options *options;
    struct fw_bench_decoders *decoders; // NULL = nothing is decoded
    struct fw_decoder *decoder;
    bool check_ids;
    // --- the stream
    bool shown; // a picture has been on screen
    bool ended; // it is over, fw_watch_info() says why
    bool need_key, asked_key;
    unsigned undecoded;
    uint64_t painted; // in the newest picture
    // --- what it does
    struct fw_bench_schedule schedule;
    int64_t schedule_ns; // when that began, 0 = not yet
    // --- the window
    int64_t from_ns, to_ns; // on our clock; from 0 = nothing counts
    struct fw_age age;      // of the picture, told up to the newest one shown
    struct fw_bench_figures figures;
    struct fw_bench_reading reading; // of records; whoever collects them
};

// What POST /sessions is sent; the caller's.
json_t *fw_bench_session_request(const struct fw_bench_load_options *options);
// Creates the session and watches it; blocks. NULL with `error` when that fails.
struct fw_bench_client *fw_bench_client_create(const struct fw_remote *remote,
                                               const struct fw_bench_load_options *options,
                                               unsigned number, struct fw_bench_decoders *decoders,
                                               struct fw_remote_error *error);
// Ends the session. No job of it may be under way. FW_ERR_TIMEOUT: the server gave no answer.
enum fw_err fw_bench_client_destroy(struct fw_bench_client **client,
                                    const struct fw_remote *remote);

// Figures from now on (they are cleared), until `to_ns` is set.
void fw_bench_client_begin(struct fw_bench_client *c, int64_t now_ns);
// Reads and acknowledges.
void fw_bench_client_turn(struct fw_bench_client *c);
// Sends what is due. Returns when the next is, INT64_MAX = never.
int64_t fw_bench_client_input(struct fw_bench_client *c, int64_t now_ns);
// A picture came back from its decoder.
void fw_bench_client_decoded(struct fw_bench_client *c, const struct fw_bench_job *job);
// The window has ended, and nothing more comes: tells the rest of the age.
void fw_bench_client_settle(struct fw_bench_client *c);
