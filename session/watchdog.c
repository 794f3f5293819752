// SPDX-License-Identifier: MIT
#include "session/watchdog.h"

#include <stdio.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"

enum fw_err fw_watchdog_init(struct fw_watchdog *dog)
{
    enum fw_err err = FW_OK;
    for (int i = 0; i < FW_WATCH_COUNT; i++) {
        dog->fd[i] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        if (dog->fd[i] < 0) {
            err = FW_ERR_IO;
        }
    }
    if (err) {
        fw_watchdog_finish(dog);
    }
    return err;
}

void fw_watchdog_finish(struct fw_watchdog *dog)
{
    for (int i = 0; i < FW_WATCH_COUNT; i++) {
        if (dog->fd[i] >= 0) {
            close(dog->fd[i]);
        }
        dog->fd[i] = -1;
    }
}

void fw_watchdog_arm(struct fw_watchdog *dog, enum fw_watch which, int64_t limit_ns)
{
    if (dog) {
        const struct itimerspec when = {
            .it_value = { .tv_sec = limit_ns / FW_NS_PER_S, .tv_nsec = limit_ns % FW_NS_PER_S },
        };
        timerfd_settime(dog->fd[which], 0, &when, NULL);
    }
}

void fw_watchdog_beat(struct fw_watchdog *dog, enum fw_watch which, int64_t every_ns)
{
    if (dog) {
        const struct timespec every = {
            .tv_sec = every_ns / FW_NS_PER_S,
            .tv_nsec = every_ns % FW_NS_PER_S,
        };
        const struct itimerspec when = { .it_value = every, .it_interval = every };
        timerfd_settime(dog->fd[which], 0, &when, NULL);
    }
}

void fw_watchdog_disarm(struct fw_watchdog *dog, enum fw_watch which)
{
    fw_watchdog_arm(dog, which, 0);
}

uint64_t fw_watchdog_memory_limit(uint64_t machine_bytes)
{
    const uint64_t least = UINT64_C(1) << 30, most = UINT64_C(8) << 30;
    const uint64_t quarter = machine_bytes / 4;
    return quarter < least ? least : quarter > most ? most : quarter;
}

uint64_t fw_watchdog_resident(const char *statm, uint64_t page_bytes)
{
    unsigned long long size, resident;
    return sscanf(statm, "%llu %llu", &size, &resident) == 2 ? resident * page_bytes : 0;
}
