// SPDX-License-Identifier: MIT
// How sessions do now: a few numbers for a list of many, and all that a page shows of one.
#pragma once

#include <jansson.h>

#include "session/api.h"

// Of the last seconds, as one object. NULL when out of memory. Thread: the loop thread.
json_t *fw_figures_json(const struct fw_session_view *view, int64_t now_ns);
// Stages, where values lie, and the newest frames. FW_ERR_NOMEM.
enum fw_err fw_api_figures(const struct fw_session_view *view, int64_t now_ns,
                           struct fw_http_response *res);
