// SPDX-License-Identifier: MIT
// A client's clock, placed on the server's by what arrives from it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "stream/peer_clock.h"

enum { MS = FW_NS_PER_MS, STEP = 17 };

static const int64_t t0 = 1000 * (int64_t)FW_NS_PER_S;
static unsigned seed;

static unsigned random_below(unsigned limit)
{
    seed = seed * 1103515245u + 12345u;
    return (seed >> 8) % limit;
}

static struct fw_peer_clock clock_of;
static uint32_t error_us;
static enum fw_peer_clock_kind kind;

static int new_clock(void **state)
{
    (void)state;
    clock_of = (struct fw_peer_clock){ .estimated = false };
    return 0;
}

static int64_t placed(uint64_t client_us)
{
    return fw_peer_clock_place(&clock_of, client_us, &error_us, &kind);
}

// The client's clock shows 0 at t0 in all of these.
static void arrivals_bound_the_clock(void **state)
{
    (void)state;
    assert_int_equal(placed(5000), 0);
    assert_int_equal(kind, FW_PEER_CLOCK_NONE);
    fw_peer_clock_heard(&clock_of, 5000, t0 + 8 * MS); // 3 ms on the way
    assert_int_equal(placed(5000), t0 + 8 * MS);
    assert_true(kind == FW_PEER_CLOCK_FLOOR && error_us == 0);
    fw_peer_clock_heard(&clock_of, 15000, t0 + 16 * MS); // and 1
    fw_peer_clock_heard(&clock_of, 25000, t0 + 30 * MS);
    assert_int_equal(placed(5000), t0 + 6 * MS);
    fw_peer_clock_reached(&clock_of, 40000, t0 + 33 * MS); // 7 ms there
    fw_peer_clock_reached(&clock_of, 50000, t0 + 47 * MS); // 3
    assert_int_equal(placed(5000), t0 + 4 * MS);           // −3 to 1 ms: −1, and 2 off at most
    assert_int_equal(kind, FW_PEER_CLOCK_BOUNDS);
    assert_in_range(error_us, 2000, 2001);
}

static void a_told_clock_narrows_it_down(void **state)
{
    (void)state;
    fw_peer_clock_heard(&clock_of, 15000, t0 + 16 * MS);
    fw_peer_clock_told(&clock_of, t0 + 200 * 1000, 700); // −0.5 to 0.9 ms
    assert_int_equal(placed(25000), t0 + 25 * MS + 200 * 1000);
    assert_int_equal(kind, FW_PEER_CLOCK_ESTIMATE);
    assert_in_range(error_us, 700, 701);
    fw_peer_clock_heard(&clock_of, 15000, t0 + 15 * MS + 100 * 1000);
    fw_peer_clock_reached(&clock_of, 15000, t0 + 14 * MS);
    assert_int_equal(placed(25000), t0 + 25 * MS - 200 * 1000); // −0.5 to 0.1 ms
    assert_in_range(error_us, 300, 301);
}

static void a_contradicted_clock_is_not_used(void **state)
{
    (void)state;
    fw_peer_clock_told(&clock_of, t0, 10); // nothing to hold it against
    assert_int_equal(placed(5000), 0);
    assert_int_equal(kind, FW_PEER_CLOCK_NONE);
    fw_peer_clock_heard(&clock_of, 5000, t0 + 6 * MS);
    fw_peer_clock_told(&clock_of, t0 + 30 * MS, 10); // it would have come before it went
    assert_int_equal(placed(5000), t0 + 6 * MS);
    assert_int_equal(kind, FW_PEER_CLOCK_FLOOR);
    fw_peer_clock_reached(&clock_of, 10000, t0 + 9 * MS);
    fw_peer_clock_told(&clock_of, t0 - 30 * MS, 10); // the picture would have come first as well
    placed(5000);
    assert_int_equal(kind, FW_PEER_CLOCK_BOUNDS);
    fw_peer_clock_told(&clock_of, INT64_MIN, UINT32_MAX);
    fw_peer_clock_heard(&clock_of, UINT64_MAX, t0);
    fw_peer_clock_reached(&clock_of, UINT64_MAX, t0);
    assert_int_equal(placed(UINT64_MAX), 0);
    placed(5000);
    assert_int_equal(kind, FW_PEER_CLOCK_BOUNDS);
}

// Two ways of 5 and 35 ms, clocks that drift by 50 ppm, either way, for three minutes: the truth
// stays within the bound, give or take what the header says of drift.
static void a_drift_stays_within_the_bound(void **state)
{
    (void)state;
    for (int sign = -1; sign <= 1; sign += 2) {
        new_clock(NULL);
        for (int64_t ms = 1000; ms <= 180000; ms += 100) {
            const int64_t now = t0 + ms * MS;
            const int64_t there_ms = 5 + random_below(10), here_ms = 35 + random_below(10);
            const int64_t us = ms * 1000 + sign * ms / 20;
            fw_peer_clock_reached(&clock_of, (uint64_t)us, now - there_ms * MS);
            fw_peer_clock_heard(&clock_of, (uint64_t)us, now + here_ms * MS);
            const int64_t off = placed((uint64_t)us) - now;
            const int64_t bound = (int64_t)error_us * 1000 + MS / 2;
            assert_true(off <= bound && off >= -bound);
            assert_true(ms < 3000 || error_us < 23000);
        }
        assert_int_equal(kind, FW_PEER_CLOCK_BOUNDS);
    }
}

#define CLOCK(f) cmocka_unit_test_setup(f, new_clock)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLOCK(arrivals_bound_the_clock),
        CLOCK(a_told_clock_narrows_it_down),
        CLOCK(a_contradicted_clock_is_not_used),
        CLOCK(a_drift_stays_within_the_bound),
    };
    return cmocka_run_group_tests_name("peer clock", tests, NULL, NULL);
}
