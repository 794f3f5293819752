// SPDX-License-Identifier: MIT
#include "session/cli/view_player.h"

#include <libavcodec/avcodec.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

// More waiting than this and "received" is held back, so that the server's window closes; a decoder
// that is further behind never catches up.
enum { QUEUE_SOFT = 3, QUEUE_HARD = 32, KEY_RETRY_MS = 3000 };

struct unit {
    AVPacket *packet;
    struct fw_view_frame_info info;
    bool held;
};

struct fw_view_player {
    struct fw_view_player_params p;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    // --- protected by lock
    bool stop, paused;
    struct unit queue[QUEUE_HARD]; // oldest first
    unsigned queued;
    AVFrame *newest; // with data = not taken yet
    struct fw_view_frame_info newest_info;
    bool fresh;
    char decoder_name[24];
    bool need_key;
    int64_t asked_ns; // for a key frame that has not come; 0 = not
    int64_t slow_said_ns;
    // --- the decoding thread's
    struct fw_view_decoder *decoder;
    unsigned failures;
    int64_t broke_said_ns;
    AVFrame *work;
};

static void ack(struct fw_view_player *p, uint64_t id, enum fw_wire_ack_what what, int64_t at_ns)
{
    p->p.ack(p->p.user, id, what, at_ns);
}

// What may be so of every picture is said once a second.
static bool may_say(int64_t *said_ns)
{
    const int64_t now = fw_now_ns();
    if (*said_ns && now - *said_ns < (int64_t)FW_NS_PER_S)
        return false;
    *said_ns = now;
    return true;
}

static void drop(struct fw_view_player *p, uint64_t id)
{
    fw_view_figures_dropped(p->p.figures);
    ack(p, id, FW_ACK_DROPPED, fw_now_ns());
}

// Called with the lock. Asks once; again, slowly, while none comes.
static void ask(struct fw_view_player *p, const char *reason)
{
    const int64_t now = fw_now_ns();
    if (p->asked_ns && now - p->asked_ns < KEY_RETRY_MS * (int64_t)FW_NS_PER_MS)
        return;
    p->asked_ns = now;
    fw_view_figures_key_request(p->p.figures);
    p->p.want_key(p->p.user, reason);
}

// Called with the lock.
static void empty_queue(struct fw_view_player *p)
{
    for (unsigned i = 0; i < p->queued; i++) {
        struct unit *u = &p->queue[i];
        if (u->held)
            ack(p, u->info.frame_id, FW_ACK_RECEIVED, u->info.received_ns);
        drop(p, u->info.frame_id);
        av_packet_free(&u->packet);
    }
    p->queued = 0;
}

// ---- the connection's side

static AVPacket *copy_payload(const struct fw_wire_video *video)
{
    AVPacket *packet = av_packet_alloc();
    if (packet && av_new_packet(packet, (int)video->payload_size) < 0)
        av_packet_free(&packet);
    if (packet) {
        memcpy(packet->data, video->payload, video->payload_size);
        packet->flags = video->key ? AV_PKT_FLAG_KEY : 0;
    }
    return packet;
}

// Called with the lock. False: it is not to be decoded.
static bool wanted(struct fw_view_player *p, const struct fw_wire_video *video)
{
    if (p->paused)
        return false;
    if (p->queued == QUEUE_HARD) {
        if (may_say(&p->slow_said_ns))
            fw_log(p->p.log, FW_LOG_WARN, "view", "the decoder is too slow for this stream");
        empty_queue(p);
        p->need_key = true;
    }
    if (p->need_key && !video->key) {
        ask(p, "no key frame yet");
        return false;
    }
    return true;
}

void fw_view_player_feed(struct fw_view_player *p, const struct fw_wire_video *video,
                         int64_t now_ns)
{
    AVPacket *packet = copy_payload(video);
    if (packet && p->p.record)
        fw_view_record_feed(p->p.record, packet, video, now_ns);
    pthread_mutex_lock(&p->lock);
    if (!packet || !wanted(p, video)) {
        ack(p, video->frame_id, FW_ACK_RECEIVED, now_ns);
        drop(p, video->frame_id);
        av_packet_free(&packet);
    } else {
        if (video->key) {
            p->need_key = false;
            p->asked_ns = 0;
        }
        struct unit *u = &p->queue[p->queued++];
        *u = (struct unit){
            .packet = packet,
            .info = { video->frame_id, video->width, video->height, now_ns },
            .held = p->queued > QUEUE_SOFT,
        };
        if (!u->held)
            ack(p, video->frame_id, FW_ACK_RECEIVED, now_ns);
        pthread_cond_signal(&p->wake);
    }
    pthread_mutex_unlock(&p->lock);
}

void fw_view_player_restart(struct fw_view_player *p)
{
    pthread_mutex_lock(&p->lock);
    empty_queue(p);
    p->need_key = true;
    p->asked_ns = fw_now_ns(); // the server sends one on join; ask only if it does not
    pthread_mutex_unlock(&p->lock);
}

void fw_view_player_pause(struct fw_view_player *p, bool paused)
{
    pthread_mutex_lock(&p->lock);
    if (paused && !p->paused) {
        empty_queue(p);
        p->need_key = true;
    } else if (!paused && p->paused) {
        p->asked_ns = 0;
        ask(p, "shown again");
    }
    p->paused = paused;
    pthread_mutex_unlock(&p->lock);
}

// ---- the decoding thread

static void broke(struct fw_view_player *p, enum fw_err err)
{
    const char *why = p->decoder ? fw_view_decoder_reason(p->decoder) : fw_err_name(err);
    if (may_say(&p->broke_said_ns))
        fw_log(p->p.log, FW_LOG_WARN, "view", "decoder: %s", why);
    fw_view_figures_decoder_error(p->p.figures);
    // The first failure may be anything; a second one is blamed on the hardware.
    if (++p->failures > 1)
        p->p.decoder.software = true;
    fw_view_decoder_destroy(&p->decoder);
    pthread_mutex_lock(&p->lock);
    empty_queue(p);
    p->need_key = true;
    ask(p, "decoder-error");
    pthread_mutex_unlock(&p->lock);
}

static void hand_over(struct fw_view_player *p, const struct unit *u)
{
    uint64_t overtaken = 0;
    pthread_mutex_lock(&p->lock);
    if (p->fresh)
        overtaken = p->newest_info.frame_id;
    av_frame_unref(p->newest);
    av_frame_move_ref(p->newest, p->work);
    p->newest_info = u->info;
    p->fresh = true;
    snprintf(p->decoder_name, sizeof(p->decoder_name), "%s", fw_view_decoder_name(p->decoder));
    pthread_mutex_unlock(&p->lock);
    if (overtaken)
        drop(p, overtaken);
    p->p.ready(p->p.user);
}

static void decode(struct fw_view_player *p, const struct unit *u)
{
    enum fw_err err = FW_OK;
    if (!p->decoder)
        err = fw_view_decoder_create(&p->decoder, &p->p.decoder);
    if (!err)
        err = fw_view_decoder_decode(p->decoder, u->packet, p->work);
    if (err) {
        drop(p, u->info.frame_id);
        broke(p, err);
        return;
    }
    const int64_t now = fw_now_ns();
    fw_view_figures_decoded(p->p.figures, u->info.frame_id, now);
    ack(p, u->info.frame_id, FW_ACK_DECODED, now);
    hand_over(p, u);
}

static void *run(void *user)
{
    struct fw_view_player *p = user;
    pthread_setname_np(pthread_self(), "view-decode");
    pthread_mutex_lock(&p->lock);
    while (!p->stop) {
        if (!p->queued) {
            pthread_cond_wait(&p->wake, &p->lock);
            continue;
        }
        struct unit u = p->queue[0];
        memmove(p->queue, p->queue + 1, --p->queued * sizeof(p->queue[0]));
        pthread_mutex_unlock(&p->lock);
        if (u.held)
            ack(p, u.info.frame_id, FW_ACK_RECEIVED, u.info.received_ns);
        decode(p, &u);
        av_packet_free(&u.packet);
        pthread_mutex_lock(&p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

enum fw_err fw_view_player_create(struct fw_view_player **player,
                                  const struct fw_view_player_params *params)
{
    *player = NULL;
    struct fw_view_player *p = calloc(1, sizeof(*p));
    if (!p)
        return FW_ERR_NOMEM;
    enum fw_err err = FW_ERR_NOMEM;
    p->p = *params;
    p->need_key = true;
    p->asked_ns = fw_now_ns();
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    snprintf(p->decoder_name, sizeof(p->decoder_name), "CPU");
    p->newest = av_frame_alloc();
    p->work = av_frame_alloc();
    if (!p->newest || !p->work)
        goto error;
    // Made now, so that what is asked for and missing is told at the start.
    err = fw_view_decoder_create(&p->decoder, &params->decoder);
    if (err)
        goto error;
    err = pthread_create(&p->thread, NULL, run, p) ? FW_ERR_NOMEM : FW_OK;
    p->started = !err;
    if (err)
        goto error;
    *player = p;
    return FW_OK;
error:
    fw_view_player_destroy(&p);
    return err;
}

void fw_view_player_destroy(struct fw_view_player **player)
{
    struct fw_view_player *p = *player;
    *player = NULL;
    if (!p)
        return;
    if (p->started) {
        pthread_mutex_lock(&p->lock);
        p->stop = true;
        pthread_cond_signal(&p->wake);
        pthread_mutex_unlock(&p->lock);
        pthread_join(p->thread, NULL);
    }
    for (unsigned i = 0; i < p->queued; i++)
        av_packet_free(&p->queue[i].packet);
    fw_view_decoder_destroy(&p->decoder);
    av_frame_free(&p->newest);
    av_frame_free(&p->work);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

bool fw_view_player_take(struct fw_view_player *p, AVFrame *picture,
                         struct fw_view_frame_info *info)
{
    pthread_mutex_lock(&p->lock);
    const bool fresh = p->fresh;
    if (fresh) {
        av_frame_unref(picture);
        av_frame_move_ref(picture, p->newest);
        *info = p->newest_info;
        p->fresh = false;
    }
    pthread_mutex_unlock(&p->lock);
    return fresh;
}

void fw_view_player_decoder(struct fw_view_player *p, char *name, size_t size)
{
    pthread_mutex_lock(&p->lock);
    snprintf(name, size, "%s", p->decoder_name);
    pthread_mutex_unlock(&p->lock);
}
