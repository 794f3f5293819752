// SPDX-License-Identifier: MIT
#include "bench/floor.h"

#include <libavcodec/avcodec.h>
#include <libavutil/opt.h>
#include <stdio.h>
#include <stdlib.h>

#include "encode/x264_options.h"

// libx264 as bare as libavcodec allows, with the session's own options and those of encode/lavc.c.
struct floor_encode {
    AVCodecContext *ctx;
    AVPacket *packet;
    AVFrame *frame;
    int64_t pts;
};

static void keep(void *opaque, uint8_t *data)
{
    (void)opaque;
    (void)data;
}

struct floor_encode *floor_encode_open(const struct floor_params *params)
{
    struct floor_encode *e = calloc(1, sizeof(*e));
    av_log_set_level(AV_LOG_ERROR);
    const AVCodec *codec = avcodec_find_encoder_by_name("libx264");
    if (!e || !codec || !(e->ctx = avcodec_alloc_context3(codec)))
        goto error;
    const int64_t rate = (int64_t)params->bitrate_kbps * 1000;
    AVCodecContext *c = e->ctx;
    c->width = params->width;
    c->height = params->height;
    c->pix_fmt = AV_PIX_FMT_NV12;
    c->time_base = (AVRational){ 1, params->fps };
    c->framerate = (AVRational){ params->fps, 1 };
    c->gop_size = 1 << 30;
    c->max_b_frames = 0;
    c->refs = 1;
    c->flags |= AV_CODEC_FLAG_LOW_DELAY;
    c->thread_count = 1;
    c->thread_type = FF_THREAD_SLICE;
    c->color_range = AVCOL_RANGE_MPEG;
    c->bit_rate = c->rc_max_rate = rate;
    c->rc_buffer_size = (int)(rate / params->fps);
    for (const struct fw_lavc_option *o = fw_x264_options; o->name; o++)
        av_opt_set(c, o->name, o->value, AV_OPT_SEARCH_CHILDREN);
    e->packet = av_packet_alloc();
    e->frame = av_frame_alloc();
    if (!e->packet || !e->frame || avcodec_open2(c, codec, NULL) < 0)
        goto error;
    return e;
error:
    fprintf(stderr, "floor: libx264 does not open\n");
    floor_encode_close(&e);
    return NULL;
}

void floor_encode_close(struct floor_encode **encode)
{
    struct floor_encode *e = *encode;
    if (!e)
        return;
    avcodec_free_context(&e->ctx);
    av_packet_free(&e->packet);
    av_frame_free(&e->frame);
    free(e);
    *encode = NULL;
}

int floor_encode_frame(struct floor_encode *e, const struct fw_frame *frame)
{
    AVFrame *in = e->frame;
    in->format = AV_PIX_FMT_NV12;
    in->width = frame->coded_width;
    in->height = frame->coded_height;
    in->pts = e->pts++;
    for (int i = 0; i < 2; i++) {
        const size_t rows = (size_t)(i ? frame->coded_height / 2 : frame->coded_height);
        in->data[i] = frame->plane[i].data;
        in->linesize[i] = (int)frame->plane[i].stride;
        // A buffer reference keeps libavcodec from copying the planes.
        in->buf[i] = av_buffer_create(frame->plane[i].data, frame->plane[i].stride * rows, keep,
                                      NULL, AV_BUFFER_FLAG_READONLY);
        if (!in->buf[i])
            return -1;
    }
    int size = -1;
    av_packet_unref(e->packet);
    if (avcodec_send_frame(e->ctx, in) == 0 && avcodec_receive_packet(e->ctx, e->packet) == 0)
        size = e->packet->size;
    av_frame_unref(in);
    return size;
}

const void *floor_encode_data(const struct floor_encode *e)
{
    return e->packet->data;
}
