// SPDX-License-Identifier: MIT
// POST /api/v1/sessions: what a session is to be.
#pragma once

#include <jansson.h>

#include "session/api.h"

// Fills in `request`, but for the owner. FW_ERR_INVALID: `message` starts with the name of the
// field that is wrong.
enum fw_err fw_api_request_read(struct fw_models *models, json_t *body,
                                struct fw_session_request *request, char *message, size_t size);
