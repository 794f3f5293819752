// SPDX-License-Identifier: MIT
// Pacing with a clock of our own: cadence, idle input, credit, late start, key frames, refinement.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>

#include "base/clock.h"
#include "session/pacing.h"

static const int64_t ms = FW_NS_PER_MS;
static const int64_t t0 = 1000 * (int64_t)FW_NS_PER_S;

static struct fw_pacing pacing_at(int fps, unsigned refine)
{
    struct fw_pacing p;
    fw_pacing_init(&p, &(struct fw_pacing_params){ .fps = fps, .refine_frames = refine });
    return p;
}

static struct fw_pacing_facts idle_at(int64_t now)
{
    return (struct fw_pacing_facts){
        .now_ns = now, .source_next_ns = INT64_MAX, .room = true, .quiet = true, .have_last = true
    };
}

static struct fw_pacing_facts wanting_at(int64_t now)
{
    struct fw_pacing_facts f = idle_at(now);
    f.wants = true;
    return f;
}

static void input_on_idle_starts_at_once(void **state)
{
    (void)state;
    struct fw_pacing p = pacing_at(60, 0);
    int64_t wake;
    struct fw_pacing_facts f = wanting_at(t0);
    assert_int_equal(fw_pacing_decide(&p, &f, &wake), FW_PACE_FRAME);
    fw_pacing_begun(&p, FW_PACE_FRAME, t0, false);
    // Idle for any while, at any phase of the old cadence: no tick is waited for.
    for (int64_t pause = 17 * ms; pause < 60 * ms; pause += ms / 3) {
        f = wanting_at(t0 + pause);
        assert_int_equal(fw_pacing_decide(&p, &f, &wake), FW_PACE_FRAME);
    }
}

static void input_waits_for_the_interval_and_no_longer(void **state)
{
    (void)state;
    struct fw_pacing p = pacing_at(50, 0);
    int64_t wake;
    fw_pacing_begun(&p, FW_PACE_FRAME, t0, false);
    struct fw_pacing_facts f = wanting_at(t0 + ms);
    assert_int_equal(fw_pacing_decide(&p, &f, &wake), FW_PACE_WAIT);
    assert_int_equal(wake, t0 + 20 * ms);
    f.now_ns = wake - 1;
    assert_int_equal(fw_pacing_decide(&p, &f, &wake), FW_PACE_WAIT);
    f.now_ns = t0 + 20 * ms;
    assert_int_equal(fw_pacing_decide(&p, &f, &wake), FW_PACE_FRAME);
    // Not animating: the next interval counts from this frame, so that two never come close.
    fw_pacing_begun(&p, FW_PACE_FRAME, t0 + 27 * ms, false);
    f.now_ns = t0 + 28 * ms;
    assert_int_equal(fw_pacing_decide(&p, &f, &wake), FW_PACE_WAIT);
    assert_int_equal(wake, t0 + 47 * ms);
}

// A timer that is always late, by up to 3 ms: 600 frames still take 600 intervals.
static void animation_does_not_drift(void **state)
{
    (void)state;
    struct fw_pacing p = pacing_at(60, 3);
    int64_t now = t0, wake;
    unsigned frames = 0, random = 1;
    while (frames < 600) {
        struct fw_pacing_facts f = wanting_at(now);
        f.animating = true;
        if (fw_pacing_decide(&p, &f, &wake) == FW_PACE_FRAME) {
            fw_pacing_begun(&p, FW_PACE_FRAME, now, true);
            frames++;
        } else {
            assert_true(wake > now && wake <= now + 17 * ms);
            random = random * 1103515245u + 12345u;
            now = wake + random % 3000000u;
        }
    }
    const int64_t ideal = 599 * (int64_t)FW_NS_PER_S / 60;
    assert_in_range(now - t0, ideal - ms, ideal + 4 * ms);
}

// Between two beats of a moving picture, at most once per interval, and the beats stay where they
// are.
static void a_press_does_not_wait_for_the_beat(void **state)
{
    (void)state;
    struct fw_pacing p = pacing_at(50, 0);
    int64_t wake;
    struct fw_pacing_facts f = wanting_at(t0);
    f.animating = true;
    fw_pacing_begun(&p, FW_PACE_FRAME, t0, true);
    f.now_ns = t0 + 7 * ms;
    assert_int_equal(fw_pacing_decide(&p, &f, &wake), FW_PACE_WAIT);
    assert_int_equal(wake, t0 + 20 * ms);
    f.pressed = true;
    assert_int_equal(fw_pacing_decide(&p, &f, &wake), FW_PACE_FRAME);
    fw_pacing_begun(&p, FW_PACE_FRAME, f.now_ns, true);
    f.now_ns = t0 + 9 * ms; // the next one is too soon: it waits for the beat
    assert_int_equal(fw_pacing_decide(&p, &f, &wake), FW_PACE_WAIT);
    assert_int_equal(wake, t0 + 20 * ms);
    f.now_ns = t0 + 20 * ms;
    assert_int_equal(fw_pacing_decide(&p, &f, &wake), FW_PACE_FRAME);
    fw_pacing_begun(&p, FW_PACE_FRAME, f.now_ns, true);
    f.now_ns = t0 + 25 * ms;
    assert_int_equal(fw_pacing_decide(&p, &f, &wake), FW_PACE_WAIT);
    assert_int_equal(wake, t0 + 27 * ms);
    // A press never gets past a path that can't take it.
    f.now_ns = t0 + 30 * ms;
    f.room = false;
    assert_int_equal(fw_pacing_decide(&p, &f, &wake), FW_PACE_WAIT);
    assert_int_equal(wake, INT64_MAX);
}

static void a_flood_of_presses_does_no_more_than_double_the_rate(void **state)
{
    (void)state;
    struct fw_pacing p = pacing_at(60, 0);
    unsigned frames = 0;
    for (int64_t now = t0; now < t0 + 1000 * ms; now += ms / 4) {
        struct fw_pacing_facts f = wanting_at(now);
        int64_t wake;
        f.animating = f.pressed = true;
        if (fw_pacing_decide(&p, &f, &wake) == FW_PACE_FRAME) {
            fw_pacing_begun(&p, FW_PACE_FRAME, now, true);
            frames++;
        }
    }
    assert_in_range(frames, 110, 122);
}

static void a_long_stall_is_not_caught_up(void **state)
{
    (void)state;
    struct fw_pacing p = pacing_at(100, 0);
    int64_t wake;
    fw_pacing_begun(&p, FW_PACE_FRAME, t0, true);
    struct fw_pacing_facts f = wanting_at(t0 + 95 * ms); // nine frames were missed
    f.animating = true;
    assert_int_equal(fw_pacing_decide(&p, &f, &wake), FW_PACE_FRAME);
    fw_pacing_begun(&p, FW_PACE_FRAME, f.now_ns, true);
    f.now_ns += ms;
    assert_int_equal(fw_pacing_decide(&p, &f, &wake), FW_PACE_WAIT);
    assert_int_equal(wake, t0 + 105 * ms);
}

static void without_room_nothing_starts_and_nothing_ticks(void **state)
{
    (void)state;
    struct fw_pacing p = pacing_at(60, 3);
    int64_t wake;
    struct fw_pacing_facts f = wanting_at(t0);
    f.room = false;
    assert_int_equal(fw_pacing_decide(&p, &f, &wake), FW_PACE_WAIT);
    assert_int_equal(wake, INT64_MAX);
    f = idle_at(t0);
    f.room = false;
    f.key_wanted = true;
    f.animating = true;
    f.source_next_ns = t0 + 5 * ms;
    assert_int_equal(fw_pacing_decide(&p, &f, &wake), FW_PACE_WAIT);
    assert_int_equal(wake, INT64_MAX);
}

static void the_sources_own_time_is_kept(void **state)
{
    (void)state;
    struct fw_pacing p = pacing_at(60, 0);
    int64_t wake;
    struct fw_pacing_facts f = idle_at(t0);
    f.source_next_ns = t0 + 300 * ms;
    assert_int_equal(fw_pacing_decide(&p, &f, &wake), FW_PACE_WAIT);
    assert_int_equal(wake, t0 + 300 * ms);
}

static void a_busy_encoder_puts_the_start_off(void **state)
{
    (void)state;
    struct fw_pacing p = pacing_at(240, 0);
    int64_t wake;
    fw_pacing_begun(&p, FW_PACE_FRAME, t0, true);
    fw_pacing_rendered(&p, 4 * ms);
    struct fw_pacing_facts f = wanting_at(t0 + 10 * ms);
    f.encoder_free_ns = t0 + 40 * ms;
    assert_int_equal(fw_pacing_decide(&p, &f, &wake), FW_PACE_WAIT);
    // Early enough to be done in time, late enough to show newer input.
    assert_in_range(wake, t0 + 30 * ms, t0 + 36 * ms);
    f.now_ns = wake;
    assert_int_equal(fw_pacing_decide(&p, &f, &wake), FW_PACE_FRAME);
    // Drawing is the slower part: never put off.
    fw_pacing_init(&p, &(struct fw_pacing_params){ .fps = 240 });
    fw_pacing_rendered(&p, 40 * ms);
    f.now_ns = t0 + 10 * ms;
    assert_int_equal(fw_pacing_decide(&p, &f, &wake), FW_PACE_FRAME);
}

static void a_key_frame_needs_no_change(void **state)
{
    (void)state;
    struct fw_pacing p = pacing_at(60, 0);
    int64_t wake;
    fw_pacing_begun(&p, FW_PACE_FRAME, t0, false);
    struct fw_pacing_facts f = idle_at(t0 + ms);
    f.key_wanted = true;
    assert_int_equal(fw_pacing_decide(&p, &f, &wake), FW_PACE_KEY);
    f.quiet = false; // the job under way may take it
    assert_int_equal(fw_pacing_decide(&p, &f, &wake), FW_PACE_WAIT);
    f.quiet = true;
    f.animating = true; // the next frame is near
    f.source_next_ns = t0 + 10 * ms;
    assert_int_equal(fw_pacing_decide(&p, &f, &wake), FW_PACE_WAIT);
    assert_int_equal(wake, t0 + 10 * ms);
    f.source_next_ns = t0 + 100 * ms; // or not
    assert_int_equal(fw_pacing_decide(&p, &f, &wake), FW_PACE_KEY);
    f.animating = false;
    f.source_next_ns = INT64_MAX;
    f.have_last = false;
    assert_int_equal(fw_pacing_decide(&p, &f, &wake), FW_PACE_WAIT);
    f.have_last = true;
    f.wants = true; // the frame that is due becomes the key frame, there is no second one
    assert_int_equal(fw_pacing_decide(&p, &f, &wake), FW_PACE_WAIT);
    f.now_ns = wake;
    assert_int_equal(fw_pacing_decide(&p, &f, &wake), FW_PACE_FRAME);
}

static void a_stalled_ring_is_left_alone_for_a_while(void **state)
{
    (void)state;
    struct fw_pacing p = pacing_at(60, 0);
    int64_t wake;
    fw_pacing_hold(&p, t0 + 100 * ms);
    fw_pacing_hold(&p, t0 + 50 * ms); // never shortens
    struct fw_pacing_facts f = wanting_at(t0);
    assert_int_equal(fw_pacing_decide(&p, &f, &wake), FW_PACE_WAIT);
    assert_int_equal(wake, t0 + 100 * ms);
    f = idle_at(t0);
    f.key_wanted = true;
    assert_int_equal(fw_pacing_decide(&p, &f, &wake), FW_PACE_WAIT);
    assert_int_equal(wake, t0 + 100 * ms);
    f.now_ns = wake;
    assert_int_equal(fw_pacing_decide(&p, &f, &wake), FW_PACE_KEY);
}

static void a_still_picture_is_refined_three_times(void **state)
{
    (void)state;
    struct fw_pacing p = pacing_at(60, 3);
    int64_t now = t0, wake;
    fw_pacing_begun(&p, FW_PACE_FRAME, now, false);
    unsigned refined = 0;
    int64_t first = 0;
    for (;;) {
        struct fw_pacing_facts f = idle_at(now);
        const enum fw_pacing_action action = fw_pacing_decide(&p, &f, &wake);
        if (action == FW_PACE_REFINE) {
            first = first ? first : now;
            fw_pacing_begun(&p, action, now, false);
            refined++;
        } else {
            assert_int_equal(action, FW_PACE_WAIT);
            if (wake == INT64_MAX) {
                break;
            }
            assert_true(wake > now);
            now = wake;
        }
        assert_true(refined <= 3);
    }
    assert_int_equal(refined, 3);
    assert_int_equal(first, t0 + 150 * ms);
    // New motion makes it worth while again.
    fw_pacing_begun(&p, FW_PACE_FRAME, now, false);
    struct fw_pacing_facts f = idle_at(now + 150 * ms);
    assert_int_equal(fw_pacing_decide(&p, &f, &wake), FW_PACE_REFINE);
    f.animating = true;
    assert_int_equal(fw_pacing_decide(&p, &f, &wake), FW_PACE_WAIT);
}

static unsigned refinements(bool starved, unsigned refine_frames)
{
    struct fw_pacing p = pacing_at(60, refine_frames);
    int64_t now = t0, wake = 0;
    unsigned n = 0;
    fw_pacing_begun(&p, FW_PACE_FRAME, now, false);
    while (wake != INT64_MAX && n < 1000) {
        struct fw_pacing_facts f = idle_at(now);
        f.starved = starved;
        if (fw_pacing_decide(&p, &f, &wake) == FW_PACE_REFINE) {
            fw_pacing_begun(&p, FW_PACE_REFINE, now, false);
            n++;
            wake = now;
        } else if (wake != INT64_MAX) {
            now = wake;
        }
    }
    return n;
}

static void a_starved_picture_is_refined_longer_but_not_for_ever(void **state)
{
    (void)state;
    assert_int_equal(refinements(false, 3), 3);
    assert_int_equal(refinements(true, 3), FW_PACE_REFINE_MAX);
    assert_int_equal(refinements(true, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(input_on_idle_starts_at_once),
        cmocka_unit_test(input_waits_for_the_interval_and_no_longer),
        cmocka_unit_test(animation_does_not_drift),
        cmocka_unit_test(a_press_does_not_wait_for_the_beat),
        cmocka_unit_test(a_flood_of_presses_does_no_more_than_double_the_rate),
        cmocka_unit_test(a_long_stall_is_not_caught_up),
        cmocka_unit_test(without_room_nothing_starts_and_nothing_ticks),
        cmocka_unit_test(the_sources_own_time_is_kept),
        cmocka_unit_test(a_busy_encoder_puts_the_start_off),
        cmocka_unit_test(a_key_frame_needs_no_change),
        cmocka_unit_test(a_stalled_ring_is_left_alone_for_a_while),
        cmocka_unit_test(a_still_picture_is_refined_three_times),
        cmocka_unit_test(a_starved_picture_is_refined_longer_but_not_for_ever),
    };
    return cmocka_run_group_tests_name("pacing", tests, NULL, NULL);
}
