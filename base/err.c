// SPDX-License-Identifier: MIT
#include "base/err.h"

const char *fw_err_name(enum fw_err err)
{
    static const char *const names[FW_ERR_COUNT] = {
        [FW_OK] = "ok",
        [FW_ERR_AGAIN] = "again",
        [FW_ERR_CLOSED] = "closed",
        [FW_ERR_DEVICE_LOST] = "device_lost",
        [FW_ERR_TIMEOUT] = "timeout",
        [FW_ERR_INVALID] = "invalid",
        [FW_ERR_FORMAT] = "format",
        [FW_ERR_TOO_LARGE] = "too_large",
        [FW_ERR_NOT_FOUND] = "not_found",
        [FW_ERR_DENIED] = "denied",
        [FW_ERR_UNSUPPORTED] = "unsupported",
        [FW_ERR_NOMEM] = "out_of_memory",
        [FW_ERR_IO] = "io",
        [FW_ERR_INTERNAL] = "internal",
    };
    return (unsigned)err < FW_ERR_COUNT ? names[err] : "unknown";
}
