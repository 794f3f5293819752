// SPDX-License-Identifier: MIT
// The only list of encoders, in order of preference.
#include "encode/encoder_impl.h"

#include <string.h>

const struct fw_encoder_backend *const fw_encoder_backends[] = {
    &fw_encoder_nvenc,
    &fw_encoder_vaapi,
    &fw_encoder_x264,
    &fw_encoder_raw,
    &fw_encoder_null,
    &fw_encoder_fault,
    NULL,
};

static bool is_called(const char *known, const char *name, size_t length)
{
    return known && strlen(known) == length && memcmp(known, name, length) == 0;
}

const struct fw_encoder_backend *fw_encoder_backend_find(const char *name)
{
    const size_t length = strcspn(name, ":");
    for (unsigned i = 0; fw_encoder_backends[i]; i++) {
        const struct fw_encoder_backend *backend = fw_encoder_backends[i];
        if (is_called(backend->name, name, length) || is_called(backend->codec, name, length)) {
            return backend;
        }
    }
    return NULL;
}
