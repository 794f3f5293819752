// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "session/restart.h"

static const int64_t ms = FW_NS_PER_MS, s = FW_NS_PER_S;

static void test_backs_off_and_ends(void **state)
{
    (void)state;
    static const int64_t want[] = { 0, 250, 500, 1000, 2000 };
    struct fw_restart r = { 0 };
    int64_t now = 1000 * s, delay;
    for (int i = 0; i < FW_RESTART_WINDOW_MAX; i++) {
        assert_true(fw_restart_next(&r, now, &delay));
        assert_true(delay == want[i] * ms);
        now += delay + 10 * ms;
    }
    assert_int_equal(fw_restart_recent(&r, now), FW_RESTART_WINDOW_MAX);
    assert_false(fw_restart_next(&r, now, &delay));
    assert_int_equal(r.total, FW_RESTART_WINDOW_MAX);
}

static void test_window_slides(void **state)
{
    (void)state;
    struct fw_restart r = { 0 };
    int64_t now = 0, delay;
    for (int i = 0; i < FW_RESTART_LIFE_MAX; i++) { // one in a while is always fine
        assert_true(fw_restart_next(&r, now, &delay));
        assert_int_equal(delay, 0);
        now += 61 * s;
    }
    assert_false(fw_restart_next(&r, now, &delay)); // but not for ever
}

static void test_steady_but_not_too_fast(void **state)
{
    (void)state;
    struct fw_restart r = { 0 };
    int64_t now = 0, delay = 0;
    for (int i = 0; i < 12; i++) { // every 13 s: at most 5 in any 60 s
        assert_true(fw_restart_next(&r, now, &delay));
        now += 13 * s;
    }
    assert_true(delay == 2000 * ms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_backs_off_and_ends),
        cmocka_unit_test(test_window_slides),
        cmocka_unit_test(test_steady_but_not_too_fast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
