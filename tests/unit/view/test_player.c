// SPDX-License-Identifier: MIT
// Real packets through the viewer's decoder and into its recordings.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <libavformat/avformat.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "session/cli/view_player.h"
#include "tests/unit/encode/fixture.h"

enum { WIDTH = 161, HEIGHT = 90, LIMIT_S = 30 };

// What the player says, as its link would hear it.
struct ear {
    pthread_mutex_t lock;
    unsigned count[5]; // by enum fw_wire_ack_what
    uint64_t last[5];
    unsigned asked;
    char reason[64];
};

static void on_ack(void *user, uint64_t id, enum fw_wire_ack_what what, int64_t at_ns)
{
    struct ear *ear = user;
    assert_true(at_ns > 0);
    pthread_mutex_lock(&ear->lock);
    ear->count[what]++;
    ear->last[what] = id;
    pthread_mutex_unlock(&ear->lock);
}

static void on_want_key(void *user, const char *reason)
{
    struct ear *ear = user;
    pthread_mutex_lock(&ear->lock);
    ear->asked++;
    snprintf(ear->reason, sizeof(ear->reason), "%s", reason);
    pthread_mutex_unlock(&ear->lock);
}

static void on_ready(void *user)
{
    (void)user;
}

static unsigned heard(struct ear *ear, enum fw_wire_ack_what what)
{
    pthread_mutex_lock(&ear->lock);
    const unsigned n = ear->count[what];
    pthread_mutex_unlock(&ear->lock);
    return n;
}

static void wait_for(struct ear *ear, enum fw_wire_ack_what what, unsigned count)
{
    const int64_t until = fw_now_ns() + LIMIT_S * (int64_t)FW_NS_PER_S;
    while (heard(ear, what) < count && fw_now_ns() < until)
        usleep(1000);
    assert_int_equal(heard(ear, what), count);
}

struct rig {
    struct ear ear;
    struct fw_view_figures *figures;
    struct fw_view_player *player;
    struct fw_encoder *encoder;
    uint64_t id;
    AVFrame *picture;
};

static int set_up(void **state)
{
    struct rig *r = calloc(1, sizeof(*r));
    pthread_mutex_init(&r->ear.lock, NULL);
    r->figures = fw_view_figures_create();
    r->picture = av_frame_alloc();
    r->encoder = fixture_open("x264", WIDTH + 1, HEIGHT, 4000, NULL);
    const struct fw_view_player_params params = {
        .decoder = { .software = true },
        .figures = r->figures,
        .ack = on_ack,
        .want_key = on_want_key,
        .ready = on_ready,
        .user = &r->ear,
    };
    *state = r;
    return fw_view_player_create(&r->player, &params);
}

static int tear_down(void **state)
{
    struct rig *r = *state;
    fw_view_player_destroy(&r->player);
    fw_view_figures_destroy(&r->figures);
    fw_encoder_close(&r->encoder);
    av_frame_free(&r->picture);
    free(r);
    return 0;
}

static struct fw_packet *encode(struct rig *r, bool key)
{
    struct fw_packet *packet = NULL;
    struct fw_frame *frame = fixture_frame(WIDTH, HEIGHT, (int)r->id);
    assert_int_equal(fw_encoder_encode(r->encoder, frame, key, &packet), FW_OK);
    fw_frame_unref(&frame);
    return packet;
}

static struct fw_wire_video message(struct rig *r, const struct fw_packet *packet)
{
    return (struct fw_wire_video){
        .key = packet->key,
        .frame_id = ++r->id,
        .width = WIDTH,
        .height = HEIGHT,
        .payload = packet->data,
        .payload_size = packet->size,
    };
}

static void feed(struct rig *r, bool key)
{
    struct fw_packet *packet = encode(r, key);
    const struct fw_wire_video video = message(r, packet);
    fw_view_player_feed(r->player, &video, fw_now_ns());
    fw_packet_unref(&packet);
}

static void the_newest_picture_wins(void **state)
{
    struct rig *r = *state;
    struct fw_view_frame_info info;
    assert_false(fw_view_player_take(r->player, r->picture, &info));
    for (unsigned i = 1; i <= 5; i++) {
        feed(r, i == 1);
        wait_for(&r->ear, FW_ACK_DECODED, i);
    }
    wait_for(&r->ear, FW_ACK_DROPPED, 4); // those that were overtaken
    assert_int_equal(heard(&r->ear, FW_ACK_RECEIVED), 5);
    assert_true(fw_view_player_take(r->player, r->picture, &info));
    assert_int_equal(info.frame_id, 5);
    assert_int_equal(info.width, WIDTH);
    assert_int_equal(r->picture->height, HEIGHT);
    assert_false(fw_view_player_take(r->player, r->picture, &info));
    assert_int_equal(r->ear.asked, 0);
}

static void a_broken_decoder_asks_once_and_comes_back(void **state)
{
    struct rig *r = *state;
    struct fw_view_frame_info info;
    static const uint8_t nonsense[] = { 0, 0, 0, 1, 0x41, 0xff, 0xff, 0xff, 0x00, 0x80 };
    feed(r, true);
    wait_for(&r->ear, FW_ACK_DECODED, 1);
    const struct fw_wire_video bad = { .frame_id = ++r->id,
                                       .width = WIDTH,
                                       .height = HEIGHT,
                                       .payload = nonsense,
                                       .payload_size = sizeof(nonsense) };
    fw_view_player_feed(r->player, &bad, fw_now_ns());
    wait_for(&r->ear, FW_ACK_DROPPED, 1);
    // What builds on what is lost is confirmed, so that the stream goes on, and dropped.
    for (int i = 0; i < 3; i++)
        feed(r, false);
    wait_for(&r->ear, FW_ACK_RECEIVED, 5);
    wait_for(&r->ear, FW_ACK_DROPPED, 4);
    assert_int_equal(r->ear.asked, 1);
    assert_string_equal(r->ear.reason, "decoder-error");
    feed(r, true);
    wait_for(&r->ear, FW_ACK_DECODED, 2);
    assert_true(fw_view_player_take(r->player, r->picture, &info));
    assert_int_equal(info.frame_id, 6);
    assert_int_equal(r->ear.asked, 1);
}

static void what_is_hidden_is_not_decoded(void **state)
{
    struct rig *r = *state;
    fw_view_player_pause(r->player, true);
    feed(r, true);
    feed(r, false);
    assert_int_equal(heard(&r->ear, FW_ACK_RECEIVED), 2);
    assert_int_equal(heard(&r->ear, FW_ACK_DROPPED), 2);
    assert_int_equal(r->ear.asked, 0);
    fw_view_player_pause(r->player, false);
    assert_int_equal(r->ear.asked, 1);
    feed(r, true);
    wait_for(&r->ear, FW_ACK_DECODED, 1);
}

// ---- recordings

static unsigned packets_of(const char *path, int *width)
{
    AVFormatContext *file = NULL;
    AVPacket *packet = av_packet_alloc();
    unsigned n = 0;
    assert_int_equal(avformat_open_input(&file, path, NULL, NULL), 0);
    assert_true(avformat_find_stream_info(file, NULL) >= 0);
    *width = file->streams[0]->codecpar->width;
    while (av_read_frame(file, packet) >= 0) {
        n++;
        av_packet_unref(packet);
    }
    av_packet_free(&packet);
    avformat_close_input(&file);
    return n;
}

static void record(struct rig *r, struct fw_view_record *to, bool key)
{
    struct fw_packet *packet = encode(r, key);
    AVPacket *copy = av_packet_alloc();
    struct fw_wire_video video = message(r, packet);
    // The encoder's own size here: a change of it is what is tried.
    video.width = (uint16_t)packet->coded_width;
    video.height = (uint16_t)packet->coded_height;
    assert_int_equal(av_new_packet(copy, (int)packet->size), 0);
    memcpy(copy->data, packet->data, packet->size);
    copy->flags = packet->key ? AV_PKT_FLAG_KEY : 0;
    fw_view_record_feed(to, copy, &video, (int64_t)r->id * 16 * FW_NS_PER_MS);
    av_packet_free(&copy);
    fw_packet_unref(&packet);
}

static void record_kind(struct rig *r, const char *kind)
{
    char folder[] = "/tmp/framewire-record-XXXXXX", path[64], second[64], words[512];
    struct fw_view_record *to;
    int width;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/clip.%s", folder, kind);
    snprintf(second, sizeof(second), "%s/clip-2.%s", folder, kind);
    const struct fw_view_record_params params = { .path = path,
                                                  .want_key = on_want_key,
                                                  .user = &r->ear };
    assert_int_equal(fw_view_record_start(&to, &params, words, sizeof(words)), FW_OK);
    struct fw_packet *packet = encode(r, true);
    fw_packet_unref(&packet);
    record(r, to, false); // builds on a picture that the file does not have
    for (int i = 0; i < 10; i++)
        record(r, to, i == 0);
    struct fw_encoder *larger = fixture_open("x264", 320, 180, 4000, NULL);
    struct fw_frame *frame = fixture_frame(320, 180, 1);
    assert_int_equal(fw_encoder_encode(larger, frame, true, &packet), FW_OK);
    AVPacket *copy = av_packet_alloc();
    assert_int_equal(av_new_packet(copy, (int)packet->size), 0);
    memcpy(copy->data, packet->data, packet->size);
    copy->flags = AV_PKT_FLAG_KEY;
    struct fw_wire_video video = message(r, packet);
    video.width = 320;
    video.height = 180;
    fw_view_record_feed(to, copy, &video, (int64_t)r->id * 16 * FW_NS_PER_MS);
    assert_int_equal(fw_view_record_stop(&to, words, sizeof(words)), FW_OK);
    assert_non_null(strstr(words, "11 pictures"));
    assert_int_equal(packets_of(path, &width), 10);
    assert_int_equal(width, WIDTH + 1);
    assert_int_equal(packets_of(second, &width), 1);
    assert_int_equal(width, 320);
    // What is there stays, unless a person says otherwise.
    assert_int_equal(fw_view_record_start(&to, &params, words, sizeof(words)), FW_ERR_DENIED);
    assert_non_null(strstr(words, "--force"));
    unlink(path);
    unlink(second);
    assert_int_equal(rmdir(folder), 0);
    av_packet_free(&copy);
    fw_packet_unref(&packet);
    fw_frame_unref(&frame);
    fw_encoder_close(&larger);
}

static void recordings_play(void **state)
{
    record_kind(*state, "mp4");
    record_kind(*state, "mkv");
}

static void a_recording_of_nothing_leaves_no_file(void **state)
{
    char path[] = "/tmp/framewire-none-XXXXXX.mp4", words[512];
    struct fw_view_record *to;
    (void)state;
    const int fd = mkstemps(path, 4);
    assert_true(fd >= 0);
    close(fd);
    unlink(path);
    const struct fw_view_record_params params = { .path = path };
    assert_int_equal(fw_view_record_start(&to, &params, words, sizeof(words)), FW_OK);
    assert_int_equal(access(path, F_OK), 0); // the name is claimed
    assert_int_equal(fw_view_record_stop(&to, words, sizeof(words)), FW_ERR_NOT_FOUND);
    assert_int_not_equal(access(path, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_newest_picture_wins, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_broken_decoder_asks_once_and_comes_back, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_hidden_is_not_decoded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(recordings_play, set_up, tear_down),
        cmocka_unit_test(a_recording_of_nothing_leaves_no_file),
    };
    return cmocka_run_group_tests_name("view-player", tests, NULL, NULL);
}
