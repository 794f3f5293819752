// SPDX-License-Identifier: MIT
#include "session/cli/view_link.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/input.h"

enum {
    ACKS_MAX = 256,
    INPUTS_MAX = 512,
    TURN_MS = 500,
    SILENT_MS = 3000,
    RETRY_BASE_MS = 2000, // as the page does: full jitter over the capped delay
    RETRY_CAP_MS = 10000,
    STOP_MS = 500,
};

struct due_ack {
    uint64_t frame_id;
    enum fw_wire_ack_what what;
    int64_t at_ns;
};

// What other threads want said; taken as a whole by the link's thread.
struct outbox {
    struct due_ack acks[ACKS_MAX];
    unsigned ack_count;
    struct fw_wire_input inputs[INPUTS_MAX];
    int64_t input_ns[INPUTS_MAX];
    unsigned input_count;
    bool resized, visibility;
    const char *key_reason; // NULL = no key frame wanted
};

struct fw_view_link {
    struct fw_view_link_params p;
    pthread_t thread;
    int wake; // eventfd
    pthread_mutex_t lock;
    pthread_cond_t gone;
    // --- protected by lock
    bool stop, nudged, ended;
    int width, height;
    bool visible;
    struct outbox out;
    struct fw_view_link_state state;
    // --- the link's thread
    struct fw_watch *watch;
    struct outbox taken;
    int64_t heard_ns;
    unsigned seed;
};

static void wake_up(struct fw_view_link *l)
{
    const uint64_t one = 1;
    if (write(l->wake, &one, sizeof(one)) < 0)
        return; // full: it wakes up anyhow
}

// ---- state

static void set_phase(struct fw_view_link *l, enum fw_view_phase phase, const char *code,
                      const char *message)
{
    pthread_mutex_lock(&l->lock);
    l->state.phase = phase;
    l->state.silent = false;
    snprintf(l->state.code, sizeof(l->state.code), "%s", code);
    snprintf(l->state.message, sizeof(l->state.message), "%s", message);
    pthread_mutex_unlock(&l->lock);
    l->p.changed(l->p.user);
}

static void set_silent(struct fw_view_link *l, bool silent)
{
    pthread_mutex_lock(&l->lock);
    const bool changed = l->state.silent != silent;
    l->state.silent = silent;
    pthread_mutex_unlock(&l->lock);
    if (changed)
        l->p.changed(l->p.user);
}

static bool stopping(struct fw_view_link *l)
{
    pthread_mutex_lock(&l->lock);
    const bool stop = l->stop;
    pthread_mutex_unlock(&l->lock);
    return stop;
}

// ---- what the watch tells

static void on_video(void *user, const struct fw_wire_video *video, size_t bytes, int64_t now_ns)
{
    struct fw_view_link *l = user;
    fw_view_figures_received(l->p.figures, video, bytes, now_ns);
    l->heard_ns = now_ns;
    l->p.video(l->p.user, video, now_ns);
}

static void on_beacon(void *user, const struct fw_wire_beacon *beacon, int64_t now_ns)
{
    struct fw_view_link *l = user;
    fw_view_figures_beacon(l->p.figures, beacon, now_ns);
    fw_view_figures_clock(l->p.figures, fw_watch_clock(l->watch));
    l->heard_ns = now_ns;
}

static void on_stamp(void *user, const struct fw_wire_stamp *stamp, int64_t now_ns)
{
    struct fw_view_link *l = user;
    (void)now_ns;
    fw_view_figures_clock(l->p.figures, fw_watch_clock(l->watch));
    fw_view_figures_stamp(l->p.figures, stamp);
}

static void on_input_seen(void *user, uint64_t seq, int64_t since_ns, int64_t seen_ns)
{
    const struct fw_view_link *l = user;
    (void)seq;
    fw_view_figures_input(l->p.figures, since_ns, seen_ns);
}

static void on_info(void *user, const struct fw_watch_info *info)
{
    struct fw_view_link *l = user;
    pthread_mutex_lock(&l->lock);
    // What has failed is cleared away after a while: why it failed is still what there is to say.
    const bool late =
        strcmp(l->state.info.state, "failed") == 0 && strcmp(info->state, "closing") == 0;
    const bool news = info->state[0] && strcmp(l->state.info.state, info->state) != 0;
    if (!late)
        l->state.info = *info;
    pthread_mutex_unlock(&l->lock);
    if (news)
        fw_log(l->p.log, FW_LOG_INFO, "view", "the session is %s%s%s", info->state,
               info->message[0] ? ": " : "", info->message);
    l->p.changed(l->p.user);
}

static void on_media_open(void *user)
{
    struct fw_view_link *l = user;
    l->p.restart(l->p.user);
}

// ---- saying what is due

static void say_inputs(struct fw_view_link *l)
{
    struct outbox *o = &l->taken;
    for (unsigned i = 0, n; i < o->input_count; i += n) {
        n = o->input_count - i < FW_WIRE_BATCH_MAX ? o->input_count - i : FW_WIRE_BATCH_MAX;
        // Counted from the first of them: none has waited here for longer than that.
        fw_watch_input(l->watch, o->inputs + i, n, o->input_ns[i]);
    }
}

static void say(struct fw_view_link *l)
{
    struct outbox *o = &l->taken;
    int width, height;
    bool visible;
    pthread_mutex_lock(&l->lock);
    *o = l->out;
    l->out.ack_count = l->out.input_count = 0;
    l->out.resized = l->out.visibility = false;
    l->out.key_reason = NULL;
    width = l->width;
    height = l->height;
    visible = l->visible;
    pthread_mutex_unlock(&l->lock);
    if (!l->watch)
        return;
    say_inputs(l); // first: they are what somebody waits for
    for (unsigned i = 0; i < o->ack_count; i++)
        fw_watch_ack(l->watch, o->acks[i].frame_id, o->acks[i].what, o->acks[i].at_ns);
    if (o->resized)
        fw_watch_viewport(l->watch, width, height);
    if (o->visibility)
        fw_watch_visible(l->watch, visible);
    if (o->key_reason)
        fw_watch_want_key(l->watch, o->key_reason);
}

// ---- the thread

// Waits for the sockets, for something to say, or for `ms`.
static void rest(struct fw_view_link *l, int ms)
{
    uint64_t count;
    int fds[2] = { -1, -1 };
    if (l->watch)
        fw_watch_fds(l->watch, fds);
    struct pollfd polled[3] = {
        { .fd = l->wake, .events = POLLIN },
        { .fd = fds[0], .events = POLLIN },
        { .fd = fds[1], .events = POLLIN },
    };
    if (poll(polled, 3, ms) > 0 && polled[0].revents && read(l->wake, &count, sizeof(count)) < 0)
        return; // somebody else's wake-up was enough
}

// Codes after which trying again by itself is pointless.
static bool is_final(const char *code)
{
    static const char *const list[] = { "unauthorized", "no_such_session", "unsupported_version",
                                        "closed_session", "untrusted" };
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        if (strcmp(code, list[i]) == 0)
            return true;
    return false;
}

// One connection, from the attempt to its end. True: it is worth another.
static bool watch_once(struct fw_view_link *l)
{
    struct fw_remote_error error;
    struct fw_watch_params params = {
        .remote = l->p.remote,
        .id = l->p.id,
        .token = l->p.token,
        .pixel_ratio = l->p.pixel_ratio,
        .handler = { .video = on_video,
                     .beacon = on_beacon,
                     .stamp = on_stamp,
                     .input_seen = on_input_seen,
                     .info = on_info,
                     .media_open = on_media_open },
        .user = l,
    };
    pthread_mutex_lock(&l->lock);
    params.width = l->width;
    params.height = l->height;
    params.hidden = !l->visible;
    l->out.resized = l->out.visibility = false;
    l->out.ack_count = l->out.input_count = 0;
    pthread_mutex_unlock(&l->lock);
    set_phase(l, FW_VIEW_CONNECTING, "", "");
    if (fw_watch_open(&l->watch, &params, &error)) {
        set_phase(l, is_final(error.code) ? FW_VIEW_ENDED : FW_VIEW_WAITING, error.code,
                  error.message);
        return !is_final(error.code);
    }
    fw_view_figures_reconnect(l->p.figures);
    l->heard_ns = fw_now_ns();
    pthread_mutex_lock(&l->lock);
    l->state.info = *fw_watch_info(l->watch);
    l->state.attempt = 0;
    pthread_mutex_unlock(&l->lock);
    set_phase(l, FW_VIEW_OPEN, "", "");
    enum fw_err err = FW_OK;
    while (!err && !stopping(l)) {
        say(l);
        err = fw_watch_turn(l->watch);
        if (!err) {
            set_silent(l, fw_now_ns() - l->heard_ns > SILENT_MS * (int64_t)FW_NS_PER_MS);
            rest(l, TURN_MS);
        }
    }
    const struct fw_watch_info info = *fw_watch_info(l->watch);
    fw_watch_close(&l->watch);
    const bool over = strcmp(info.state, "closing") == 0 || strcmp(info.state, "failed") == 0 ||
                      is_final(info.code);
    set_phase(l, over ? FW_VIEW_ENDED : FW_VIEW_WAITING, info.code, info.message);
    return !over;
}

// Full jitter over the capped delay, so that viewers do not come back in step.
static void wait_to_retry(struct fw_view_link *l)
{
    pthread_mutex_lock(&l->lock);
    const unsigned attempt = l->state.attempt++;
    pthread_mutex_unlock(&l->lock);
    int64_t cap = (int64_t)RETRY_BASE_MS << (attempt < 8 ? attempt : 8);
    cap = cap < RETRY_CAP_MS ? cap : RETRY_CAP_MS;
    const int64_t until = fw_now_ns() + rand_r(&l->seed) % cap * FW_NS_PER_MS;
    for (int64_t left = 1; left > 0 && !stopping(l);) {
        left = (until - fw_now_ns()) / FW_NS_PER_MS;
        rest(l, left > 0 ? (int)left + 1 : 0);
        pthread_mutex_lock(&l->lock);
        if (l->nudged)
            left = 0;
        l->nudged = false;
        pthread_mutex_unlock(&l->lock);
    }
}

static void finish(struct fw_view_link *l)
{
    if (l->wake >= 0)
        close(l->wake);
    pthread_cond_destroy(&l->gone);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

static void *run(void *user)
{
    struct fw_view_link *l = user;
    pthread_setname_np(pthread_self(), "view-link");
    while (!stopping(l) && watch_once(l))
        wait_to_retry(l);
    pthread_mutex_lock(&l->lock);
    l->ended = true;
    pthread_cond_signal(&l->gone);
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

enum fw_err fw_view_link_start(struct fw_view_link **link, const struct fw_view_link_params *params)
{
    *link = NULL;
    struct fw_view_link *l = calloc(1, sizeof(*l));
    if (!l)
        return FW_ERR_NOMEM;
    l->p = *params;
    l->width = params->width;
    l->height = params->height;
    l->visible = true;
    l->seed = (unsigned)(fw_now_ns() ^ getpid());
    l->state.info.percent = -1;
    pthread_mutex_init(&l->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&l->gone, &attr);
    pthread_condattr_destroy(&attr);
    l->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    *link = l; // what its thread calls may use it at once
    if (l->wake < 0 || pthread_create(&l->thread, NULL, run, l)) {
        *link = NULL;
        finish(l);
        return FW_ERR_IO;
    }
    return FW_OK;
}

bool fw_view_link_stop(struct fw_view_link *l)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += STOP_MS * FW_NS_PER_MS;
    until.tv_sec += until.tv_nsec / FW_NS_PER_S;
    until.tv_nsec %= FW_NS_PER_S;
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    wake_up(l);
    while (!l->ended && pthread_cond_timedwait(&l->gone, &l->lock, &until) != ETIMEDOUT) {
    }
    const bool ended = l->ended;
    pthread_mutex_unlock(&l->lock);
    if (ended)
        pthread_join(l->thread, NULL);
    return ended;
}

void fw_view_link_destroy(struct fw_view_link **link)
{
    if (*link)
        finish(*link);
    *link = NULL;
}

// ---- for the other threads

void fw_view_link_get(struct fw_view_link *l, struct fw_view_link_state *out)
{
    pthread_mutex_lock(&l->lock);
    *out = l->state;
    pthread_mutex_unlock(&l->lock);
}

void fw_view_link_ack(struct fw_view_link *l, uint64_t frame_id, enum fw_wire_ack_what what,
                      int64_t at_ns)
{
    pthread_mutex_lock(&l->lock);
    struct outbox *o = &l->out;
    if (o->ack_count < ACKS_MAX)
        o->acks[o->ack_count++] = (struct due_ack){ frame_id, what, at_ns };
    pthread_mutex_unlock(&l->lock);
    if (what != FW_ACK_DECODED) // that goes with what is said of the picture next
        wake_up(l);
}

void fw_view_link_input(struct fw_view_link *l, const struct fw_wire_input *event)
{
    pthread_mutex_lock(&l->lock);
    struct outbox *o = &l->out;
    const unsigned room = INPUTS_MAX - o->input_count;
    if (room > (event->kind == FW_INPUT_MOTION ? INPUTS_MAX / 2 : 0)) {
        o->input_ns[o->input_count] = fw_now_ns();
        o->inputs[o->input_count++] = *event;
    }
    pthread_mutex_unlock(&l->lock);
    wake_up(l);
}

void fw_view_link_viewport(struct fw_view_link *l, int width, int height)
{
    pthread_mutex_lock(&l->lock);
    l->out.resized |= l->width != width || l->height != height;
    l->width = width;
    l->height = height;
    pthread_mutex_unlock(&l->lock);
    wake_up(l);
}

void fw_view_link_visible(struct fw_view_link *l, bool visible)
{
    pthread_mutex_lock(&l->lock);
    l->out.visibility |= l->visible != visible;
    l->visible = visible;
    pthread_mutex_unlock(&l->lock);
    wake_up(l);
}

void fw_view_link_want_key(struct fw_view_link *l, const char *reason)
{
    pthread_mutex_lock(&l->lock);
    l->out.key_reason = reason;
    pthread_mutex_unlock(&l->lock);
    wake_up(l);
}

void fw_view_link_nudge(struct fw_view_link *l)
{
    pthread_mutex_lock(&l->lock);
    l->nudged = true;
    pthread_mutex_unlock(&l->lock);
    wake_up(l);
}
