// SPDX-License-Identifier: MIT
// Deadlines for calls that may hang (drivers, plug-ins): a timer is armed before and disarmed
// after. It costs no wake-up while all is well; the worker's watcher thread polls the timers.
// While a source opens, another one beats: time to look at what the process takes.
#pragma once

#include <stdint.h>

#include "base/err.h"

enum fw_watch {
    FW_WATCH_SESSION, // source and Vulkan
    FW_WATCH_ENCODE,
    FW_WATCH_MEMORY, // beats, see fw_watchdog_beat
    FW_WATCH_COUNT,
};

// Thread: each timer is armed and disarmed by one thread; polled by another.
struct fw_watchdog {
    int fd[FW_WATCH_COUNT]; // readable once a deadline has passed, or at each beat
};

enum fw_err fw_watchdog_init(struct fw_watchdog *dog);
void fw_watchdog_finish(struct fw_watchdog *dog);
// `dog` may be NULL: nobody watches.
void fw_watchdog_arm(struct fw_watchdog *dog, enum fw_watch which, int64_t limit_ns);
// Passes again and again until disarmed.
void fw_watchdog_beat(struct fw_watchdog *dog, enum fw_watch which, int64_t every_ns);
void fw_watchdog_disarm(struct fw_watchdog *dog, enum fw_watch which);

// How much of the machine's memory a process may take while it opens a source: a quarter, at least
// 1 GiB, at most 8 GiB.
uint64_t fw_watchdog_memory_limit(uint64_t machine_bytes);
// Resident bytes in the text of /proc/self/statm; 0 when it is none.
uint64_t fw_watchdog_resident(const char *statm, uint64_t page_bytes);
