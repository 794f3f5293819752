// SPDX-License-Identifier: MIT
// POST /api/v1/sessions/{id}/fault: what is to go wrong in a session, for drills.
#pragma once

#include <jansson.h>

#include "session/api.h"

// FW_ERR_INVALID with a sentence in `message`.
enum fw_err fw_api_fault_read(json_t *body, struct fw_fault_request *fault, char *message,
                              size_t size);
