// SPDX-License-Identifier: MIT
// Any bytes as two access units of one stream: nothing may crash, and what is accepted must be a
// stream that is accepted again, with an SPS that needs no further repair.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "encode/h264_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
    if (!condition) {
        abort();
    }
}

static void check_sps(const uint8_t *data, size_t size)
{
    static struct fw_h264_sps sps, again;
    static uint8_t nal[FW_H264_SPS_MAX];
    if (fw_h264_sps_parse(&sps, data, size)) {
        return;
    }
    (void)fw_h264_sps_fix(&sps, 40);
    require(!fw_h264_sps_fix(&sps, 40));
    size_t written = sizeof(nal);
    // Only an SPS that already was at the limit may grow out of it.
    if (fw_h264_sps_write(&sps, nal, &written)) {
        require(size > FW_H264_SPS_MAX / 2);
        return;
    }
    require(fw_h264_sps_parse(&again, nal, written) == FW_OK);
    require(memcmp(&sps, &again, sizeof(sps)) == 0);
    int width, height;
    fw_h264_sps_size(&again, &width, &height);
    require(width > 0 && height > 0);
}

static void check_stream(const uint8_t *data, size_t size)
{
    static struct fw_h264_stream stream, second;
    stream = (struct fw_h264_stream){ .level = 40 };
    const size_t cut = size > 2 ? data[0] * size / 256 : 0;
    const uint8_t *parts[2] = { data, data + cut };
    const size_t sizes[2] = { cut, size - cut };
    for (int i = 0; i < 2; i++) {
        struct fw_packet *packet = NULL, *repeat = NULL;
        const char *why = NULL;
        if (fw_h264_stream_convert(&stream, parts[i], sizes[i], &packet, &why)) {
            require(why != NULL && packet == NULL);
            continue;
        }
        second = (struct fw_h264_stream){ .level = 40 };
        require(fw_h264_stream_convert(&second, packet->data, packet->size, &repeat, &why) ==
                FW_OK);
        require(repeat->key == packet->key);
        if (packet->key) {
            require(repeat->size == packet->size);
            require(memcmp(repeat->data, packet->data, packet->size) == 0);
        }
        fw_packet_unref(&packet);
        fw_packet_unref(&repeat);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    // The first byte chooses, so that the SPS parser is reached without a start code.
    if (data[0] & 1) {
        check_sps(data + 1, size - 1);
    } else {
        check_stream(data + 1, size - 1);
    }
    return 0;
}
