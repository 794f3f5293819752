// SPDX-License-Identifier: MIT
#include "encode/lavc.h"

#include <libavutil/intreadwrite.h>
#include <libavutil/opt.h>
#include <stdio.h>
#include <stdlib.h>

#include "encode/avlog.h"

enum { ENDLESS_GOP = 1 << 30 };

bool fw_lavc_has(const char *codec, char *reason, size_t reason_size)
{
    if (avcodec_find_encoder_by_name(codec)) {
        return true;
    }
    snprintf(reason, reason_size, "this libavcodec has no %s", codec);
    return false;
}

enum fw_err fw_lavc_set_rate(void *state, int bitrate_kbps, int frame_bytes)
{
    struct fw_lavc *lavc = state;
    AVCodecContext *ctx = lavc->ctx;
    // A buffer smaller than a frame at the peak rate would be raised to it by x264, so the peak
    // comes down with the buffer: each frame then fits into `frame_bytes`.
    const int64_t bits = (int64_t)frame_bytes * 8, peak = bits * lavc->fps;
    const int64_t rate = (int64_t)bitrate_kbps * 1000;
    ctx->rc_max_rate = peak < rate ? peak : rate;
    ctx->rc_buffer_size = (int)bits;
    if (ctx->bit_rate > 0) {
        ctx->bit_rate = ctx->rc_max_rate;
    }
    const int level = fw_h264_level(lavc->width, lavc->height, lavc->fps, bitrate_kbps);
    if (level > lavc->stream.level) {
        lavc->stream.level = level; // named by the SPS of the next IDR
    }
    return FW_OK;
}

static void set_common(struct fw_lavc *lavc, const struct fw_encoder_config *config,
                       const struct fw_lavc_params *params)
{
    AVCodecContext *ctx = lavc->ctx;
    ctx->width = config->width;
    ctx->height = config->height;
    ctx->pix_fmt = params->format;
    ctx->time_base = (AVRational){ 1, config->fps };
    ctx->framerate = (AVRational){ config->fps, 1 };
    ctx->gop_size = ENDLESS_GOP;
    ctx->max_b_frames = 0;
    ctx->refs = 1;
    ctx->flags |= AV_CODEC_FLAG_LOW_DELAY;
    ctx->thread_count = config->threads;
    ctx->thread_type = FF_THREAD_SLICE;
    ctx->color_range = AVCOL_RANGE_MPEG;
    ctx->color_primaries = AVCOL_PRI_BT709;
    ctx->color_trc = AVCOL_TRC_BT709;
    ctx->colorspace = AVCOL_SPC_BT709;
    ctx->chroma_sample_location = AVCHROMA_LOC_LEFT;
    ctx->bit_rate = (int64_t)config->bitrate_kbps * 1000;
    fw_lavc_set_rate(lavc, config->bitrate_kbps, config->frame_bytes);
    ctx->level = lavc->stream.level;
}

static enum fw_err init(struct fw_lavc *lavc, const struct fw_encoder_config *config,
                        const struct fw_lavc_params *params, char *message, size_t message_size)
{
    *lavc =
        (struct fw_lavc){ .fps = config->fps, .width = config->width, .height = config->height };
    const AVCodec *codec = avcodec_find_encoder_by_name(params->codec);
    if (!codec) {
        snprintf(message, message_size, "this libavcodec has no %s", params->codec);
        return FW_ERR_UNSUPPORTED;
    }
    fw_avlog_install();
    fw_avlog_reset();
    lavc->ctx = avcodec_alloc_context3(codec);
    lavc->packet = av_packet_alloc();
    lavc->host = av_frame_alloc();
    lavc->upload = av_frame_alloc();
    if (!lavc->ctx || !lavc->packet || !lavc->host || !lavc->upload) {
        snprintf(message, message_size, "out of memory");
        return FW_ERR_NOMEM;
    }
    set_common(lavc, config, params);
    for (const struct fw_lavc_option *o = params->options; o->name; o++) {
        // An option that another version of libavcodec lacks is not worth failing for; what it
        // should achieve is checked on the stream.
        (void)av_opt_set(lavc->ctx, o->name, o->value, AV_OPT_SEARCH_CHILDREN);
    }
    if (params->hw_frames) {
        lavc->ctx->hw_frames_ctx = av_buffer_ref(params->hw_frames);
        if (!lavc->ctx->hw_frames_ctx) {
            snprintf(message, message_size, "out of memory");
            return FW_ERR_NOMEM;
        }
    }
    fw_avlog_reset();
    const int ret = avcodec_open2(lavc->ctx, codec, NULL);
    if (ret < 0) {
        snprintf(message, message_size, "%s", fw_avlog_reason(ret));
        return ret == AVERROR(ENOMEM) ? FW_ERR_NOMEM : FW_ERR_UNSUPPORTED;
    }
    fw_h264_stream_headers(&lavc->stream, lavc->ctx->extradata, (size_t)lavc->ctx->extradata_size);
    return FW_OK;
}

static void finish(struct fw_lavc *lavc)
{
    avcodec_free_context(&lavc->ctx);
    av_packet_free(&lavc->packet);
    av_frame_free(&lavc->host);
    av_frame_free(&lavc->upload);
}

enum fw_err fw_lavc_open(void **state, const struct fw_encoder_config *config,
                         const struct fw_lavc_params *params, char *message, size_t message_size)
{
    struct fw_lavc *lavc = malloc(sizeof(*lavc));
    if (!lavc) {
        return FW_ERR_NOMEM;
    }
    const enum fw_err err = init(lavc, config, params, message, message_size);
    *state = lavc;
    if (err) {
        fw_lavc_close(state);
    }
    return err;
}

void fw_lavc_close(void **state)
{
    finish(*state);
    free(*state);
    *state = NULL;
}

static void drop_frame(void *opaque, uint8_t *data)
{
    (void)data;
    struct fw_frame *frame = opaque;
    fw_frame_unref(&frame);
}

// Points lavc->host at the planes. libavcodec copies frames that are not reference-counted, so each
// plane's buffer holds a reference to the frame instead.
static int wrap_frame(struct fw_lavc *lavc, struct fw_frame *frame)
{
    AVFrame *host = lavc->host;
    host->format = AV_PIX_FMT_NV12;
    host->width = lavc->width;
    host->height = lavc->height;
    for (int i = 0; i < 2; i++) {
        const size_t rows = (size_t)(i == 0 ? lavc->height : lavc->height / 2);
        host->data[i] = frame->plane[i].data;
        host->linesize[i] = (int)frame->plane[i].stride;
        host->buf[i] = av_buffer_create(frame->plane[i].data, frame->plane[i].stride * rows,
                                        drop_frame, fw_frame_ref(frame), AV_BUFFER_FLAG_READONLY);
        if (!host->buf[i]) {
            struct fw_frame *extra = frame;
            fw_frame_unref(&extra);
            return AVERROR(ENOMEM);
        }
    }
    host->color_range = lavc->ctx->color_range;
    host->color_primaries = lavc->ctx->color_primaries;
    host->color_trc = lavc->ctx->color_trc;
    host->colorspace = lavc->ctx->colorspace;
    host->chroma_location = lavc->ctx->chroma_sample_location;
    return 0;
}

static int send_frame(struct fw_lavc *lavc, bool key)
{
    AVFrame *input = lavc->host;
    if (lavc->ctx->hw_frames_ctx) {
        int ret = av_hwframe_get_buffer(lavc->ctx->hw_frames_ctx, lavc->upload, 0);
        if (ret >= 0) {
            ret = av_hwframe_transfer_data(lavc->upload, lavc->host, 0);
        }
        if (ret < 0) {
            return ret;
        }
        (void)av_frame_copy_props(lavc->upload, lavc->host);
        input = lavc->upload;
    }
    // A counter and not the clock: rate control then sees steady frames, also after a pause.
    input->pts = lavc->pts++;
    input->pict_type = key ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_NONE;
    return avcodec_send_frame(lavc->ctx, input);
}

// libavcodec's word on quality is a lambda; 0 = it says nothing.
static uint8_t qp_plus1(const AVPacket *packet)
{
    enum { QP_MAX = 51 };
    size_t size = 0;
    const uint8_t *stats = av_packet_get_side_data(packet, AV_PKT_DATA_QUALITY_STATS, &size);
    if (!stats || size < sizeof(uint32_t)) {
        return 0;
    }
    const uint32_t qp = (AV_RL32(stats) + FF_QP2LAMBDA / 2) / FF_QP2LAMBDA;
    return qp <= QP_MAX ? (uint8_t)(qp + 1) : 0;
}

enum fw_err fw_lavc_encode(void *state, struct fw_frame *frame, bool key, struct fw_packet **packet,
                           char *message, size_t message_size)
{
    struct fw_lavc *lavc = state;
    *packet = NULL;
    fw_avlog_reset();
    int ret = wrap_frame(lavc, frame);
    if (ret >= 0) {
        ret = send_frame(lavc, key);
    }
    av_frame_unref(lavc->host);
    av_frame_unref(lavc->upload);
    if (ret >= 0) {
        ret = avcodec_receive_packet(lavc->ctx, lavc->packet);
    }
    if (ret == AVERROR(EAGAIN)) {
        snprintf(message, message_size, "it holds frames back");
        return FW_ERR_UNSUPPORTED;
    }
    if (ret < 0) {
        snprintf(message, message_size, "%s", fw_avlog_reason(ret));
        return FW_ERR_INTERNAL;
    }
    const char *why = NULL;
    const enum fw_err err = fw_h264_stream_convert(&lavc->stream, lavc->packet->data,
                                                   (size_t)lavc->packet->size, packet, &why);
    const uint8_t qp = qp_plus1(lavc->packet);
    av_packet_unref(lavc->packet);
    if (err) {
        snprintf(message, message_size, "%s", why);
        return err;
    }
    if ((*packet)->key &&
        (lavc->stream.width != lavc->width || lavc->stream.height != lavc->height)) {
        snprintf(message, message_size, "it made %dx%d of %dx%d", lavc->stream.width,
                 lavc->stream.height, lavc->width, lavc->height);
        fw_packet_unref(packet);
        return FW_ERR_FORMAT;
    }
    (*packet)->facts.qp_plus1 = qp;
    return FW_OK;
}
