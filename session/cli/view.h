// SPDX-License-Identifier: MIT
#pragma once

// `framewire view …`: becomes the viewer's program, which lies beside this one. Returns only when
// that fails.
int fw_view_main(int argc, char **argv);
