// SPDX-License-Identifier: MIT
// The `framewire worker` sub-command: one process that runs one session. Started by `framewire
// serve` with the link on fd 3 and the ring on fd 4; nobody else has a use for it.
#pragma once

// Returns the exit status.
int fw_worker_main(int argc, char **argv);
