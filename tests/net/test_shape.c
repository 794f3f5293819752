// SPDX-License-Identifier: MIT
// The link that is slow on purpose is as slow as one says.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/clock.h"
#include "tests/net/shape.h"

static const int64_t ms = FW_NS_PER_MS;

static void delay_and_rate_add_up(void **state)
{
    (void)state;
    int64_t due = 0;
    struct shape none = { 0 };
    assert_true(shape_admit(&none, 1500, 7 * ms, &due));
    assert_int_equal(due, 7 * ms);

    // 1500 bytes at 12 Mbit/s take 1 ms: the second waits for the first.
    struct shape s = { .params = { .delay_ns = 20 * ms, .bits_per_second = 12000000 } };
    assert_true(shape_admit(&s, 1500, 0, &due));
    assert_int_equal(due, 21 * ms);
    assert_true(shape_admit(&s, 1500, ms / 2, &due));
    assert_int_equal(due, 22 * ms);
    assert_true(shape_admit(&s, 1500, 50 * ms, &due)); // idle time is not saved up
    assert_int_equal(due, 71 * ms);
    s.params.delay_ns = 0; // no packet overtakes another
    assert_true(shape_admit(&s, 1500, 51 * ms, &due));
    assert_int_equal(due, 71 * ms);
    assert_true(shape_admit(&s, 1500, 80 * ms, &due));
    assert_int_equal(due, 81 * ms);
}

static void what_the_queue_has_no_room_for_is_lost(void **state)
{
    (void)state;
    int64_t due;
    unsigned passed = 0;
    struct shape s = { .params = { .bits_per_second = 12000000, .queue_bytes = 15000 } };
    for (int i = 0; i < 100; i++)
        passed += shape_admit(&s, 1500, 0, &due);
    assert_int_equal(passed, 11); // ten wait behind the one that is being sent
    assert_int_equal(s.lost, 89);
    assert_true(shape_admit(&s, 1500, 2 * ms, &due));
    assert_int_equal(due, 12 * ms);
}

static void words_are_read(void **state)
{
    (void)state;
    char message[128];
    struct shape_params p = { 0 };
    assert_true(shape_parse(&p, " delay=20ms  rate=8mbit queue=64kB", message, sizeof(message)));
    assert_int_equal(p.delay_ns, 20 * ms);
    assert_int_equal(p.bits_per_second, 8000000);
    assert_int_equal(p.queue_bytes, 64000);
    assert_true(shape_parse(&p, "delay=1.5ms", message, sizeof(message)));
    assert_int_equal(p.delay_ns, 1500000);
    assert_int_equal(p.bits_per_second, 8000000); // as it was
    assert_true(shape_parse(&p, "rate=0", message, sizeof(message)));
    assert_int_equal(p.bits_per_second, 0);
    assert_true(shape_parse(&p, "", message, sizeof(message)));
    static const char *const bad[] = { "delay=20",    "delay=",        "delay=-1ms", "delay=11s",
                                       "delay=ms",    "rate=8",        "rate=8mb",   "loss=1%",
                                       "queue=1.5MB", "delay=20ms,x",  "20ms",       "delay",
                                       "rate=nan",    "rate=1e99mbit", "queue=64" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const struct shape_params before = p;
        if (shape_parse(&p, bad[i], message, sizeof(message)))
            fail_msg("'%s' was taken", bad[i]);
        assert_memory_equal(&p, &before, sizeof(p));
        assert_non_null(strstr(message, "is none of"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delay_and_rate_add_up),
        cmocka_unit_test(what_the_queue_has_no_room_for_is_lost),
        cmocka_unit_test(words_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
