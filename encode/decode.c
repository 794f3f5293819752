// SPDX-License-Identifier: MIT
#include "encode/decode.h"

#include <libavcodec/avcodec.h>
#include <stdlib.h>
#include <string.h>

#include "base/frame.h"
#include "base/packet.h"
#include "encode/avlog.h"

struct fw_decoder {
    AVCodecContext *ctx;
    AVPacket *packet;
    AVFrame *picture;
};

enum fw_err fw_decoder_create(struct fw_decoder **decoder)
{
    *decoder = NULL;
    fw_avlog_install();
    const AVCodec *codec = avcodec_find_decoder(AV_CODEC_ID_H264);
    if (!codec) {
        return FW_ERR_UNSUPPORTED;
    }
    struct fw_decoder *d = calloc(1, sizeof(*d));
    if (!d) {
        return FW_ERR_NOMEM;
    }
    enum fw_err err = FW_ERR_NOMEM;
    d->ctx = avcodec_alloc_context3(codec);
    d->packet = av_packet_alloc();
    d->picture = av_frame_alloc();
    if (!d->ctx || !d->packet || !d->picture) {
        goto error;
    }
    // Frame threads would hold pictures back; low delay stays off so that a stream which allows
    // reordering shows up as FW_ERR_AGAIN.
    d->ctx->thread_count = 1;
    // None of ours is larger, its macroblocks included: what a server sends takes memory of ours.
    d->ctx->max_pixels = (FW_FRAME_MAX_WIDTH + 16) * (FW_FRAME_MAX_HEIGHT + 16);
    d->ctx->err_recognition = AV_EF_EXPLODE | AV_EF_CRCCHECK | AV_EF_BITSTREAM;
    if (avcodec_open2(d->ctx, codec, NULL) < 0) {
        err = FW_ERR_UNSUPPORTED;
        goto error;
    }
    *decoder = d;
    return FW_OK;

error:
    fw_decoder_destroy(&d);
    return err;
}

void fw_decoder_destroy(struct fw_decoder **decoder)
{
    if (!decoder || !*decoder) {
        return;
    }
    struct fw_decoder *d = *decoder;
    *decoder = NULL;
    avcodec_free_context(&d->ctx);
    av_packet_free(&d->packet);
    av_frame_free(&d->picture);
    free(d);
}

static enum fw_err copy_picture(const AVFrame *picture, struct fw_frame **frame)
{
    if (picture->format != AV_PIX_FMT_YUV420P && picture->format != AV_PIX_FMT_YUVJ420P) {
        return FW_ERR_UNSUPPORTED;
    }
    struct fw_frame *f = fw_frame_alloc(picture->width, picture->height, FW_PIXEL_NV12);
    if (!f) {
        return FW_ERR_UNSUPPORTED;
    }
    for (int y = 0; y < picture->height; y++) {
        memcpy(f->plane[0].data + (size_t)y * f->plane[0].stride,
               picture->data[0] + (ptrdiff_t)y * picture->linesize[0], (size_t)picture->width);
    }
    for (int y = 0; y < picture->height / 2; y++) {
        const uint8_t *cb = picture->data[1] + (ptrdiff_t)y * picture->linesize[1];
        const uint8_t *cr = picture->data[2] + (ptrdiff_t)y * picture->linesize[2];
        uint8_t *out = f->plane[1].data + (size_t)y * f->plane[1].stride;
        for (int x = 0; x < picture->width / 2; x++) {
            out[2 * x] = cb[x];
            out[2 * x + 1] = cr[x];
        }
    }
    *frame = f;
    return FW_OK;
}

enum fw_err fw_decoder_decode(struct fw_decoder *decoder, const uint8_t *data, size_t size,
                              struct fw_frame **frame)
{
    *frame = NULL;
    if (size == 0 || size > FW_PACKET_MAX_BYTES) {
        return FW_ERR_FORMAT;
    }
    // libavcodec reads some bytes past the end, so the data moves into a padded packet.
    if (av_new_packet(decoder->packet, (int)size) < 0) {
        return FW_ERR_NOMEM;
    }
    memcpy(decoder->packet->data, data, size);
    int ret = avcodec_send_packet(decoder->ctx, decoder->packet);
    av_packet_unref(decoder->packet);
    if (ret >= 0) {
        ret = avcodec_receive_frame(decoder->ctx, decoder->picture);
    }
    if (ret < 0) {
        return ret == AVERROR(EAGAIN) ? FW_ERR_AGAIN : FW_ERR_FORMAT;
    }
    const enum fw_err err = decoder->picture->decode_error_flags
                                ? FW_ERR_FORMAT
                                : copy_picture(decoder->picture, frame);
    av_frame_unref(decoder->picture);
    return err;
}
