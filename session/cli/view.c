// SPDX-License-Identifier: MIT
#include "session/cli/view.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM "framewire-view"

int fw_view_main(int argc, char **argv)
{
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - sizeof(PROGRAM));
    (void)argc;
    if (length > 0) {
        path[length] = '\0';
        char *slash = strrchr(path, '/');
        memcpy(slash + 1, PROGRAM, sizeof(PROGRAM));
        execv(path, argv);
        fprintf(stderr, "framewire view: %s: %s; it belongs beside framewire\n", path,
                strerror(errno));
    }
    return 1;
}
