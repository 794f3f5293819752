// SPDX-License-Identifier: MIT
// The life of a session that needs no device: host source, null or raw encoder.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/clock.h"
#include "loopback/rig.h"

static const struct rig_params still = {
    .no_device = true, .source = "null", .encoder = "null", .key = "animate", .value = "0"
};
static const struct rig_params moving = { .no_device = true, .source = "null", .encoder = "null" };

// The shortest time that `frames` of them took, one after another.
static int64_t fastest_ms(const int64_t *times, int count, int frames)
{
    int64_t best = INT64_MAX;
    for (int i = frames; i < count; i++) {
        const int64_t took = times[i] - times[i - frames];
        best = took < best ? took : best;
    }
    return best / FW_NS_PER_MS;
}

static void hundreds_of_frames_in_order(void **state)
{
    (void)state;
    struct rig rig;
    rig_run(&rig, &moving);
    assert_string_equal(rig.ready.encoder, "null");
    assert_int_equal(rig.ready.width, 320);
    int64_t begun[300];
    for (int i = 0; i < 300; i++) {
        struct fw_packet *p = rig_packet(&rig, 2000);
        assert_non_null(p);
        assert_int_equal(p->key, i == 0);
        assert_true(p->animating);
        begun[i] = p->times.begun_ns;
        fw_packet_unref(&p);
    }
    // The cadence is the source's, 60 fps: never faster, slower only where the machine is busy.
    assert_true(begun[299] - begun[0] >= 4900 * (int64_t)FW_NS_PER_MS);
    assert_in_range(fastest_ms(begun, 300, 20), 20 * 1000 / 60 - 17, 20 * 1000 / 50);
    rig_stop(&rig);
    assert_true(rig.beacons >= 4);
    assert_true(rig.beacon.animating);
    assert_true(rig.beacon.frames > 200 && rig.beacon.cpu_ns > 0);
}

static void ids_go_on_where_the_last_worker_was(void **state)
{
    (void)state;
    struct rig rig;
    struct rig_params params = moving;
    params.first_frame_id = 1ull << 33;
    rig_run(&rig, &params);
    assert_true(rig_wait(&rig, &rig.packets, 10, 5000));
    assert_true(rig.last_id >= (1ull << 33) + 9);
    rig_stop(&rig);
}

static void credit_is_kept_to_the_packet(void **state)
{
    (void)state;
    struct rig rig;
    rig_start(&rig, &moving);
    rig_open(&rig);
    assert_int_equal(rig_drain(&rig, 200), 0); // no credit yet
    rig_credit(&rig, 5, false);
    assert_int_equal(rig_drain(&rig, 200), 0); // nobody looks
    rig_credit(&rig, 5, true);
    assert_int_equal(rig_drain(&rig, 300), 5);
    for (unsigned allowed = 6; allowed < 40; allowed++) {
        rig_credit(&rig, allowed, true);
        struct fw_packet *p = rig_packet(&rig, 1000);
        assert_non_null(p);
        fw_packet_unref(&p);
    }
    assert_int_equal(rig_drain(&rig, 200), 0);
    rig_credit(&rig, 3, true); // less than written: nothing, for good
    assert_int_equal(rig_drain(&rig, 200), 0);
    rig_stop(&rig);
    assert_int_equal(rig.beacon.skipped, 0);
}

static void a_hidden_page_costs_nothing(void **state)
{
    (void)state;
    struct rig rig;
    rig_run(&rig, &moving);
    assert_true(rig_wait(&rig, &rig.packets, 20, 5000));
    rig_credit(&rig, UINT64_MAX, false);
    rig_drain(&rig, 100); // what was under way
    const unsigned before = rig.packets;
    const int64_t begin = fw_now_ns();
    assert_int_equal(rig_drain(&rig, 500), 0);
    rig_credit(&rig, UINT64_MAX, true);
    struct fw_packet *p = rig_packet(&rig, 1000);
    assert_non_null(p);
    assert_int_equal(rig.packets, before + 1);
    assert_true(fw_now_ns() - begin < 1000 * (int64_t)FW_NS_PER_MS);
    fw_packet_unref(&p);
    rig_stop(&rig);
}

static void an_idle_picture_sends_nothing_but_the_beacon(void **state)
{
    (void)state;
    struct rig rig;
    rig_run(&rig, &still);
    assert_int_equal(rig_drain(&rig, 400), 1);
    assert_true(rig.beacon.current); // told well before the second is over
    const unsigned beacons = rig.beacons;
    const int64_t cpu = rig.beacon.cpu_ns;
    assert_int_equal(rig_drain(&rig, 3100), 0);
    assert_in_range(rig.beacons - beacons, 2, 4);
    // The whole process, the test included: far below a hundredth of a core.
    assert_true(rig.beacon.cpu_ns - cpu < 30 * (int64_t)FW_NS_PER_MS);
    assert_int_equal(rig.beacon.newest_frame, 1);
    rig_stop(&rig);
}

static void input_on_an_idle_picture_is_shown_at_once(void **state)
{
    (void)state;
    struct rig rig;
    int64_t best = INT64_MAX;
    rig_run(&rig, &still);
    rig_drain(&rig, 200);
    for (uint64_t id = 1; id <= 40; id++) {
        const int64_t begin = fw_now_ns();
        rig_input(&rig, id);
        struct fw_packet *p = rig_packet(&rig, 1000);
        assert_non_null(p);
        const int64_t took = fw_now_ns() - begin;
        best = took < best ? took : best;
        assert_int_equal(p->input_id, id);
        assert_true(p->times.input_rx_ns >= begin && p->times.change_ns == p->times.input_rx_ns);
        assert_true(p->times.delivered_ns >= p->times.input_rx_ns);
        assert_true(p->times.delivered_ns <= p->times.begun_ns);
        assert_false(p->key);
        assert_false(p->animating);
        fw_packet_unref(&p);
        assert_int_equal(rig_drain(&rig, 20 + (int)id % 7), 0); // one input, one picture
    }
    // Without a tick to wait for, the best of 40 is far below an interval (16.7 ms).
    assert_true(best < 5 * FW_NS_PER_MS);
    rig_stop(&rig);
}

static void a_burst_of_input_ends_with_the_newest(void **state)
{
    (void)state;
    struct rig rig;
    rig_run(&rig, &still);
    rig_drain(&rig, 100);
    for (uint64_t id = 1; id <= 50; id++) {
        rig_input(&rig, id);
    }
    uint64_t newest = 0;
    unsigned n = 0;
    for (struct fw_packet *p; (p = rig_packet(&rig, 300)); n++) {
        assert_true(p->input_id >= newest);
        newest = p->input_id;
        fw_packet_unref(&p);
    }
    assert_int_equal(newest, 50);
    assert_true(n <= 6); // merged, not one picture each
    rig_stop(&rig);
}

static void key_frames_come_when_asked_and_once(void **state)
{
    (void)state;
    struct rig rig;
    rig_run(&rig, &still);
    assert_int_equal(rig_drain(&rig, 200), 1);
    // Idle: the same picture again, as a key frame, under a new id.
    rig_keyframe(&rig);
    struct fw_packet *p = rig_packet(&rig, 500);
    assert_non_null(p);
    assert_true(p->key);
    assert_int_equal(p->frame_id, 2);
    fw_packet_unref(&p);
    assert_int_equal(rig_drain(&rig, 200), 0);
    // Without credit it waits; requests meanwhile are one.
    rig_credit(&rig, 2, true);
    for (int i = 0; i < 10; i++) {
        rig_keyframe(&rig);
    }
    assert_int_equal(rig_drain(&rig, 200), 0);
    rig_credit(&rig, UINT64_MAX, true);
    assert_int_equal(rig_drain(&rig, 200), 1);
    assert_int_equal(rig.keys, 3);
    // Together with input: one picture, and it is the key frame.
    rig_credit(&rig, 3, true);
    rig_keyframe(&rig);
    rig_input(&rig, 1);
    rig_drain(&rig, 50);
    rig_credit(&rig, UINT64_MAX, true);
    p = rig_packet(&rig, 500);
    assert_non_null(p);
    assert_true(p->key);
    assert_int_equal(p->input_id, 1);
    fw_packet_unref(&p);
    assert_int_equal(rig_drain(&rig, 200), 0);
    rig_stop(&rig);
}

static void key_frames_in_motion_come_once(void **state)
{
    (void)state;
    struct rig rig;
    rig_run(&rig, &moving);
    assert_true(rig_wait(&rig, &rig.packets, 10, 5000));
    for (unsigned i = 2; i < 12; i++) {
        rig_keyframe(&rig);
        assert_true(rig_wait(&rig, &rig.keys, i, 1000));
        assert_true(rig_wait(&rig, &rig.packets, rig.packets + 5, 1000));
        assert_int_equal(rig.keys, i);
    }
    rig_stop(&rig);
}

static void a_full_ring_drops_and_goes_on_with_a_key_frame(void **state)
{
    (void)state;
    struct rig rig;
    rig_start(&rig, &moving);
    fw_loopback_limit(rig.transport, 0);
    rig_credit(&rig, UINT64_MAX, true);
    rig_send_start(&rig);
    assert_true(rig_wait(&rig, &rig.beacons, 3, 5000));
    assert_int_equal(rig.packets, 0);
    // It tries again ten times a second, not in a busy loop.
    assert_in_range(rig.beacon.skipped, 10, 40);
    const uint64_t skipped = rig.beacon.skipped;
    rig.params.first_frame_id = 0;
    fw_loopback_limit(rig.transport, 8);
    struct fw_loopback_event event = { .packet = NULL };
    while (!event.packet) {
        assert_int_equal(fw_loopback_next(rig.transport, 1000, &event), FW_OK);
    }
    assert_true(event.packet->key);
    assert_true(event.packet->frame_id > skipped);
    for (int i = 0; i < FW_PACKET_SKIPPED; i++)
        assert_int_equal(event.packet->skipped[i], FW_REASON_RING_FULL);
    rig.last_id = event.packet->frame_id;
    rig.packets = 1;
    fw_packet_unref(&event.packet);
    assert_true(rig_wait(&rig, &rig.packets, 20, 5000));
    assert_int_equal(rig.keys, 0);
    rig_stop(&rig);
}

static void a_still_picture_is_refined_and_then_left_alone(void **state)
{
    (void)state;
    struct rig rig;
    struct rig_params params = still;
    params.refine_frames = 3;
    rig_run(&rig, &params);
    const int64_t begin = fw_now_ns();
    assert_int_equal(rig_drain(&rig, 600), 4);
    assert_int_equal(rig.keys, 1);
    rig_input(&rig, 1);
    struct fw_packet *p = rig_packet(&rig, 500);
    assert_non_null(p);
    fw_packet_unref(&p);
    p = rig_packet(&rig, 500);
    assert_non_null(p);
    assert_true(p->times.begun_ns - begin > 100 * (int64_t)FW_NS_PER_MS);
    assert_int_equal(p->input_id, 1); // it still shows that input
    fw_packet_unref(&p);
    assert_int_equal(rig_drain(&rig, 600), 2);
    rig_stop(&rig);
}

static void every_size_is_followed(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 1366, 768 }, { 1512, 949 }, { 3839, 1080 }, { 1007, 601 },
                                    { 641, 479 },  { 16, 16 },    { 17, 2160 },   { 3840, 16 } };
    struct rig rig;
    struct rig_params params = still;
    params.encoder = "raw";
    rig_run(&rig, &params);
    rig_drain(&rig, 100);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        rig_resize(&rig, sizes[i][0], sizes[i][1]);
        struct fw_packet *p = rig_packet(&rig, 3000);
        assert_non_null(p);
        assert_int_equal(p->width, sizes[i][0]);
        assert_int_equal(p->height, sizes[i][1]);
        assert_int_equal(p->size, (size_t)p->coded_width * (size_t)p->coded_height * 3 / 2);
        assert_true(p->key);
        fw_packet_unref(&p);
        assert_int_equal(rig_drain(&rig, 60), 0);
    }
    // The same size again is no news; a flood of sizes ends with the last.
    rig_resize(&rig, 3840, 16);
    assert_int_equal(rig_drain(&rig, 100), 0);
    for (int i = 0; i < 50; i++) {
        rig_resize(&rig, 200 + i, 200);
    }
    struct fw_packet *last = NULL, *p;
    unsigned n = 0;
    for (; (p = rig_packet(&rig, 200)); n++) {
        fw_packet_unref(&last);
        last = p;
    }
    assert_non_null(last);
    assert_int_equal(last->width, 249);
    assert_true(n < 10);
    fw_packet_unref(&last);
    rig_stop(&rig);
}

static void expect_failure(const struct rig_params *params, enum fw_err err, bool permanent)
{
    struct rig rig;
    rig_start(&rig, params);
    rig_send_start(&rig);
    assert_true(rig_wait(&rig, &rig.failures, 1, 5000));
    assert_int_equal(rig_join(&rig), err);
    assert_int_equal(rig.failed.err, err);
    assert_int_equal(rig.failed.permanent, permanent);
    assert_true(strlen(rig.failed.message) > 10);
    assert_int_equal(rig.readies, 0);
}

static void what_cannot_open_says_so(void **state)
{
    (void)state;
    struct rig_params params = still;
    params.source = "no-such-source";
    expect_failure(&params, FW_ERR_NOT_FOUND, true);
    params = still;
    params.value = "perhaps";
    expect_failure(&params, FW_ERR_INVALID, true);
    params = still;
    params.source = "testcard"; // needs a device, and there is none
    params.key = NULL;
    expect_failure(&params, FW_ERR_UNSUPPORTED, true);
}

static void a_hang_up_ends_it(void **state)
{
    (void)state;
    struct rig rig;
    rig_run(&rig, &moving);
    assert_true(rig_wait(&rig, &rig.packets, 5, 2000));
    const int64_t begin = fw_now_ns();
    fw_loopback_hang_up(rig.transport);
    assert_int_equal(rig_join(&rig), FW_OK);
    assert_true(fw_now_ns() - begin < FW_NS_PER_S);
    // And before a session ever began.
    rig_start(&rig, &moving);
    fw_loopback_hang_up(rig.transport);
    assert_int_equal(rig_join(&rig), FW_OK);
}

static void a_broken_command_is_refused(void **state)
{
    (void)state;
    struct rig rig;
    rig_run(&rig, &still);
    rig_resize(&rig, 0, 0);
    assert_true(rig_wait(&rig, &rig.failures, 1, 2000));
    assert_int_equal(rig_join(&rig), FW_ERR_FORMAT);
    assert_int_equal(rig.failed.permanent, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hundreds_of_frames_in_order),
        cmocka_unit_test(ids_go_on_where_the_last_worker_was),
        cmocka_unit_test(credit_is_kept_to_the_packet),
        cmocka_unit_test(a_hidden_page_costs_nothing),
        cmocka_unit_test(an_idle_picture_sends_nothing_but_the_beacon),
        cmocka_unit_test(input_on_an_idle_picture_is_shown_at_once),
        cmocka_unit_test(a_burst_of_input_ends_with_the_newest),
        cmocka_unit_test(key_frames_come_when_asked_and_once),
        cmocka_unit_test(key_frames_in_motion_come_once),
        cmocka_unit_test(a_full_ring_drops_and_goes_on_with_a_key_frame),
        cmocka_unit_test(a_still_picture_is_refined_and_then_left_alone),
        cmocka_unit_test(every_size_is_followed),
        cmocka_unit_test(what_cannot_open_says_so),
        cmocka_unit_test(a_hang_up_ends_it),
        cmocka_unit_test(a_broken_command_is_refused),
    };
    return cmocka_run_group_tests_name("loopback-null", tests, NULL, NULL);
}
