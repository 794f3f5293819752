// SPDX-License-Identifier: MIT
#include "session/cli/view_decode.h"

#include <libavcodec/avcodec.h>
#include <libavutil/hwcontext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/frame.h"
#include "encode/avlog.h"
#include "session/cli/view_present.h"

struct fw_view_decoder {
    AVCodecContext *ctx;
    AVBufferRef *device; // NULL = on the CPU
    enum AVPixelFormat hw_format;
    AVFrame *raw; // as the decoder gives it
    bool in_hardware;
    char name[24], why[200];
};

// Kinds of hardware, the quickest to hand pictures back first.
static const enum AVHWDeviceType kinds[] = { AV_HWDEVICE_TYPE_VAAPI, AV_HWDEVICE_TYPE_CUDA };
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static bool codec_knows(const AVCodec *codec, enum AVHWDeviceType kind, enum AVPixelFormat *format)
{
    const AVCodecHWConfig *config;
    for (int i = 0; (config = avcodec_get_hw_config(codec, i)); i++) {
        if (config->methods & AV_CODEC_HW_CONFIG_METHOD_HW_DEVICE_CTX &&
            config->device_type == kind) {
            *format = config->pix_fmt;
            return true;
        }
    }
    return false;
}

static void open_device(struct fw_view_decoder *d, const AVCodec *codec,
                        const struct fw_view_decoder_params *params)
{
    for (int i = 0; i < KINDS && !params->software && !d->device; i++) {
        const char *name = av_hwdevice_get_type_name(kinds[i]);
        if ((params->hw && strcasecmp(params->hw, name) != 0) ||
            !codec_knows(codec, kinds[i], &d->hw_format))
            continue;
        fw_avlog_reset();
        const int ret = av_hwdevice_ctx_create(&d->device, kinds[i], NULL, NULL, 0);
        if (ret < 0)
            fw_log(params->log, FW_LOG_DEBUG, "view", "no %s: %s", name, fw_avlog_reason(ret));
    }
}

// Offered a list: the hardware's format, else the first that lies in memory.
static enum AVPixelFormat pick_format(AVCodecContext *ctx, const enum AVPixelFormat *list)
{
    const struct fw_view_decoder *d = ctx->opaque;
    for (const enum AVPixelFormat *f = list; *f != AV_PIX_FMT_NONE; f++)
        if (d->device && *f == d->hw_format)
            return *f;
    return avcodec_default_get_format(ctx, list);
}

enum fw_err fw_view_decoder_create(struct fw_view_decoder **decoder,
                                   const struct fw_view_decoder_params *params)
{
    *decoder = NULL;
    fw_avlog_install();
    const AVCodec *codec = avcodec_find_decoder(AV_CODEC_ID_H264);
    if (!codec)
        return FW_ERR_UNSUPPORTED;
    struct fw_view_decoder *d = calloc(1, sizeof(*d));
    if (!d)
        return FW_ERR_NOMEM;
    enum fw_err err = FW_ERR_NOMEM;
    snprintf(d->name, sizeof(d->name), "CPU");
    d->ctx = avcodec_alloc_context3(codec);
    d->raw = av_frame_alloc();
    if (!d->ctx || !d->raw)
        goto error;
    open_device(d, codec, params);
    if (params->hw && !params->software && !d->device) {
        err = FW_ERR_NOT_FOUND;
        goto error;
    }
    d->ctx->opaque = d;
    d->ctx->get_format = pick_format;
    if (d->device)
        d->ctx->hw_device_ctx = av_buffer_ref(d->device);
    // Frame threads would hold pictures back; an error must not pass as a grey picture.
    d->ctx->thread_count = 1;
    // None of ours is larger, its macroblocks included: what a server sends takes memory of ours.
    d->ctx->max_pixels = (FW_FRAME_MAX_WIDTH + 16) * (FW_FRAME_MAX_HEIGHT + 16);
    d->ctx->flags |= AV_CODEC_FLAG_LOW_DELAY;
    d->ctx->err_recognition = AV_EF_EXPLODE | AV_EF_BITSTREAM;
    if (avcodec_open2(d->ctx, codec, NULL) < 0) {
        err = FW_ERR_UNSUPPORTED;
        goto error;
    }
    *decoder = d;
    return FW_OK;
error:
    fw_view_decoder_destroy(&d);
    return err;
}

void fw_view_decoder_destroy(struct fw_view_decoder **decoder)
{
    struct fw_view_decoder *d = *decoder;
    *decoder = NULL;
    if (!d)
        return;
    avcodec_free_context(&d->ctx);
    av_buffer_unref(&d->device);
    av_frame_free(&d->raw);
    free(d);
}

static enum fw_err fail(struct fw_view_decoder *d, int ret)
{
    if (ret == AVERROR(EAGAIN))
        return FW_ERR_AGAIN;
    snprintf(d->why, sizeof(d->why), "%s", fw_avlog_reason(ret));
    return ret == AVERROR(ENOMEM) ? FW_ERR_NOMEM : FW_ERR_FORMAT;
}

static enum fw_err hand_over(struct fw_view_decoder *d, AVFrame *picture)
{
    d->in_hardware = d->raw->format == d->hw_format && d->device != NULL;
    if (d->in_hardware) {
        const AVHWDeviceContext *context = (const AVHWDeviceContext *)d->device->data;
        const int ret = av_hwframe_transfer_data(picture, d->raw, 0);
        if (ret < 0)
            return fail(d, ret);
        picture->color_range = d->raw->color_range;
        snprintf(d->name, sizeof(d->name), "%s", av_hwdevice_get_type_name(context->type));
        for (char *c = d->name; *c; c++)
            *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    } else {
        av_frame_move_ref(picture, d->raw);
        snprintf(d->name, sizeof(d->name), "CPU");
    }
    if (picture->width > FW_VIEW_PICTURE_MAX || picture->height > FW_VIEW_PICTURE_MAX) {
        snprintf(d->why, sizeof(d->why), "a picture of %d x %d is too large", picture->width,
                 picture->height);
        return FW_ERR_TOO_LARGE;
    }
    if (picture->format == AV_PIX_FMT_YUV420P || picture->format == AV_PIX_FMT_YUVJ420P ||
        picture->format == AV_PIX_FMT_NV12)
        return FW_OK;
    snprintf(d->why, sizeof(d->why), "pictures of another kind than 8-bit 4:2:0");
    return FW_ERR_UNSUPPORTED;
}

enum fw_err fw_view_decoder_decode(struct fw_view_decoder *d, const AVPacket *packet,
                                   AVFrame *picture)
{
    av_frame_unref(picture);
    av_frame_unref(d->raw);
    fw_avlog_reset();
    int ret = avcodec_send_packet(d->ctx, packet);
    if (ret >= 0)
        ret = avcodec_receive_frame(d->ctx, d->raw);
    if (ret < 0)
        return fail(d, ret);
    const enum fw_err err = hand_over(d, picture);
    av_frame_unref(d->raw);
    return err;
}

const char *fw_view_decoder_name(const struct fw_view_decoder *d)
{
    return d->name;
}

bool fw_view_decoder_hardware(const struct fw_view_decoder *d)
{
    return d->in_hardware;
}

const char *fw_view_decoder_reason(const struct fw_view_decoder *d)
{
    return d->why;
}
