// SPDX-License-Identifier: MIT
#include "session/encode_stage.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "encode/encoder.h"

enum { OPEN_LIMIT_S = 20, ENCODE_LIMIT_S = 5, JOIN_LIMIT_S = 2, SETTLE_LIMIT_MS = 1000 };

struct fw_encode_stage {
    struct fw_encode_stage_params params;
    struct fw_mailbox mailbox;
    pthread_t thread;
    atomic_bool key_wanted;
    atomic_bool wake_on_take; // the session waits for the mailbox to be free
    _Atomic int64_t delay_ns;

    // --- encode thread only
    struct fw_encoder *encoder;
    int coded_width, coded_height;
    int64_t encode_ns; // smoothed

    pthread_mutex_t lock;
    pthread_cond_t opened;
    // --- protected by lock
    bool is_open;
    struct fw_encode_status status;
    bool rate_set;
    int bitrate_kbps, frame_bytes;
    int64_t share; // of one frame in the rate, bytes
    struct {
        uint64_t id;
        enum fw_reason reason;
    } skipped[FW_PACKET_SKIPPED]; // by id, the newest of each remainder
};

static void wake(struct fw_encode_stage *s)
{
    s->params.wake(s->params.wake_user);
}

__attribute__((format(printf, 3, 4))) static void fail(struct fw_encode_stage *s, enum fw_err err,
                                                       const char *fmt, ...)
{
    char message[sizeof(s->status.message)];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof(message), fmt, ap);
    va_end(ap);
    pthread_mutex_lock(&s->lock);
    s->status.err = err;
    memcpy(s->status.message, message, sizeof(message));
    pthread_mutex_unlock(&s->lock);
}

static void note_encoder(struct fw_encode_stage *s)
{
    const char *name = fw_encoder_name(s->encoder);
    pthread_mutex_lock(&s->lock);
    if (strcmp(s->status.encoder, name) != 0) {
        snprintf(s->status.encoder, sizeof(s->status.encoder), "%s", name);
    }
    pthread_mutex_unlock(&s->lock);
}

static enum fw_err open_encoder(struct fw_encode_stage *s)
{
    const struct fw_encode_stage_params *p = &s->params;
    s->coded_width = (p->width + 1) & ~1;
    s->coded_height = (p->height + 1) & ~1;
    char message[256] = "";
    const enum fw_err err = fw_encoder_open(&s->encoder,
                                            &(struct fw_encoder_params){
                                                .name = p->encoder,
                                                .device = p->device,
                                                .width = s->coded_width,
                                                .height = s->coded_height,
                                                .fps = p->fps,
                                                .bitrate_kbps = p->bitrate_kbps,
                                                .log = p->log,
                                            },
                                            message, sizeof(message));
    if (err) {
        fail(s, err, "%s", message[0] ? message : "The encoder could not be opened.");
    } else {
        note_encoder(s);
    }
    pthread_mutex_lock(&s->lock);
    s->is_open = true;
    pthread_cond_signal(&s->opened);
    pthread_mutex_unlock(&s->lock);
    return err;
}

static enum fw_err adjust(struct fw_encode_stage *s, const struct fw_frame *frame)
{
    pthread_mutex_lock(&s->lock);
    const bool rate_set = s->rate_set;
    const int bitrate = s->bitrate_kbps, frame_bytes = s->frame_bytes;
    s->rate_set = false;
    pthread_mutex_unlock(&s->lock);

    enum fw_err err = rate_set ? fw_encoder_set_rate(s->encoder, bitrate, frame_bytes) : FW_OK;
    if (!err && (frame->coded_width != s->coded_width || frame->coded_height != s->coded_height)) {
        err = fw_encoder_resize(s->encoder, frame->coded_width, frame->coded_height);
        s->coded_width = frame->coded_width;
        s->coded_height = frame->coded_height;
    }
    return err;
}

// The encoder has described the packet after its frame; an old picture sent again differs.
static void restamp(struct fw_packet *packet, const struct fw_job *job)
{
    packet->frame_id = job->id;
    if (job->again) {
        // Nothing was drawn and nothing has changed: the old picture is valid as of now.
        packet->times = (struct fw_frame_times){
            .input_rx_ns = packet->times.input_rx_ns,
            .delivered_ns = packet->times.delivered_ns,
            .change_ns = job->now_ns,
            .begun_ns = job->now_ns,
            .submitted_ns = job->now_ns,
            .rendered_ns = job->now_ns,
            .converted_ns = job->now_ns,
            .enc_begin_ns = packet->times.enc_begin_ns,
            .enc_end_ns = packet->times.enc_end_ns,
        };
        packet->facts.gpu = (struct fw_gpu_facts){ 0 };
        packet->facts.damage_px = 0;
    }
}

static enum fw_err encode(struct fw_encode_stage *s, const struct fw_job *job,
                          struct fw_packet **packet)
{
    // Taken before the encoder is touched: a request from here on is for the next picture.
    const bool key = atomic_exchange(&s->key_wanted, false);
    enum fw_err err = adjust(s, job->frame);
    if (err) {
        return err;
    }
    fw_encoder_set_delay(s->encoder, atomic_load(&s->delay_ns));
    err = fw_encoder_encode(s->encoder, job->frame, key, packet);
    if (err) {
        return err;
    }
    restamp(*packet, job);
    const int64_t took = (*packet)->times.enc_end_ns - (*packet)->times.enc_begin_ns;
    s->encode_ns = s->encode_ns ? s->encode_ns + (took - s->encode_ns) / 8 : took;
    return FW_OK;
}

// With a one-frame VBV an encoder at its limit comes close to the share; far above it there is no
// limit at all (raw pictures).
static bool is_starved(const struct fw_encode_stage *s, size_t size)
{
    return (int64_t)size * 2 >= s->share && (int64_t)size < 8 * s->share;
}

static int64_t share_of(const struct fw_encode_stage_params *p, int bitrate_kbps, int frame_bytes)
{
    enum { DEFAULT_KBPS = 8000, BYTES_PER_KBIT = 125 };
    const int kbps = bitrate_kbps ? bitrate_kbps : DEFAULT_KBPS;
    return frame_bytes ? frame_bytes : (int64_t)kbps * BYTES_PER_KBIT / p->fps;
}

// With the lock held. The next packet tells the front why there is none of this id.
static void note_skipped(struct fw_encode_stage *s, uint64_t id, enum fw_reason reason)
{
    s->status.skipped++;
    s->skipped[id % FW_PACKET_SKIPPED].id = id;
    s->skipped[id % FW_PACKET_SKIPPED].reason = reason;
}

static void tell_skipped(struct fw_encode_stage *s, struct fw_packet *packet)
{
    pthread_mutex_lock(&s->lock);
    for (uint64_t back = 1; back <= FW_PACKET_SKIPPED && back < packet->frame_id; back++) {
        const uint64_t id = packet->frame_id - back, at = id % FW_PACKET_SKIPPED;
        packet->skipped[back - 1] =
            s->skipped[at].id == id ? (uint8_t)s->skipped[at].reason : FW_REASON_NONE;
    }
    pthread_mutex_unlock(&s->lock);
}

// Hands the packet over. A full ring is not an error: the picture is lost, the next is an IDR.
static enum fw_err deliver(struct fw_encode_stage *s, struct fw_packet *packet)
{
    tell_skipped(s, packet);
    const enum fw_err err = s->params.transport->impl->packet(s->params.transport, packet);
    if (err == FW_ERR_AGAIN) {
        atomic_store(&s->key_wanted, true);
    }
    pthread_mutex_lock(&s->lock);
    if (err == FW_ERR_AGAIN) {
        note_skipped(s, packet->frame_id, FW_REASON_RING_FULL);
        s->status.stalled_ns = fw_now_ns();
    } else if (!err) {
        s->status.written++;
        s->status.bytes += packet->size;
        s->status.newest_written = packet->frame_id;
        s->status.starved = is_starved(s, packet->size);
    }
    pthread_mutex_unlock(&s->lock);
    return err == FW_ERR_AGAIN ? FW_OK : err;
}

static void set_busy(struct fw_encode_stage *s, bool busy)
{
    pthread_mutex_lock(&s->lock);
    s->status.free_ns = busy ? fw_now_ns() + s->encode_ns : 0;
    s->status.encode_ns = s->encode_ns;
    s->status.pending -= !busy;
    pthread_mutex_unlock(&s->lock);
}

static enum fw_err run_job(struct fw_encode_stage *s, struct fw_job *job)
{
    struct fw_packet *packet = NULL;
    set_busy(s, true);
    if (atomic_exchange(&s->wake_on_take, false)) {
        wake(s);
    }
    fw_watchdog_arm(s->params.watchdog, FW_WATCH_ENCODE, ENCODE_LIMIT_S * (int64_t)FW_NS_PER_S);
    enum fw_err err = encode(s, job, &packet);
    fw_watchdog_disarm(s->params.watchdog, FW_WATCH_ENCODE);
    if (err) {
        fail(s, err, "The encoder failed (%s).", fw_err_name(err));
    } else {
        note_encoder(s);
        err = deliver(s, packet);
        if (err) {
            fail(s, err, "A packet could not be handed over (%s).", fw_err_name(err));
        }
    }
    fw_packet_unref(&packet);
    fw_frame_unref(&job->frame);
    set_busy(s, false);
    wake(s);
    return err;
}

static void *thread_main(void *arg)
{
    struct fw_encode_stage *s = arg;
    struct fw_job job;
    pthread_setname_np(pthread_self(), "fw-encode");
    if (open_encoder(s) == FW_OK) {
        while (fw_mailbox_take(&s->mailbox, &job) == FW_OK && run_job(s, &job) == FW_OK) {
        }
    }
    fw_encoder_close(&s->encoder);
    return NULL;
}

static enum fw_err init_lock(struct fw_encode_stage *s)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    const int rc = pthread_cond_init(&s->opened, &attr);
    pthread_condattr_destroy(&attr);
    if (rc != 0) {
        return FW_ERR_NOMEM;
    }
    pthread_mutex_init(&s->lock, NULL);
    return FW_OK;
}

static void free_stage(struct fw_encode_stage *s)
{
    fw_mailbox_finish(&s->mailbox);
    pthread_cond_destroy(&s->opened);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

enum fw_err fw_encode_stage_create(struct fw_encode_stage **stage,
                                   const struct fw_encode_stage_params *params)
{
    struct fw_encode_stage *s = calloc(1, sizeof(*s));
    if (!s) {
        return FW_ERR_NOMEM;
    }
    s->params = *params;
    s->share = share_of(params, params->bitrate_kbps, 0);
    atomic_init(&s->key_wanted, true); // a stream begins with an IDR
    enum fw_err err = init_lock(s);
    if (err) {
        free(s);
        return err;
    }
    err = fw_mailbox_init(&s->mailbox);
    if (err) {
        pthread_cond_destroy(&s->opened);
        pthread_mutex_destroy(&s->lock);
        free(s);
        return err;
    }
    if (pthread_create(&s->thread, NULL, thread_main, s) != 0) {
        free_stage(s);
        return FW_ERR_NOMEM;
    }
    *stage = s;
    return FW_OK;
}

static struct timespec in_seconds(int seconds, clockid_t clock)
{
    struct timespec ts;
    clock_gettime(clock, &ts);
    ts.tv_sec += seconds;
    return ts;
}

enum fw_err fw_encode_stage_wait_open(struct fw_encode_stage *s, char *message, size_t message_size)
{
    const struct timespec until = in_seconds(OPEN_LIMIT_S, CLOCK_MONOTONIC);
    pthread_mutex_lock(&s->lock);
    while (!s->is_open && pthread_cond_timedwait(&s->opened, &s->lock, &until) != ETIMEDOUT) {
    }
    const enum fw_err err = s->is_open ? s->status.err : FW_ERR_TIMEOUT;
    snprintf(message, message_size, "%s",
             s->is_open ? s->status.message : "The encoder did not open in time.");
    pthread_mutex_unlock(&s->lock);
    return err;
}

bool fw_encode_stage_destroy(struct fw_encode_stage **stage)
{
    struct fw_encode_stage *s = *stage;
    *stage = NULL;
    if (!s) {
        return true;
    }
    fw_mailbox_close(&s->mailbox);
    const struct timespec until = in_seconds(JOIN_LIMIT_S, CLOCK_REALTIME);
    if (pthread_timedjoin_np(s->thread, NULL, &until) != 0) {
        fw_log(s->params.log, FW_LOG_ERROR, "encode", "the encode thread does not end");
        return false;
    }
    free_stage(s);
    return true;
}

void fw_encode_stage_submit(struct fw_encode_stage *s, const struct fw_job *job)
{
    // A frame is drawn while the one before waits for an encode thread that has only yet to wake
    // up. On a busy machine that takes a while: a drawn picture is worth more than this wait.
    fw_mailbox_settle(&s->mailbox, SETTLE_LIMIT_MS * (int64_t)FW_NS_PER_MS);
    pthread_mutex_lock(&s->lock);
    s->status.pending++;
    pthread_mutex_unlock(&s->lock);
    if (fw_mailbox_put(&s->mailbox, job)) {
        pthread_mutex_lock(&s->lock);
        s->status.pending--;
        note_skipped(s, job->id - 1, FW_REASON_NEWER); // ids are given one by one
        pthread_mutex_unlock(&s->lock);
    }
}

void fw_encode_stage_request_key(struct fw_encode_stage *s)
{
    atomic_store(&s->key_wanted, true);
}

void fw_encode_stage_set_rate(struct fw_encode_stage *s, int bitrate_kbps, int frame_bytes)
{
    pthread_mutex_lock(&s->lock);
    s->rate_set = true;
    s->bitrate_kbps = bitrate_kbps;
    s->frame_bytes = frame_bytes;
    s->share = share_of(&s->params, bitrate_kbps, frame_bytes);
    pthread_mutex_unlock(&s->lock);
}

void fw_encode_stage_set_delay(struct fw_encode_stage *s, int64_t delay_ns)
{
    atomic_store(&s->delay_ns, delay_ns);
}

void fw_encode_stage_get_status(struct fw_encode_stage *s, struct fw_encode_status *status)
{
    // The flag goes up before the look: a take in between is seen by one of the two.
    atomic_store(&s->wake_on_take, true);
    const bool full = fw_mailbox_full(&s->mailbox);
    pthread_mutex_lock(&s->lock);
    *status = s->status;
    pthread_mutex_unlock(&s->lock);
    // A job alone is taken as soon as the thread wakes up: nobody needs to wait for that.
    status->waiting = full && status->pending > 1;
    if (!status->waiting) {
        atomic_store(&s->wake_on_take, false);
    }
    if (full && !status->waiting) {
        status->free_ns = fw_now_ns() + status->encode_ns;
    }
    status->key_wanted = atomic_load(&s->key_wanted);
}
