// SPDX-License-Identifier: MIT
// The front door: choice, messages, probe, test back ends, arguments.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "encode/encoder_impl.h"
#include "tests/unit/encode/fixture.h"

static enum fw_err open_named(const char *name, int width, int height, char *message, size_t size)
{
    struct fw_encoder *encoder = NULL;
    const struct fw_encoder_params params = { .name = name, .width = width, .height = height };
    message[0] = '\0';
    const enum fw_err err = fw_encoder_open(&encoder, &params, message, size);
    assert_int_equal(encoder == NULL, err != FW_OK);
    fw_encoder_close(&encoder);
    return err;
}

// "auto" gives a working encoder on any machine; a named one works or says why not.
static void test_choice(void **state)
{
    (void)state;
    char message[256];
    assert_int_equal(open_named("auto", 1280, 720, message, sizeof(message)), FW_OK);
    assert_int_equal(open_named(NULL, 1280, 720, message, sizeof(message)), FW_OK);
    static const char *const hardware[] = { "nvenc", "vaapi" };
    for (int i = 0; i < 2; i++) {
        char reason[FW_ENCODER_MESSAGE_SIZE] = "";
        const struct fw_encoder_backend *backend = fw_encoder_backend_find(hardware[i]);
        const bool present = backend->present(NULL, reason, sizeof(reason));
        const enum fw_err err = open_named(hardware[i], 1280, 720, message, sizeof(message));
        if (!present) {
            assert_int_equal(err, FW_ERR_UNSUPPORTED);
            assert_true(reason[0] != '\0');
            assert_non_null(strstr(message, hardware[i]));
            assert_non_null(strstr(message, reason));
        } else if (err) {
            assert_true(strlen(message) > strlen(hardware[i]) + 4);
        }
        assert_null(strchr(message, '\n'));
    }
    assert_int_equal(open_named("h265", 1280, 720, message, sizeof(message)), FW_ERR_NOT_FOUND);
    assert_string_equal(message, "no encoder \"h265\"; there are: nvenc vaapi x264");
    // A device that is not there is named.
    struct fw_encoder *encoder = NULL;
    const struct fw_encoder_params params = {
        .name = "vaapi", .width = 640, .height = 480, .device = "/dev/dri/no-such-node"
    };
    assert_int_equal(fw_encoder_open(&encoder, &params, message, sizeof(message)),
                     FW_ERR_UNSUPPORTED);
    assert_non_null(strstr(message, "/dev/dri/no-such-node"));
}

static void test_arguments(void **state)
{
    (void)state;
    static const struct fw_encoder_params bad[] = {
        { .name = "x264", .width = 0, .height = 720 },
        { .name = "x264", .width = 1280, .height = 0 },
        { .name = "x264", .width = 641, .height = 480 },
        { .name = "x264", .width = 14, .height = 16 },
        { .name = "x264", .width = 3842, .height = 1080 },
        { .name = "x264", .width = 1280, .height = 2162 },
        { .name = "x264", .width = -2, .height = -2 },
        { .name = "x264", .width = 640, .height = 480, .fps = 241 },
        { .name = "x264", .width = 640, .height = 480, .bitrate_kbps = 99 },
        { .name = "x264", .width = 640, .height = 480, .bitrate_kbps = 100001 },
        { .name = "x264", .width = 640, .height = 480, .threads = -1 },
    };
    char message[256];
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct fw_encoder *encoder = NULL;
        assert_int_equal(fw_encoder_open(&encoder, &bad[i], message, sizeof(message)),
                         FW_ERR_INVALID);
        assert_null(encoder);
        assert_non_null(strstr(message, "out of range"));
    }
    struct fw_encoder *none = NULL;
    fw_encoder_close(&none);
    fw_encoder_close(NULL);
}

static void test_wrong_frames(void **state)
{
    (void)state;
    struct fixture_log log;
    fixture_log_init(&log);
    struct fw_encoder *encoder = fixture_open("x264", 640, 480, 8000, &log.log);
    struct fw_frame *small = fixture_frame(638, 480, 0), *good = fixture_frame(640, 480, 0);
    struct fw_frame *rgba = fw_frame_alloc(640, 480, FW_PIXEL_RGBA8);
    struct fw_packet *packet = NULL;
    assert_int_equal(fw_encoder_encode(encoder, small, false, &packet), FW_ERR_INVALID);
    assert_int_equal(fw_encoder_encode(encoder, rgba, false, &packet), FW_ERR_INVALID);
    assert_null(packet);
    assert_int_equal(log.lines, 2);
    assert_non_null(strstr(log.last, "NV12"));
    assert_int_equal(fw_encoder_encode(encoder, good, false, &packet), FW_OK);
    assert_true(packet->key); // the refused ones used nothing up
    fw_packet_unref(&packet);
    fw_frame_unref(&small);
    fw_frame_unref(&good);
    fw_frame_unref(&rgba);
    fw_encoder_close(&encoder);
}

static void test_probe(void **state)
{
    (void)state;
    struct fw_encoder_probe probes[FW_ENCODER_PROBE_MAX];
    unsigned count = FW_ENCODER_PROBE_MAX;
    fw_encoder_probe_all(probes, &count, NULL);
    assert_int_equal(count, 3);
    assert_string_equal(probes[0].name, "nvenc");
    assert_string_equal(probes[1].name, "vaapi");
    assert_string_equal(probes[2].name, "x264");
    assert_true(probes[2].usable);
    assert_true(probes[2].ms_per_frame > 0.1);
    assert_non_null(strstr(probes[2].reason, "ms a frame"));
    for (int i = 0; i < 2; i++) {
        char reason[FW_ENCODER_MESSAGE_SIZE] = "";
        if (!fw_encoder_backend_find(probes[i].name)->present(NULL, reason, sizeof(reason))) {
            assert_false(probes[i].usable);
            assert_string_equal(probes[i].reason, reason);
        }
    }
    // From now on it is a look into the cache; the best of five, as the machine may be busy.
    int64_t best = INT64_MAX;
    for (int i = 0; i < 5; i++) {
        const int64_t begin = fw_now_ns();
        count = 1;
        fw_encoder_probe_all(probes, &count, NULL);
        assert_int_equal(count, 1);
        const int64_t took = fw_now_ns() - begin;
        best = took < best ? took : best;
    }
    assert_true(best < FW_NS_PER_MS);
}

// x264 with its planes mixed up, as a wrong pixel format would.
static enum fw_err encode_swapped(void *encoder, struct fw_frame *frame, bool key,
                                  struct fw_packet **packet, char *message, size_t size)
{
    struct fw_frame *swapped = fw_frame_alloc(frame->width, frame->height, FW_PIXEL_NV12);
    assert_non_null(swapped);
    for (int y = 0; y < frame->height; y++) {
        memcpy(swapped->plane[0].data + (size_t)y * swapped->plane[0].stride,
               frame->plane[0].data + (size_t)y * frame->plane[0].stride, (size_t)frame->width);
    }
    for (int y = 0; y < frame->height / 2; y++) {
        for (int x = 0; x < frame->width; x++) {
            swapped->plane[1].data[(size_t)y * swapped->plane[1].stride + (size_t)x] =
                frame->plane[1].data[(size_t)y * frame->plane[1].stride + (size_t)(x ^ 1)];
        }
    }
    const enum fw_err err = fw_encoder_x264.encode(encoder, swapped, key, packet, message, size);
    fw_frame_unref(&swapped);
    return err;
}

// A stream without a fault, of another picture.
static enum fw_err encode_black(void *encoder, struct fw_frame *frame, bool key,
                                struct fw_packet **packet, char *message, size_t size)
{
    struct fw_frame *black = fw_frame_alloc(frame->width, frame->height, FW_PIXEL_NV12);
    assert_non_null(black);
    for (int i = 0; i < 2; i++) {
        const int rows = i == 0 ? frame->height : frame->height / 2;
        memset(black->plane[i].data, i == 0 ? 16 : 128, black->plane[i].stride * (size_t)rows);
    }
    const enum fw_err err = fw_encoder_x264.encode(encoder, black, key, packet, message, size);
    fw_frame_unref(&black);
    return err;
}

static enum fw_err encode_all_keys(void *encoder, struct fw_frame *frame, bool key,
                                   struct fw_packet **packet, char *message, size_t size)
{
    (void)key;
    return fw_encoder_x264.encode(encoder, frame, true, packet, message, size);
}

// The probe believes pictures only.
static void test_probe_sees_through(void **state)
{
    (void)state;
    struct fw_encoder_probe probe;
    struct fw_encoder_backend fake = fw_encoder_x264;
    fw_encoder_probe_run(&fake, &probe);
    assert_true(probe.usable);
    fake.encode = encode_swapped;
    fw_encoder_probe_run(&fake, &probe);
    assert_false(probe.usable);
    assert_string_equal(probe.reason, "its picture is wrong");
    fake.encode = encode_black;
    fw_encoder_probe_run(&fake, &probe);
    assert_false(probe.usable);
    assert_string_equal(probe.reason, "its picture is wrong");
    fake.encode = encode_all_keys;
    fw_encoder_probe_run(&fake, &probe);
    assert_false(probe.usable);
    assert_non_null(strstr(probe.reason, "key frames"));
    fake = fw_encoder_null;
    fw_encoder_probe_run(&fake, &probe);
    assert_false(probe.usable);
    assert_non_null(strstr(probe.reason, "does not decode"));
}

static void test_summary(void **state)
{
    (void)state;
    const struct fw_encoder_probe probes[] = {
        { .name = "nvenc", .reason = "libcuda.so.1 is not installed" },
        { .name = "vaapi", .reason = "no /dev/dri/renderD*" },
        { .name = "x264", .usable = true, .reason = "4.0 ms a frame" },
    };
    char text[256];
    fw_encoder_probe_summary(probes, 3, text, sizeof(text));
    assert_string_equal(text, "x264 (nvenc: libcuda.so.1 is not installed; "
                              "vaapi: no /dev/dri/renderD*)");
    fw_encoder_probe_summary(probes + 2, 1, text, sizeof(text));
    assert_string_equal(text, "x264");
    fw_encoder_probe_summary(probes, 2, text, sizeof(text));
    assert_string_equal(text, "no encoder works (nvenc: libcuda.so.1 is not installed; "
                              "vaapi: no /dev/dri/renderD*)");
    fw_encoder_probe_summary(probes, 3, text, 20); // cut, but ended
    assert_int_equal(strlen(text), 19);
}

static void test_raw(void **state)
{
    (void)state;
    struct fw_encoder *encoder = fixture_open("raw", 34, 18, 8000, NULL);
    struct fw_frame *frame = fixture_frame(33, 17, 2);
    struct fw_packet *packet = NULL;
    assert_int_equal(fw_encoder_encode(encoder, frame, false, &packet), FW_OK);
    assert_int_equal(packet->size, 34 * 18 * 3 / 2);
    assert_string_equal(packet->codec, "raw.nv12");
    for (int y = 0; y < 18; y++) {
        assert_memory_equal(packet->data + y * 34,
                            frame->plane[0].data + (size_t)y * frame->plane[0].stride, 34);
    }
    assert_memory_equal(packet->data + 34 * 18, frame->plane[1].data, 34);
    fw_packet_unref(&packet);
    fw_frame_unref(&frame);
    // Too large for a packet: said, and no other encoder slips in.
    assert_int_not_equal(fw_encoder_resize(encoder, 3840, 2160), FW_OK);
    assert_string_equal(fw_encoder_name(encoder), "raw");
    frame = fixture_frame(3840, 2160, 0);
    assert_int_equal(fw_encoder_encode(encoder, frame, false, &packet), FW_ERR_CLOSED);
    fw_frame_unref(&frame);
    assert_int_equal(fw_encoder_resize(encoder, 64, 64), FW_OK); // and it comes back
    fw_encoder_close(&encoder);
    char message[256];
    assert_int_equal(open_named("raw", 3840, 2160, message, sizeof(message)), FW_ERR_TOO_LARGE);
}

static void test_null(void **state)
{
    (void)state;
    struct fw_encoder *encoder = fixture_open("null", 1280, 720, 8000, NULL);
    struct fw_frame *frame = fixture_frame(1280, 720, 0);
    for (int i = 0; i < 4; i++) {
        struct fw_packet *packet = NULL;
        frame->id = 0x1234;
        assert_int_equal(fw_encoder_encode(encoder, frame, i == 2, &packet), FW_OK);
        assert_int_equal(packet->size, 8);
        assert_memory_equal(packet->data, "fwnull\x34\x12", 8);
        assert_int_equal(packet->key, i == 0 || i == 2);
        fw_packet_unref(&packet);
    }
    assert_false(fw_encoder_is_hardware(encoder));
    fw_frame_unref(&frame);
    fw_encoder_close(&encoder);
}

static void test_rate_due(void **state)
{
    (void)state;
    const int64_t ms = FW_NS_PER_MS;
    assert_false(fw_encoder_rate_due(10000, 10000, 100000 * ms)); // nothing to change
    assert_false(fw_encoder_rate_due(10000, 9500, 100000 * ms));  // a trifle
    assert_false(fw_encoder_rate_due(10000, 5000, 100 * ms));
    assert_true(fw_encoder_rate_due(10000, 5000, 250 * ms));
    assert_false(fw_encoder_rate_due(10000, 20000, 1000 * ms));
    assert_true(fw_encoder_rate_due(10000, 20000, 2000 * ms));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_wrong_frames),
        cmocka_unit_test(test_probe),
        cmocka_unit_test(test_probe_sees_through),
        cmocka_unit_test(test_summary),
        cmocka_unit_test(test_raw),
        cmocka_unit_test(test_null),
        cmocka_unit_test(test_rate_due),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
