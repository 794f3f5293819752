// SPDX-License-Identifier: MIT
#include "session/api_fault.h"

#include <stdio.h>
#include <string.h>

static enum fw_err invalid(char *message, size_t size, const char *text)
{
    snprintf(message, size, "%s", text);
    return FW_ERR_INVALID;
}

enum fw_err fw_api_fault_read(json_t *body, struct fw_fault_request *fault, char *message,
                              size_t size)
{
    const char *key;
    json_t *value;
    *fault = (struct fw_fault_request){ 0 };
    json_object_foreach(body, key, value)
    {
        if (strcmp(key, "delay") == 0) {
            char why[200];
            if (!json_is_string(value))
                return invalid(message, size, "delay: must be a string, as in encode:20ms");
            fault->delays = true;
            if (fw_faults_parse(&fault->faults, json_string_value(value), why, sizeof(why))) {
                snprintf(message, size, "delay: %s", why);
                return FW_ERR_INVALID;
            }
        } else if (strcmp(key, "kill") == 0 || strcmp(key, "hang") == 0) {
            *(*key == 'k' ? &fault->kill : &fault->hang) = true;
            if (!json_is_true(value)) {
                snprintf(message, size, "%s: must be true, or be left out", key);
                return FW_ERR_INVALID;
            }
        } else {
            snprintf(message, size, "%.40s: unknown field", key);
            return FW_ERR_INVALID;
        }
    }
    if (fault->kill && fault->hang)
        return invalid(message, size, "kill: not together with hang");
    if (!fault->kill && !fault->hang && !fault->delays)
        return invalid(message, size, "delay: missing; give delay, kill or hang");
    return FW_OK;
}
