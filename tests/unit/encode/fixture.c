// SPDX-License-Identifier: MIT
#include "tests/unit/encode/fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "encode/h264_stream.h"

void fixture_draw(struct fw_frame *frame, int step)
{
    const int w = frame->coded_width, h = frame->coded_height;
    for (int y = 0; y < h; y++) {
        uint8_t *row = frame->plane[0].data + (size_t)y * frame->plane[0].stride;
        for (int x = 0; x < w; x++) {
            const int wave = (x + step * 3) / 8 + (y + step) / 4;
            row[x] = (uint8_t)(16 + wave % 180);
            if ((x - step * 5) / 16 % 12 == 0) {
                row[x] = 210;
            }
        }
    }
    for (int y = 0; y < h / 2; y++) {
        uint8_t *row = frame->plane[1].data + (size_t)y * frame->plane[1].stride;
        for (int x = 0; x < w; x += 2) {
            row[x] = (uint8_t)(64 + (x / 16 + step) % 128);
            row[x + 1] = (uint8_t)(64 + (y / 8) % 128);
        }
    }
}

struct fw_frame *fixture_frame(int width, int height, int step)
{
    struct fw_frame *frame = fw_frame_alloc(width, height, FW_PIXEL_NV12);
    assert_non_null(frame);
    fixture_draw(frame, step);
    frame->id = (uint64_t)step + 1;
    return frame;
}

double fixture_psnr(const struct fw_frame *a, const struct fw_frame *b)
{
    assert_int_equal(a->coded_width, b->coded_width);
    assert_int_equal(a->coded_height, b->coded_height);
    uint64_t sum = 0, count = 0;
    for (int i = 0; i < 2; i++) {
        const int rows = i == 0 ? a->coded_height : a->coded_height / 2;
        for (int y = 0; y < rows; y++) {
            const uint8_t *pa = a->plane[i].data + (size_t)y * a->plane[i].stride;
            const uint8_t *pb = b->plane[i].data + (size_t)y * b->plane[i].stride;
            for (int x = 0; x < a->coded_width; x++, count++) {
                const int d = pa[x] - pb[x];
                sum += (uint64_t)(d * d);
            }
        }
    }
    return sum ? 10 * log10(255.0 * 255.0 * (double)count / (double)sum) : 99;
}

struct fw_encoder *fixture_open(const char *name, int width, int height, int bitrate_kbps,
                                struct fw_log *log)
{
    struct fw_encoder *encoder = NULL;
    char message[256] = "";
    const struct fw_encoder_params params = { .name = name,
                                              .width = width,
                                              .height = height,
                                              .fps = 60,
                                              .bitrate_kbps = bitrate_kbps,
                                              .log = log };
    const enum fw_err err = fw_encoder_open(&encoder, &params, message, sizeof(message));
    if (err) {
        fail_msg("%s %dx%d: %s", name, width, height, message);
    }
    return encoder;
}

void fixture_nal_order(const struct fw_packet *packet, char *out, size_t out_size)
{
    struct fw_h264_nal nals[FW_H264_MAX_NALS];
    unsigned count = FW_H264_MAX_NALS;
    out[0] = '\0';
    assert_int_equal(fw_h264_split(packet->data, packet->size, nals, &count), FW_OK);
    int last = -1;
    size_t used = 0;
    for (unsigned i = 0; i < count; i++) {
        const int type = nals[i].data[0] & 0x1f;
        if (type == last && (type == FW_H264_NAL_SLICE || type == FW_H264_NAL_IDR)) {
            continue;
        }
        used += (size_t)snprintf(out + used, out_size - used, "%s%d", used ? " " : "", type);
        last = type;
    }
}

static void count_line(struct fw_log *log, enum fw_log_level level, const char *module,
                       const char *line)
{
    (void)module;
    struct fixture_log *own = (struct fixture_log *)log;
    if (level <= FW_LOG_WARN) {
        own->lines++;
        snprintf(own->last, sizeof(own->last), "%s", line);
    }
}

void fixture_log_init(struct fixture_log *log)
{
    *log = (struct fixture_log){ .log = { .level = FW_LOG_DEBUG, .write = count_line } };
}
