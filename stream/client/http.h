// SPDX-License-Identifier: MIT
// One HTTP request and its whole answer. Inside of stream/client/.
#pragma once

#include <stddef.h>

#include "base/err.h"

struct fw_client_params;

enum { FW_HTTP_ANSWER_MAX = 64 << 20 };

struct fw_http_answer {
    int status;
    int retry_after_s; // 0 = not said
    char *body;        // NUL-terminated; the caller frees it
    size_t size;
};

// `request` is sent as it is; the answer ends with its length, its last chunk, or the connection.
// FW_ERR_FORMAT when it is no HTTP, FW_ERR_TOO_LARGE, FW_ERR_TIMEOUT and what connecting gives.
enum fw_err fw_http_exchange(const struct fw_client_params *params, const char *request,
                             size_t request_size, struct fw_http_answer *answer);
