// SPDX-License-Identifier: MIT
// GET /api/v1/sessions/{id}/trace: the records of its frames as a file.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "session/api.h"

// FW_OK: `res->work` makes the answer. FW_ERR_INVALID: the query is wrong, `message` starts with
// the name of the field. FW_ERR_NOMEM.
enum fw_err fw_api_trace(const struct fw_session_view *view, const char *query, int64_t now_ns,
                         struct fw_http_response *res, char *message, size_t size);
