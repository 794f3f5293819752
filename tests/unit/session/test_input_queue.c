// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "session/input_queue.h"

static struct fw_input_event event(uint64_t id, uint8_t kind, uint8_t state, uint16_t code)
{
    return (struct fw_input_event){ .id = id,
                                    .rx_ns = (int64_t)id * 10,
                                    .kind = kind,
                                    .state = state,
                                    .code = code,
                                    .x = (float)id,
                                    .dx = 1 };
}

static void push(struct fw_input_queue *q, uint64_t id, uint8_t kind, uint8_t state, uint16_t code)
{
    const struct fw_input_event e = event(id, kind, state, code);
    fw_input_queue_push(q, &e);
}

static void test_motion_merges(void **state)
{
    (void)state;
    static struct fw_input_queue q;
    q.count = 0;
    for (uint64_t i = 1; i <= 1000; i++)
        push(&q, i, FW_INPUT_MOTION, 0, 0);
    assert_int_equal(q.count, 1);
    assert_int_equal(q.events[0].id, 1000);
    assert_int_equal(q.events[0].rx_ns, 10);
    assert_true(q.events[0].x == 1000 && q.events[0].dx == 1000);
    push(&q, 1001, FW_INPUT_BUTTON, 1, 0);
    push(&q, 1002, FW_INPUT_MOTION, 0, 0);
    push(&q, 1003, FW_INPUT_WHEEL, 0, 0);
    push(&q, 1004, FW_INPUT_WHEEL, 0, 0);
    push(&q, 1005, FW_INPUT_TOUCH, FW_TOUCH_MOVE, 1);
    push(&q, 1006, FW_INPUT_TOUCH, FW_TOUCH_MOVE, 2); // another finger
    assert_int_equal(q.count, 6);                     // order against the button is kept
    assert_int_equal(q.events[3].id, 1004);
}

static void test_other_mods_do_not_merge(void **state)
{
    (void)state;
    static struct fw_input_queue q;
    q.count = 0;
    struct fw_input_event e = event(1, FW_INPUT_MOTION, 0, 0);
    fw_input_queue_push(&q, &e);
    e.mods = FW_MOD_CTRL;
    fw_input_queue_push(&q, &e);
    assert_int_equal(q.count, 2);
}

// Full of keys and motion: motion goes, every key stays, in order.
static void test_keys_are_kept(void **state)
{
    (void)state;
    static struct fw_input_queue q;
    q.count = 0;
    uint64_t id = 0;
    for (int i = 0; i < FW_INPUT_QUEUE_MAX / 2; i++) {
        push(&q, ++id, FW_INPUT_KEY, i % 2 == 0, 30);
        push(&q, ++id, FW_INPUT_MOTION, 0, 0);
    }
    assert_int_equal(q.count, FW_INPUT_QUEUE_MAX);
    for (int i = 0; i < FW_INPUT_QUEUE_MAX / 2; i++)
        push(&q, ++id, FW_INPUT_KEY, i % 2 == 0, 31);
    assert_int_equal(q.count, FW_INPUT_QUEUE_MAX);
    for (unsigned i = 0; i < q.count; i++) {
        assert_int_equal(q.events[i].kind, FW_INPUT_KEY);
        assert_true(i == 0 || q.events[i].id > q.events[i - 1].id);
    }
    push(&q, ++id, FW_INPUT_KEY, 1, 32); // no room and nothing to spare: let go of everything
    assert_int_equal(q.count, 1);
    assert_int_equal(q.events[0].kind, FW_INPUT_RELEASE);
    assert_int_equal(q.events[0].id, id);
}

static void test_pop(void **state)
{
    (void)state;
    static struct fw_input_queue q;
    q.count = 0;
    for (uint64_t i = 1; i <= 100; i++)
        push(&q, i, FW_INPUT_KEY, i % 2, 30);
    fw_input_queue_pop(&q, 64);
    assert_int_equal(q.count, 36);
    assert_int_equal(q.events[0].id, 65);
    fw_input_queue_pop(&q, 36);
    assert_int_equal(q.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_motion_merges),
        cmocka_unit_test(test_other_mods_do_not_merge),
        cmocka_unit_test(test_keys_are_kept),
        cmocka_unit_test(test_pop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
