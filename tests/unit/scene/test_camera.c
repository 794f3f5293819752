// SPDX-License-Identifier: MIT
#include <linux/input-event-codes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "render/source/scene/camera.h"

enum { FRAME_NS = FW_NS_PER_S / 60 };
static const float low[3] = { -1, -1, -1 }, high[3] = { 1, 1, 1 };

static void button(struct fw_camera *c, uint16_t code, uint8_t state)
{
    fw_camera_input(
        c, &(struct fw_input_event){ .kind = FW_INPUT_BUTTON, .code = code, .state = state });
}

static void motion(struct fw_camera *c, float dx, float dy, uint8_t mods)
{
    fw_camera_input(
        c, &(struct fw_input_event){ .kind = FW_INPUT_MOTION, .dx = dx, .dy = dy, .mods = mods });
}

static void key(struct fw_camera *c, uint16_t code, uint8_t state)
{
    fw_camera_input(c,
                    &(struct fw_input_event){ .kind = FW_INPUT_KEY, .code = code, .state = state });
}

// Steps until nothing moves; fails when that takes more than `frames`.
static int64_t settle(struct fw_camera *c, int64_t now, int frames)
{
    for (int i = 0; fw_camera_wants_step(c); i++) {
        assert_true(i < frames);
        fw_camera_step(c, now += FRAME_NS);
    }
    return now;
}

static struct fw_camera still(void)
{
    struct fw_camera c;
    fw_camera_init(&c, low, high, 1280, 720);
    settle(&c, 0, 3);
    return c;
}

static void test_drag_orbits_at_once_and_rests(void **state)
{
    (void)state;
    struct fw_camera c = still();
    float yaw = c.shown.yaw;
    motion(&c, 50, 0, 0); // no button: nothing
    assert_false(fw_camera_wants_step(&c));
    button(&c, 0, 1);
    motion(&c, 50, 0, 0);
    assert_true(fw_camera_step(&c, FW_NS_PER_S));
    assert_true(c.shown.yaw < yaw - 0.1f);
    settle(&c, FW_NS_PER_S, 2);
    button(&c, 0, 0);
    motion(&c, 50, 0, 0);
    assert_false(fw_camera_wants_step(&c));
}

static void test_pan_by_shift_middle_right(void **state)
{
    (void)state;
    for (int way = 0; way < 3; way++) {
        struct fw_camera c = still();
        float yaw = c.shown.yaw;
        button(&c, (uint16_t)way, 1);
        motion(&c, 30, 20, way == 0 ? FW_MOD_SHIFT : 0);
        fw_camera_step(&c, FW_NS_PER_S);
        assert_float_equal(c.shown.yaw, yaw, 0);
        assert_true(c.shown.target[1] > 0.01f); // the picture follows the hand down
    }
}

static void test_wheel_zooms_and_ends(void **state)
{
    (void)state;
    struct fw_camera c = still();
    float before = c.shown.distance;
    fw_camera_input(&c, &(struct fw_input_event){ .kind = FW_INPUT_WHEEL, .dy = 120 });
    fw_camera_step(&c, 5 * (int64_t)FW_NS_PER_S);
    assert_true(c.shown.distance > before * 1.01f); // the first frame shows it
    settle(&c, 5 * (int64_t)FW_NS_PER_S, 60);
    assert_float_equal(c.shown.distance, before * expf(120 * 0.0015f), before * 1e-4f);
    for (int i = 0; i < 1000; i++)
        fw_camera_input(&c, &(struct fw_input_event){ .kind = FW_INPUT_WHEEL, .dy = -500 });
    settle(&c, 9 * (int64_t)FW_NS_PER_S, 120);
    assert_true(c.shown.distance > 0 && isfinite(c.shown.distance));
}

static void test_keys_hold_and_release(void **state)
{
    (void)state;
    struct fw_camera c = still();
    float yaw = c.shown.yaw;
    key(&c, KEY_RIGHT, 1);
    for (int i = 1; i <= 60; i++)
        assert_true(fw_camera_step(&c, i * (int64_t)FRAME_NS));
    assert_true(c.shown.yaw > yaw + 1);
    fw_camera_input(&c, &(struct fw_input_event){ .kind = FW_INPUT_RELEASE });
    settle(&c, 2 * (int64_t)FW_NS_PER_S, 60);
    key(&c, KEY_HOME, 1);
    settle(&c, 4 * (int64_t)FW_NS_PER_S, 120);
    assert_float_equal(remainderf(c.shown.yaw - yaw, 6.2831853f), 0, 1e-4f);
}

static void test_turntable_never_rests(void **state)
{
    (void)state;
    struct fw_camera c = still();
    key(&c, KEY_T, 1);
    key(&c, KEY_T, 0);
    for (int i = 0; i < 100; i++) {
        assert_true(fw_camera_wants_step(&c));
        assert_true(fw_camera_step(&c, i * (int64_t)FRAME_NS));
    }
    assert_true(c.turn > 0.3f);
    key(&c, KEY_T, 1);
    settle(&c, 4 * (int64_t)FW_NS_PER_S, 3);
}

static void touch(struct fw_camera *c, uint16_t slot, uint8_t what, float x, float y)
{
    fw_camera_input(c, &(struct fw_input_event){
                           .kind = FW_INPUT_TOUCH, .code = slot, .state = what, .x = x, .y = y });
}

static void test_touch(void **state)
{
    (void)state;
    struct fw_camera c = still();
    float yaw = c.shown.yaw, distance = c.shown.distance;
    touch(&c, 0, FW_TOUCH_DOWN, 100, 100);
    touch(&c, 0, FW_TOUCH_MOVE, 150, 100);
    assert_true(c.shown.yaw < yaw);
    yaw = c.shown.yaw;
    touch(&c, 1, FW_TOUCH_DOWN, 250, 100);
    touch(&c, 1, FW_TOUCH_MOVE, 350, 100); // twice as far apart: half the distance
    assert_float_equal(c.shown.distance, distance / 2, distance * 1e-3f);
    assert_float_equal(c.shown.yaw, yaw, 0);
    touch(&c, 99, FW_TOUCH_DOWN, 0, 0);
    touch(&c, 0, FW_TOUCH_MOVE, NAN, 0);
    assert_true(isfinite(c.shown.distance));
}

static void test_odd_boxes_and_sizes(void **state)
{
    (void)state;
    const float bad[3] = { NAN, INFINITY, 5 };
    struct fw_camera c;
    fw_camera_init(&c, bad, low, 16, 2160);
    mat4 view, projection;
    vec3 eye;
    fw_camera_matrices(&c, view, projection, eye);
    for (int i = 0; i < 16; i++)
        assert_true(isfinite(((float *)projection)[i]) && isfinite(((float *)view)[i]));
    fw_camera_resize(&c, 0, 0);
    fw_camera_resize(&c, 3840, 16);
    assert_true(isfinite(c.shown.distance) && c.shown.distance > 0);
}

static void test_a_saved_view_is_taken_up(void **state)
{
    (void)state;
    uint8_t saved[256], again[256];
    struct fw_camera c = still();
    button(&c, 0, 1);
    motion(&c, 200, -90, 0);
    motion(&c, 40, 10, FW_MOD_SHIFT);
    fw_camera_input(&c, &(struct fw_input_event){ .kind = FW_INPUT_WHEEL, .dy = -300 });
    key(&c, KEY_G, 1);
    const size_t size = fw_camera_save(&c, saved, sizeof(saved));
    assert_in_range(size, 1, sizeof(saved));
    assert_int_equal(fw_camera_save(&c, again, size - 1), 0); // no room
    settle(&c, 0, 200);

    struct fw_camera d = still();
    assert_true(fw_camera_restore(&d, saved, size));
    assert_true(fw_camera_wants_step(&d));
    settle(&d, 0, 3); // it is there at once
    assert_memory_equal(&d.shown, &c.shown, sizeof(c.shown));
    assert_true(d.grid && !d.turntable && d.buttons == 0);
    assert_int_equal(fw_camera_save(&d, again, sizeof(again)), size);
    assert_memory_equal(again, saved, size);

    // In a picture of another shape the model is as large as a resize would have left it.
    struct fw_camera tall;
    fw_camera_init(&tall, low, high, 400, 900);
    assert_true(fw_camera_restore(&tall, saved, size));
    fw_camera_resize(&c, 400, 900);
    assert_float_equal(tall.shown.distance, c.shown.distance, 1e-4f);

    // One that turns goes on from there.
    key(&d, KEY_T, 1);
    fw_camera_step(&d, FW_NS_PER_S);
    struct fw_camera e = still();
    assert_true(fw_camera_restore(&e, saved, fw_camera_save(&d, saved, sizeof(saved))));
    assert_true(e.turntable);
    assert_float_equal(e.turn, d.turn, 0);
}

static void test_absurd_views_are_ignored(void **state)
{
    (void)state;
    uint8_t good[256], bad[256];
    struct fw_camera c = still();
    const size_t size = fw_camera_save(&c, good, sizeof(good));
    assert_int_equal(size % sizeof(float), 0);
    const float wrong[] = { NAN, INFINITY, -INFINITY };
    for (size_t at = 4; at < size; at += sizeof(float)) {
        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
            memcpy(bad, good, size);
            memcpy(bad + at, &wrong[i], sizeof(wrong[i]));
            const struct fw_camera before = c;
            assert_false(fw_camera_restore(&c, bad, size));
            assert_memory_equal(&c, &before, sizeof(c));
        }
    }
    memcpy(bad, good, size);
    bad[0]++; // another version
    assert_false(fw_camera_restore(&c, bad, size));
    assert_false(fw_camera_restore(&c, good, size - 1));
    assert_false(fw_camera_restore(&c, good, size + 1));
    assert_false(fw_camera_restore(&c, good, 0));
    memset(bad, 0xff, sizeof(bad));
    assert_false(fw_camera_restore(&c, bad, size));
    // Far away is brought back to what a hand can reach.
    const float far[] = { 1e9f, 1e30f, -1e30f, 1e30f };
    memcpy(bad, good, size);
    memcpy(bad + 12, far, sizeof(far));
    assert_true(fw_camera_restore(&c, bad, size));
    assert_true(c.shown.distance <= c.radius * 40);
    assert_true(c.shown.target[1] >= -c.radius * 10.001f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drag_orbits_at_once_and_rests),
        cmocka_unit_test(test_pan_by_shift_middle_right),
        cmocka_unit_test(test_wheel_zooms_and_ends),
        cmocka_unit_test(test_keys_hold_and_release),
        cmocka_unit_test(test_turntable_never_rests),
        cmocka_unit_test(test_touch),
        cmocka_unit_test(test_odd_boxes_and_sizes),
        cmocka_unit_test(test_a_saved_view_is_taken_up),
        cmocka_unit_test(test_absurd_views_are_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
