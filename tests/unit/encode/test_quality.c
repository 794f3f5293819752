// SPDX-License-Identifier: MIT
// The quantiser that a packet names, against what a decoder finds in the stream, block by block.
// The encoder chooses one for the picture; where its size would break the limit it goes on with
// coarser ones, row by row, so that a few pictures (those after a key frame) are coarser than they
// say.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <libavcodec/avcodec.h>
#include <libavutil/video_enc_params.h>

#include "tests/unit/encode/fixture.h"

static AVCodecContext *open_decoder(void)
{
    AVCodecContext *ctx = avcodec_alloc_context3(avcodec_find_decoder(AV_CODEC_ID_H264));
    assert_non_null(ctx);
    ctx->thread_count = 1;
    ctx->export_side_data = AV_CODEC_EXPORT_DATA_VIDEO_ENC_PARAMS;
    assert_true(avcodec_open2(ctx, NULL, NULL) >= 0);
    return ctx;
}

// The mean over all macroblocks.
static double decoded_qp(AVCodecContext *ctx, const struct fw_packet *packet)
{
    AVPacket *in = av_packet_alloc();
    AVFrame *out = av_frame_alloc();
    assert_true(av_new_packet(in, (int)packet->size) >= 0);
    memcpy(in->data, packet->data, packet->size);
    assert_true(avcodec_send_packet(ctx, in) >= 0);
    assert_true(avcodec_receive_frame(ctx, out) >= 0);
    const AVFrameSideData *side = av_frame_get_side_data(out, AV_FRAME_DATA_VIDEO_ENC_PARAMS);
    assert_non_null(side);
    AVVideoEncParams *params = (AVVideoEncParams *)(void *)side->data;
    assert_true(params->nb_blocks > 0);
    double sum = 0;
    for (unsigned i = 0; i < params->nb_blocks; i++)
        sum += params->qp + av_video_enc_params_block(params, i)->delta_qp;
    sum /= params->nb_blocks;
    av_packet_free(&in);
    av_frame_free(&out);
    return sum;
}

// The mean of what the packets of a run say. `off`: how many of the 12 are more than half a step
// off.
static double run(int kbps, int *off)
{
    enum { FRAMES = 12 };
    struct fw_encoder *encoder = fixture_open("x264", 640, 360, kbps, NULL);
    AVCodecContext *decoder = open_decoder();
    double mean = 0;
    for (int i = 0; i < FRAMES; i++) {
        struct fw_frame *frame = fixture_frame(640, 360, 3 * i);
        struct fw_packet *packet = NULL;
        assert_int_equal(fw_encoder_encode(encoder, frame, i == 7, &packet), FW_OK);
        const double found = decoded_qp(decoder, packet);
        assert_true(packet->facts.qp_plus1 > 0);
        assert_string_equal(packet->facts.encoder, "x264");
        const double said = packet->facts.qp_plus1 - 1;
        print_message("%d kbit/s, frame %d%s: %.0f, decoded %.2f, %zu bytes\n", kbps, i,
                      packet->key ? " (key)" : "", said, found, packet->size);
        *off += said < found - 0.5 || said > found + 0.5;
        mean += said / FRAMES;
        fw_packet_unref(&packet);
        fw_frame_unref(&frame);
    }
    avcodec_free_context(&decoder);
    fw_encoder_close(&encoder);
    return mean;
}

static void the_quantiser_is_that_of_the_stream(void **state)
{
    (void)state;
    int off = 0, coarse_off = 0;
    const double fine = run(20000, &off), coarse = run(400, &coarse_off);
    assert_int_equal(off, 0); // nothing limits it here
    assert_true(coarse > fine + 5);
}

static void an_encoder_without_one_says_so(void **state)
{
    (void)state;
    struct fw_encoder *encoder = fixture_open("raw", 64, 48, 8000, NULL);
    struct fw_frame *frame = fixture_frame(64, 48, 0);
    struct fw_packet *packet = NULL;
    frame->facts.qp_plus1 = 30; // nobody's
    frame->facts.damage_px = 77;
    assert_int_equal(fw_encoder_encode(encoder, frame, false, &packet), FW_OK);
    assert_int_equal(packet->facts.qp_plus1, 0);
    assert_int_equal(packet->facts.damage_px, 77);
    assert_string_equal(packet->facts.encoder, "raw");
    fw_packet_unref(&packet);
    fw_frame_unref(&frame);
    fw_encoder_close(&encoder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_quantiser_is_that_of_the_stream),
        cmocka_unit_test(an_encoder_without_one_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
