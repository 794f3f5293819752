// SPDX-License-Identifier: MIT
#include "session/watchdog.h"

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

void fw_watchdog_disarm(struct fw_watchdog *dog, enum fw_watch which)
{
    fw_watchdog_arm(dog, which, 0);
}
