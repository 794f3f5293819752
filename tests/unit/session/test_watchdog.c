// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <stdbool.h>
#include <unistd.h>

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

static void a_beat_comes_again(void **state)
{
    (void)state;
    struct fw_watchdog dog;
    uint64_t beats;
    assert_int_equal(fw_watchdog_init(&dog), FW_OK);
    fw_watchdog_beat(&dog, FW_WATCH_MEMORY, 5 * (int64_t)FW_NS_PER_MS);
    for (int i = 0; i < 3; i++) {
        assert_true(fired(&dog, FW_WATCH_MEMORY, 2000));
        assert_int_equal(read(dog.fd[FW_WATCH_MEMORY], &beats, sizeof(beats)), sizeof(beats));
    }
    fw_watchdog_disarm(&dog, FW_WATCH_MEMORY);
    assert_false(fired(&dog, FW_WATCH_MEMORY, 20));
    fw_watchdog_beat(NULL, FW_WATCH_MEMORY, 1);
    fw_watchdog_finish(&dog);
}

static void memory_is_limited_by_the_machine(void **state)
{
    (void)state;
    const uint64_t gib = UINT64_C(1) << 30;
    assert_int_equal(fw_watchdog_memory_limit(0), gib);
    assert_int_equal(fw_watchdog_memory_limit(2 * gib), gib);
    assert_int_equal(fw_watchdog_memory_limit(16 * gib), 4 * gib);
    assert_int_equal(fw_watchdog_memory_limit(32 * gib), 8 * gib);
    assert_int_equal(fw_watchdog_memory_limit(UINT64_MAX), 8 * gib);
    assert_int_equal(fw_watchdog_resident("1000 300 200 1 0 99 0\n", 4096), 300 * 4096);
    assert_int_equal(fw_watchdog_resident("", 4096), 0);
    assert_int_equal(fw_watchdog_resident("1000", 4096), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deadline_that_passes_is_seen),
        cmocka_unit_test(a_call_that_returns_in_time_is_not),
        cmocka_unit_test(a_beat_comes_again),
        cmocka_unit_test(memory_is_limited_by_the_machine),
    };
    return cmocka_run_group_tests_name("watchdog", tests, NULL, NULL);
}
