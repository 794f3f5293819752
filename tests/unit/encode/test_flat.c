// SPDX-License-Identifier: MIT
// Memory stays flat over many frames and many re-opens.
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/encode/fixture.h"

enum { SLACK_KB = 4096 };

static long resident_kb(void)
{
    long pages = 0, resident = 0;
    malloc_trim(0);
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld %ld", &pages, &resident), 2);
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

// The sanitizers keep freed memory, so there the leak check at exit is what counts.
static void assert_flat(long before, long after)
{
#if defined(__SANITIZE_ADDRESS__)
    (void)before;
    (void)after;
#else
    if (after - before > SLACK_KB) {
        fail_msg("grew by %ld kB", after - before);
    }
#endif
}

static void encode_some(struct fw_encoder *encoder, struct fw_frame *frame, int count)
{
    for (int i = 0; i < count; i++) {
        struct fw_packet *packet = NULL;
        assert_int_equal(fw_encoder_encode(encoder, frame, i % 500 == 499, &packet), FW_OK);
        fw_packet_unref(&packet);
    }
}

static void test_frames(void **state)
{
    (void)state;
    struct fw_encoder *encoder = fixture_open("x264", 320, 180, 4000, NULL);
    struct fw_frame *frame = fixture_frame(320, 180, 0);
    encode_some(encoder, frame, 200);
    const long before = resident_kb();
    for (int i = 0; i < 20; i++) {
        fixture_draw(frame, i);
        encode_some(encoder, frame, 100);
    }
    assert_flat(before, resident_kb());
    assert_int_equal(atomic_load(&frame->ref.count), 1);
    fw_frame_unref(&frame);
    fw_encoder_close(&encoder);
}

static void test_reopens(void **state)
{
    (void)state;
    struct fw_encoder *encoder = fixture_open("x264", 320, 180, 4000, NULL);
    struct fw_frame *a = fixture_frame(320, 180, 0), *b = fixture_frame(426, 240, 0);
    long before = 0;
    for (int i = 0; i < 220; i++) {
        before = i == 20 ? resident_kb() : before;
        struct fw_frame *frame = i % 2 ? a : b;
        assert_int_equal(fw_encoder_resize(encoder, frame->coded_width, frame->coded_height),
                         FW_OK);
        encode_some(encoder, frame, 2);
    }
    assert_flat(before, resident_kb());
    fw_encoder_close(&encoder);
    // Whole encoders and decoders, too; some die without a frame.
    before = resident_kb();
    for (int i = 0; i < 60; i++) {
        encoder = fixture_open(i % 3 ? "x264" : "fault:frame:1", 320, 180, 4000, NULL);
        struct fw_decoder *decoder = NULL;
        assert_int_equal(fw_decoder_create(&decoder), FW_OK);
        encode_some(encoder, a, i % 3);
        fw_decoder_destroy(&decoder);
        fw_encoder_close(&encoder);
    }
    assert_flat(before, resident_kb());
    fw_frame_unref(&a);
    fw_frame_unref(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames),
        cmocka_unit_test(test_reopens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
