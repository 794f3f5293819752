// SPDX-License-Identifier: MIT
// The test card on the Vulkan device that is there → x264 → decoder. Skipped without a device.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "loopback/picture.h"
#include "loopback/rig.h"
#include "render/source/testcard.h"

static const struct rig_params moving = {
    .source = "testcard",
    .encoder = "x264",
    .width = 640,
    .height = 360,
    .fps = 30,
    .bitrate_kbps = 20000,
    .window = 2,
};

// Luma in the middle of a patch.
static int patch_luma(const struct fw_frame *frame, enum fw_testcard_patch patch)
{
    const struct fw_testcard_rect r = fw_testcard_place(patch, frame->width, frame->height);
    const size_t y = (size_t)(r.y0 + r.y1) / 2, x = (size_t)(r.x0 + r.x1) / 2;
    return frame->plane[0].data[y * frame->plane[0].stride + x];
}

static void every_picture_decodes_to_its_id(void **state)
{
    (void)state;
    struct rig rig;
    struct fw_decoder *decoder = NULL;
    assert_int_equal(fw_decoder_create(&decoder), FW_OK);
    rig_run(&rig, &moving);
    assert_true(strlen(rig.warm.gpu) > 0);
    assert_string_equal(rig.ready.gpu, rig.warm.gpu);
    for (int i = 0; i < 120; i++) {
        struct fw_packet *p = rig_packet(&rig, 10000);
        assert_non_null(p);
        assert_int_equal(p->key, i == 0);
        struct fw_frame *frame = picture_decode(decoder, p);
        assert_int_equal(fw_testcard_read_id(frame->plane[0].data, (int)frame->plane[0].stride,
                                             p->width, p->height),
                         p->frame_id);
        // BT.709 limited: grey 128 is 126, white 235, black 16.
        assert_in_range(patch_luma(frame, FW_TESTCARD_GREY_128), 123, 129);
        assert_in_range(patch_luma(frame, FW_TESTCARD_GREY_255), 232, 238);
        assert_in_range(patch_luma(frame, FW_TESTCARD_GREY_0), 13, 19);
        fw_frame_unref(&frame);
        fw_packet_unref(&p);
    }
    rig_stop(&rig);
    assert_true(rig.beacons == 0 || rig.beacon.memory.bytes[FW_GPU_USE_TARGET] > 0);
    fw_decoder_destroy(&decoder);
}

static void input_moves_the_picture(void **state)
{
    (void)state;
    struct rig rig;
    struct fw_decoder *decoder = NULL;
    assert_int_equal(fw_decoder_create(&decoder), FW_OK);
    struct rig_params params = moving;
    params.key = "animate";
    params.value = "0";
    rig_run(&rig, &params);
    struct fw_packet *p = rig_packet(&rig, 10000);
    assert_non_null(p);
    struct fw_frame *frame = picture_decode(decoder, p);
    const int before = patch_luma(frame, FW_TESTCARD_CLICK);
    fw_frame_unref(&frame);
    fw_packet_unref(&p);
    assert_int_equal(rig_drain(&rig, 300), 0); // still: nothing is sent
    rig_input(&rig, 1);                        // a button goes down
    p = rig_packet(&rig, 5000);
    assert_non_null(p);
    assert_int_equal(p->input_id, 1);
    frame = picture_decode(decoder, p);
    assert_true(abs(patch_luma(frame, FW_TESTCARD_CLICK) - before) > 40);
    fw_frame_unref(&frame);
    fw_packet_unref(&p);
    rig_stop(&rig);
    fw_decoder_destroy(&decoder);
}

static void every_size_is_followed(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 1366, 768 }, { 1512, 949 }, { 3839, 1080 }, { 1007, 601 },
                                    { 641, 479 },  { 16, 16 },    { 640, 360 } };
    struct rig rig;
    struct fw_decoder *decoder = NULL;
    assert_int_equal(fw_decoder_create(&decoder), FW_OK);
    rig_run(&rig, &moving);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const int width = sizes[i][0], height = sizes[i][1];
        rig_resize(&rig, width, height);
        unsigned right = 0;
        for (int n = 0; n < 60 && right < 5; n++) {
            struct fw_packet *p = rig_packet(&rig, 20000);
            assert_non_null(p);
            const uint64_t id = picture_id(decoder, p);
            if (p->width == width && p->height == height) {
                assert_true(right > 0 || p->key || i == 0);
                if (width >= 160) {
                    assert_int_equal(id, p->frame_id);
                }
                right++;
            }
            fw_packet_unref(&p);
        }
        assert_int_equal(right, 5);
    }
    rig_stop(&rig);
    fw_decoder_destroy(&decoder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_picture_decodes_to_its_id),
        cmocka_unit_test(input_moves_the_picture),
        cmocka_unit_test(every_size_is_followed),
    };
    return cmocka_run_group_tests_name("loopback-testcard", tests, rig_needs_a_device, NULL);
}
