// SPDX-License-Identifier: MIT
// The software stream, frame by frame: right pictures, right headers, no delay, obeyed rates.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "encode/h264_stream.h"
#include "tests/unit/encode/fixture.h"

static struct fw_packet *encode(struct fw_encoder *encoder, struct fw_frame *frame, bool key)
{
    struct fw_packet *packet = NULL;
    assert_int_equal(fw_encoder_encode(encoder, frame, key, &packet), FW_OK);
    assert_non_null(packet);
    return packet;
}

static void assert_sps(const struct fw_packet *packet, int width, int height)
{
    struct fw_h264_nal nals[FW_H264_MAX_NALS];
    unsigned count = FW_H264_MAX_NALS;
    struct fw_h264_sps sps;
    assert_int_equal(fw_h264_split(packet->data, packet->size, nals, &count), FW_OK);
    assert_int_equal(nals[0].data[0] & 0x1f, FW_H264_NAL_SPS);
    assert_int_equal(fw_h264_sps_parse(&sps, nals[0].data, nals[0].size), FW_OK);
    int w, h;
    fw_h264_sps_size(&sps, &w, &h);
    assert_int_equal(w, width);
    assert_int_equal(h, height);
    assert_true(sps.vui_present && sps.vui.restriction_present);
    assert_int_equal(sps.vui.max_num_reorder_frames, 0);
    assert_int_equal(sps.vui.max_dec_frame_buffering, 1);
    assert_true(sps.vui.signal_present && sps.vui.colour_present && !sps.vui.full_range);
    assert_int_equal(sps.vui.primaries, 1);
    assert_int_equal(sps.vui.transfer, 1);
    assert_int_equal(sps.vui.matrix, 1);
    assert_int_equal(sps.max_num_ref_frames, 1);
    assert_int_equal(sps.level_idc, fw_h264_level(width, height, 60, 40000));
    char codec[FW_CODEC_STRING_SIZE];
    snprintf(codec, sizeof(codec), "avc1.%02x%02x%02x", nals[0].data[1], nals[0].data[2],
             nals[0].data[3]);
    assert_string_equal(packet->codec, codec);
}

static void check_size(int width, int height)
{
    struct fw_encoder *encoder = fixture_open("x264", width, height, 40000, NULL);
    struct fw_decoder *decoder = NULL;
    assert_int_equal(fw_decoder_create(&decoder), FW_OK);
    const int frames = 6;
    for (int i = 0; i < frames; i++) {
        struct fw_frame *frame = fixture_frame(width, height, i), *decoded = NULL;
        struct fw_packet *packet = encode(encoder, frame, false);
        char order[32];
        fixture_nal_order(packet, order, sizeof(order));
        assert_string_equal(order, i == 0 ? "7 8 5" : "1");
        assert_int_equal(packet->key, i == 0);
        assert_int_equal(packet->frame_id, frame->id);
        assert_int_equal(packet->coded_width, width);
        if (i == 0) {
            assert_sps(packet, width, height);
        }
        // The picture is out after its own access unit: nothing waits for the next.
        assert_int_equal(fw_decoder_decode(decoder, packet->data, packet->size, &decoded), FW_OK);
        const double psnr = fixture_psnr(frame, decoded);
        if (i == frames - 1 && psnr < 30) {
            fail_msg("%dx%d: %.1f dB", width, height, psnr);
        }
        fw_frame_unref(&decoded);
        fw_frame_unref(&frame);
        fw_packet_unref(&packet);
    }
    fw_decoder_destroy(&decoder);
    fw_encoder_close(&encoder);
}

static void test_sizes(void **state)
{
    (void)state;
    static const int sizes[][2] = {
        { 16, 16 },     { 18, 16 },    { 16, 128 },   { 34, 50 },     { 142, 48 },
        { 642, 480 },   { 1008, 602 }, { 1280, 720 }, { 1366, 768 },  { 1512, 950 },
        { 3840, 1080 }, { 3840, 16 },  { 16, 2160 },  { 3840, 2160 },
    };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        check_size(sizes[i][0], sizes[i][1]);
    }
}

static void test_odd_true_size(void **state)
{
    (void)state;
    struct fw_encoder *encoder = fixture_open("x264", 642, 480, 8000, NULL);
    struct fw_frame *frame = fixture_frame(641, 479, 0);
    frame->id = 77;
    frame->input_id = 5;
    frame->animating = true;
    frame->times.begun_ns = 11;
    struct fw_packet *packet = encode(encoder, frame, false);
    assert_int_equal(packet->width, 641);
    assert_int_equal(packet->height, 479);
    assert_int_equal(packet->coded_width, 642);
    assert_int_equal(packet->coded_height, 480);
    assert_int_equal(packet->frame_id, 77);
    assert_int_equal(packet->input_id, 5);
    assert_true(packet->animating);
    assert_int_equal(packet->times.begun_ns, 11);
    assert_true(packet->times.enc_begin_ns > 0);
    assert_true(packet->times.enc_end_ns >= packet->times.enc_begin_ns);
    fw_packet_unref(&packet);
    // The encoder keeps no hold on the frame: its slot is free at once.
    assert_int_equal(atomic_load(&frame->ref.count), 1);
    fw_frame_unref(&frame);
    fw_encoder_close(&encoder);
}

static void test_one_idr_per_request(void **state)
{
    (void)state;
    struct fw_encoder *encoder = fixture_open("x264", 320, 180, 4000, NULL);
    struct fw_frame *frame = fixture_frame(320, 180, 0);
    int keys = 0;
    for (int i = 0; i < 200; i++) {
        // A cut to another picture in between tempts an encoder to add a key frame of its own.
        fixture_draw(frame, i < 60 ? i : i * 37);
        struct fw_packet *packet = encode(encoder, frame, i == 100 || i == 150 || i == 151);
        const bool expected = i == 0 || i == 100 || i == 150 || i == 151;
        assert_int_equal(packet->key, expected);
        char order[32];
        fixture_nal_order(packet, order, sizeof(order));
        assert_string_equal(order, expected ? "7 8 5" : "1");
        keys += packet->key;
        fw_packet_unref(&packet);
    }
    assert_int_equal(keys, 4);
    fw_frame_unref(&frame);
    fw_encoder_close(&encoder);
}

static size_t next_size(struct fw_encoder *encoder, struct fw_frame *frame, int *step, bool key)
{
    fixture_draw(frame, ++*step * 29);
    struct fw_packet *packet = encode(encoder, frame, key);
    const size_t size = packet->size;
    assert_int_equal(packet->key, key || *step == 1);
    fw_packet_unref(&packet);
    return size;
}

static void test_rate_is_obeyed_at_once(void **state)
{
    (void)state;
    struct fw_encoder *encoder = fixture_open("x264", 1280, 720, 8000, NULL);
    struct fw_frame *frame = fixture_frame(1280, 720, 0);
    int step = 0;
    const size_t full = 8000 * 125 / 60;
    for (int i = 0; i < 12; i++) {
        const size_t size = next_size(encoder, frame, &step, false);
        assert_in_range(size, i < 4 ? 1 : full / 3, full * 11 / 10);
    }
    // A tenth of the rate: the very next frame fits.
    assert_int_equal(fw_encoder_set_rate(encoder, 800, 0), FW_OK);
    size_t small = 0;
    for (int i = 0; i < 6; i++) {
        small = next_size(encoder, frame, &step, false);
        assert_in_range(small, 1, full / 10 * 14 / 10);
    }
    // The same by a budget for the frame alone.
    assert_int_equal(fw_encoder_set_rate(encoder, 8000, 0), FW_OK);
    next_size(encoder, frame, &step, false);
    assert_in_range(next_size(encoder, frame, &step, false), small * 2, full * 11 / 10);
    assert_int_equal(fw_encoder_set_rate(encoder, 8000, 3000), FW_OK);
    assert_in_range(next_size(encoder, frame, &step, false), 1, 3900);
    // An IDR may take a tenth of a second of the rate, and what follows it fits again at once.
    assert_in_range(next_size(encoder, frame, &step, true), 3900, 6 * 3900);
    assert_in_range(next_size(encoder, frame, &step, false), 1, 3900);
    // Absurd wishes are bounded, not obeyed.
    assert_int_equal(fw_encoder_set_rate(encoder, 1, 1), FW_OK);
    next_size(encoder, frame, &step, false);
    assert_int_equal(fw_encoder_set_rate(encoder, 2000000000, 2000000000), FW_OK);
    next_size(encoder, frame, &step, false);
    assert_int_equal(fw_encoder_set_rate(encoder, 0, 0), FW_ERR_INVALID);
    assert_int_equal(fw_encoder_set_rate(encoder, 8000, -1), FW_ERR_INVALID);
    fw_frame_unref(&frame);
    fw_encoder_close(&encoder);
}

static void test_still_picture_costs_nothing(void **state)
{
    (void)state;
    struct fw_encoder *encoder = fixture_open("x264", 640, 480, 8000, NULL);
    struct fw_frame *frame = fixture_frame(640, 480, 3);
    size_t size = 0;
    for (int i = 0; i < 60; i++) {
        struct fw_packet *packet = encode(encoder, frame, false);
        size = packet->size;
        fw_packet_unref(&packet);
    }
    assert_in_range(size, 1, 1000);
    fw_frame_unref(&frame);
    fw_encoder_close(&encoder);
}

static void test_slice_threads(void **state)
{
    (void)state;
    struct fw_encoder *encoder = NULL;
    const struct fw_encoder_params params = {
        .name = "x264", .width = 640, .height = 480, .threads = 2
    };
    assert_int_equal(fw_encoder_open(&encoder, &params, NULL, 0), FW_OK);
    struct fw_decoder *decoder = NULL;
    assert_int_equal(fw_decoder_create(&decoder), FW_OK);
    for (int i = 0; i < 10; i++) {
        struct fw_frame *frame = fixture_frame(640, 480, i), *decoded = NULL;
        struct fw_packet *packet = encode(encoder, frame, false);
        assert_int_equal(fw_decoder_decode(decoder, packet->data, packet->size, &decoded), FW_OK);
        fw_frame_unref(&decoded);
        fw_frame_unref(&frame);
        fw_packet_unref(&packet);
    }
    fw_decoder_destroy(&decoder);
    fw_encoder_close(&encoder);
}

// What ffmpeg's own parser says of our stream, where its program is installed.
static void test_trace_headers(void **state)
{
    (void)state;
    if (system("ffmpeg -version >/dev/null 2>&1") != 0) {
        skip();
    }
    char path[] = P_tmpdir "/fw-encode-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    struct fw_encoder *encoder = fixture_open("x264", 1366, 768, 8000, NULL);
    for (int i = 0; i < 30; i++) {
        struct fw_frame *frame = fixture_frame(1366, 768, i);
        struct fw_packet *packet = encode(encoder, frame, i == 20);
        assert_int_equal(write(fd, packet->data, packet->size), packet->size);
        fw_packet_unref(&packet);
        fw_frame_unref(&frame);
    }
    fw_encoder_close(&encoder);
    close(fd);
    char command[256], line[512];
    snprintf(command, sizeof(command),
             "ffmpeg -nostdin -f h264 -i %s -c copy -bsf:v trace_headers -f null - 2>&1", path);
    FILE *trace = popen(command, "r");
    assert_non_null(trace);
    int sps = 0, reorder = 0, buffering = 0, colour = 0, b_slices = 0, slices = 0;
    while (fgets(line, sizeof(line), trace)) {
        sps += strstr(line, "] Sequence Parameter Set") != NULL;
        const char *value = strrchr(line, '=');
        const int number = value ? atoi(value + 1) : -1;
        reorder += strstr(line, "max_num_reorder_frames") && number == 0;
        buffering += strstr(line, "max_dec_frame_buffering") && number == 1;
        colour += (strstr(line, "colour_primaries") || strstr(line, "matrix_coefficients") ||
                   strstr(line, "transfer_characteristics")) &&
                  number == 1;
        slices += strstr(line, " slice_type ") != NULL;
        b_slices += strstr(line, " slice_type ") && number % 5 == 1;
    }
    pclose(trace);
    unlink(path);
    // ffmpeg also traces the extradata it made from the first SPS, so there is at least one more.
    assert_in_range(sps, 2, 4);
    assert_int_equal(reorder, sps);
    assert_int_equal(buffering, sps);
    assert_int_equal(colour, 3 * sps);
    assert_int_equal(slices, 30);
    assert_int_equal(b_slices, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_odd_true_size),
        cmocka_unit_test(test_one_idr_per_request),
        cmocka_unit_test(test_rate_is_obeyed_at_once),
        cmocka_unit_test(test_still_picture_costs_nothing),
        cmocka_unit_test(test_slice_threads),
        cmocka_unit_test(test_trace_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
