// SPDX-License-Identifier: MIT
// For the API: what can be shown and what it takes.
#pragma once

#include <jansson.h>

#include "session/api.h"

// {"sources":[…]…}: one entry per card of the start page. New reference.
json_t *fw_sources_json(struct fw_models *models, int64_t now_ns);
// Checks `source` and `args` (an object or NULL) of a request and fills `request`. On error
// `message` names the field.
enum fw_err fw_sources_check(struct fw_models *models, const char *source, json_t *args,
                             struct fw_session_request *request, char *message, size_t size);
