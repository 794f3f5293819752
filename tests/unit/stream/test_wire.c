// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/input.h"
#include "stream/wire.h"

// Runs `parse` on every shorter prefix (each in a block of its own size, so that a sanitizer sees
// one byte too many) and on one byte more: all must be refused, the whole accepted.
#define CHECK_LENGTHS(bytes, size, parse)                                                          \
    do {                                                                                           \
        for (size_t n_ = 0; n_ <= (size) + 1; n_++) {                                              \
            uint8_t *p_ = calloc(1, n_ ? n_ : 1);                                                  \
            memcpy(p_, (bytes), n_ < (size) ? n_ : (size));                                        \
            const uint8_t *data = p_;                                                              \
            const size_t length = n_;                                                              \
            assert_int_equal((parse), n_ == (size) ? FW_OK : FW_ERR_FORMAT);                       \
            free(p_);                                                                              \
        }                                                                                          \
    } while (0)

static struct fw_packet *make_packet(bool key)
{
    struct fw_packet *packet = fw_packet_alloc(50);
    assert_non_null(packet);
    packet->frame_id = UINT64_C(0x1122334455667788);
    packet->input_id = 77;
    packet->width = 641;
    packet->height = 479;
    packet->coded_width = 642;
    packet->coded_height = 480;
    packet->key = key;
    packet->animating = true;
    strcpy(packet->codec, "avc1.42e01f");
    packet->times = (struct fw_frame_times){
        .change_ns = 1000,
        .begun_ns = 2000,
        .rendered_ns = 4002000,
        .converted_ns = 5002000,
        .enc_begin_ns = 6000000,
        .enc_end_ns = 9000000,
    };
    memset(packet->data, 0xab, 50);
    return packet;
}

static void test_video(void **state)
{
    (void)state;
    for (int key = 0; key < 2; key++) {
        struct fw_packet *packet = make_packet(key);
        const size_t header = key ? 104 : 72;
        uint8_t *start = packet->data - header;
        struct fw_wire_video v;
        assert_int_equal(fw_wire_write_video_header(start, packet), header);
        assert_int_equal(fw_wire_parse_video(start, header + 50, &v), FW_OK);
        assert_int_equal(v.key, key);
        assert_true(v.animating);
        assert_true(v.frame_id == packet->frame_id && v.input_id == 77);
        assert_int_equal(v.change_ns, 1000);
        assert_int_equal(v.begun_ns, 2000);
        assert_int_equal(v.encoded_ns, 9000000);
        assert_int_equal(v.render_us, 5000);
        assert_int_equal(v.encode_us, 3000);
        assert_int_equal(v.convert_us, 1000);
        assert_int_equal(v.width, 641);
        assert_int_equal(v.height, 479);
        assert_int_equal(v.coded_width, 642);
        assert_int_equal(v.coded_height, 480);
        assert_string_equal(v.codec, key ? "avc1.42e01f" : "");
        assert_ptr_equal(v.payload, packet->data);
        assert_int_equal(v.payload_size, 50);
        CHECK_LENGTHS(start, header + 50, fw_wire_parse_video(data, length, &v));
        // The bytes as docs/protocol.md has them.
        assert_int_equal(start[0], 0x01);
        assert_int_equal(start[1], key ? 3 : 2);
        assert_int_equal(start[2], header);
        assert_int_equal(start[4], 50);
        assert_int_equal(start[8], 0x88);
        assert_int_equal(start[15], 0x11);
        fw_packet_unref(&packet);
    }
}

static void test_video_codec_unterminated(void **state)
{
    (void)state;
    uint8_t bytes[FW_WIRE_VIDEO_KEY_HEADER] = { 0x01, 1, 96 };
    struct fw_wire_video v;
    assert_int_equal(fw_wire_parse_video(bytes, sizeof(bytes), &v), FW_OK);
    assert_int_equal(v.convert_us, 0); // not told
    memset(bytes + FW_WIRE_VIDEO_HEADER, 'a', FW_CODEC_STRING_SIZE);
    assert_int_equal(fw_wire_parse_video(bytes, sizeof(bytes), &v), FW_ERR_FORMAT);
    bytes[2] = 64; // a key frame whose header has no room for the codec
    bytes[4] = 32;
    assert_int_equal(fw_wire_parse_video(bytes, sizeof(bytes), &v), FW_ERR_FORMAT);
}

// A longer header of a later version: the unknown fields are skipped.
static void test_longer_header(void **state)
{
    (void)state;
    uint8_t bytes[40] = { FW_WIRE_PING, 0, 40 };
    struct fw_wire_ping ping = { 0 };
    bytes[8] = 5;
    bytes[16] = 6;
    bytes[24] = 7;
    assert_int_equal(fw_wire_parse_ping(bytes, sizeof(bytes), &ping), FW_OK);
    assert_true(ping.client_us == 5 && ping.estimate && ping.offset_ns == 6 && ping.error_us == 7);
    bytes[2] = 7; // shorter than the common header
    bytes[4] = 33;
    assert_int_equal(fw_wire_parse_ping(bytes, sizeof(bytes), &ping), FW_ERR_FORMAT);
    memset(bytes + 4, 0xff, 4); // a length near 2^32 must not wrap around
    bytes[2] = 41;
    assert_int_equal(fw_wire_parse_ping(bytes, sizeof(bytes), &ping), FW_ERR_FORMAT);
}

static void test_input(void **state)
{
    (void)state;
    struct fw_wire_input in[FW_WIRE_BATCH_MAX] = { 0 }, out[FW_WIRE_BATCH_MAX];
    uint8_t bytes[FW_WIRE_BATCH_HEADER + FW_WIRE_BATCH_MAX * FW_WIRE_INPUT_SIZE];
    unsigned count;
    for (unsigned i = 0; i < FW_WIRE_BATCH_MAX; i++)
        in[i] = (struct fw_wire_input){
            .kind = FW_INPUT_MOTION,
            .mods = i & 15,
            .x = 1.5f + (float)i,
            .y = -2.25f,
            .dx = 0.125f,
            .dy = 1e3f,
            .seq = i + 1,
            .time_us = UINT64_C(1) << 50,
        };
    size_t size = fw_wire_write_input(bytes, in, FW_WIRE_BATCH_MAX);
    assert_int_equal(size, sizeof(bytes));
    assert_int_equal(fw_wire_parse_input(bytes, size, out, &count), FW_OK);
    assert_int_equal(count, FW_WIRE_BATCH_MAX);
    for (unsigned i = 0; i < count; i++) {
        in[i].valid = true;
        assert_true(out[i].valid && out[i].x == in[i].x && out[i].y == in[i].y &&
                    out[i].dx == in[i].dx && out[i].dy == in[i].dy && out[i].seq == in[i].seq &&
                    out[i].time_us == in[i].time_us && out[i].mods == in[i].mods);
    }
    size = fw_wire_write_input(bytes, in, 2);
    CHECK_LENGTHS(bytes, size, fw_wire_parse_input(data, length, out, &count));
    for (unsigned bad = 0; bad < 300; bad = bad ? bad * 2 : 65) { // 0, 65, 130, 260
        bytes[8] = (uint8_t)bad;
        bytes[9] = (uint8_t)(bad >> 8);
        assert_int_equal(fw_wire_parse_input(bytes, size, out, &count), FW_ERR_FORMAT);
    }
}

static void test_input_ranges(void **state)
{
    (void)state;
    static const struct {
        struct fw_wire_input in;
        bool valid;
    } cases[] = {
        { { .kind = FW_INPUT_BUTTON, .state = 1, .code = 4 }, true },
        { { .kind = FW_INPUT_BUTTON, .state = 1, .code = 5 }, false },
        { { .kind = FW_INPUT_BUTTON, .state = 2, .code = 0 }, false },
        { { .kind = FW_INPUT_KEY, .state = 1, .code = 30 }, true },
        { { .kind = FW_INPUT_KEY, .state = 1, .code = 767 }, true },
        { { .kind = FW_INPUT_KEY, .state = 1, .code = 768 }, false },
        { { .kind = FW_INPUT_KEY, .state = 1, .code = 0 }, false },
        { { .kind = FW_INPUT_TOUCH, .state = 3, .code = 9 }, true },
        { { .kind = FW_INPUT_TOUCH, .state = 4, .code = 9 }, false },
        { { .kind = FW_INPUT_TOUCH, .state = 0, .code = 10 }, false },
        { { .kind = FW_INPUT_WHEEL, .dy = -120 }, true },
        { { .kind = FW_INPUT_RELEASE }, true },
        { { .kind = 0 }, false },
        { { .kind = 7 }, false },
        { { .kind = FW_INPUT_MOTION, .mods = 16 }, false },
        { { .kind = FW_INPUT_MOTION, .x = __builtin_nanf("") }, false },
        { { .kind = FW_INPUT_MOTION, .dy = __builtin_inff() }, false },
        { { .kind = FW_INPUT_MOTION, .y = 1e30f }, false },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint8_t bytes[FW_WIRE_BATCH_HEADER + FW_WIRE_INPUT_SIZE];
        struct fw_wire_input out;
        unsigned count;
        fw_wire_write_input(bytes, &cases[i].in, 1);
        assert_int_equal(fw_wire_parse_input(bytes, sizeof(bytes), &out, &count), FW_OK);
        assert_int_equal(out.valid, cases[i].valid);
    }
}

static void test_ack(void **state)
{
    (void)state;
    const struct fw_wire_ack in[2] = {
        { .frame_id = 9, .what = FW_ACK_RECEIVED, .time_us = 10 },
        { .frame_id = UINT64_MAX, .what = FW_ACK_DROPPED, .time_us = 11 },
    };
    struct fw_wire_ack out[FW_WIRE_BATCH_MAX];
    uint8_t bytes[FW_WIRE_BATCH_HEADER + 2 * FW_WIRE_ACK_SIZE];
    unsigned count;
    assert_int_equal(fw_wire_write_ack(bytes, in, 2), sizeof(bytes));
    assert_int_equal(fw_wire_parse_ack(bytes, sizeof(bytes), out, &count), FW_OK);
    assert_int_equal(count, 2);
    for (int i = 0; i < 2; i++)
        assert_true(out[i].frame_id == in[i].frame_id && out[i].what == in[i].what &&
                    out[i].time_us == in[i].time_us);
    CHECK_LENGTHS(bytes, sizeof(bytes), fw_wire_parse_ack(data, length, out, &count));
}

static void test_small(void **state)
{
    (void)state;
    uint8_t b[FW_WIRE_SMALL_MAX];
    const struct fw_wire_ping bare = { .client_us = 123456789 };
    const struct fw_wire_ping told = { 9, true, -5000000001, UINT32_MAX };
    struct fw_wire_ping ping;
    size_t size = fw_wire_write_ping(b, &bare);
    assert_int_equal(size, 16); // as the first clients of this version sent it
    assert_int_equal(fw_wire_parse_ping(b, size, &ping), FW_OK);
    assert_true(ping.client_us == bare.client_us && !ping.estimate);
    CHECK_LENGTHS(b, size, fw_wire_parse_ping(data, length, &ping));
    size = fw_wire_write_ping(b, &told);
    assert_int_equal(fw_wire_parse_ping(b, size, &ping), FW_OK);
    assert_true(ping.client_us == 9 && ping.estimate && ping.offset_ns == told.offset_ns &&
                ping.error_us == UINT32_MAX);
    CHECK_LENGTHS(b, size, fw_wire_parse_ping(data, length, &ping));

    const struct fw_wire_beacon beacon = { true, false, 1234567890123, 42 };
    struct fw_wire_beacon beacon2;
    size = fw_wire_write_beacon(b, &beacon);
    assert_int_equal(fw_wire_parse_beacon(b, size, &beacon2), FW_OK);
    assert_true(beacon2.current && !beacon2.animating && beacon2.newest_frame == 42 &&
                beacon2.server_ns == beacon.server_ns);
    CHECK_LENGTHS(b, size, fw_wire_parse_beacon(data, length, &beacon2));

    const struct fw_wire_stamp stamp = { 1, 2, 3 };
    struct fw_wire_stamp stamp2;
    size = fw_wire_write_stamps(b, &stamp, 1);
    assert_int_equal(fw_wire_parse_stamp(b, size, &stamp2), FW_OK);
    assert_memory_equal(&stamp, &stamp2, sizeof(stamp));
    CHECK_LENGTHS(b, size, fw_wire_parse_stamp(data, length, &stamp2));
    const struct fw_wire_stamp stamps[FW_WIRE_STAMPS_MAX] = { { 1, 2, 3 },
                                                              { 4, 5, 6 },
                                                              { 7, 8, 9 } };
    struct fw_wire_stamp all[FW_WIRE_STAMPS_MAX];
    for (unsigned count = 1; count <= FW_WIRE_STAMPS_MAX; count++) {
        unsigned got;
        size = fw_wire_write_stamps(b, stamps, count);
        assert_true(size <= sizeof(b));
        assert_int_equal(fw_wire_parse_stamps(b, size, all, &got), FW_OK);
        assert_int_equal(got, count);
        assert_memory_equal(all, stamps, count * sizeof(stamps[0]));
        assert_int_equal(fw_wire_parse_stamp(b, size, &stamp2), FW_OK);
        assert_memory_equal(&stamp2, &stamps[count - 1], sizeof(stamp2));
        CHECK_LENGTHS(b, size, fw_wire_parse_stamps(data, length, all, &got));
    }

    const struct fw_wire_pong pong = { 4, 5, 6 };
    struct fw_wire_pong pong2;
    size = fw_wire_write_pong(b, &pong);
    assert_int_equal(fw_wire_parse_pong(b, size, &pong2), FW_OK);
    assert_memory_equal(&pong, &pong2, sizeof(pong));
    CHECK_LENGTHS(b, size, fw_wire_parse_pong(data, length, &pong2));

    const struct fw_wire_input_stamp in = { 7, 8, 9 };
    struct fw_wire_input_stamp in2;
    size = fw_wire_write_input_stamp(b, &in);
    assert_int_equal(fw_wire_parse_input_stamp(b, size, &in2), FW_OK);
    assert_memory_equal(&in, &in2, sizeof(in));
    CHECK_LENGTHS(b, size, fw_wire_parse_input_stamp(data, length, &in2));
    // Times that no clock shows are as good as none: sums of them stay within 64 bits.
    const struct fw_wire_pong far = { 4, INT64_MAX, INT64_MIN };
    size = fw_wire_write_pong(b, &far);
    assert_int_equal(fw_wire_parse_pong(b, size, &pong2), FW_OK);
    assert_true(pong2.rx_ns == 0 && pong2.tx_ns == 0);
    size = fw_wire_write_input_stamp(b, &in);
    // One type is not taken for another.
    assert_int_equal(fw_wire_parse_pong(b, size, &pong2), FW_ERR_FORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_video),         cmocka_unit_test(test_video_codec_unterminated),
        cmocka_unit_test(test_longer_header), cmocka_unit_test(test_input),
        cmocka_unit_test(test_input_ranges),  cmocka_unit_test(test_ack),
        cmocka_unit_test(test_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
