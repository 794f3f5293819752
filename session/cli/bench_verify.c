// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "session/cli/bench_modes.h"

int fw_bench_verify(struct fw_bench *bench, const char *url_of_command_line)
{
    (void)bench;
    (void)url_of_command_line;
    fw_bench_complain("--verify is not in this version yet");
    return EXIT_FAILURE;
}
