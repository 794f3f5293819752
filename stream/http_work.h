// SPDX-License-Identifier: MIT
// Inside of stream/: HTTP answers that are made on threads. Thread: the loop thread, all of it.
#pragma once

#include <stdbool.h>
#include <uv.h>

#include "stream/server.h"

enum { FW_HTTP_WORKS_MAX = 4 }; // at a time

// Those of one server.
struct fw_http_works;
struct fw_http_works *fw_http_works_create(uv_loop_t *loop); // NULL when out of memory
// Those that still run end by themselves, and tell nobody.
void fw_http_works_destroy(struct fw_http_works **works);

// One answer.
struct fw_http_job;
// Takes over `work`. FW_ERR_AGAIN: too many run; FW_ERR_NOMEM; `work` is freed then. `done` is
// called when the answer is there, unless the job was left before.
enum fw_err fw_http_job_start(struct fw_http_job **job, struct fw_http_works *works,
                              struct fw_http_work *work, void (*done)(void *user), void *user);
// The answer, NULL = not there yet. The caller may take the body out of it.
struct fw_http_response *fw_http_job_answer(struct fw_http_job *job);
// Nobody waits for it (any more). NULL and pointer to NULL are fine.
void fw_http_job_leave(struct fw_http_job **job);
// What a response holds. Once.
void fw_http_free_body(struct fw_http_response *res);
