// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <stdbool.h>

#include "base/clock.h"
#include "session/watchdog.h"

static bool fired(struct fw_watchdog *dog, enum fw_watch which, int timeout_ms)
{
    struct pollfd p = { .fd = dog->fd[which], .events = POLLIN };
    return poll(&p, 1, timeout_ms) == 1;
}

static void a_deadline_that_passes_is_seen(void **state)
{
    (void)state;
    struct fw_watchdog dog;
    assert_int_equal(fw_watchdog_init(&dog), FW_OK);
    assert_false(fired(&dog, FW_WATCH_SESSION, 0));
    fw_watchdog_arm(&dog, FW_WATCH_SESSION, 20 * (int64_t)FW_NS_PER_MS);
    assert_true(fired(&dog, FW_WATCH_SESSION, 2000));
    assert_false(fired(&dog, FW_WATCH_ENCODE, 0)); // each has its own
    fw_watchdog_finish(&dog);
    fw_watchdog_finish(&dog);
}

static void a_call_that_returns_in_time_is_not(void **state)
{
    (void)state;
    struct fw_watchdog dog;
    assert_int_equal(fw_watchdog_init(&dog), FW_OK);
    for (int i = 0; i < 1000; i++) { // each frame arms anew: it is the last that counts
        fw_watchdog_arm(&dog, FW_WATCH_ENCODE, 50 * (int64_t)FW_NS_PER_MS);
    }
    fw_watchdog_disarm(&dog, FW_WATCH_ENCODE);
    assert_false(fired(&dog, FW_WATCH_ENCODE, 120));
    fw_watchdog_arm(NULL, FW_WATCH_ENCODE, 1); // nobody watches: nothing happens
    fw_watchdog_disarm(NULL, FW_WATCH_ENCODE);
    fw_watchdog_finish(&dog);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deadline_that_passes_is_seen),
        cmocka_unit_test(a_call_that_returns_in_time_is_not),
    };
    return cmocka_run_group_tests_name("watchdog", tests, NULL, NULL);
}
