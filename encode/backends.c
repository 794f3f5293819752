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

const struct fw_encoder_backend *fw_encoder_backend_find(const char *name)
{
    const size_t length = strcspn(name, ":");
    for (unsigned i = 0; fw_encoder_backends[i]; i++) {
        const char *known = fw_encoder_backends[i]->name;
        if (strlen(known) == length && memcmp(known, name, length) == 0) {
            return fw_encoder_backends[i];
        }
    }
    return NULL;
}
