// SPDX-License-Identifier: MIT
// The HTTP API of a server (docs/openapi.yaml) for our own clients: one request per connection,
// blocking with a time limit. What goes wrong comes back in words for a person.
// Thread: any; one request per call, nothing shared.
#pragma once

#include <jansson.h>
#include <signal.h>
#include <stddef.h>

#include "base/err.h"
#include "stream/client/client.h"
#include "stream/client/target.h"

struct fw_remote {
    struct fw_target target;
    char token[FW_TARGET_TOKEN_SIZE];   // of the operator; "" = none
    const char *ca_file;                // PEM; NULL = what this system trusts
    int timeout_ms;                     // of a request, 0 = 10000
    const volatile sig_atomic_t *hurry; // from when it is true on 2000 at most; NULL = never
};

struct fw_remote_error {
    int status;        // of HTTP; 0 = there was no answer
    char code[48];     // the server's, or "unreachable", "untrusted", "no_api"
    char message[400]; // one sentence that says what to do where that is known
    int retry_after_s; // 0 = not said
};

// `path` is below /api/v1 and starts with "/". `body` (may be NULL) stays the caller's. On FW_OK
// `*answer` is the caller's, NULL when the server sent none. `answer` may be NULL.
// FW_ERR_DENIED: the server said no; FW_ERR_IO, FW_ERR_TIMEOUT, FW_ERR_FORMAT.
enum fw_err fw_remote_call(const struct fw_remote *remote, const char *method, const char *path,
                           const json_t *body, json_t **answer, struct fw_remote_error *error);
// The same for an answer that is not JSON; `*text` is NUL-terminated and the caller's to free.
// `path` is a whole one.
enum fw_err fw_remote_text(const struct fw_remote *remote, const char *path, char **text,
                           size_t *size, struct fw_remote_error *error);

struct fw_remote_session {
    char id[80];
    char token[80]; // opens that session only
};
// Creates a session: {"source":…,"args":…,"width":…,"height":…,"fps":…}.
enum fw_err fw_remote_create(const struct fw_remote *remote, const json_t *request,
                             struct fw_remote_session *session, struct fw_remote_error *error);
enum fw_err fw_remote_delete(const struct fw_remote *remote, const char *id,
                             struct fw_remote_error *error);
// The single-use code of a page's address for the session's token.
enum fw_err fw_remote_exchange(const struct fw_remote *remote, const char *id, const char *code,
                               struct fw_remote_session *session, struct fw_remote_error *error);
// For fw_client_open() and fw_watch_open(); points into `remote`.
struct fw_client_params fw_remote_connect(const struct fw_remote *remote);
