// SPDX-License-Identifier: MIT
// The models folder: which files are offered, under names that cannot lead out of it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { FW_MODELS_MAX = 512, FW_MODEL_NAME_MAX = 256, FW_MODELS_DEPTH = 3 };

struct fw_model {
    char name[FW_MODEL_NAME_MAX]; // below the folder, with '/', UTF-8: "helmet/helmet.gltf"
    char title[FW_MODEL_NAME_MAX];
    uint64_t bytes;
};

struct fw_models; // Thread: the loop thread

// `dir` NULL: an empty list. FW_ERR_NOT_FOUND, FW_ERR_INVALID with a sentence in `message`.
enum fw_err fw_models_create(struct fw_models **models, const char *dir, char *message,
                             size_t message_size);
void fw_models_destroy(struct fw_models **models);
// Looks again when the last look is older than 2 s. Sorted by name. Valid until the next call.
const struct fw_model *fw_models_list(struct fw_models *models, int64_t now_ns, unsigned *count);
// The absolute path of a model that is in the list now. FW_ERR_NOT_FOUND for anything else, such as
// a name with "..", an absolute one, or a link that leads out of the folder.
enum fw_err fw_models_path(struct fw_models *models, const char *name, char *out, size_t out_size);
const char *fw_models_dir(const struct fw_models *models); // NULL when there is none
