// SPDX-License-Identifier: MIT
// In place of scene/ in a build without it: the name is known, the reason is said.
#include <stdio.h>

#include "render/source/impls.h"

static enum fw_err refuse(struct fw_source **source, const struct fw_source_params *params)
{
    *source = NULL;
    if (params->message_size) {
        snprintf(params->message, params->message_size,
                 "This build of framewire has no model viewer; build it with assimp.");
    }
    return FW_ERR_UNSUPPORTED;
}

static bool never(struct fw_source *source, int64_t now_ns, int64_t *next_ns, bool *animating)
{
    (void)source;
    (void)now_ns;
    *next_ns = INT64_MAX;
    *animating = false;
    return false;
}

// Only `open` can ever be called: it never succeeds.
const struct fw_source_impl fw_source_scene = {
    .name = "scene",
    .open = refuse,
    .wants_frame = never,
};
