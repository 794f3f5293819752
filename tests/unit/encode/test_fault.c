// SPDX-License-Identifier: MIT
// Encoders that break: the stream goes on with the next one, from an IDR, and the log says so.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "tests/unit/encode/fixture.h"

struct stream {
    struct fw_encoder *encoder;
    struct fw_decoder *decoder;
    struct fixture_log log;
    int step;
    size_t last_size;
    double min_psnr; // of a decoded picture; broken ones lie far below
};

static void begin(struct stream *s, const char *name)
{
    *s = (struct stream){ .min_psnr = 15 };
    fixture_log_init(&s->log);
    s->encoder = fixture_open(name, 320, 180, 4000, &s->log.log);
    assert_int_equal(fw_decoder_create(&s->decoder), FW_OK);
}

static void end(struct stream *s)
{
    fw_encoder_close(&s->encoder);
    fw_decoder_destroy(&s->decoder);
}

// Encodes the next frame, decodes it, and compares. Returns whether it was a key frame.
static bool next(struct stream *s, int width, int height, bool key)
{
    struct fw_frame *frame = fixture_frame(width, height, s->step++), *decoded = NULL;
    struct fw_packet *packet = NULL;
    assert_int_equal(fw_encoder_encode(s->encoder, frame, key, &packet), FW_OK);
    assert_int_equal(packet->frame_id, frame->id);
    assert_int_equal(fw_decoder_decode(s->decoder, packet->data, packet->size, &decoded), FW_OK);
    assert_true(fixture_psnr(frame, decoded) > s->min_psnr);
    const bool is_key = packet->key;
    assert_int_equal(packet->codec[0] != '\0', is_key);
    s->last_size = packet->size;
    fw_frame_unref(&decoded);
    fw_packet_unref(&packet);
    fw_frame_unref(&frame);
    return is_key;
}

static void check_breaks_at_20(const char *name, const char *reason)
{
    struct stream s;
    begin(&s, name);
    assert_string_equal(fw_encoder_name(s.encoder), "fault");
    for (int i = 1; i <= 40; i++) {
        assert_int_equal(next(&s, 320, 180, i == 30), i == 1 || i == 20 || i == 30);
        assert_string_equal(fw_encoder_name(s.encoder), i < 20 ? "fault" : "x264");
        assert_int_equal(s.log.lines, i < 20 ? 0 : 1);
    }
    assert_non_null(strstr(s.log.last, "fault failed at frame 19"));
    assert_non_null(strstr(s.log.last, reason));
    assert_non_null(strstr(s.log.last, "x264 goes on"));
    // What broke in mid-stream is not tried again.
    assert_int_equal(fw_encoder_resize(s.encoder, 640, 480), FW_OK);
    assert_string_equal(fw_encoder_name(s.encoder), "x264");
    assert_true(next(&s, 640, 480, false));
    end(&s);
}

static void test_frame_fails(void **state)
{
    (void)state;
    check_breaks_at_20("fault:frame:20", "frame 20 fails on demand");
}

static void test_frame_is_held_back(void **state)
{
    (void)state;
    check_breaks_at_20("fault:delay:20", "held back");
}

static void test_key_is_ignored(void **state)
{
    (void)state;
    struct stream s;
    begin(&s, "fault:nokey");
    assert_true(next(&s, 320, 180, false));
    assert_false(next(&s, 320, 180, false));
    assert_true(next(&s, 320, 180, true)); // asked for, so delivered: by another
    assert_string_equal(fw_encoder_name(s.encoder), "x264");
    assert_non_null(strstr(s.log.last, "ignored a key frame"));
    assert_false(next(&s, 320, 180, false));
    end(&s);
}

static void test_key_frames_only(void **state)
{
    (void)state;
    struct stream s;
    begin(&s, "fault:allkeys");
    for (int i = 0; i < 9; i++) {
        assert_true(next(&s, 320, 180, false));
    }
    assert_string_equal(fw_encoder_name(s.encoder), "fault");
    assert_true(next(&s, 320, 180, false)); // the ninth in a row that nobody asked for
    assert_string_equal(fw_encoder_name(s.encoder), "x264");
    assert_non_null(strstr(s.log.last, "key frames only"));
    assert_false(next(&s, 320, 180, false));
    end(&s);
}

static void test_environment(void **state)
{
    (void)state;
    assert_int_equal(setenv("FW_FAULT_ENCODER", "open:2,frame:5", 1), 0);
    struct stream s;
    begin(&s, "fault");
    for (int i = 1; i <= 8; i++) {
        assert_int_equal(next(&s, 320, 180, false), i == 1 || i == 5);
    }
    assert_string_equal(fw_encoder_name(s.encoder), "x264");
    end(&s);
    assert_int_equal(setenv("FW_FAULT_ENCODER", "explode", 1), 0);
    struct fw_encoder *encoder = NULL;
    char message[256];
    const struct fw_encoder_params params = { .name = "fault", .width = 320, .height = 180 };
    assert_int_equal(fw_encoder_open(&encoder, &params, message, sizeof(message)), FW_ERR_INVALID);
    assert_non_null(strstr(message, "explode"));
    unsetenv("FW_FAULT_ENCODER");
}

static void test_first_open_fails(void **state)
{
    (void)state;
    struct fw_encoder *encoder = NULL;
    char message[256];
    const struct fw_encoder_params params = { .name = "fault:open:1", .width = 320, .height = 180 };
    assert_int_equal(fw_encoder_open(&encoder, &params, message, sizeof(message)),
                     FW_ERR_UNSUPPORTED);
    assert_null(encoder);
    assert_string_equal(message, "fault: open 1 fails on demand");
}

// Field case: the open after a resize fails, and the session must not notice.
static void test_resize_falls_back(void **state)
{
    (void)state;
    static const int sizes[][2] = { { 1366, 768 }, { 16, 16 },   { 642, 480 },  { 1512, 950 },
                                    { 320, 180 },  { 640, 360 }, { 3840, 1080 } };
    struct stream s;
    begin(&s, "fault:open:2");
    assert_true(next(&s, 320, 180, false));
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        assert_int_equal(fw_encoder_resize(s.encoder, sizes[i][0], sizes[i][1]), FW_OK);
        // Only the second open is refused: the chosen encoder comes back with the next size.
        assert_string_equal(fw_encoder_name(s.encoder), i == 0 ? "x264" : "fault");
        assert_true(next(&s, sizes[i][0], sizes[i][1], false));
        assert_false(next(&s, sizes[i][0], sizes[i][1], false));
    }
    assert_int_equal(s.log.lines, 1);
    assert_non_null(strstr(s.log.last, "open 2 fails on demand"));
    // Sizes that make no sense change nothing.
    static const int absurd[][2] = { { 0, 0 }, { 0, 720 }, { 1, 0 }, { 641, 480 }, { 9000, 16 } };
    for (size_t i = 0; i < sizeof(absurd) / sizeof(absurd[0]); i++) {
        assert_int_equal(fw_encoder_resize(s.encoder, absurd[i][0], absurd[i][1]), FW_ERR_INVALID);
    }
    assert_false(next(&s, 3840, 1080, false));
    // The same size again is a key frame, not a new encoder.
    assert_int_equal(fw_encoder_resize(s.encoder, 3840, 1080), FW_OK);
    assert_true(next(&s, 3840, 1080, false));
    assert_false(next(&s, 3840, 1080, false));
    end(&s);
}

// A back end that can't change its rate while open is opened again, with an IDR, but not for every
// wish of the rate control.
static void test_rate_by_reopening(void **state)
{
    (void)state;
    struct stream s;
    begin(&s, "fault:norate");
    s.min_psnr = 9; // starved on purpose
    assert_int_equal(fw_encoder_set_rate(s.encoder, 2000, 0), FW_OK);
    assert_true(next(&s, 320, 180, false)); // free: an IDR was due anyway
    for (int i = 0; i < 10; i++) {
        assert_false(next(&s, 320, 180, false));
    }
    assert_in_range(s.last_size, 1, 2000 * 125 / 60 * 12 / 10);
    int keys = 0;
    const int64_t start = fw_now_ns();
    int kbps = 1000;
    while (fw_now_ns() - start < 600 * (int64_t)FW_NS_PER_MS) {
        assert_int_equal(fw_encoder_set_rate(s.encoder, kbps, 0), FW_OK);
        kbps = kbps > 300 ? kbps * 95 / 100 : 300;
        keys += next(&s, 320, 180, false);
    }
    assert_in_range(keys, 1, 3);
    assert_string_equal(fw_encoder_name(s.encoder), "fault");
    assert_int_equal(s.log.lines, 0);
    assert_int_equal(fw_encoder_set_rate(s.encoder, 300, 0), FW_OK);
    assert_true(next(&s, 320, 180, true)); // an IDR brings the rate with it
    for (int i = 0; i < 4; i++) {
        next(&s, 320, 180, false);
    }
    assert_in_range(s.last_size, 1, 300 * 125 / 60 * 15 / 10);
    end(&s);
}

static void test_hang(void **state)
{
    (void)state;
    struct stream s;
    begin(&s, "fault:hang:2:150");
    next(&s, 320, 180, false);
    const int64_t start = fw_now_ns();
    next(&s, 320, 180, false);
    assert_true(fw_now_ns() - start >= 150 * (int64_t)FW_NS_PER_MS);
    assert_string_equal(fw_encoder_name(s.encoder), "fault");
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frame_fails),
        cmocka_unit_test(test_frame_is_held_back),
        cmocka_unit_test(test_key_is_ignored),
        cmocka_unit_test(test_key_frames_only),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_first_open_fails),
        cmocka_unit_test(test_resize_falls_back),
        cmocka_unit_test(test_rate_by_reopening),
        cmocka_unit_test(test_hang),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
