// SPDX-License-Identifier: MIT
// Files of a model, read only from the model's own folder downwards: neither "..", nor absolute
// names, nor symbolic links that lead out of it reach anything else.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "render/source/scene/limits.h"

enum { FW_SCENE_MAX_FILES = 256, FW_SCENE_NAME = 512 };

struct fw_scene_bytes {
    uint8_t *data;
    size_t size;
};

// Thread: one; the bytes may be read by any thread while nobody opens more.
struct fw_scene_files {
    int dir; // the model's folder; -1 = none
    char main_name[256];
    uint64_t total; // bytes held
    unsigned count;
    struct {
        char *name; // as asked for
        struct fw_scene_bytes bytes;
    } file[FW_SCENE_MAX_FILES];
};

// Reads the model itself. `path` is absolute.
enum fw_err fw_scene_files_open(struct fw_scene_files *files, const char *path,
                                const struct fw_scene_note *note);
void fw_scene_files_finish(struct fw_scene_files *files);
// A file beside or below the model. `name` may be a URI reference (percent-encoded) and may use
// backslashes. The bytes belong to `files`. FW_ERR_NOT_FOUND, FW_ERR_DENIED, FW_ERR_TOO_LARGE.
enum fw_err fw_scene_files_get(struct fw_scene_files *files, const char *name,
                               struct fw_scene_bytes *out);
const struct fw_scene_bytes *fw_scene_files_main(const struct fw_scene_files *files);
