// SPDX-License-Identifier: MIT
// What this process has done since it started, and the text that Prometheus gets of it. Sums belong
// to the process: they outlive their session, so that no counter goes down, and no label grows with
// the number of sessions. docs/metrics.md lists every name.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/gpu_use.h"
#include "session/exposition.h"
#include "session/telemetry.h"
#include "stream/record.h"
#include "stream/totals.h"

enum { FW_METRICS_SETS = 16 };

// Why a worker was lost.
enum fw_lost { FW_LOST_CRASHED, FW_LOST_HUNG, FW_LOST_RULES, FW_LOST_FAILED, FW_LOST_COUNT };

// Why no session was made.
enum fw_no_session {
    FW_NO_SESSION_MAX,      // all seats are taken
    FW_NO_SESSION_DRAINING, // shutting down
    FW_NO_SESSION_COUNT
};

// Why a session failed: the names of enum fw_err, "crash_loop", "no_worker" and "other".
enum { FW_FAIL_CODES = FW_ERR_COUNT + 3 };
const char *fw_metrics_fail_code(unsigned index);

// Thread: the loop thread.
struct fw_metrics {
    // Of the frames of sessions with the same source, encoder and GPU. The last is for those that
    // find no room, as a worker's word on encoder and GPU is not to be trusted.
    struct fw_metrics_set {
        char source[32], encoder[32], gpu[256];
        struct fw_record_totals frames;
    } set[FW_METRICS_SETS];
    unsigned set_count;
    uint64_t sessions, sessions_ended;
    uint64_t failed[FW_FAIL_CODES];
    uint64_t refused[FW_NO_SESSION_COUNT];
    uint64_t workers, lost[FW_LOST_COUNT], restarts, boots_failed;
    double ended_cpu_seconds;   // of workers that are no more
    double cpu_seconds;         // of all, as told
    struct fw_bins worker_wait; // a session's wait for a worker
    struct fw_bins start;       // from the request for a session until it runs
    int64_t scrape_ns;          // how long the last text took to make
};

// Where a session's frames are summed up. Valid as long as `m`.
struct fw_record_totals *fw_metrics_frames(struct fw_metrics *m, const char *source,
                                           const char *encoder, const char *gpu);
void fw_metrics_failed(struct fw_metrics *m, const char *code);

// How things are at the moment. Below 0, or not a number = unknown.
struct fw_metrics_now {
    const char *gpu, *encoder; // "" = not known yet
    bool ready;
    unsigned max_sessions;
    unsigned starting, running, restarting, failed; // sessions
    unsigned waiting;                               // of them for a worker
    unsigned booting, warm, busy, stopping;         // workers
    unsigned viewers, visible, connections;
    int64_t age_ns;                                  // oldest picture on a screen
    double live_cpu_seconds;                         // of the workers there are
    int64_t gpu_bytes[FW_GPU_USE_COUNT];             // device memory of our workers, by use
    int64_t gpu_budget_bytes, gpu_budget_used_bytes; // of the tightest worker; see render/gpu.h
    const struct fw_stream_totals *stream;
    const struct fw_machine *machine;
    double sample_age_seconds; // of `machine`
};

// Of the machine alone; part of fw_metrics_write.
void fw_metrics_write_machine(const struct fw_metrics_now *now, struct fw_exposition *e);
// The whole text.
void fw_metrics_write(const struct fw_metrics *m, const struct fw_metrics_now *now,
                      struct fw_exposition *e);
