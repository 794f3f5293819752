// SPDX-License-Identifier: MIT
// Any bytes as each message type: nothing may crash, and what is accepted is written back the same.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "stream/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
    if (!condition) {
        abort();
    }
}

static void check_batches(const uint8_t *data, size_t size)
{
    static struct fw_wire_input input[FW_WIRE_BATCH_MAX], input2[FW_WIRE_BATCH_MAX];
    static struct fw_wire_ack ack[FW_WIRE_BATCH_MAX], ack2[FW_WIRE_BATCH_MAX];
    static uint8_t out[FW_WIRE_BATCH_HEADER + FW_WIRE_BATCH_MAX * FW_WIRE_INPUT_SIZE];
    unsigned count, count2;
    if (!fw_wire_parse_input(data, size, input, &count)) {
        require(count >= 1 && count <= FW_WIRE_BATCH_MAX);
        const size_t n = fw_wire_write_input(out, input, count);
        require(!fw_wire_parse_input(out, n, input2, &count2) && count2 == count);
        for (unsigned i = 0; i < count; i++) {
            require(input[i].valid == input2[i].valid && input[i].seq == input2[i].seq);
            require(!input[i].valid || (input[i].x == input2[i].x && input[i].dy == input2[i].dy));
        }
    }
    if (!fw_wire_parse_ack(data, size, ack, &count)) {
        const size_t n = fw_wire_write_ack(out, ack, count);
        require(!fw_wire_parse_ack(out, n, ack2, &count2) && count2 == count);
        for (unsigned i = 0; i < count; i++) {
            require(ack[i].frame_id == ack2[i].frame_id && ack[i].what == ack2[i].what);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t out[FW_WIRE_SMALL_MAX];
    struct fw_wire_head head;
    struct fw_wire_video video;
    struct fw_wire_beacon beacon, beacon2;
    struct fw_wire_stamp stamps[FW_WIRE_STAMPS_MAX], stamps2[FW_WIRE_STAMPS_MAX];
    unsigned count, count2;
    struct fw_wire_pong pong;
    struct fw_wire_input_stamp in;
    struct fw_wire_ping ping, ping2;
    if (fw_wire_parse_head(data, size, &head)) {
        return 0;
    }
    require((size_t)head.header_len + head.payload_len == size);
    if (!fw_wire_parse_video(data, size, &video)) {
        require(video.payload + video.payload_size == data + size);
        require(memchr(video.codec, 0, sizeof(video.codec)) != NULL);
    }
    if (!fw_wire_parse_ping(data, size, &ping)) {
        require(!fw_wire_parse_ping(out, fw_wire_write_ping(out, &ping), &ping2));
        require(ping.client_us == ping2.client_us && ping.estimate == ping2.estimate);
        require(ping.offset_ns == ping2.offset_ns && ping.error_us == ping2.error_us);
    }
    if (!fw_wire_parse_beacon(data, size, &beacon)) {
        require(!fw_wire_parse_beacon(out, fw_wire_write_beacon(out, &beacon), &beacon2));
        require(beacon.newest_frame == beacon2.newest_frame && beacon.current == beacon2.current);
    }
    if (!fw_wire_parse_stamps(data, size, stamps, &count)) {
        require(count >= 1 && count <= FW_WIRE_STAMPS_MAX);
        const size_t written = fw_wire_write_stamps(out, stamps, count);
        require(written <= sizeof(out) && !fw_wire_parse_stamps(out, written, stamps2, &count2));
        require(count == count2 && !memcmp(stamps, stamps2, count * sizeof(stamps[0])));
    }
    (void)fw_wire_parse_pong(data, size, &pong);
    (void)fw_wire_parse_input_stamp(data, size, &in);
    check_batches(data, size);
    return 0;
}
