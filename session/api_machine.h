// SPDX-License-Identifier: MIT
// GET /api/v1/machine: a sample of the machine as JSON; what is unknown is null.
#pragma once

#include <jansson.h>

#include "session/telemetry.h"

// A new reference; NULL when out of memory.
json_t *fw_machine_json(const struct fw_machine *machine, int64_t now_ns);
