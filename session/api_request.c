// SPDX-License-Identifier: MIT
#include "session/api_request.h"

#include <stdio.h>
#include <string.h>

#include "session/api_sources.h"

static bool take_int(json_t *value, const char *key, int min, int max, int *out, char *message,
                     size_t size)
{
    if (json_is_integer(value) && json_integer_value(value) >= min &&
        json_integer_value(value) <= max) {
        *out = (int)json_integer_value(value);
        return true;
    }
    snprintf(message, size, "%s: must be a whole number from %d to %d", key, min, max);
    return false;
}

enum fw_err fw_api_request_read(struct fw_models *models, json_t *body,
                                struct fw_session_request *request, char *message, size_t size)
{
    const char *source = NULL, *key;
    json_t *args = NULL, *value;
    request->width = 1280;
    request->height = 720;
    request->fps = 60;
    json_object_foreach(body, key, value)
    {
        bool ok = false;
        snprintf(message, size, "%.40s: unknown field", key);
        if (strcmp(key, "source") == 0) {
            source = json_string_value(value);
            ok = source != NULL;
            snprintf(message, size, "source: must be a string");
        } else if (strcmp(key, "args") == 0) {
            args = value;
            ok = json_is_object(value) && json_object_size(value) <= FW_API_ARGS_MAX;
            snprintf(message, size, "args: must be an object of at most %d strings",
                     FW_API_ARGS_MAX);
        } else if (strcmp(key, "width") == 0) {
            ok = take_int(value, key, 16, 3840, &request->width, message, size);
        } else if (strcmp(key, "height") == 0) {
            ok = take_int(value, key, 16, 2160, &request->height, message, size);
        } else if (strcmp(key, "fps") == 0) {
            ok = take_int(value, key, 1, 240, &request->fps, message, size);
        }
        if (!ok)
            return FW_ERR_INVALID;
    }
    if (!source) {
        snprintf(message, size, "source: missing; GET /api/v1/sources lists what there is");
        return FW_ERR_INVALID;
    }
    return fw_sources_check(models, source, args, request, message, size);
}
