// SPDX-License-Identifier: MIT
#include "session/keep_loaded.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LIBRARIES = 256 };

struct names {
    char *name[MAX_LIBRARIES];
    unsigned count;
};

static int collect(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size;
    struct names *names = user;
    if (info->dlpi_name[0] && names->count < MAX_LIBRARIES) {
        names->name[names->count] = strdup(info->dlpi_name);
        names->count += names->name[names->count] != NULL;
    }
    return 0;
}

void fw_keep_loaded(void)
{
    // In two steps: dlopen from within the walk would take the loader's locks in the wrong order.
    struct names names = { .count = 0 };
    dl_iterate_phdr(collect, &names);
    for (unsigned i = 0; i < names.count; i++) {
        dlopen(names.name[i], RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
        free(names.name[i]);
    }
}
