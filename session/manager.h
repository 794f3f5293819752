// SPDX-License-Identifier: MIT
// The sessions of this node and the worker processes behind them: life cycle, warm workers,
// restarts within a budget, watchdog, and what passes between stream/ and the workers.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"
#include "base/fault.h"
#include "base/log.h"
#include "session/api.h"
#include "session/telemetry.h"
#include "stream/server.h"

struct fw_manager;

struct fw_manager_params {
    uv_loop_t *loop;
    struct fw_log *log;
    const char *gpu;       // for workers; NULL = best
    const char *cache_dir; // pipeline cache of the workers; NULL = none
    const char *log_level; // for workers
    bool validation;
    bool allow_faults;
    struct fw_faults faults;        // of each new session; none without `allow_faults`
    struct fw_telemetry *telemetry; // not owned; NULL = nothing is known of the machine
    int max_sessions, warm;
    int64_t idle_timeout_ns;
    int64_t seat_grace_ns; // unwatched for longer: gives its seat when the server is full
    // A worker stood for the first time: now it is known which GPU there is.
    void (*warm_first)(void *user, const char *gpu, bool is_cpu);
    // A worker says no worker can ever stand here (no such GPU), before any did.
    void (*hopeless)(void *user, const char *message);
    // May a page with `token` see session `id`? FW_ERR_DENIED, FW_ERR_NOT_FOUND with a sentence.
    enum fw_err (*admit)(void *user, const char *id, const char *token, const char **message);
    // All requests that are no static file.
    void (*http)(void *user, const struct fw_http_request *req, struct fw_http_response *res);
    // All workers have ended after fw_manager_stop.
    void (*stopped)(void *user);
    void *user;
};

// Thread: the loop thread. Starts the warm workers at once.
enum fw_err fw_manager_create(struct fw_manager **manager, const struct fw_manager_params *params);
// What fw_server_create wants as `handler`.
void fw_manager_handler(struct fw_manager *manager, struct fw_server_handler *handler);
void fw_manager_set_server(struct fw_manager *manager, struct fw_server *server);
// Which encoder sessions get ("x264"); sessions wait until it is told.
void fw_manager_set_encoder(struct fw_manager *manager, const char *name);
// What the API does things with; `user` for it is the manager.
const struct fw_api_ops *fw_manager_api_ops(void);
// Ends everything in order: no new sessions, channels closed, workers told to stop and killed after
// 2 s; `stopped` is called at the end.
void fw_manager_stop(struct fw_manager *manager);
// SIGKILL to all workers now; for the second Ctrl-C.
void fw_manager_kill(struct fw_manager *manager);
// After `stopped`, or never started. The loop must run once more for the close callbacks.
void fw_manager_destroy(struct fw_manager **manager);
