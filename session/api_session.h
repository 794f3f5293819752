// SPDX-License-Identifier: MIT
// A session as JSON: what it is, and how it does now, in a few numbers for a list of many and in
// full for a page about one.
#pragma once

#include <jansson.h>

#include "session/api.h"

// As GET /api/v1/sessions/{id} has it. NULL when out of memory.
json_t *fw_session_json(const struct fw_session_view *view);
// "" for NULL, "?" for what is no UTF-8, as workers may say anything.
json_t *fw_json_text(const char *text);
// Of the last seconds, as one object. NULL when out of memory. Thread: the loop thread.
json_t *fw_figures_json(const struct fw_session_view *view, int64_t now_ns);
// Stages, where values lie, and the newest frames. FW_ERR_NOMEM.
enum fw_err fw_api_figures(const struct fw_session_view *view, int64_t now_ns,
                           struct fw_http_response *res);
