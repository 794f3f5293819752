// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "stream/flow.h"

static const int64_t ms = FW_NS_PER_MS;

static void test_window_by_rtt(void **state)
{
    (void)state;
    static const struct {
        int64_t rtt_ms;
        int fps;
        unsigned window;
    } cases[] = {
        { 0, 60, 2 },  { 1, 60, 2 },   { 16, 60, 2 },  { 17, 60, 3 }, { 50, 60, 5 },
        { 99, 60, 7 }, { 101, 60, 8 }, { 500, 60, 8 }, { 50, 30, 3 }, { 50, 0, 5 },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fw_flow f = { 0 };
        const int64_t now = 100 * (int64_t)FW_NS_PER_S;
        fw_flow_sent(&f, 1, now);
        if (cases[i].rtt_ms)
            assert_true(fw_flow_acked(&f, 1, now + cases[i].rtt_ms * ms));
        assert_int_equal(fw_flow_window(&f, cases[i].fps), cases[i].window);
    }
}

static void test_room(void **state)
{
    (void)state;
    struct fw_flow f = { 0 };
    int64_t now = FW_NS_PER_S;
    assert_int_equal(fw_flow_room(&f, 60), 2);
    fw_flow_sent(&f, 10, now);
    assert_int_equal(fw_flow_room(&f, 60), 1);
    fw_flow_sent(&f, 12, now);
    assert_int_equal(fw_flow_room(&f, 60), 0);
    fw_flow_sent(&f, 13, now); // over the window: still no room, no wrap around
    assert_int_equal(fw_flow_room(&f, 60), 0);
    now += 5 * ms;
    assert_false(fw_flow_acked(&f, 9, now));  // never sent
    assert_false(fw_flow_acked(&f, 14, now)); // not sent yet: a lie changes nothing
    assert_true(fw_flow_acked(&f, 12, now));  // confirms 10 with it
    assert_int_equal(f.count, 1);
    assert_false(fw_flow_acked(&f, 12, now)); // twice
    assert_true(fw_flow_acked(&f, 13, now));
    assert_int_equal(fw_flow_room(&f, 60), 2);
    assert_int_equal(fw_flow_min_rtt_ns(&f), 5 * ms);
}

// The smallest round trip is forgotten after 5 to 10 s, so that a path that got longer is seen.
static void test_rtt_ages(void **state)
{
    (void)state;
    struct fw_flow f = { 0 };
    int64_t now = 50 * (int64_t)FW_NS_PER_S;
    uint64_t id = 0;
    for (int i = 0; i < 300; i++) {
        const int64_t rtt = (i < 100 ? 5 : 80) * ms;
        fw_flow_sent(&f, ++id, now);
        assert_true(fw_flow_acked(&f, id, now + rtt));
        if (i == 100)
            assert_int_equal(fw_flow_min_rtt_ns(&f), 5 * ms);
        now += 100 * ms;
    }
    assert_int_equal(fw_flow_min_rtt_ns(&f), 80 * ms);
    fw_flow_reset(&f);
    assert_int_equal(fw_flow_min_rtt_ns(&f), 80 * ms); // the path is the same
}

static void test_stall(void **state)
{
    (void)state;
    struct fw_flow f = { 0 };
    const int64_t start = 10 * (int64_t)FW_NS_PER_S;
    assert_false(fw_flow_stalled(&f, start + 1000 * ms, 300 * ms)); // nothing sent, nothing owed
    assert_int_equal(fw_flow_oldest_ns(&f), 0);
    fw_flow_sent(&f, 1, start);
    fw_flow_sent(&f, 2, start + 100 * ms);
    assert_int_equal(fw_flow_oldest_ns(&f), start);
    assert_false(fw_flow_stalled(&f, start + 300 * ms, 300 * ms));
    assert_true(fw_flow_stalled(&f, start + 301 * ms, 300 * ms));
    fw_flow_acked(&f, 1, start + 350 * ms);
    assert_false(fw_flow_stalled(&f, start + 600 * ms, 300 * ms)); // it moves, slowly
    assert_true(fw_flow_stalled(&f, start + 651 * ms, 300 * ms));
    fw_flow_acked(&f, 2, start + 700 * ms);
    assert_false(fw_flow_stalled(&f, start + 9000 * ms, 300 * ms));
}

static void test_jitter(void **state)
{
    (void)state;
    struct fw_flow steady = { 0 }, shaky = { 0 };
    int64_t now = FW_NS_PER_S;
    for (uint64_t id = 1; id <= 200; id++, now += 50 * ms) {
        fw_flow_sent(&steady, id, now);
        fw_flow_sent(&shaky, id, now);
        fw_flow_acked(&steady, id, now + 20 * ms);
        fw_flow_acked(&shaky, id, now + (id % 2 ? 15 : 25) * ms);
    }
    assert_int_equal(steady.jitter_ns, 0);
    assert_true(shaky.jitter_ns > 9 * ms && shaky.jitter_ns <= 10 * ms);
}

// A viewer that never confirms costs a fixed amount of memory.
static void test_bounded(void **state)
{
    (void)state;
    struct fw_flow f = { 0 };
    for (uint64_t id = 1; id <= 10000; id++)
        fw_flow_sent(&f, id, (int64_t)id);
    assert_int_equal(f.count, FW_FLOW_TRACK);
    assert_int_equal(fw_flow_oldest_ns(&f), 10000 - FW_FLOW_TRACK + 1);
    assert_int_equal(fw_flow_sent_ns(&f, 10000), 10000);
    assert_int_equal(fw_flow_sent_ns(&f, 10000 - FW_FLOW_TRACK), 0);
    assert_int_equal(fw_flow_sent_ns(&f, 10001), 0);
    assert_false(fw_flow_acked(&f, 5, 20000));
    assert_true(fw_flow_acked(&f, 10000, 20000));
    assert_int_equal(f.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_window_by_rtt), cmocka_unit_test(test_room),
        cmocka_unit_test(test_rtt_ages),      cmocka_unit_test(test_stall),
        cmocka_unit_test(test_bounded),       cmocka_unit_test(test_jitter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
