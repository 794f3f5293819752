// SPDX-License-Identifier: MIT
// What a glTF file claims about itself, checked before any library sees it: lengths, ranges,
// indices, required extensions.
#pragma once

#include "base/err.h"
#include "render/source/scene/file.h"

// Checks the main file and the buffers it refers to. On failure `note` names what is wrong.
enum fw_err fw_gltf_check(struct fw_scene_files *files, const struct fw_scene_note *note);
