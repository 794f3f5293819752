// SPDX-License-Identifier: MIT
// A worker is lost, and the one after it shows the same picture. Skipped without a device.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/input-event-codes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "loopback/rig.h"

enum { WIDTH = 320, HEIGHT = 240, REST_MS = 400 };

// Pixels as they are: pictures can be held against one another.
static const struct rig_params scene = {
    .source = "scene",
    .encoder = "raw",
    .key = "orbit",
    .value = "0",
    .width = WIDTH,
    .height = HEIGHT,
    .window = 4,
};

static const struct rig_params card = {
    .source = "testcard",
    .encoder = "raw",
    .key = "animate",
    .value = "0",
    .width = WIDTH,
    .height = HEIGHT,
    .window = 4,
};

static void send_event(struct rig *rig, struct fw_input_event event)
{
    struct fw_link_input m = { .count = 1, .events[0] = event };
    m.events[0].rx_ns = fw_now_ns();
    assert_int_equal(
        fw_loopback_command(rig->transport, &m, FW_LINK_INPUT,
                            offsetof(struct fw_link_input, events) + sizeof(m.events[0])),
        FW_OK);
}

static void play(struct rig *rig)
{
    static const struct fw_input_event events[] = {
        { .id = 1, .kind = FW_INPUT_BUTTON, .state = 1, .x = 50, .y = 60 },
        { .id = 2, .kind = FW_INPUT_MOTION, .x = 110, .y = 90, .dx = 60, .dy = 30 },
        { .id = 3, .kind = FW_INPUT_BUTTON, .state = 0, .x = 110, .y = 90 },
        { .id = 4, .kind = FW_INPUT_WHEEL, .x = 110, .y = 90, .dy = -200 },
        { .id = 5, .kind = FW_INPUT_KEY, .code = KEY_G, .state = 1 },
        { .id = 6, .kind = FW_INPUT_KEY, .code = KEY_G, .state = 0 },
    };
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        send_event(rig, events[i]);
    }
}

// The picture once it rests; `*first` is the first one that came. The caller owns both.
static struct fw_packet *resting(struct rig *rig, struct fw_packet **first)
{
    struct fw_packet *last = rig_packet(rig, 20000);
    assert_non_null(last);
    *first = fw_packet_ref(last);
    for (struct fw_packet *p; (p = rig_packet(rig, REST_MS));) {
        fw_packet_unref(&last);
        last = p;
    }
    return last;
}

// Of all pixels, how far they are apart in the mean.
static double difference(const struct fw_packet *a, const struct fw_packet *b)
{
    double sum = 0;
    assert_int_equal(a->size, b->size);
    for (size_t i = 0; i < a->size; i++) {
        sum += abs(a->data[i] - b->data[i]);
    }
    return sum / (double)a->size;
}

static void goes_on(const struct rig_params *params)
{
    struct rig rig;
    struct fw_packet *first, *home, *before, *after;
    rig_run(&rig, params);
    home = resting(&rig, &first);
    fw_packet_unref(&first);
    play(&rig);
    before = resting(&rig, &first);
    fw_packet_unref(&first);
    const struct fw_link_blob view = rig.view; // as the front has it by now
    assert_in_range(view.size, 1, FW_LINK_MAX_VIEW);
    assert_in_range(rig.views, 1, 8); // not one for each frame
    rig_stop(&rig);

    struct rig_params again = *params;
    again.view = &view;
    rig_run(&rig, &again);
    after = resting(&rig, &first);
    rig_stop(&rig);
    const double moved = difference(home, before);
    print_message("moved %.3f, first %.3f, at rest %.3f\n", moved, difference(first, before),
                  difference(after, before));
    assert_true(moved > 0.8);
    // The scene's first picture is not yet smooth, the card's shows the number of the frame.
    assert_true(difference(first, before) < moved / 5);
    assert_true(difference(after, before) < moved / 8);
    fw_packet_unref(&home);
    fw_packet_unref(&before);
    fw_packet_unref(&first);
    fw_packet_unref(&after);
}

static void the_scene_goes_on(void **state)
{
    (void)state;
    goes_on(&scene);
}

static void the_test_card_goes_on(void **state)
{
    (void)state;
    goes_on(&card);
}

static void a_view_of_nobody_is_ignored(void **state)
{
    (void)state;
    struct rig rig;
    struct fw_link_blob view = { .size = FW_LINK_MAX_VIEW };
    memset(view.bytes, 0xa5, sizeof(view.bytes));
    struct rig_params params = card;
    params.view = &view;
    rig_run(&rig, &params);
    struct fw_packet *p = rig_packet(&rig, 20000);
    assert_non_null(p);
    fw_packet_unref(&p);
    rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_scene_goes_on),
        cmocka_unit_test(the_test_card_goes_on),
        cmocka_unit_test(a_view_of_nobody_is_ignored),
    };
    return cmocka_run_group_tests_name("loopback-view", tests, rig_needs_a_device, NULL);
}
