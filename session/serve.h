// SPDX-License-Identifier: MIT
// The `framewire serve` sub-command: the front process.
#pragma once

// `argv` without the program's and the sub-command's name. Returns the exit status: 0 after an
// orderly end, 1 when it can't work here, 2 when it was asked wrongly.
int fw_serve_main(int argc, char **argv);
