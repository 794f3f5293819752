// SPDX-License-Identifier: MIT
// Host source → x264 → decoder: the frame id painted into each picture is the packet's.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/clock.h"
#include "loopback/picture.h"
#include "loopback/rig.h"

static const struct rig_params moving = { .no_device = true,
                                          .source = "null",
                                          .encoder = "x264",
                                          .width = 641,
                                          .height = 479,
                                          .bitrate_kbps = 20000,
                                          .window = 2 };

static void every_picture_decodes_to_its_id(void **state)
{
    (void)state;
    struct rig rig;
    struct fw_decoder *decoder = NULL;
    assert_int_equal(fw_decoder_create(&decoder), FW_OK);
    rig_run(&rig, &moving);
    assert_string_equal(rig.ready.encoder, "x264");
    for (int i = 0; i < 240; i++) {
        struct fw_packet *p = rig_packet(&rig, 3000);
        assert_non_null(p);
        assert_int_equal(p->key, i == 0);
        assert_int_equal(picture_id(decoder, p), p->frame_id);
        fw_packet_unref(&p);
    }
    rig_stop(&rig);
    fw_decoder_destroy(&decoder);
}

// Tiny pictures have id blocks of one pixel, which no video codec keeps: they need only decode.
static void check_picture(struct fw_decoder *decoder, const struct fw_packet *p)
{
    const uint64_t id = picture_id(decoder, p);
    if (p->width >= 160 && p->height >= 120) {
        assert_int_equal(id, p->frame_id);
    }
}

static void the_stream_survives_resizes_keys_and_rates(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 1366, 768 }, { 1512, 949 }, { 3839, 1080 },
                                    { 1007, 601 }, { 641, 479 },  { 16, 16 } };
    struct rig rig;
    struct fw_decoder *decoder = NULL;
    assert_int_equal(fw_decoder_create(&decoder), FW_OK);
    rig_run(&rig, &moving);
    struct fw_packet *p = rig_packet(&rig, 3000); // else the first picture has the new size
    assert_non_null(p);
    check_picture(decoder, p);
    fw_packet_unref(&p);
    unsigned keys = 1;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        rig_resize(&rig, sizes[i][0], sizes[i][1]);
        bool there = false;
        for (int n = 0; n < 20; n++) {
            p = rig_packet(&rig, 3000);
            assert_non_null(p);
            if (!there && p->width == sizes[i][0] && p->height == sizes[i][1]) {
                assert_true(p->key); // the first of a new size
                there = true;
                keys++;
            }
            check_picture(decoder, p);
            fw_packet_unref(&p);
        }
        assert_true(there);
        rig_keyframe(&rig);
        rig_rate(&rig, 20000 + 1000 * (int)i, 0);
        for (int n = 0; n < 10; n++) {
            p = rig_packet(&rig, 3000);
            assert_non_null(p);
            check_picture(decoder, p);
            fw_packet_unref(&p);
        }
        keys++;
        assert_int_equal(rig.keys, keys); // exactly those
    }
    rig_stop(&rig);
    fw_decoder_destroy(&decoder);
}

static void a_new_rate_is_obeyed_by_the_next_frames(void **state)
{
    (void)state;
    struct rig rig;
    struct rig_params params = moving;
    params.width = 1280;
    params.height = 720;
    params.bitrate_kbps = 8000;
    rig_run(&rig, &params);
    size_t before = 0, after = 0;
    for (int i = 0; i < 60; i++) {
        if (i == 30) {
            rig_rate(&rig, 800, 0);
        }
        struct fw_packet *p = rig_packet(&rig, 3000);
        assert_non_null(p);
        before += i >= 10 && i < 30 ? p->size : 0;
        after += i >= 40 ? p->size : 0;
        fw_packet_unref(&p);
    }
    assert_true(after < 20 * 800 * 1000 / 8 / 60 * 3 / 2);
    assert_true(before > after * 3 / 2);
    rig_stop(&rig);
}

static void refinement_makes_a_still_picture_better(void **state)
{
    (void)state;
    struct rig rig;
    struct fw_decoder *decoder = NULL;
    assert_int_equal(fw_decoder_create(&decoder), FW_OK);
    struct rig_params params = moving;
    params.width = 1280;
    params.height = 720;
    params.bitrate_kbps = 2000;
    params.key = "animate";
    params.value = "0";
    params.refine_frames = 3;
    rig_run(&rig, &params);
    double first = 0, last = 0;
    size_t bytes = 0;
    unsigned n = 0;
    for (struct fw_packet *p; (p = rig_packet(&rig, 700)); n++) {
        struct fw_frame *frame = picture_decode(decoder, p);
        last = picture_ramp_error(frame, 0);
        first = n == 0 ? last : first;
        bytes += p->size;
        fw_frame_unref(&frame);
        fw_packet_unref(&p);
    }
    print_message(
        "mean luma error of a still picture: %.2f, after %u refinements %.2f, %zu bytes\n", first,
        n - 1, last, bytes);
    // So few bits per frame that three are not enough: it goes on while each is used up.
    assert_in_range(n, 10, 30);
    assert_true(first < 4);
    assert_true(last < first / 2);
    assert_true(last < 1);
    rig_stop(&rig);
    fw_decoder_destroy(&decoder);
}

static void an_easy_picture_needs_few_refinements(void **state)
{
    (void)state;
    struct rig rig;
    struct rig_params params = moving;
    params.key = "animate";
    params.value = "0";
    params.refine_frames = 3;
    params.width = 320;
    params.height = 240;
    params.bitrate_kbps = 100000;
    rig_run(&rig, &params);
    assert_int_equal(rig_drain(&rig, 700), 4);
    rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_picture_decodes_to_its_id),
        cmocka_unit_test(the_stream_survives_resizes_keys_and_rates),
        cmocka_unit_test(a_new_rate_is_obeyed_by_the_next_frames),
        cmocka_unit_test(refinement_makes_a_still_picture_better),
        cmocka_unit_test(an_easy_picture_needs_few_refinements),
    };
    return cmocka_run_group_tests_name("loopback-x264", tests, NULL, NULL);
}
