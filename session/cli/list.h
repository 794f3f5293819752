// SPDX-License-Identifier: MIT
// The sub-commands that say what this machine has. argv[0] is the sub-command's name.
#pragma once

int fw_list_gpus_main(int argc, char **argv);
// `--json NAME` is how `framewire serve` asks: one JSON object with "chosen", "summary", "error".
int fw_list_encoders_main(int argc, char **argv);
