// SPDX-License-Identifier: MIT
// The only list of sources.
#include <string.h>

#include "render/source/impls.h"

static const struct fw_source_impl *const sources[] = {
    &fw_source_scene,
    &fw_source_testcard,
    &fw_source_null,
};

void fw_source_warm_up(void)
{
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        if (sources[i]->warm_up) {
            sources[i]->warm_up();
        }
    }
}

const struct fw_source_impl *fw_source_find(const char *name)
{
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        if (strcmp(sources[i]->name, name) == 0) {
            return sources[i];
        }
    }
    return NULL;
}
