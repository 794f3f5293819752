// SPDX-License-Identifier: MIT
#include "stream/wire.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/input.h"

enum { STAMP_HEADER = 32, STAMP_SIZE = 24, PING_HEADER = 16, PING_ESTIMATE_HEADER = 32 };

static_assert(FW_WIRE_SMALL_MAX == STAMP_HEADER + (FW_WIRE_STAMPS_MAX - 1) * STAMP_SIZE,
              "a full message of stamps is the largest small one");
static_assert(FW_WIRE_VIDEO_KEY_HEADER == FW_WIRE_VIDEO_HEADER + FW_CODEC_STRING_SIZE,
              "the codec string ends the key header");

static uint16_t get16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t get32(const uint8_t *p)
{
    return (uint32_t)get16(p) | (uint32_t)get16(p + 2) << 16;
}

static uint64_t get64(const uint8_t *p)
{
    return (uint64_t)get32(p) | (uint64_t)get32(p + 4) << 32;
}

static float get_f32(const uint8_t *p)
{
    const uint32_t bits = get32(p);
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static void put16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

static void put32(uint8_t *p, uint32_t v)
{
    put16(p, (uint16_t)v);
    put16(p + 2, (uint16_t)(v >> 16));
}

static void put64(uint8_t *p, uint64_t v)
{
    put32(p, (uint32_t)v);
    put32(p + 4, (uint32_t)(v >> 32));
}

static void put_f32(uint8_t *p, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    put32(p, bits);
}

static void put_head(uint8_t *p, uint8_t type, uint8_t flags, size_t header, size_t payload)
{
    p[0] = type;
    p[1] = flags;
    put16(p + 2, (uint16_t)header);
    put32(p + 4, (uint32_t)payload);
}

// A time of a server's clock. Of one that no clock shows, which sums could not hold, nothing is
// left: 0 is "not told".
static int64_t get_ns(const uint8_t *p)
{
    const uint64_t ns = get64(p);
    return ns <= INT64_MAX / 2 ? (int64_t)ns : 0;
}

enum fw_err fw_wire_parse_head(const uint8_t *data, size_t size, struct fw_wire_head *head)
{
    if (size < FW_WIRE_HEADER_MIN)
        return FW_ERR_FORMAT;
    head->type = data[0];
    head->flags = data[1];
    head->header_len = get16(data + 2);
    head->payload_len = get32(data + 4);
    if (head->header_len < FW_WIRE_HEADER_MIN ||
        (uint64_t)head->header_len + head->payload_len != size)
        return FW_ERR_FORMAT;
    return FW_OK;
}

static enum fw_err expect(const uint8_t *data, size_t size, uint8_t type, size_t min_header,
                          struct fw_wire_head *head)
{
    const enum fw_err err = fw_wire_parse_head(data, size, head);
    if (err)
        return err;
    return head->type == type && head->header_len >= min_header ? FW_OK : FW_ERR_FORMAT;
}

enum fw_err fw_wire_parse_video(const uint8_t *data, size_t size, struct fw_wire_video *video)
{
    struct fw_wire_head head;
    enum fw_err err = expect(data, size, FW_WIRE_VIDEO, FW_WIRE_VIDEO_HEADER, &head);
    if (err)
        return err;
    *video = (struct fw_wire_video){
        .key = head.flags & FW_VIDEO_KEY,
        .animating = head.flags & FW_VIDEO_ANIMATING,
        .frame_id = get64(data + 8),
        .input_id = get64(data + 16),
        .change_ns = get_ns(data + 24),
        .begun_ns = get_ns(data + 32),
        .encoded_ns = get_ns(data + 40),
        .width = get16(data + 48),
        .height = get16(data + 50),
        .coded_width = get16(data + 52),
        .coded_height = get16(data + 54),
        .render_us = get32(data + 56),
        .encode_us = get32(data + 60),
        .payload = data + head.header_len,
        .payload_size = head.payload_len,
    };
    const size_t more = video->key ? FW_WIRE_VIDEO_KEY_HEADER : FW_WIRE_VIDEO_HEADER;
    if (head.header_len >= more + sizeof(uint32_t))
        video->convert_us = get32(data + more);
    if (!video->key)
        return FW_OK;
    if (head.header_len < FW_WIRE_VIDEO_KEY_HEADER ||
        !memchr(data + FW_WIRE_VIDEO_HEADER, 0, FW_CODEC_STRING_SIZE))
        return FW_ERR_FORMAT;
    memcpy(video->codec, data + FW_WIRE_VIDEO_HEADER, FW_CODEC_STRING_SIZE);
    return FW_OK;
}

// Count and lengths of a batch of records.
static enum fw_err parse_batch(const uint8_t *data, size_t size, uint8_t type, size_t record,
                               const uint8_t **payload, unsigned *count)
{
    struct fw_wire_head head;
    enum fw_err err = expect(data, size, type, FW_WIRE_BATCH_HEADER, &head);
    if (err)
        return err;
    *count = get16(data + 8);
    if (*count < 1 || *count > FW_WIRE_BATCH_MAX || head.payload_len != *count * record)
        return FW_ERR_FORMAT;
    *payload = data + head.header_len;
    return FW_OK;
}

static bool input_valid(const struct fw_wire_input *in)
{
    enum { KEY_CODE_MAX = 767, LIMIT = 1 << 20 };
    const float v[4] = { in->x, in->y, in->dx, in->dy };
    for (int i = 0; i < 4; i++) {
        if (!isfinite(v[i]) || fabsf(v[i]) > LIMIT)
            return false;
    }
    if (in->mods > 15)
        return false;
    switch (in->kind) {
    case FW_INPUT_MOTION:
    case FW_INPUT_WHEEL:
    case FW_INPUT_RELEASE: return true;
    case FW_INPUT_BUTTON: return in->state <= 1 && in->code <= 4;
    case FW_INPUT_KEY: return in->state <= 1 && in->code >= 1 && in->code <= KEY_CODE_MAX;
    case FW_INPUT_TOUCH: return in->state <= FW_TOUCH_CANCEL && in->code <= 9;
    default: return false;
    }
}

enum fw_err fw_wire_parse_input(const uint8_t *data, size_t size, struct fw_wire_input *out,
                                unsigned *count)
{
    const uint8_t *p;
    enum fw_err err = parse_batch(data, size, FW_WIRE_INPUT, FW_WIRE_INPUT_SIZE, &p, count);
    if (err)
        return err;
    for (unsigned i = 0; i < *count; i++, p += FW_WIRE_INPUT_SIZE) {
        out[i] = (struct fw_wire_input){
            .kind = p[0],
            .state = p[1],
            .mods = p[2],
            .code = get16(p + 4),
            .x = get_f32(p + 8),
            .y = get_f32(p + 12),
            .dx = get_f32(p + 16),
            .dy = get_f32(p + 20),
            .seq = get64(p + 24),
            .time_us = get64(p + 32),
        };
        out[i].valid = input_valid(&out[i]);
    }
    return FW_OK;
}

enum fw_err fw_wire_parse_ack(const uint8_t *data, size_t size, struct fw_wire_ack *out,
                              unsigned *count)
{
    const uint8_t *p;
    enum fw_err err = parse_batch(data, size, FW_WIRE_ACK, FW_WIRE_ACK_SIZE, &p, count);
    if (err)
        return err;
    for (unsigned i = 0; i < *count; i++, p += FW_WIRE_ACK_SIZE)
        out[i] = (struct fw_wire_ack){
            .frame_id = get64(p),
            .what = p[8],
            .time_us = get64(p + 16),
        };
    return FW_OK;
}

enum fw_err fw_wire_parse_ping(const uint8_t *data, size_t size, struct fw_wire_ping *ping)
{
    struct fw_wire_head head;
    enum fw_err err = expect(data, size, FW_WIRE_PING, PING_HEADER, &head);
    if (err)
        return err;
    *ping = (struct fw_wire_ping){ .client_us = get64(data + 8) };
    ping->estimate = head.header_len >= PING_ESTIMATE_HEADER;
    if (ping->estimate) {
        ping->offset_ns = (int64_t)get64(data + 16);
        ping->error_us = get32(data + 24);
    }
    return FW_OK;
}

enum fw_err fw_wire_parse_beacon(const uint8_t *data, size_t size, struct fw_wire_beacon *beacon)
{
    struct fw_wire_head head;
    enum fw_err err = expect(data, size, FW_WIRE_BEACON, 24, &head);
    if (!err)
        *beacon = (struct fw_wire_beacon){
            .current = head.flags & FW_BEACON_CURRENT,
            .animating = head.flags & FW_BEACON_ANIMATING,
            .server_ns = get_ns(data + 8),
            .newest_frame = get64(data + 16),
        };
    return err;
}

static struct fw_wire_stamp get_stamp(const uint8_t *p)
{
    return (struct fw_wire_stamp){
        .frame_id = get64(p),
        .handed_ns = get_ns(p + 8),
        .accepted_ns = get_ns(p + 16),
    };
}

enum fw_err fw_wire_parse_stamp(const uint8_t *data, size_t size, struct fw_wire_stamp *stamp)
{
    struct fw_wire_stamp all[FW_WIRE_STAMPS_MAX];
    unsigned count;
    const enum fw_err err = fw_wire_parse_stamps(data, size, all, &count);
    if (!err)
        *stamp = all[count - 1];
    return err;
}

enum fw_err fw_wire_parse_stamps(const uint8_t *data, size_t size, struct fw_wire_stamp *out,
                                 unsigned *count)
{
    struct fw_wire_head head;
    const enum fw_err err = expect(data, size, FW_WIRE_STAMP, STAMP_HEADER, &head);
    if (err)
        return err;
    const unsigned earlier = head.payload_len / STAMP_SIZE;
    if (head.payload_len % STAMP_SIZE || earlier >= FW_WIRE_STAMPS_MAX)
        return FW_ERR_FORMAT;
    for (unsigned i = 0; i < earlier; i++)
        out[i] = get_stamp(data + head.header_len + i * STAMP_SIZE);
    out[earlier] = get_stamp(data + FW_WIRE_HEADER_MIN);
    *count = earlier + 1;
    return FW_OK;
}

enum fw_err fw_wire_parse_pong(const uint8_t *data, size_t size, struct fw_wire_pong *pong)
{
    struct fw_wire_head head;
    enum fw_err err = expect(data, size, FW_WIRE_PONG, 32, &head);
    if (!err)
        *pong = (struct fw_wire_pong){
            .client_us = get64(data + 8),
            .rx_ns = get_ns(data + 16),
            .tx_ns = get_ns(data + 24),
        };
    return err;
}

enum fw_err fw_wire_parse_input_stamp(const uint8_t *data, size_t size,
                                      struct fw_wire_input_stamp *stamp)
{
    struct fw_wire_head head;
    enum fw_err err = expect(data, size, FW_WIRE_INPUT_STAMP, 32, &head);
    if (!err)
        *stamp = (struct fw_wire_input_stamp){
            .seq = get64(data + 8),
            .input_id = get64(data + 16),
            .rx_ns = get_ns(data + 24),
        };
    return err;
}

static uint32_t span_us(int64_t from_ns, int64_t to_ns)
{
    if (from_ns <= 0 || to_ns <= from_ns)
        return 0;
    const int64_t us = (to_ns - from_ns) / FW_NS_PER_US;
    return us > UINT32_MAX ? UINT32_MAX : (uint32_t)us;
}

size_t fw_wire_video_header_size(bool key)
{
    return FW_WIRE_VIDEO_HEADER_MAX - (key ? 0 : FW_CODEC_STRING_SIZE);
}

size_t fw_wire_write_video_header(uint8_t *out, const struct fw_packet *packet)
{
    const struct fw_frame_times *t = &packet->times;
    const size_t header = fw_wire_video_header_size(packet->key);
    put_head(
        out, FW_WIRE_VIDEO,
        (uint8_t)((packet->key ? FW_VIDEO_KEY : 0) | (packet->animating ? FW_VIDEO_ANIMATING : 0)),
        header, packet->size);
    put64(out + 8, packet->frame_id);
    put64(out + 16, packet->input_id);
    put64(out + 24, (uint64_t)t->change_ns);
    put64(out + 32, (uint64_t)t->begun_ns);
    put64(out + 40, (uint64_t)t->enc_end_ns);
    put16(out + 48, (uint16_t)packet->width);
    put16(out + 50, (uint16_t)packet->height);
    put16(out + 52, (uint16_t)packet->coded_width);
    put16(out + 54, (uint16_t)packet->coded_height);
    put32(out + 56, span_us(t->begun_ns, t->converted_ns));
    put32(out + 60, span_us(t->enc_begin_ns, t->enc_end_ns));
    if (packet->key) {
        uint8_t *codec = out + FW_WIRE_VIDEO_HEADER;
        memset(codec, 0, FW_CODEC_STRING_SIZE);
        memcpy(codec, packet->codec, strnlen(packet->codec, FW_CODEC_STRING_SIZE - 1));
    }
    put32(out + header - 8, span_us(t->rendered_ns, t->converted_ns));
    put32(out + header - 4, 0);
    return header;
}

static void put_batch_head(uint8_t *out, uint8_t type, unsigned count, size_t record)
{
    put_head(out, type, 0, FW_WIRE_BATCH_HEADER, count * record);
    put64(out + 8, 0);
    put16(out + 8, (uint16_t)count);
}

size_t fw_wire_write_input(uint8_t *out, const struct fw_wire_input *events, unsigned count)
{
    put_batch_head(out, FW_WIRE_INPUT, count, FW_WIRE_INPUT_SIZE);
    uint8_t *p = out + FW_WIRE_BATCH_HEADER;
    for (unsigned i = 0; i < count; i++, p += FW_WIRE_INPUT_SIZE) {
        const struct fw_wire_input *e = &events[i];
        put64(p, 0);
        p[0] = e->kind;
        p[1] = e->state;
        p[2] = e->mods;
        put16(p + 4, e->code);
        put_f32(p + 8, e->x);
        put_f32(p + 12, e->y);
        put_f32(p + 16, e->dx);
        put_f32(p + 20, e->dy);
        put64(p + 24, e->seq);
        put64(p + 32, e->time_us);
    }
    return (size_t)(p - out);
}

size_t fw_wire_write_ack(uint8_t *out, const struct fw_wire_ack *acks, unsigned count)
{
    put_batch_head(out, FW_WIRE_ACK, count, FW_WIRE_ACK_SIZE);
    uint8_t *p = out + FW_WIRE_BATCH_HEADER;
    for (unsigned i = 0; i < count; i++, p += FW_WIRE_ACK_SIZE) {
        put64(p, acks[i].frame_id);
        put64(p + 8, acks[i].what);
        put64(p + 16, acks[i].time_us);
    }
    return (size_t)(p - out);
}

size_t fw_wire_write_ping(uint8_t *out, const struct fw_wire_ping *ping)
{
    const size_t header = ping->estimate ? PING_ESTIMATE_HEADER : PING_HEADER;
    put_head(out, FW_WIRE_PING, 0, header, 0);
    put64(out + 8, ping->client_us);
    if (ping->estimate) {
        put64(out + 16, (uint64_t)ping->offset_ns);
        put64(out + 24, ping->error_us);
    }
    return header;
}

size_t fw_wire_write_beacon(uint8_t *out, const struct fw_wire_beacon *beacon)
{
    put_head(out, FW_WIRE_BEACON,
             (uint8_t)((beacon->current ? FW_BEACON_CURRENT : 0) |
                       (beacon->animating ? FW_BEACON_ANIMATING : 0)),
             24, 0);
    put64(out + 8, (uint64_t)beacon->server_ns);
    put64(out + 16, beacon->newest_frame);
    return 24;
}

// Three 64-bit numbers after the common header.
static size_t put_triple(uint8_t *out, uint8_t type, uint64_t a, uint64_t b, uint64_t c)
{
    put_head(out, type, 0, 32, 0);
    put64(out + 8, a);
    put64(out + 16, b);
    put64(out + 24, c);
    return 32;
}

static void put_stamp(uint8_t *p, const struct fw_wire_stamp *stamp)
{
    put64(p, stamp->frame_id);
    put64(p + 8, (uint64_t)stamp->handed_ns);
    put64(p + 16, (uint64_t)stamp->accepted_ns);
}

size_t fw_wire_write_stamps(uint8_t *out, const struct fw_wire_stamp *stamps, unsigned count)
{
    const unsigned earlier = count - 1;
    put_head(out, FW_WIRE_STAMP, 0, STAMP_HEADER, earlier * STAMP_SIZE);
    put_stamp(out + FW_WIRE_HEADER_MIN, &stamps[earlier]);
    for (unsigned i = 0; i < earlier; i++)
        put_stamp(out + STAMP_HEADER + i * STAMP_SIZE, &stamps[i]);
    return STAMP_HEADER + earlier * STAMP_SIZE;
}

size_t fw_wire_write_pong(uint8_t *out, const struct fw_wire_pong *pong)
{
    return put_triple(out, FW_WIRE_PONG, pong->client_us, (uint64_t)pong->rx_ns,
                      (uint64_t)pong->tx_ns);
}

size_t fw_wire_write_input_stamp(uint8_t *out, const struct fw_wire_input_stamp *stamp)
{
    return put_triple(out, FW_WIRE_INPUT_STAMP, stamp->seq, stamp->input_id,
                      (uint64_t)stamp->rx_ns);
}
