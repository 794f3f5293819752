// SPDX-License-Identifier: MIT
#include "session/cli/bench_load.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "session/cli/bench_client.h"

enum {
    IDLE_MS = 250,       // everybody gets a turn that often
    READY_S = 60,        // for the first picture of a new session
    SETTLE_MS = 5000,    // for inputs to be seen after the window
    CONFIRM_MS = 300,    // for the server to hear what became of the last frames
    RECORDS_KEPT = 4096, // by the server, per session
    COLLECT_MAX_S = 30,
    LAST_MAX_S = 600,
    DEAF_MS = 100, // for a server that has not answered before
};

struct fw_bench_load {
    const struct fw_remote *remote;
    const struct fw_bench_load_options *options;
    const volatile sig_atomic_t *stop;
    int wake_fd;
    pthread_t thread;
    bool running;
    struct fw_bench_decoders *decoders;
    int64_t collected_ns, from_ns, to_ns;
    pthread_mutex_t lock;
    // --- protected by lock; the caller alone changes `client` and `count`
    struct fw_bench_client *client[FW_BENCH_SESSIONS_MAX];
    unsigned count;
    bool quit;
};

// ---- the thread

static void take_decoded(struct fw_bench_load *l)
{
    struct fw_bench_job *job = l->decoders ? fw_bench_decoders_take(l->decoders) : NULL;
    while (job) {
        struct fw_bench_job *next = job->next;
        fw_bench_client_decoded(job->owner, job);
        free(job);
        job = next;
    }
}

// What to poll: wake first, two for each client.
static unsigned fill_poll(const struct fw_bench_load *l, struct pollfd *p)
{
    p[0] = (struct pollfd){ .fd = l->wake_fd, .events = POLLIN };
    for (unsigned i = 0; i < l->count; i++) {
        int fds[2] = { -1, -1 };
        if (!l->client[i]->ended)
            fw_watch_fds(l->client[i]->watch, fds);
        p[1 + 2 * i] = (struct pollfd){ .fd = fds[0], .events = POLLIN };
        p[2 + 2 * i] = (struct pollfd){ .fd = fds[1], .events = POLLIN };
    }
    return 1 + 2 * l->count;
}

// Everything that is due. Returns when the next is.
static int64_t serve(struct fw_bench_load *l, const struct pollfd *p, unsigned polled,
                     int64_t *all_ns)
{
    const int64_t now = fw_now_ns();
    const bool all = now - *all_ns >= IDLE_MS * (int64_t)FW_NS_PER_MS;
    int64_t next = now + IDLE_MS * (int64_t)FW_NS_PER_MS;
    if (all)
        *all_ns = now;
    take_decoded(l);
    for (unsigned i = 0; i < l->count; i++) {
        struct fw_bench_client *c = l->client[i];
        const bool readable = 2 + 2 * i < polled && (p[1 + 2 * i].revents || p[2 + 2 * i].revents);
        if (readable || all)
            fw_bench_client_turn(c);
        const int64_t due = fw_bench_client_input(c, fw_now_ns());
        next = due < next ? due : next;
    }
    return next;
}

static void *run(void *user)
{
    struct fw_bench_load *l = user;
    struct pollfd p[1 + 2 * FW_BENCH_SESSIONS_MAX];
    int64_t next = 0, all = 0;
    for (;;) {
        pthread_mutex_lock(&l->lock);
        const bool quit = l->quit;
        const unsigned polled = fill_poll(l, p);
        pthread_mutex_unlock(&l->lock);
        if (quit)
            return NULL;
        const int64_t left = next - fw_now_ns();
        const struct timespec wait = { left > 0 ? left / FW_NS_PER_S : 0,
                                       left > 0 ? left % FW_NS_PER_S : 0 };
        uint64_t woken;
        if (ppoll(p, polled, &wait, NULL) > 0 && p[0].revents &&
            read(l->wake_fd, &woken, sizeof(woken)) < 0)
            return NULL;
        pthread_mutex_lock(&l->lock);
        next = serve(l, p, polled, &all);
        pthread_mutex_unlock(&l->lock);
    }
}

static void wake(struct fw_bench_load *l)
{
    const uint64_t one = 1;
    while (write(l->wake_fd, &one, sizeof(one)) < 0 && l->running)
        sched_yield(); // it is full of wake-ups: nearly taken
}

// ---- life

enum fw_err fw_bench_load_create(struct fw_bench_load **out, const struct fw_remote *remote,
                                 const struct fw_bench_load_options *options,
                                 const volatile sig_atomic_t *stop)
{
    struct fw_bench_load *l = calloc(1, sizeof(*l));
    *out = l;
    if (!l)
        return FW_ERR_NOMEM;
    l->remote = remote;
    l->options = options;
    l->stop = stop;
    pthread_mutex_init(&l->lock, NULL);
    l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    enum fw_err err = l->wake_fd < 0 ? FW_ERR_IO : FW_OK;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (!err && options->decode)
        err = fw_bench_decoders_create(&l->decoders, cores > 1 ? (unsigned)cores : 1, l->wake_fd);
    if (!err) {
        l->running = pthread_create(&l->thread, NULL, run, l) == 0;
        err = l->running ? FW_OK : FW_ERR_NOMEM;
    }
    if (err)
        fw_bench_load_destroy(out);
    return err;
}

static void pause_ms(int ms)
{
    poll(NULL, 0, ms);
}

static enum fw_err remove_last(struct fw_bench_load *l, const struct fw_remote *remote)
{
    pthread_mutex_lock(&l->lock);
    struct fw_bench_client *c = l->client[l->count - 1];
    c->ended = true; // reads no more; what is being decoded still comes back
    while (c->undecoded && l->running) {
        pthread_mutex_unlock(&l->lock);
        pause_ms(1);
        pthread_mutex_lock(&l->lock);
    }
    l->count--;
    pthread_mutex_unlock(&l->lock);
    wake(l);
    return fw_bench_client_destroy(&c, remote);
}

void fw_bench_load_destroy(struct fw_bench_load **load)
{
    struct fw_bench_load *l = *load;
    *load = NULL;
    if (!l)
        return;
    struct fw_remote remote = *l->remote;
    while (l->count)
        if (remove_last(l, &remote) == FW_ERR_TIMEOUT)
            remote.timeout_ms = DEAF_MS; // told all the same, for when it wakes up
    pthread_mutex_lock(&l->lock);
    l->quit = true;
    pthread_mutex_unlock(&l->lock);
    if (l->running) {
        wake(l);
        pthread_join(l->thread, NULL);
    }
    fw_bench_decoders_destroy(&l->decoders);
    if (l->wake_fd >= 0)
        close(l->wake_fd);
    pthread_mutex_destroy(&l->lock);
    free(l);
}

// ---- sessions

unsigned fw_bench_load_count(const struct fw_bench_load *l)
{
    return l->count;
}

const char *fw_bench_load_session_id(const struct fw_bench_load *l, unsigned index)
{
    return l->client[index]->session.id;
}

// How many sessions have not shown a picture. FW_ERR_DENIED: one never will.
static enum fw_err count_dark(struct fw_bench_load *l, unsigned *dark,
                              struct fw_remote_error *error)
{
    enum fw_err err = FW_OK;
    *dark = 0;
    pthread_mutex_lock(&l->lock);
    for (unsigned i = 0; i < l->count; i++) {
        const struct fw_bench_client *c = l->client[i];
        const struct fw_watch_info *info = fw_watch_info(c->watch);
        *dark += !c->shown;
        if (!c->ended && strcmp(info->state, "failed") != 0)
            continue;
        err = FW_ERR_DENIED;
        snprintf(error->code, sizeof(error->code), "%s", info->code);
        snprintf(error->message, sizeof(error->message), "session %u of %u ended: %s", i + 1,
                 l->count, info->message[0] ? info->message : info->state);
    }
    pthread_mutex_unlock(&l->lock);
    return err;
}

static enum fw_err wait_ready(struct fw_bench_load *l, struct fw_remote_error *error)
{
    const int64_t limit = fw_now_ns() + READY_S * (int64_t)FW_NS_PER_S;
    for (;;) {
        unsigned dark;
        const enum fw_err err = count_dark(l, &dark, error);
        if (err || !dark)
            return err;
        if (*l->stop)
            return FW_ERR_CLOSED;
        if (fw_now_ns() > limit) {
            snprintf(error->code, sizeof(error->code), "no_picture");
            snprintf(error->message, sizeof(error->message),
                     "%u of %u sessions have not shown a picture within %d s", dark, l->count,
                     READY_S);
            return FW_ERR_TIMEOUT;
        }
        pause_ms(20);
    }
}

enum fw_err fw_bench_load_resize(struct fw_bench_load *l, unsigned count,
                                 struct fw_remote_error *error)
{
    while (l->count > count)
        remove_last(l, l->remote); // gone already is as good
    while (l->count < count) {
        if (*l->stop)
            return FW_ERR_CLOSED;
        snprintf(error->message, sizeof(error->message), "out of memory or of threads");
        struct fw_bench_client *c =
            fw_bench_client_create(l->remote, l->options, l->count, l->decoders, error);
        if (!c)
            return FW_ERR_DENIED;
        pthread_mutex_lock(&l->lock);
        l->client[l->count++] = c;
        pthread_mutex_unlock(&l->lock);
        wake(l);
    }
    return wait_ready(l, error);
}

// ---- the window

void fw_bench_load_begin(struct fw_bench_load *l)
{
    pthread_mutex_lock(&l->lock);
    l->from_ns = l->collected_ns = fw_now_ns();
    l->to_ns = INT64_MAX;
    for (unsigned i = 0; i < l->count; i++)
        fw_bench_client_begin(l->client[i], l->from_ns);
    pthread_mutex_unlock(&l->lock);
}

void fw_bench_load_end(struct fw_bench_load *l)
{
    pthread_mutex_lock(&l->lock);
    l->to_ns = fw_now_ns();
    for (unsigned i = 0; i < l->count; i++)
        l->client[i]->to_ns = l->to_ns;
    pthread_mutex_unlock(&l->lock);
}

// Inputs of the window that no picture has shown yet.
static uint64_t inputs_open(struct fw_bench_load *l)
{
    uint64_t open = 0;
    pthread_mutex_lock(&l->lock);
    for (unsigned i = 0; i < l->count; i++)
        open += l->client[i]->ended ? 0 : l->client[i]->figures.inputs_open;
    pthread_mutex_unlock(&l->lock);
    return open;
}

int fw_bench_load_collect_s(const struct fw_bench_load *l)
{
    // Half of what the server keeps, counting twice as many records as pictures: some are skipped.
    const int s = RECORDS_KEPT / 4 / l->options->fps;
    return s < 1 ? 1 : s > COLLECT_MAX_S ? COLLECT_MAX_S : s;
}

static enum fw_err collect_one(struct fw_bench_load *l, struct fw_bench_client *c, bool last,
                               int seconds, struct fw_remote_error *error)
{
    char path[200], *csv = NULL;
    size_t size;
    snprintf(path, sizeof(path), "/api/v1/sessions/%.80s/trace?format=csv&last=%ds", c->session.id,
             seconds);
    enum fw_err err = fw_remote_text(l->remote, path, &csv, &size, error);
    if (err)
        return err;
    pthread_mutex_lock(&l->lock);
    const int64_t offset = fw_watch_clock(c->watch)->best.offset_ns;
    const struct fw_bench_window window = {
        .from_ns = l->from_ns + offset,
        .to_ns = l->to_ns == INT64_MAX ? INT64_MAX : l->to_ns + offset,
        .last = last,
    };
    err = fw_bench_records_add(&c->reading, csv, &window, &c->figures);
    pthread_mutex_unlock(&l->lock);
    free(csv);
    if (err)
        snprintf(error->message, sizeof(error->message),
                 "the server's trace of frames can't be read: is it of another version?");
    return err;
}

static void settle_ages(struct fw_bench_load *l)
{
    pthread_mutex_lock(&l->lock);
    for (unsigned i = 0; i < l->count; i++)
        fw_bench_client_settle(l->client[i]);
    pthread_mutex_unlock(&l->lock);
}

enum fw_err fw_bench_load_collect(struct fw_bench_load *l, bool last, struct fw_remote_error *error)
{
    if (last) {
        for (int waited = 0; waited < SETTLE_MS && inputs_open(l) && !*l->stop; waited += 10)
            pause_ms(10);
        pause_ms(CONFIRM_MS);
    }
    const int64_t now = fw_now_ns();
    const int64_t since = (now - l->collected_ns) / FW_NS_PER_S + 3;
    const int seconds = since > LAST_MAX_S ? LAST_MAX_S : (int)since;
    enum fw_err result = FW_OK;
    for (unsigned i = 0; i < l->count; i++) {
        const enum fw_err err = collect_one(l, l->client[i], last, seconds, error);
        result = result ? result : err;
        if (err == FW_ERR_TIMEOUT)
            break; // the others would take as long
    }
    l->collected_ns = now;
    if (last)
        settle_ages(l);
    return result;
}

// ---- what is known

void fw_bench_load_figures(struct fw_bench_load *l, unsigned index,
                           struct fw_bench_figures *figures)
{
    pthread_mutex_lock(&l->lock);
    *figures = l->client[index]->figures;
    const int64_t now = fw_now_ns(), to = l->to_ns < now ? l->to_ns : now;
    figures->seconds = l->from_ns ? (double)(to - l->from_ns) / FW_NS_PER_S : 0;
    pthread_mutex_unlock(&l->lock);
}

void fw_bench_load_said(struct fw_bench_load *l, struct fw_bench_said *said)
{
    *said = (struct fw_bench_said){ .ended = 0 };
    pthread_mutex_lock(&l->lock);
    for (unsigned i = 0; i < l->count; i++) {
        const struct fw_bench_client *c = l->client[i];
        const struct fw_watch_info *info = fw_watch_info(c->watch);
        const int64_t rtt = fw_client_clock_min_rtt(fw_watch_clock(c->watch));
        int64_t offset;
        uint32_t bound = 0;
        fw_client_clock_estimate(fw_watch_clock(c->watch), fw_now_ns(), &offset, &bound);
        if (info->gpu[0] && !said->gpu[0]) {
            snprintf(said->gpu, sizeof(said->gpu), "%s", info->gpu);
            snprintf(said->encoder, sizeof(said->encoder), "%s", info->encoder);
        }
        said->same_encoder += info->encoder[0] && strcmp(info->encoder, said->encoder) == 0;
        if (rtt && (!said->rtt_ns || rtt < said->rtt_ns))
            said->rtt_ns = rtt;
        if (bound > said->clock_us)
            said->clock_us = bound;
        if (!c->ended)
            continue;
        if (!said->ended++)
            snprintf(said->why, sizeof(said->why), "%.300s",
                     info->message[0] ? info->message : info->code);
    }
    pthread_mutex_unlock(&l->lock);
}

static int64_t clock_ns(clockid_t id)
{
    struct timespec t = { 0 };
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * FW_NS_PER_S + t.tv_nsec;
}

void fw_bench_load_cpu(const struct fw_bench_load *l, int64_t *process_ns, int64_t *thread_ns)
{
    clockid_t id;
    *process_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    *thread_ns = pthread_getcpuclockid(l->thread, &id) == 0 ? clock_ns(id) : 0;
}
