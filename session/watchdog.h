// SPDX-License-Identifier: MIT
// Deadlines for calls that may hang (drivers, plug-ins): a timer is armed before and disarmed
// after. It costs no wake-up while all is well; the worker's watcher thread polls the timers.
#pragma once

#include <stdint.h>

#include "base/err.h"

enum fw_watch {
    FW_WATCH_SESSION, // source and Vulkan
    FW_WATCH_ENCODE,
    FW_WATCH_COUNT,
};

// Thread: each timer is armed and disarmed by one thread; polled by another.
struct fw_watchdog {
    int fd[FW_WATCH_COUNT]; // readable once a deadline has passed
};

enum fw_err fw_watchdog_init(struct fw_watchdog *dog);
void fw_watchdog_finish(struct fw_watchdog *dog);
// `dog` may be NULL: nobody watches.
void fw_watchdog_arm(struct fw_watchdog *dog, enum fw_watch which, int64_t limit_ns);
void fw_watchdog_disarm(struct fw_watchdog *dog, enum fw_watch which);
