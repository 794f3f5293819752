// SPDX-License-Identifier: MIT
// For builds without GLFW.
#include <stdio.h>

#include "session/cli/view.h"

int fw_view_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    fprintf(stderr, "framewire view: this build has no viewer: install GLFW 3.3 and libavformat "
                    "(Debian: libglfw3-dev libavformat-dev) and build again with -Dview=enabled; "
                    "a browser shows the same session\n");
    return 1;
}
