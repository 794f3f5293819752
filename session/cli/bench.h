// SPDX-License-Identifier: MIT
// `framewire bench`: the load generator in the box. argv[0] is the sub-command's name.
#pragma once

int fw_bench_main(int argc, char **argv);
