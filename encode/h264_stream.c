// SPDX-License-Identifier: MIT
#include "encode/h264_stream.h"

#include <stdio.h>
#include <string.h>

#include "encode/h264_bits.h"

enum {
    NAL_MASK = 0x1f,
    LONG_START_CODE = 4,
    SHORT_START_CODE = 3,
    SLICE_B = 1,
    SEI_FILLER = 3,
    SEI_REGISTERED = 4,
    SEI_UNREGISTERED = 5,
    SLICE_HEADER_BYTES = 16, // enough for first_mb_in_slice and slice_type
};

// One access unit, sorted. Indices follow the order of output.
struct access_unit {
    const struct fw_h264_nal *aud;
    bool has_sps, has_pps, key;
    unsigned pictures, sei_count, slice_count;
    const struct fw_h264_nal *sei[FW_H264_MAX_NALS];
    const struct fw_h264_nal *slice[FW_H264_MAX_NALS];
};

static int nal_type(const struct fw_h264_nal *nal)
{
    return nal->data[0] & NAL_MASK;
}

// Offset of the next 00 00 01 at or after `from`, or `size`.
static size_t find_start_code(const uint8_t *data, size_t size, size_t from)
{
    size_t i = from;
    while (i + 3 <= size) {
        // A third byte over 1 can't be part of a start code that begins in these three.
        if (data[i + 2] > 1) {
            i += 3;
        } else if (data[i] == 0 && data[i + 1] == 0 && data[i + 2] == 1) {
            return i;
        } else {
            i++;
        }
    }
    return size;
}

enum fw_err fw_h264_split(const uint8_t *data, size_t size, struct fw_h264_nal *nals,
                          unsigned *count)
{
    const unsigned room = *count;
    *count = 0;
    size_t start = find_start_code(data, size, 0);
    if (start == size) {
        return FW_ERR_FORMAT;
    }
    while (start < size) {
        const size_t begin = start + SHORT_START_CODE;
        const size_t next = find_start_code(data, size, begin);
        size_t end = next;
        while (end > begin && data[end - 1] == 0) {
            end--;
        }
        if (end > begin) {
            if (*count == room) {
                return FW_ERR_TOO_LARGE;
            }
            nals[(*count)++] = (struct fw_h264_nal){ .data = data + begin, .size = end - begin };
        }
        start = next;
    }
    return FW_OK;
}

static enum fw_err take_sps(struct fw_h264_stream *s, const struct fw_h264_nal *nal)
{
    struct fw_h264_sps sps;
    enum fw_err err = fw_h264_sps_parse(&sps, nal->data, nal->size);
    if (err) {
        return err;
    }
    size_t size = sizeof(s->sps);
    if (fw_h264_sps_fix(&sps, s->level)) {
        err = fw_h264_sps_write(&sps, s->sps, &size);
        if (err) {
            s->sps_size = 0;
            return err;
        }
    } else {
        size = nal->size;
        memcpy(s->sps, nal->data, size);
    }
    s->sps_size = size;
    fw_h264_sps_size(&sps, &s->width, &s->height);
    fw_h264_codec_string(s->sps, s->codec, sizeof(s->codec));
    return FW_OK;
}

static enum fw_err take_pps(struct fw_h264_stream *s, const struct fw_h264_nal *nal)
{
    if (nal->size > FW_H264_PPS_MAX) {
        return FW_ERR_TOO_LARGE;
    }
    uint8_t rbsp[8];
    struct fw_bit_reader r = { .data = rbsp };
    r.bits = fw_h264_unescape(nal->data + 1, nal->size - 1, rbsp, sizeof(rbsp)) * 8;
    const uint32_t id = fw_bits_get_ue(&r);
    if (r.bad || id > 255) {
        return FW_ERR_FORMAT;
    }
    unsigned i = 0;
    while (i < s->pps_count && s->pps[i].id != id) {
        i++;
    }
    if (i == FW_H264_MAX_PPS) {
        return FW_ERR_TOO_LARGE;
    }
    s->pps_count = i == s->pps_count ? i + 1 : s->pps_count;
    s->pps[i].id = id;
    s->pps[i].size = nal->size;
    memcpy(s->pps[i].data, nal->data, nal->size);
    return FW_OK;
}

// True when a decoder loses nothing without it: versions, captions and padding.
static bool sei_is_useless(const struct fw_h264_nal *nal)
{
    size_t i = 1;
    // Messages until the stop byte. Emulation prevention does not matter for skipping whole units:
    // an odd length only makes us keep one.
    while (i + 2 <= nal->size && !(i + 1 == nal->size && nal->data[i] == 0x80)) {
        unsigned type = 0, length = 0;
        while (i < nal->size && nal->data[i] == 0xff) {
            type += 255;
            i++;
        }
        type += i < nal->size ? nal->data[i++] : 0;
        while (i < nal->size && nal->data[i] == 0xff) {
            length += 255;
            i++;
        }
        length += i < nal->size ? nal->data[i++] : 0;
        if (type != SEI_FILLER && type != SEI_REGISTERED && type != SEI_UNREGISTERED) {
            return false;
        }
        i += length;
    }
    return true;
}

static enum fw_err check_slice(const struct fw_h264_nal *nal, struct access_unit *au,
                               const char **why)
{
    uint8_t rbsp[SLICE_HEADER_BYTES];
    struct fw_bit_reader r = { .data = rbsp };
    r.bits = fw_h264_unescape(nal->data + 1, nal->size - 1, rbsp, sizeof(rbsp)) * 8;
    const uint32_t first_mb = fw_bits_get_ue(&r);
    const uint32_t type = fw_bits_get_ue(&r);
    if (r.bad || type > 9) {
        *why = "a slice header is broken";
        return FW_ERR_FORMAT;
    }
    if (type % 5 == SLICE_B) {
        *why = "the encoder makes B pictures";
        return FW_ERR_FORMAT;
    }
    au->pictures += first_mb == 0;
    return FW_OK;
}

static bool contains(const struct fw_h264_nal *nals, unsigned count, int type)
{
    for (unsigned i = 0; i < count; i++) {
        if (nal_type(&nals[i]) == type) {
            return true;
        }
    }
    return false;
}

static enum fw_err sort_unit(struct fw_h264_stream *s, const struct fw_h264_nal *nals,
                             unsigned count, struct access_unit *au, const char **why)
{
    // A whole new set replaces the old one, or it would fill up with sets that no slice uses.
    if (contains(nals, count, FW_H264_NAL_SPS) && contains(nals, count, FW_H264_NAL_PPS)) {
        s->pps_count = 0;
    }
    for (unsigned i = 0; i < count; i++) {
        const struct fw_h264_nal *nal = &nals[i];
        enum fw_err err = FW_OK;
        switch (nal_type(nal)) {
        case FW_H264_NAL_SPS:
            *why = "the SPS can't be read";
            au->has_sps = true;
            err = take_sps(s, nal);
            break;
        case FW_H264_NAL_PPS:
            *why = "the PPS can't be read";
            au->has_pps = true;
            err = take_pps(s, nal);
            break;
        case FW_H264_NAL_AUD: au->aud = au->aud ? au->aud : nal; break;
        case FW_H264_NAL_SEI:
            if (!sei_is_useless(nal)) {
                au->sei[au->sei_count++] = nal;
            }
            break;
        case FW_H264_NAL_SLICE:
        case FW_H264_NAL_IDR:
            err = check_slice(nal, au, why);
            au->key |= nal_type(nal) == FW_H264_NAL_IDR;
            au->slice[au->slice_count++] = nal;
            break;
        default: break; // filler, ends of sequence and extensions: not for our decoders
        }
        if (err) {
            return err;
        }
    }
    return FW_OK;
}

static size_t put(uint8_t *out, const uint8_t *data, size_t size, bool long_code)
{
    static const uint8_t code[LONG_START_CODE] = { 0, 0, 0, 1 };
    const size_t length = long_code ? LONG_START_CODE : SHORT_START_CODE;
    memcpy(out, code + LONG_START_CODE - length, length);
    memcpy(out + length, data, size);
    return length + size;
}

static size_t unit_size(const struct fw_h264_stream *s, const struct access_unit *au)
{
    size_t total = au->aud ? LONG_START_CODE + au->aud->size : 0;
    if (au->key || au->has_sps) {
        total += LONG_START_CODE + s->sps_size;
    }
    for (unsigned i = 0; (au->key || au->has_pps) && i < s->pps_count; i++) {
        total += LONG_START_CODE + s->pps[i].size;
    }
    for (unsigned i = 0; i < au->sei_count; i++) {
        total += SHORT_START_CODE + au->sei[i]->size;
    }
    for (unsigned i = 0; i < au->slice_count; i++) {
        total += SHORT_START_CODE + au->slice[i]->size;
    }
    return total + 1; // the first unit of all has the long code
}

static size_t write_unit(const struct fw_h264_stream *s, const struct access_unit *au, uint8_t *out)
{
    size_t n = 0;
    if (au->aud) {
        n += put(out + n, au->aud->data, au->aud->size, true);
    }
    if (au->key || au->has_sps) {
        n += put(out + n, s->sps, s->sps_size, true);
    }
    for (unsigned i = 0; (au->key || au->has_pps) && i < s->pps_count; i++) {
        n += put(out + n, s->pps[i].data, s->pps[i].size, true);
    }
    for (unsigned i = 0; i < au->sei_count; i++) {
        n += put(out + n, au->sei[i]->data, au->sei[i]->size, n == 0);
    }
    for (unsigned i = 0; i < au->slice_count; i++) {
        n += put(out + n, au->slice[i]->data, au->slice[i]->size, n == 0);
    }
    return n;
}

void fw_h264_stream_headers(struct fw_h264_stream *stream, const uint8_t *data, size_t size)
{
    struct fw_h264_nal nals[FW_H264_MAX_PPS + 4];
    unsigned count = sizeof(nals) / sizeof(nals[0]);
    if (!data || fw_h264_split(data, size, nals, &count)) {
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        // What can't be read here is reported when the first IDR comes without it.
        if (nal_type(&nals[i]) == FW_H264_NAL_SPS) {
            (void)take_sps(stream, &nals[i]);
        } else if (nal_type(&nals[i]) == FW_H264_NAL_PPS) {
            (void)take_pps(stream, &nals[i]);
        }
    }
}

enum fw_err fw_h264_stream_convert(struct fw_h264_stream *stream, const uint8_t *data, size_t size,
                                   struct fw_packet **packet, const char **why)
{
    struct fw_h264_nal nals[FW_H264_MAX_NALS];
    unsigned count = FW_H264_MAX_NALS;
    *packet = NULL;
    *why = "not an Annex B stream";
    enum fw_err err = fw_h264_split(data, size, nals, &count);
    if (err) {
        return err;
    }
    struct access_unit au = { 0 };
    err = sort_unit(stream, nals, count, &au, why);
    if (err) {
        return err;
    }
    if (au.pictures != 1) {
        *why = "a packet is not one whole picture";
        return FW_ERR_FORMAT;
    }
    if (au.key && (stream->sps_size == 0 || stream->pps_count == 0)) {
        *why = "an IDR came without parameter sets";
        return FW_ERR_FORMAT;
    }
    struct fw_packet *p = fw_packet_alloc(unit_size(stream, &au));
    if (!p) {
        *why = "no memory for the packet, or it is too large";
        return FW_ERR_NOMEM;
    }
    p->size = write_unit(stream, &au, p->data);
    p->key = au.key;
    if (au.key) {
        snprintf(p->codec, sizeof(p->codec), "%s", stream->codec);
    }
    *packet = p;
    return FW_OK;
}
