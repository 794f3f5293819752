// SPDX-License-Identifier: MIT
// Counts in the heads of files, held against the size of the file before anybody makes room for
// them.
#pragma once

#include "render/source/scene/limits.h"

// OFF, PLY and STL by the name's end; anything else passes. FW_ERR_FORMAT: the file can't hold what
// it claims. What is broken in another way is left to the reader.
enum fw_err fw_scene_check_claims(const char *name, const void *data, size_t size,
                                  const struct fw_scene_note *note);
