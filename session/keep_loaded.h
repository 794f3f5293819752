// SPDX-License-Identifier: MIT
#pragma once

// Pins every library that is loaded now: none is unloaded before the process ends. Some graphics
// drivers are unloaded with their instance while threads or exit handlers of theirs still run, and
// leak checkers can't name what an unloaded library has leaked. Call while a device exists.
// Thread: any.
void fw_keep_loaded(void);
