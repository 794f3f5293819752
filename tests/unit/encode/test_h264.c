// SPDX-License-Identifier: MIT
// The H.264 headers without any encoder: levels, SPS parse and rewrite, order of NAL units.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "encode/h264_bits.h"
#include "encode/h264_stream.h"
#include "tests/unit/encode/fixture.h"

static void test_level_table(void **state)
{
    (void)state;
    static const struct {
        int width, height, fps, kbps, level;
    } cases[] = {
        { 176, 144, 15, 0, 10 },     { 640, 480, 30, 0, 30 },     { 1280, 720, 30, 0, 31 },
        { 1280, 720, 60, 0, 32 },    { 1920, 1080, 30, 0, 40 },   { 1920, 1080, 60, 0, 42 },
        { 2560, 1440, 60, 0, 51 },   { 3840, 2160, 30, 0, 51 },   { 3840, 2160, 60, 0, 52 },
        { 3840, 2024, 24, 0, 51 },   { 2560, 2560, 30, 0, 51 },   { 7680, 4320, 30, 0, 60 },
        { 7680, 4320, 60, 0, 61 },   { 7680, 4320, 120, 0, 62 },  { 16, 16, 60, 0, 10 },
        { 3840, 16, 1, 0, 40 }, // one row, but 240 macroblocks wide
        { 640, 480, 30, 8000, 30 },  { 640, 480, 30, 12000, 31 }, { 1280, 720, 30, 60000, 50 },
        { 20000, 20000, 60, 0, 62 },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const int level =
            fw_h264_level(cases[i].width, cases[i].height, cases[i].fps, cases[i].kbps);
        if (level != cases[i].level) {
            fail_msg("%dx%d@%d %d kbit/s: level %d, not %d", cases[i].width, cases[i].height,
                     cases[i].fps, cases[i].kbps, level, cases[i].level);
        }
    }
}

static void test_bits(void **state)
{
    (void)state;
    static const uint32_t values[] = { 0, 1, 2, 3, 7, 8, 254, 255, 65535, 1u << 30, 0xfffffffe };
    static const int32_t signeds[] = { 0, 1, -1, 2, -2, 1000, -1000, INT32_MAX, -INT32_MAX };
    uint8_t data[256];
    struct fw_bit_writer w = { .data = data, .capacity = sizeof(data) };
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        fw_bits_put_ue(&w, values[i]);
        fw_bits_put(&w, 5, (uint32_t)i);
    }
    for (size_t i = 0; i < sizeof(signeds) / sizeof(signeds[0]); i++) {
        fw_bits_put_se(&w, signeds[i]);
    }
    fw_bits_put_trailing(&w);
    assert_false(w.bad);
    struct fw_bit_reader r = { .data = data, .bits = w.pos };
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        assert_int_equal(fw_bits_get_ue(&r), values[i]);
        assert_int_equal(fw_bits_get(&r, 5), i);
    }
    for (size_t i = 0; i < sizeof(signeds) / sizeof(signeds[0]); i++) {
        assert_int_equal(fw_bits_get_se(&r), signeds[i]);
    }
    assert_false(r.bad);
    // Past the end, and a code of 32 zeros.
    struct fw_bit_reader end = { .data = data, .bits = 3 };
    fw_bits_get(&end, 4);
    assert_true(end.bad);
    static const uint8_t zeros[16] = { 0 };
    struct fw_bit_reader endless = { .data = zeros, .bits = 128 };
    fw_bits_get_ue(&endless);
    assert_true(endless.bad);
    struct fw_bit_writer full = { .data = data, .capacity = 1 };
    fw_bits_put(&full, 9, 0);
    assert_true(full.bad);
}

// 1366x768 in the profile given, without VUI.
static struct fw_h264_sps plain_sps(uint8_t profile)
{
    return (struct fw_h264_sps){ .profile_idc = profile,
                                 .constraints = 0xc0,
                                 .level_idc = 31,
                                 .chroma_format_idc = 1,
                                 .log2_max_frame_num_minus4 = 4,
                                 .poc_type = 2,
                                 .max_num_ref_frames = 1,
                                 .width_mbs_minus1 = 85,
                                 .height_units_minus1 = 47,
                                 .frame_mbs_only = true,
                                 .direct_8x8 = true,
                                 .crop_present = true,
                                 .crop_right = 5 };
}

// Every optional part of the syntax in one SPS.
static struct fw_h264_sps rich_sps(void)
{
    struct fw_h264_sps sps = plain_sps(100);
    sps.constraints = 0;
    sps.id = 3;
    sps.scaling_present = true;
    sps.scaling_list_present[0] = true;
    sps.scaling_count[0] = 16;
    for (int i = 0; i < 16; i++) {
        sps.scaling_delta[0][i] = (int16_t)(i % 3);
    }
    sps.scaling_list_present[7] = true;
    sps.scaling_count[7] = 1;
    sps.scaling_delta[7][0] = -8; // ends the list at once: the default matrix
    sps.poc_type = 1;
    sps.offset_for_non_ref = -70000;
    sps.offset_top_to_bottom = 3;
    sps.poc_cycle_length = 2;
    sps.offset_for_ref[0] = 12;
    sps.offset_for_ref[1] = -12;
    sps.max_num_ref_frames = 4;
    sps.frame_mbs_only = false;
    sps.mb_adaptive = true;
    sps.height_units_minus1 = 23;
    sps.crop_top = sps.crop_bottom = 1;
    sps.vui_present = true;
    sps.vui = (struct fw_h264_vui){ .aspect_present = true,
                                    .aspect_idc = FW_H264_EXTENDED_SAR,
                                    .sar_width = 4,
                                    .sar_height = 3,
                                    .overscan_present = true,
                                    .signal_present = true,
                                    .video_format = 2,
                                    .full_range = true,
                                    .colour_present = true,
                                    .primaries = 6,
                                    .transfer = 6,
                                    .matrix = 6,
                                    .chroma_loc_present = true,
                                    .chroma_loc_top = 1,
                                    .timing_present = true,
                                    .units_in_tick = 1,
                                    .time_scale = 120,
                                    .fixed_frame_rate = true,
                                    .nal_hrd_present = true,
                                    .vcl_hrd_present = true,
                                    .low_delay_hrd = true,
                                    .pic_struct_present = true,
                                    .restriction_present = true,
                                    .mv_over_boundaries = true,
                                    .log2_max_mv_horizontal = 16,
                                    .log2_max_mv_vertical = 11,
                                    .max_num_reorder_frames = 2,
                                    .max_dec_frame_buffering = 4 };
    sps.vui.nal_hrd.cpb_count_minus1 = 1;
    sps.vui.nal_hrd.cpb[0].bit_rate_minus1 = 0; // many zero bits: emulation prevention at work
    sps.vui.nal_hrd.cpb[1].bit_rate_minus1 = 0xfffffffe;
    sps.vui.nal_hrd.cpb[1].cbr = true;
    sps.vui.vcl_hrd.time_offset_length = 24;
    return sps;
}

static size_t write_sps(const struct fw_h264_sps *sps, uint8_t *nal)
{
    size_t size = FW_H264_SPS_MAX;
    assert_int_equal(fw_h264_sps_write(sps, nal, &size), FW_OK);
    return size;
}

static void assert_round_trip(const struct fw_h264_sps *sps)
{
    uint8_t nal[FW_H264_SPS_MAX], again[FW_H264_SPS_MAX];
    struct fw_h264_sps parsed;
    const size_t size = write_sps(sps, nal);
    assert_int_equal(fw_h264_sps_parse(&parsed, nal, size), FW_OK);
    assert_memory_equal(&parsed, sps, sizeof(parsed));
    assert_int_equal(write_sps(&parsed, again), size);
    assert_memory_equal(nal, again, size);
    // No start code inside: that is what emulation prevention is for.
    for (size_t i = 0; i + 2 < size; i++) {
        assert_false(nal[i] == 0 && nal[i + 1] == 0 && nal[i + 2] < 3);
    }
}

static void test_sps_round_trip(void **state)
{
    (void)state;
    struct fw_h264_sps sps = plain_sps(66);
    assert_round_trip(&sps);
    sps = plain_sps(100);
    assert_round_trip(&sps);
    sps.chroma_format_idc = 3;
    sps.separate_colour_planes = true;
    sps.bit_depth_luma_minus8 = 2;
    assert_round_trip(&sps);
    sps = rich_sps();
    assert_round_trip(&sps);
    // A field of zeros long enough to need escapes in the middle.
    sps = plain_sps(66);
    sps.vui_present = true;
    sps.vui.timing_present = true;
    sps.vui.units_in_tick = 0;
    sps.vui.time_scale = 0;
    assert_round_trip(&sps);
    uint8_t nal[FW_H264_SPS_MAX];
    const size_t size = write_sps(&sps, nal);
    bool escaped = false;
    for (size_t i = 0; i + 3 < size; i++) {
        escaped |= nal[i] == 0 && nal[i + 1] == 0 && nal[i + 2] == 3;
    }
    assert_true(escaped);
}

static void test_sps_size(void **state)
{
    (void)state;
    int width, height;
    struct fw_h264_sps sps = plain_sps(66);
    fw_h264_sps_size(&sps, &width, &height);
    assert_int_equal(width, 1366);
    assert_int_equal(height, 768);
    sps = rich_sps(); // fields: crop units are four lines high
    fw_h264_sps_size(&sps, &width, &height);
    assert_int_equal(height, 24 * 32 - 4 * 2);
}

static void test_sps_fix(void **state)
{
    (void)state;
    struct fw_h264_sps sps = plain_sps(66);
    assert_true(fw_h264_sps_fix(&sps, 32));
    assert_int_equal(sps.level_idc, 32);
    assert_true(sps.vui_present && sps.vui.restriction_present);
    assert_int_equal(sps.vui.max_num_reorder_frames, 0);
    assert_int_equal(sps.vui.max_dec_frame_buffering, 1);
    assert_false(sps.vui.full_range);
    assert_int_equal(sps.vui.primaries + sps.vui.transfer + sps.vui.matrix, 3);
    assert_int_equal(sps.vui.video_format, 5);
    assert_round_trip(&sps);
    assert_false(fw_h264_sps_fix(&sps, 32)); // nothing left to do
    assert_false(fw_h264_sps_fix(&sps, 31)); // a higher level is the encoder's business

    sps = rich_sps();
    assert_true(fw_h264_sps_fix(&sps, 0));
    assert_int_equal(sps.vui.max_num_reorder_frames, 0);
    assert_int_equal(sps.vui.max_dec_frame_buffering, 4); // four references need four buffers
    assert_int_equal(sps.vui.matrix, 1);
    assert_false(sps.vui.full_range);
    assert_int_equal(sps.vui.log2_max_mv_vertical, 11); // what was right stays
    assert_int_equal(sps.vui.sar_width, 4);
    assert_int_equal(sps.level_idc, 31);
    assert_round_trip(&sps);
}

static void test_sps_rejects(void **state)
{
    (void)state;
    uint8_t nal[FW_H264_SPS_MAX];
    struct fw_h264_sps parsed, sps = rich_sps();
    const size_t size = write_sps(&sps, nal);
    // Cut anywhere it is refused, and nothing reads past its end (the sanitizers watch).
    for (size_t cut = 0; cut < size; cut++) {
        assert_int_equal(fw_h264_sps_parse(&parsed, nal, cut), FW_ERR_FORMAT);
    }
    uint8_t huge[FW_H264_SPS_MAX + 1] = { 0x67 };
    assert_int_equal(fw_h264_sps_parse(&parsed, huge, sizeof(huge)), FW_ERR_TOO_LARGE);
    nal[0] = 0x68;
    assert_int_equal(fw_h264_sps_parse(&parsed, nal, size), FW_ERR_FORMAT);
    sps = plain_sps(66);
    sps.crop_right = 86 * 8; // nothing would be left
    assert_int_equal(fw_h264_sps_parse(&parsed, nal, write_sps(&sps, nal)), FW_ERR_FORMAT);
    sps.crop_right = 0xfffffffe;
    assert_int_equal(fw_h264_sps_parse(&parsed, nal, write_sps(&sps, nal)), FW_ERR_FORMAT);
    sps = plain_sps(66);
    sps.max_num_ref_frames = 17;
    assert_int_equal(fw_h264_sps_parse(&parsed, nal, write_sps(&sps, nal)), FW_ERR_FORMAT);
}

static void test_codec_string(void **state)
{
    (void)state;
    static const uint8_t nal[] = { 0x67, 0x42, 0xC0, 0x1F };
    char text[FW_CODEC_STRING_SIZE];
    fw_h264_codec_string(nal, text, sizeof(text));
    assert_string_equal(text, "avc1.42c01f");
}

static void test_split(void **state)
{
    (void)state;
    static const uint8_t data[] = { 0,    0, 0, 1, 0x67, 1, 0, 0, 0,    0, 1,
                                    0x68, 2, 0, 0, 1,    0, 0, 1, 0x65, 3, 0 };
    struct fw_h264_nal nals[8];
    unsigned count = 8;
    assert_int_equal(fw_h264_split(data, sizeof(data), nals, &count), FW_OK);
    assert_int_equal(count, 3); // the empty unit is left out
    assert_int_equal(nals[0].size, 2);
    assert_int_equal(nals[1].data[0], 0x68);
    assert_int_equal(nals[2].size, 2); // trailing zero stripped
    count = 2;
    assert_int_equal(fw_h264_split(data, sizeof(data), nals, &count), FW_ERR_TOO_LARGE);
    count = 8;
    assert_int_equal(fw_h264_split(data + 4, 3, nals, &count), FW_ERR_FORMAT);
    assert_int_equal(fw_h264_split(data, 0, nals, &count), FW_ERR_FORMAT);
}

// Builds access units from parts.
struct unit {
    uint8_t data[8192];
    size_t size;
};

static void add(struct unit *unit, const uint8_t *nal, size_t size)
{
    memcpy(unit->data + unit->size, "\0\0\1", 3);
    memcpy(unit->data + unit->size + 3, nal, size);
    unit->size += 3 + size;
}

static void add_sps(struct unit *unit, const struct fw_h264_sps *sps)
{
    uint8_t nal[FW_H264_SPS_MAX];
    add(unit, nal, write_sps(sps, nal));
}

static const uint8_t aud[] = { 0x09, 0xf0 }, pps[] = { 0x68, 0xce, 0x3c, 0x80 };
static const uint8_t idr[] = { 0x65, 0xb8, 0x40, 0x12 };        // first_mb 0, type 7 (I)
static const uint8_t idr_second[] = { 0x65, 0x4e, 0x20, 0x12 }; // first_mb 1, type 7
static const uint8_t inter[] = { 0x41, 0xe0, 0x40, 0x12 };      // first_mb 0, type 0 (P)
static const uint8_t bipred[] = { 0x01, 0xa8, 0x40, 0x12 };     // first_mb 0, type 1 (B)
static const uint8_t version[] = { 0x06, 5, 4, 'x', '2', '6', '4', 0x80 };
static const uint8_t recovery[] = { 0x06, 6, 1, 0xc4, 0x80 };
static const uint8_t filler[] = { 0x0c, 0xff, 0xff, 0x80 };

#define ADD(unit, nal) add(unit, nal, sizeof(nal))

static struct fw_packet *convert(struct fw_h264_stream *stream, const struct unit *unit)
{
    struct fw_packet *packet = NULL;
    const char *why = NULL;
    if (fw_h264_stream_convert(stream, unit->data, unit->size, &packet, &why)) {
        fail_msg("refused: %s", why);
    }
    return packet;
}

static void assert_order(struct fw_packet *packet, const char *expected)
{
    char order[64];
    fixture_nal_order(packet, order, sizeof(order));
    assert_string_equal(order, expected);
    assert_memory_equal(packet->data, "\0\0\0\1", 4);
}

static void test_stream_order(void **state)
{
    (void)state;
    static struct fw_h264_stream stream; // too big to like on a stack
    stream = (struct fw_h264_stream){ .level = 40 };
    struct unit unit = { .size = 0 };
    const struct fw_h264_sps sps = plain_sps(66);
    // The worst order, as seen in the field: SEI before the AUD.
    ADD(&unit, recovery);
    ADD(&unit, version);
    ADD(&unit, aud);
    ADD(&unit, pps);
    add_sps(&unit, &sps);
    ADD(&unit, filler);
    ADD(&unit, idr);
    ADD(&unit, idr_second);
    struct fw_packet *packet = convert(&stream, &unit);
    assert_order(packet, "9 7 8 6 5");
    assert_true(packet->key);
    assert_string_equal(packet->codec, "avc1.42c028");
    struct fw_h264_nal nals[8];
    unsigned count = 8;
    assert_int_equal(fw_h264_split(packet->data, packet->size, nals, &count), FW_OK);
    assert_int_equal(count, 6); // both slices, one SEI, no filler
    struct fw_h264_sps sent;
    assert_int_equal(fw_h264_sps_parse(&sent, nals[1].data, nals[1].size), FW_OK);
    assert_true(sent.vui.restriction_present);
    assert_int_equal(sent.level_idc, 40);
    assert_memory_equal(nals[3].data, recovery, sizeof(recovery));
    assert_memory_equal(nals[5].data, idr_second, sizeof(idr_second));
    fw_packet_unref(&packet);

    // A P picture comes out as it is.
    unit.size = 0;
    ADD(&unit, version);
    ADD(&unit, inter);
    packet = convert(&stream, &unit);
    assert_order(packet, "1");
    assert_false(packet->key);
    assert_string_equal(packet->codec, "");
    fw_packet_unref(&packet);

    // An IDR without its sets gets those of before.
    unit.size = 0;
    ADD(&unit, idr);
    packet = convert(&stream, &unit);
    assert_order(packet, "7 8 5");
    assert_string_equal(packet->codec, "avc1.42c028");
    fw_packet_unref(&packet);
}

static void test_stream_headers(void **state)
{
    (void)state;
    static struct fw_h264_stream stream;
    stream = (struct fw_h264_stream){ 0 };
    struct unit headers = { .size = 0 }, unit = { .size = 0 };
    const struct fw_h264_sps sps = rich_sps();
    add_sps(&headers, &sps);
    ADD(&headers, pps);
    fw_h264_stream_headers(&stream, headers.data, headers.size);
    ADD(&unit, idr);
    struct fw_packet *packet = convert(&stream, &unit);
    assert_order(packet, "7 8 5");
    fw_packet_unref(&packet);
    fw_h264_stream_headers(&stream, NULL, 0); // an encoder without extradata
}

static void assert_refused(struct fw_h264_stream *stream, const struct unit *unit, const char *what)
{
    struct fw_packet *packet = NULL;
    const char *why = NULL;
    assert_int_equal(fw_h264_stream_convert(stream, unit->data, unit->size, &packet, &why),
                     FW_ERR_FORMAT);
    assert_null(packet);
    assert_non_null(strstr(why, what));
}

static void test_stream_refuses(void **state)
{
    (void)state;
    static struct fw_h264_stream stream;
    stream = (struct fw_h264_stream){ 0 };
    struct unit unit = { .size = 0 };
    ADD(&unit, idr);
    assert_refused(&stream, &unit, "without parameter sets");
    unit.size = 0;
    ADD(&unit, bipred);
    assert_refused(&stream, &unit, "B pictures");
    unit.size = 0;
    ADD(&unit, inter);
    ADD(&unit, inter);
    assert_refused(&stream, &unit, "one whole picture");
    unit.size = 0;
    ADD(&unit, pps);
    assert_refused(&stream, &unit, "one whole picture");
    unit.size = 0;
    assert_refused(&stream, &unit, "Annex B");
    unit.size = 0;
    static const uint8_t broken_sps[] = { 0x67, 0x42, 0xc0, 0x1f, 0, 0, 3, 0, 0 };
    ADD(&unit, broken_sps);
    ADD(&unit, idr);
    assert_refused(&stream, &unit, "SPS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_level_table),    cmocka_unit_test(test_bits),
        cmocka_unit_test(test_sps_round_trip), cmocka_unit_test(test_sps_size),
        cmocka_unit_test(test_sps_fix),        cmocka_unit_test(test_sps_rejects),
        cmocka_unit_test(test_codec_string),   cmocka_unit_test(test_split),
        cmocka_unit_test(test_stream_order),   cmocka_unit_test(test_stream_headers),
        cmocka_unit_test(test_stream_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
