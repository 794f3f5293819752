// SPDX-License-Identifier: MIT
// The HTTP API below /api/v1, the session pages and the probes: who may do what, and what a request
// must look like. What it does is behind `struct fw_api_ops`, so that tests need no processes.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/err.h"
#include "base/fault.h"
#include "session/exposition.h"
#include "session/models.h"
#include "session/telemetry.h"
#include "session/token.h"
#include "stream/recent.h"
#include "stream/record.h"
#include "stream/server.h"

enum { FW_API_ARGS_MAX = 16, FW_SESSION_ID_SIZE = 48 };

struct fw_session_arg {
    char key[32];
    char value[1024]; // UTF-8
};

// A checked request for a session.
struct fw_session_request {
    const char *source;                           // one of the known sources
    const char *title;                            // for people
    const char *owner;                            // name of the token, "" without a token file
    struct fw_session_arg shown[FW_API_ARGS_MAX]; // as the user gave them
    struct fw_session_arg args[FW_API_ARGS_MAX];  // as the worker gets them (absolute paths)
    unsigned arg_count;
    int width, height, fps;
};

// A look at one session. Pointers are valid until the loop turns.
struct fw_session_view {
    const char *id, *source, *title, *state, *code, *message, *gpu, *encoder;
    const struct fw_faults *faults; // put in on purpose
    const char *no_parts; // why the GPU does not tell the parts of a pass apart; "" = it does
    const struct fw_session_arg *args;
    unsigned arg_count;
    int width, height, fps;
    unsigned viewers, restarts;
    uint64_t frames, bytes;
    int64_t rtt_ns; // 0 = unknown
    int pid;        // 0 = none now
    time_t created; // wall clock
    struct fw_access *access;
    const struct fw_records *records; // of its frames
    struct fw_marks *marks;           // of them, for who looks on
};

// How the node is, for /readyz and /sources.
struct fw_node_view {
    bool ready;         // a new session would start now
    const char *reason; // why not: "starting", "draining", "full", "no_worker"
    const char *gpu, *encoder;
    bool gpu_is_cpu;
    unsigned sessions, max_sessions;
};

// What is to go wrong in a session.
struct fw_fault_request {
    bool kill, hang; // its worker: ended by SIGKILL, stopped by SIGSTOP
    bool delays;     // `faults` replaces those it has
    struct fw_faults faults;
};

struct fw_api_ops {
    // FW_ERR_AGAIN: no seat free; FW_ERR_CLOSED: draining. On FW_OK `*id` is valid until the loop
    // turns.
    enum fw_err (*create)(void *user, const struct fw_session_request *request, const char **id);
    bool (*get)(void *user, const char *id, struct fw_session_view *view);
    // The session at `index` in order of creation, false at the end.
    bool (*at)(void *user, unsigned index, struct fw_session_view *view);
    void (*end)(void *user, const char *id);
    void (*node)(void *user, struct fw_node_view *view);
    // FW_ERR_NOT_FOUND: no such session; FW_ERR_AGAIN: it has no worker now that could be killed or
    // stopped. Called only with `allow_faults`.
    enum fw_err (*fault)(void *user, const char *id, const struct fw_fault_request *fault);
    void (*machine)(void *user, int64_t now_ns, struct fw_machine *machine);
    void (*metrics)(void *user, int64_t now_ns, struct fw_exposition *out);
};

struct fw_api_params {
    const struct fw_api_ops *ops; // copied pointer: static
    void *user;
    const struct fw_tokens *tokens; // not owned
    struct fw_models *models;       // not owned
    bool allow_faults;
};

struct fw_api; // Thread: the loop thread

enum fw_err fw_api_create(struct fw_api **api, const struct fw_api_params *params);
void fw_api_destroy(struct fw_api **api);
// Answers everything; unknown paths get 404. `now_ns` is monotonic.
void fw_api_http(struct fw_api *api, const struct fw_http_request *req, int64_t now_ns,
                 struct fw_http_response *res);
// May a page with `token` see session `id`? FW_ERR_DENIED, FW_ERR_NOT_FOUND with a sentence.
enum fw_err fw_api_admit(struct fw_api *api, const char *id, const char *token,
                         const char **message);
