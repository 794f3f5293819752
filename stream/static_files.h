// SPDX-License-Identifier: MIT
// Files below one root, and nothing else: the path is resolved by the kernel beneath the root,
// without following symbolic links.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/err.h"

enum { FW_STATIC_MAX_BYTES = 16 << 20 };

struct fw_static_file {
    uint8_t *data; // malloc'ed, `lead` unused bytes in front of the content
    size_t size;
    char etag[48];            // quoted
    char last_modified[32];   // HTTP date
    const char *content_type; // static
};

// Opens the root; `*fd` is the caller's.
enum fw_err fw_static_root(const char *dir, int *fd);
// Reads "name" or "dir/name" (no leading slash). FW_ERR_NOT_FOUND for anything that is not a plain
// visible file below the root; FW_ERR_TOO_LARGE; FW_ERR_NOMEM. On FW_OK the caller frees `data`.
enum fw_err fw_static_read(int root_fd, const char *path, size_t lead, struct fw_static_file *file);
const char *fw_content_type(const char *path);
