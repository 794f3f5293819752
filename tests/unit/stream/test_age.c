// SPDX-License-Identifier: MIT
// The age of the picture, alone and as the records tell it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "stream/age.h"
#include "stream/record.h"

enum { VIEWER = 3 };

static const int64_t ms = FW_NS_PER_MS;

static const int64_t t0 = 1000 * (int64_t)FW_NS_PER_S;
static struct fw_age age;
static struct fw_histogram h;
static struct fw_records *r;
static struct fw_record_totals totals;

static int setup(void **state)
{
    (void)state;
    fw_age_reset(&age);
    h = (struct fw_histogram){ .count = 0 };
    totals = (struct fw_record_totals){ .frames = 0 };
    r = fw_records_create();
    fw_records_set_totals(r, &totals);
    return r ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    fw_records_destroy(&r);
    return 0;
}

static void until(int64_t change_ms, int64_t at_ms)
{
    const struct fw_age_out out = { &h, NULL };
    fw_age_until(&age, change_ms < 0 ? 0 : t0 + change_ms * ms, t0 + at_ms * ms, &out);
}

static void nothing_shown_has_no_age(void **state)
{
    (void)state;
    until(0, 500);
    assert_int_equal(h.count, 0);
    assert_int_equal(fw_age_at(&age, t0, t0 + ms), 0);
}

static void a_current_picture_is_not_old(void **state)
{
    (void)state;
    fw_age_shown(&age, 0, t0);
    until(-1, 3000);
    assert_int_equal(h.count, 3000);
    assert_int_equal(h.max_us, 0);
    assert_int_equal(fw_age_at(&age, 0, t0 + 3000 * ms), 0);
}

// Current for 60 ms, then something changes and is shown 40 ms later.
static void age_counts_from_the_change(void **state)
{
    (void)state;
    fw_age_shown(&age, 0, t0);
    until(60, 100);
    fw_age_shown(&age, 0, t0 + 100 * ms);
    assert_int_equal(h.count, 100);
    assert_int_equal(h.max_us, 39500);
    assert_int_equal(h.sum_us, 40 * 20000);
    assert_int_equal(fw_age_at(&age, t0 + 90 * ms, t0 + 100 * ms), 10 * ms);
}

// Told in small parts it is the same as in one.
static void parts_sum_up(void **state)
{
    (void)state;
    fw_age_shown(&age, 0, t0);
    for (int i = 1; i <= 400; i++) {
        const struct fw_age_out out = { &h, NULL };
        fw_age_until(&age, t0 + 60 * ms, t0 + i * ms / 4, &out);
    }
    assert_int_equal(h.count, 100);
    assert_int_equal(h.sum_us, 40 * 20000);
}

// A moving picture is never current: it is as old as when it was begun.
static void a_moving_picture_ages_from_its_beginning(void **state)
{
    (void)state;
    fw_age_shown(&age, t0 - 20 * ms, t0);
    until(-1, 10);
    assert_int_equal(h.count, 10);
    assert_int_equal(h.max_us, 29500);
    assert_int_equal(fw_age_at(&age, 0, t0 + 10 * ms), 30 * ms);
}

// ---- records

static void frame(uint64_t id, int64_t change_ms, bool animating, int64_t shown_ms)
{
    const int64_t begun = t0 + change_ms * ms;
    const struct fw_packet p = {
        .frame_id = id,
        .size = 10,
        .animating = animating,
        .times = { .change_ns = begun, .begun_ns = begun, .picked_ns = begun + ms },
    };
    const struct fw_record_viewer viewer = { .serial = VIEWER };
    fw_records_publish(r, &p, &viewer, begun + ms);
    fw_records_sent(r, VIEWER, id, FW_POINT_HANDED, begun + ms);
    if (shown_ms < 0) {
        fw_records_drop(r, VIEWER, id, FW_REASON_BUSY);
        return;
    }
    const struct fw_record_ack ack = { .frame_id = id,
                                       .point = FW_POINT_PRESENTED,
                                       .ns = t0 + shown_ms * ms };
    fw_records_ack(r, VIEWER, &ack, t0 + (shown_ms + 1) * ms);
}

// A dropped frame's change is not on the screen until a later one is.
static void dropping_does_not_flatter(void **state)
{
    (void)state;
    frame(1, 0, false, 10);
    frame(2, 20, false, -1);
    frame(3, 60, false, 70);
    const struct fw_histogram *sum = &fw_records_sums(r)->age;
    assert_int_equal(sum->count, 60);
    assert_int_equal(sum->max_us, 49500); // of the second's change
    assert_int_equal(sum->sum_us, 50 * 25000);
    assert_int_equal(totals.age.count, 60);
    assert_int_equal(totals.age.sum_us, sum->sum_us);
}

static void sixty_a_second(void **state)
{
    (void)state;
    for (uint64_t id = 1; id <= 61; id++)
        frame(id, (int64_t)id * 16, true, (int64_t)id * 16 + 30);
    const struct fw_histogram *sum = &fw_records_sums(r)->age;
    assert_int_equal(sum->count, 960);
    assert_int_equal(sum->sum_us / sum->count, 38000); // from 30 to 46 ms, over and over
}

static void an_idle_picture_counts_too(void **state)
{
    (void)state;
    frame(1, 0, false, 10);
    for (int s = 1; s <= 5; s++)
        fw_records_tick(r, VIEWER, t0 + s * (int64_t)FW_NS_PER_S);
    const struct fw_histogram *sum = &fw_records_sums(r)->age;
    assert_int_equal(sum->count, 3990); // up to a second ago
    assert_int_equal(sum->max_us, 0);
    assert_int_equal(fw_records_age(r, t0 + 5 * (int64_t)FW_NS_PER_S), 0);
}

// A picture that is published and never shown: the screen grows old, for whoever asks too.
static void a_stall_shows(void **state)
{
    (void)state;
    frame(1, 0, false, 10);
    const struct fw_packet p = { .frame_id = 2, .size = 1, .times.change_ns = t0 + 20 * ms };
    const struct fw_record_viewer viewer = { .serial = VIEWER };
    fw_records_publish(r, &p, &viewer, t0 + 30 * ms);
    fw_records_tick(r, VIEWER, t0 + 3020 * ms);
    assert_int_equal(fw_records_sums(r)->age.count, 2010);
    assert_int_equal(fw_records_sums(r)->age.max_us, 1999500);
    assert_int_equal(fw_records_age(r, t0 + 3020 * ms), 3000 * ms);
}

// Time that nobody looked is no age, and another's screen is another story.
static void who_looks_away_is_not_counted(void **state)
{
    (void)state;
    frame(1, 0, false, 10);
    fw_records_tick(r, 0, t0 + 5000 * ms);
    fw_records_tick(r, VIEWER, t0 + 9000 * ms);
    assert_int_equal(fw_records_sums(r)->age.count, 0);
    frame(2, 9000, false, 9010);
    frame(3, 9020, false, 9030);
    assert_int_equal(fw_records_sums(r)->age.count, 20);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_shown_has_no_age),
        TEST(a_current_picture_is_not_old),
        TEST(age_counts_from_the_change),
        TEST(parts_sum_up),
        TEST(a_moving_picture_ages_from_its_beginning),
        TEST(dropping_does_not_flatter),
        TEST(sixty_a_second),
        TEST(an_idle_picture_counts_too),
        TEST(a_stall_shows),
        TEST(who_looks_away_is_not_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
