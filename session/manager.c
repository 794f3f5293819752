// SPDX-License-Identifier: MIT
#include "session/manager.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "session/manager_impl.h"
#include "stream/secret.h"

enum {
    TICK_MS = 250,       // while a worker boots, opens or ends
    CALM_TICK_MS = 1000, // while all of them run or wait
    BOOT_MAX_S = 20,     // spawned → WARM
    QUIET_LOAD_S = 30,   // START → READY without a word of progress
    SLOW_S = 3,          // READY without a beacon: those who watch are told
    QUIET_MAX_S = 12,    // READY without a beacon; above the worker's own bound of a frame
    STOP_MAX_S = 2,
    BOOT_DOUBLINGS = 8,    // 250 ms to 32 s between workers that do not get warm
    REFILL_WAIT_MS = 1000, // a starting session has the cores to itself
};

static int64_t seconds(int64_t n)
{
    return n * FW_NS_PER_S;
}

unsigned fw_manager_live_sessions(const struct fw_manager *m)
{
    unsigned n = 0;
    for (const struct session *s = m->sessions; s; s = s->next)
        n += s->state != SESSION_FAILED;
    return n;
}

void fw_manager_boot_failed(struct fw_manager *m)
{
    m->spawn_fails++;
    m->metrics.boots_failed++;
    const unsigned doublings = m->spawn_fails < BOOT_DOUBLINGS ? m->spawn_fails : BOOT_DOUBLINGS;
    m->spawn_after_ns = fw_now_ns() + (INT64_C(125) << doublings) * FW_NS_PER_MS;
}

// ---- scheduling

static struct child *find_warm(const struct fw_manager *m)
{
    for (struct child *c = m->children; c; c = c->next)
        if (c->state == CHILD_WARM && !c->hung_up)
            return c;
    return NULL;
}

static void want_at(int64_t *soonest, int64_t at)
{
    if (at < *soonest)
        *soonest = at;
}

// Hands warm workers to those who wait; how many still wait for a process.
static unsigned assign(struct fw_manager *m, int64_t now, int64_t *soonest)
{
    unsigned waiting = 0;
    for (struct session *s = m->sessions; s; s = s->next) {
        if (s->child || s->state == SESSION_FAILED)
            continue;
        if (s->due_ns > now) {
            want_at(soonest, s->due_ns);
            continue;
        }
        struct child *c = m->encoder[0] ? find_warm(m) : NULL;
        if (c)
            fw_session_assign(s, c);
        waiting += !s->child;
    }
    return waiting;
}

static void give_up_waiting(struct fw_manager *m)
{
    for (struct session *s = m->sessions; s; s = s->next)
        if (!s->child && s->state != SESSION_FAILED)
            fw_session_fail(s, "no_worker",
                            s->lost_reason[0] ? s->lost_reason
                                              : "no worker process can be started; the server's "
                                                "log says why");
}

// Workers that were started for sessions which have ended since.
static void trim_pool(struct fw_manager *m, unsigned idle, unsigned want)
{
    for (struct child *c = m->children; c && idle > want; c = c->next) {
        if (c->state != CHILD_WARM)
            continue;
        fw_child_stop(c);
        idle--;
    }
}

static void fill_pool(struct fw_manager *m, unsigned waiting, int64_t now, int64_t *soonest)
{
    unsigned idle = 0, booting = 0;
    int64_t quiet_until = 0;
    for (const struct child *c = m->children; c; c = c->next) {
        idle += c->state == CHILD_WARM;
        booting += c->state == CHILD_BOOTING;
        const int64_t quiet = c->start_ns + (int64_t)REFILL_WAIT_MS * FW_NS_PER_MS;
        if (c->session && quiet > quiet_until) // its first picture before the next one boots
            quiet_until = quiet;
    }
    trim_pool(m, idle, waiting + (unsigned)m->p.warm);
    const unsigned have = idle + booting;
    unsigned want = waiting; // those who wait get their own at once
    if (quiet_until <= now)
        want += (unsigned)m->p.warm;
    else if (have < waiting + (unsigned)m->p.warm)
        want_at(soonest, quiet_until);
    if (have >= want)
        return;
    if (m->spawn_after_ns > now) {
        want_at(soonest, m->spawn_after_ns);
        return;
    }
    for (unsigned i = have; i < want; i++)
        if (fw_child_spawn(m) != FW_OK) {
            fw_manager_boot_failed(m);
            want_at(soonest, m->spawn_after_ns);
            return;
        }
}

static void on_tick(uv_timer_t *timer);

// Nobody is in a hurry when all workers run or wait: an idle server wakes up less then.
static void arm_tick(struct fw_manager *m)
{
    bool busy = m->stopping;
    for (const struct child *c = m->children; c && !busy; c = c->next)
        busy = c->state != CHILD_WARM && c->state != CHILD_READY;
    const uint64_t wait = busy ? TICK_MS : CALM_TICK_MS;
    if (!uv_is_active((uv_handle_t *)&m->tick) || uv_timer_get_due_in(&m->tick) > wait)
        uv_timer_start(&m->tick, on_tick, wait, 0);
}

static void on_due(uv_timer_t *timer)
{
    fw_manager_schedule(timer->data);
}

static void tell_telemetry(const struct fw_manager *m)
{
    pid_t pids[FW_TELEMETRY_PIDS_MAX];
    unsigned count = 0;
    for (const struct child *c = m->children; c && count < FW_TELEMETRY_PIDS_MAX; c = c->next)
        if (!c->reaped)
            pids[count++] = c->pid;
    fw_telemetry_set_workers(m->p.telemetry, pids, count);
}

void fw_manager_schedule(struct fw_manager *m)
{
    if (m->stopping) {
        arm_tick(m);
        if (!m->children && !m->stopped_told) {
            m->stopped_told = true;
            m->p.stopped(m->p.user);
        }
        return;
    }
    const int64_t now = fw_now_ns();
    int64_t soonest = INT64_MAX;
    const unsigned waiting = assign(m, now, &soonest);
    if (waiting && m->spawn_fails >= SPAWN_FAILS_MAX)
        give_up_waiting(m);
    fill_pool(m, waiting, now, &soonest);
    tell_telemetry(m);
    arm_tick(m);
    if (soonest != INT64_MAX)
        uv_timer_start(&m->due, on_due, (uint64_t)((soonest - now) / FW_NS_PER_MS + 1), 0);
}

// ---- watchdog

static void hung(struct child *c, const char *what)
{
    struct session *s = c->session;
    const bool loading = c->state == CHILD_STARTED;
    fw_log(c->manager->p.log, FW_LOG_ERROR, "manager", "worker %d hangs (%s): killed", (int)c->pid,
           what);
    if (c->state == CHILD_BOOTING)
        fw_manager_boot_failed(c->manager);
    fw_child_kill(c);
    if (s && loading)
        fw_session_fail(s, "timeout", "opening it took too long without progress; it was given up");
    else if (s)
        fw_session_lost(s, FW_LOST_HUNG, "its worker hung");
}

static void watch_ready(struct child *c, int64_t now)
{
    // It may be the front that has slept: what the worker said meanwhile lies there unread.
    if (now - c->heard_ns > seconds(SLOW_S))
        fw_child_readable(c);
    if (c->state != CHILD_READY)
        return;
    if (now - c->heard_ns > seconds(QUIET_MAX_S))
        hung(c, "no beacon");
    else if (now - c->heard_ns > seconds(SLOW_S))
        fw_session_set_slow(c->session, true);
}

static void watch_child(struct child *c, int64_t now)
{
    switch (c->state) {
    case CHILD_BOOTING:
        if (now - c->since_ns > seconds(BOOT_MAX_S))
            hung(c, "no device in time");
        break;
    case CHILD_WARM: break; // says nothing until START
    case CHILD_STARTED:
        if (now - c->heard_ns > seconds(QUIET_LOAD_S))
            hung(c, "opening");
        break;
    case CHILD_READY: watch_ready(c, now); break;
    case CHILD_STOPPING:
        if (!c->reaped && now - c->since_ns > seconds(STOP_MAX_S))
            fw_child_kill(c);
        break;
    }
}

// How long nobody has watched it; 0 = somebody does.
static int64_t unwatched_ns(const struct session *s, int64_t now)
{
    struct fw_channel_stats stats;
    fw_channel_get_stats(s->channel, &stats);
    if (stats.viewers)
        return 0;
    return now - (stats.absent_since_ns > s->created_ns ? stats.absent_since_ns : s->created_ns);
}

static void end_absent(struct fw_manager *m, int64_t now)
{
    for (struct session *s = m->sessions, *next; s; s = next) {
        next = s->next;
        if (unwatched_ns(s, now) > m->p.idle_timeout_ns)
            fw_session_end(s, "closed", "nobody watched it for a while");
    }
}

// Who closes a page may only be reloading it; whose connection broke may be long in coming back.
static int64_t grace_ns(const struct session *s)
{
    enum { RELOAD_S = 3 };
    struct fw_channel_stats stats;
    fw_channel_get_stats(s->channel, &stats);
    const int64_t grace = s->manager->p.seat_grace_ns, reload = seconds(RELOAD_S);
    return stats.left_well && reload < grace ? reload : grace;
}

// The server is full and somebody new comes: the session that has gone unwatched for longest gives
// its seat, unless it may just be between two connections.
static bool make_room(struct fw_manager *m, int64_t now)
{
    struct session *oldest = NULL;
    int64_t longest = 0;
    for (struct session *s = m->sessions; s; s = s->next) {
        const int64_t unwatched = unwatched_ns(s, now);
        if (s->state != SESSION_FAILED && unwatched > longest && unwatched > grace_ns(s)) {
            oldest = s;
            longest = unwatched;
        }
    }
    if (oldest)
        fw_session_end(oldest, "closed", "nobody watched it, and its seat was needed");
    return oldest;
}

// Failed sessions stay to be asked about, but not without bound.
static void drop_old_failures(struct fw_manager *m)
{
    unsigned failed = 0;
    for (const struct session *s = m->sessions; s; s = s->next)
        failed += s->state == SESSION_FAILED;
    for (struct session *s = m->sessions, *next; s && failed > FAILED_KEPT; s = next) {
        next = s->next;
        if (s->state != SESSION_FAILED)
            continue;
        fw_session_end(s, "closed", "it failed");
        failed--;
    }
}

static void on_tick(uv_timer_t *timer)
{
    struct fw_manager *m = timer->data;
    const int64_t now = fw_now_ns();
    for (struct child *c = m->children, *next; c; c = next) {
        next = c->next;
        watch_child(c, now);
    }
    if (!m->stopping) {
        end_absent(m, now);
        drop_old_failures(m);
    }
    fw_child_reap(m); // also in case a SIGCHLD was merged away
}

static void on_sigchld(uv_signal_t *signal, int number)
{
    (void)number;
    fw_child_reap(signal->data);
}

// ---- what the API does

static enum fw_err api_create(void *user, const struct fw_session_request *request, const char **id)
{
    struct fw_manager *m = user;
    if (m->stopping) {
        m->metrics.refused[FW_NO_SESSION_DRAINING]++;
        return FW_ERR_CLOSED;
    }
    if (fw_manager_live_sessions(m) >= (unsigned)m->p.max_sessions && !make_room(m, fw_now_ns())) {
        m->metrics.refused[FW_NO_SESSION_MAX]++;
        return FW_ERR_AGAIN;
    }
    struct session *s = calloc(1, sizeof(*s));
    if (!s)
        return FW_ERR_NOMEM;
    char random[33];
    s->manager = m;
    s->source = request->source;
    memcpy(s->shown, request->shown, sizeof(s->shown));
    memcpy(s->args, request->args, sizeof(s->args));
    s->arg_count = request->arg_count;
    s->width = request->width;
    s->height = request->height;
    s->fps = request->fps;
    s->faults = m->p.faults;
    s->created_ns = fw_now_ns();
    s->created = time(NULL);
    snprintf(s->title, sizeof(s->title), "%s", request->title);
    snprintf(s->gpu, sizeof(s->gpu), "%s", m->gpu);
    snprintf(s->encoder, sizeof(s->encoder), "%s", m->encoder);
    enum fw_err err = fw_random_hex(random, 16);
    if (!err)
        err = fw_access_init(&s->access, request->owner, s->created_ns);
    if (!err)
        err = fw_channel_create(&s->channel, m->server, s);
    if (err) {
        free(s);
        return err;
    }
    snprintf(s->id, sizeof(s->id), "%s%s", m->node_tag, random);
    struct session **end = &m->sessions;
    while (*end)
        end = &(*end)->next;
    *end = s;
    m->metrics.sessions++;
    fw_session_announce(s);
    fw_session_set_state(s, SESSION_STARTING, "", "");
    fw_log(m->p.log, FW_LOG_INFO, "manager", "session %.10s: %s, %dx%d", s->id, s->title, s->width,
           s->height);
    fw_manager_schedule(m);
    *id = s->id;
    return FW_OK;
}

static struct session *find(const struct fw_manager *m, const char *id)
{
    struct session *s = m->sessions;
    while (s && strcmp(s->id, id) != 0)
        s = s->next;
    return s;
}

static void view_of(struct session *s, struct fw_session_view *v)
{
    struct fw_channel_stats stats;
    fw_channel_get_stats(s->channel, &stats);
    *v = (struct fw_session_view){ .id = s->id,
                                   .source = s->source,
                                   .title = s->title,
                                   .state = fw_session_state_name(s),
                                   .code = s->code,
                                   .message = s->message,
                                   .gpu = s->gpu,
                                   .encoder = s->encoder,
                                   .no_parts = s->no_parts,
                                   .faults = &s->faults,
                                   .args = s->shown,
                                   .arg_count = s->arg_count,
                                   .width = s->width,
                                   .height = s->height,
                                   .fps = s->fps,
                                   .viewers = stats.viewers,
                                   .restarts = s->restart.total,
                                   .frames = s->published,
                                   .bytes = s->bytes,
                                   .rtt_ns = stats.rtt_ns,
                                   .pid = s->child ? (int)s->child->pid : 0,
                                   .created = s->created,
                                   .access = &s->access,
                                   .records = fw_channel_records(s->channel),
                                   .marks = &s->marks };
}

static bool api_get(void *user, const char *id, struct fw_session_view *view)
{
    struct session *s = find(user, id);
    if (s)
        view_of(s, view);
    return s != NULL;
}

static bool api_at(void *user, unsigned index, struct fw_session_view *view)
{
    const struct fw_manager *m = user;
    struct session *s = m->sessions;
    while (s && index--)
        s = s->next;
    if (s)
        view_of(s, view);
    return s != NULL;
}

static void api_end(void *user, const char *id)
{
    struct session *s = find(user, id);
    if (!s)
        return;
    fw_session_end(s, "closed", "it was ended");
    fw_manager_schedule(user);
}

static void api_node(void *user, struct fw_node_view *node)
{
    const struct fw_manager *m = user;
    const unsigned live = fw_manager_live_sessions(m);
    const bool waits =
        m->p.warm && !m->gpu_known; // without spare workers there is none to wait for
    const char *reason = m->stopping                           ? "draining"
                         : waits || !m->encoder[0]             ? "starting"
                         : m->spawn_fails >= SPAWN_FAILS_MAX   ? "no_worker"
                         : live >= (unsigned)m->p.max_sessions ? "full"
                                                               : "";
    *node = (struct fw_node_view){ .ready = !*reason,
                                   .reason = reason,
                                   .gpu = m->gpu,
                                   .encoder = m->encoder_in_use[0] ? m->encoder_in_use : m->encoder,
                                   .gpu_is_cpu = m->gpu_is_cpu,
                                   .sessions = live,
                                   .max_sessions = (unsigned)m->p.max_sessions };
}

static const struct fw_api_ops api_ops = {
    .create = api_create,
    .get = api_get,
    .at = api_at,
    .end = api_end,
    .node = api_node,
    .fault = fw_manager_fault,
    .machine = fw_manager_machine,
    .metrics = fw_manager_metrics,
};

const struct fw_api_ops *fw_manager_api_ops(void)
{
    return &api_ops;
}

// ---- life

enum fw_err fw_manager_create(struct fw_manager **manager, const struct fw_manager_params *params)
{
    *manager = NULL;
    struct fw_manager *m = calloc(1, sizeof(*m));
    if (!m)
        return FW_ERR_NOMEM;
    m->p = *params;
    const enum fw_err err = fw_random_hex(m->node_tag, 2);
    if (err) {
        free(m);
        return err;
    }
    uv_timer_init(m->p.loop, &m->tick);
    uv_timer_init(m->p.loop, &m->due);
    uv_signal_init(m->p.loop, &m->sigchld);
    m->tick.data = m->due.data = m->sigchld.data = m;
    m->handles_open = 3;
    uv_signal_start(&m->sigchld, on_sigchld, SIGCHLD);
    *manager = m;
    fw_manager_schedule(m);
    return FW_OK;
}

void fw_manager_handler(struct fw_manager *m, struct fw_server_handler *handler)
{
    *handler = fw_manager_stream_handler;
    handler->user = m;
}

void fw_manager_set_server(struct fw_manager *m, struct fw_server *server)
{
    m->server = server;
}

void fw_manager_set_encoder(struct fw_manager *m, const char *name)
{
    snprintf(m->encoder, sizeof(m->encoder), "%s", name);
    fw_manager_schedule(m);
}

void fw_manager_stop(struct fw_manager *m)
{
    m->stopping = true;
    uv_timer_stop(&m->due);
    while (m->sessions)
        fw_session_end(m->sessions, "closed", "the server is shutting down");
    for (struct child *c = m->children; c; c = c->next)
        fw_child_stop(c);
    fw_manager_schedule(m);
}

void fw_manager_kill(struct fw_manager *m)
{
    for (struct child *c = m->children; c; c = c->next)
        fw_child_signal_kill(c);
}

static void on_closed(uv_handle_t *handle)
{
    struct fw_manager *m = handle->data;
    if (--m->handles_open == 0)
        free(m);
}

void fw_manager_destroy(struct fw_manager **manager)
{
    struct fw_manager *m = *manager;
    *manager = NULL;
    if (!m)
        return;
    uv_close((uv_handle_t *)&m->tick, on_closed);
    uv_close((uv_handle_t *)&m->due, on_closed);
    uv_close((uv_handle_t *)&m->sigchld, on_closed);
}
