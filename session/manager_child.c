// SPDX-License-Identifier: MIT
#include "session/manager_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

enum { WARM_LOST_WAIT_MS = 100, VIEW_TRIES = 3 };

extern char **environ;

static void child_free(struct child *c)
{
    struct child **at = &c->manager->children;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    fw_ring_finish(&c->ring);
    free(c);
}

static void on_poll_closed(uv_handle_t *handle)
{
    struct child *c = handle->data;
    struct fw_manager *m = c->manager;
    c->poll_open = false;
    close(c->fd);
    c->fd = -1;
    if (c->reaped) {
        child_free(c);
        fw_manager_schedule(m);
    }
}

void fw_child_signal_kill(const struct child *c)
{
    if (c->reaped)
        return;
    kill(-c->pid, SIGKILL);
    kill(c->pid, SIGKILL); // its group may not stand yet, or it has left it
}

void fw_child_hung_up(struct child *c)
{
    if (c->hung_up)
        return;
    c->hung_up = true;
    if (!uv_is_closing((uv_handle_t *)&c->poll))
        uv_poll_stop(&c->poll);
    fw_child_signal_kill(c);
}

void fw_child_close_link(struct child *c)
{
    if (c->poll_open && !uv_is_closing((uv_handle_t *)&c->poll))
        uv_close((uv_handle_t *)&c->poll, on_poll_closed);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct child *c = poll->data;
    if (status < 0) {
        // A worker that dies with messages unread resets the socket, and libuv stops the poll: its
        // last words may still lie there, and its end is told by SIGCHLD.
        fw_child_readable(c);
        fw_child_hung_up(c);
        return;
    }
    if (events & UV_WRITABLE)
        fw_child_flush(c);
    if (events & (UV_READABLE | UV_DISCONNECT))
        fw_child_readable(c);
}

static void watch(struct child *c, bool writable)
{
    if (uv_is_closing((uv_handle_t *)&c->poll) || c->hung_up)
        return;
    c->writable_wanted = writable;
    uv_poll_start(&c->poll, UV_READABLE | UV_DISCONNECT | (writable ? UV_WRITABLE : 0), on_poll);
}

// lavapipe draws with as many threads as it is told. One session alone gets all cores, more share
// them. Told at spawn, so a spare worker is made for the number of sessions there are by then.
static int lavapipe_threads(const struct fw_manager *m)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const unsigned live = fw_manager_live_sessions(m);
    const long threads = cores / (long)(live ? live : 1);
    return threads < 1 ? 1 : threads > 32 ? 32 : (int)threads;
}

static enum fw_err exec_worker(struct fw_manager *m, int link, int ring, pid_t *pid)
{
    char threads[16];
    snprintf(threads, sizeof(threads), "%d", lavapipe_threads(m));
    const char *argv[16] = { "framewire-worker", "worker",       "--log-level",
                             m->p.log_level,     "--lp-threads", threads };
    unsigned n = 6;
    if (m->p.gpu) {
        argv[n++] = "--gpu";
        argv[n++] = m->p.gpu;
    }
    if (m->p.cache_dir) {
        argv[n++] = "--cache-dir";
        argv[n++] = m->p.cache_dir;
    }
    if (m->encoder[0]) { // so that its code is loaded before START
        argv[n++] = "--encoder";
        argv[n++] = m->encoder;
    }
    if (m->p.validation)
        argv[n++] = "--validation";

    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attr);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, link, FW_LINK_FD);
    posix_spawn_file_actions_adddup2(&files, ring, FW_RING_FD);
    posix_spawn_file_actions_addclosefrom_np(&files, FW_RING_FD + 1);
    sigset_t none, ignored;
    sigemptyset(&none);
    sigemptyset(&ignored);
    sigaddset(&ignored, SIGPIPE);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &ignored);
    // A group of its own: the terminal's Ctrl-C is for the front, and its apps can be killed too.
    posix_spawnattr_setpgroup(&attr, 0);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                        POSIX_SPAWN_SETPGROUP);
    const int rc =
        posix_spawn(pid, "/proc/self/exe", &files, &attr, (char *const *)(void *)argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    if (rc)
        fw_log(m->p.log, FW_LOG_ERROR, "manager", "a worker can't be started: %s", strerror(rc));
    return rc ? FW_ERR_IO : FW_OK;
}

// Above the numbers the worker's ends get, so that no dup2 hits the other's source.
static int move_up(int fd)
{
    const int moved = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 10);
    if (fd >= 0)
        close(fd);
    return moved;
}

enum fw_err fw_child_spawn(struct fw_manager *m)
{
    int pair[2] = { -1, -1 }, ring = -1;
    enum fw_err err = FW_ERR_NOMEM;
    struct child *c = calloc(1, sizeof(*c));
    if (!c)
        return err;
    c->manager = m;
    c->ring.fd = -1;
    err = fw_ring_create(&c->ring, 0);
    if (err)
        goto error;
    err = FW_ERR_IO;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        goto error;
    pair[1] = move_up(pair[1]);
    ring = fcntl(c->ring.fd, F_DUPFD_CLOEXEC, 10);
    if (pair[1] < 0 || ring < 0 || fcntl(pair[0], F_SETFL, O_NONBLOCK) < 0)
        goto error;
    err = exec_worker(m, pair[1], ring, &c->pid);
    if (err)
        goto error;
    close(pair[1]);
    close(ring);
    c->fd = pair[0];
    c->since_ns = c->heard_ns = c->spawned_ns = fw_now_ns();
    m->metrics.workers++;
    c->poll.data = c;
    c->next = m->children;
    m->children = c;
    if (uv_poll_init(m->p.loop, &c->poll, c->fd) < 0) {
        close(c->fd);
        c->fd = -1;
        fw_child_kill(c);
        return FW_ERR_IO;
    }
    c->poll_open = true;
    watch(c, false);
    fw_log(m->p.log, FW_LOG_DEBUG, "manager", "worker %d started", (int)c->pid);
    return FW_OK;
error:
    fw_log(m->p.log, FW_LOG_ERROR, "manager", "no worker: %s (%s)", fw_err_name(err),
           strerror(errno));
    if (pair[0] >= 0)
        close(pair[0]);
    if (pair[1] >= 0)
        close(pair[1]);
    if (ring >= 0)
        close(ring);
    if (c->ring.fd >= 0)
        fw_ring_finish(&c->ring);
    free(c);
    return err;
}

enum fw_err fw_child_start(struct child *c, const struct session *s)
{
    struct fw_link_start start = { .width = s->width,
                                   .height = s->height,
                                   .fps = s->fps,
                                   .first_frame_id = s->last_frame + 1,
                                   .arg_count = s->arg_count };
    snprintf(start.source, sizeof(start.source), "%s", s->source);
    snprintf(start.encoder, sizeof(start.encoder), "%s", s->encoder);
    for (unsigned i = 0; i < s->arg_count; i++) {
        memcpy(start.args[i].key, s->args[i].key, sizeof(start.args[i].key));
        memcpy(start.args[i].value, s->args[i].value, sizeof(start.args[i].value));
    }
    // A view may be what ends its workers: the last tries do without it.
    if (fw_restart_recent(&s->restart, fw_now_ns()) <= VIEW_TRIES)
        start.view = s->view;
    const enum fw_err err = fw_link_send(c->fd, &start, FW_LINK_START, sizeof(start));
    if (err)
        return err;
    c->state = CHILD_STARTED;
    c->since_ns = c->heard_ns = c->start_ns = fw_now_ns();
    c->written = 0;
    c->published_base = s->published;
    c->credit_due = true;
    c->faults_due = s->manager->p.allow_faults;
    c->resize_due = c->keyframe_due = false;
    c->input.count = 0;
    return FW_OK;
}

static enum fw_err send_input(struct child *c)
{
    while (c->input.count) {
        struct fw_link_input msg = { .count = c->input.count };
        if (msg.count > FW_LINK_MAX_EVENTS)
            msg.count = FW_LINK_MAX_EVENTS;
        memcpy(msg.events, c->input.events, msg.count * sizeof(msg.events[0]));
        const size_t size =
            offsetof(struct fw_link_input, events) + msg.count * sizeof(msg.events[0]);
        const enum fw_err err = fw_link_send(c->fd, &msg, FW_LINK_INPUT, size);
        if (err)
            return err;
        fw_input_queue_pop(&c->input, msg.count);
    }
    return FW_OK;
}

static enum fw_err send_due(struct child *c)
{
    const struct session *s = c->session;
    enum fw_err err = FW_OK;
    if (c->faults_due) {
        struct fw_link_fault msg = { .faults = s->faults };
        if ((err = fw_link_send(c->fd, &msg, FW_LINK_FAULT, sizeof(msg))))
            return err;
        c->faults_due = false;
    }
    if (c->resize_due) {
        struct fw_link_resize msg = { .width = s->width, .height = s->height };
        if ((err = fw_link_send(c->fd, &msg, FW_LINK_RESIZE, sizeof(msg))))
            return err;
        c->resize_due = false;
    }
    if ((err = send_input(c)))
        return err;
    if (c->keyframe_due) {
        struct fw_link_header msg = { 0 };
        if ((err = fw_link_send(c->fd, &msg, FW_LINK_KEYFRAME, sizeof(msg))))
            return err;
        c->keyframe_due = false;
    }
    if (c->credit_due) {
        // The channel counts over the session's life, the worker since its START.
        const uint64_t allowed =
            s->allowed > c->published_base ? s->allowed - c->published_base : 0;
        struct fw_link_credit msg = { .allowed = allowed, .active = s->active };
        if ((err = fw_link_send(c->fd, &msg, FW_LINK_CREDIT, sizeof(msg))))
            return err;
        c->credit_due = false;
    }
    return FW_OK;
}

void fw_child_flush(struct child *c)
{
    if (c->fd < 0 || !c->session || c->state < CHILD_STARTED || c->state > CHILD_READY)
        return;
    const bool waits = send_due(c) == FW_ERR_AGAIN; // closed: the readable side tells
    if (waits != c->writable_wanted)
        watch(c, waits);
}

void fw_child_stop(struct child *c)
{
    struct fw_link_header msg = { 0 };
    c->session = NULL;
    if (c->state == CHILD_STOPPING)
        return;
    if (c->fd < 0 || fw_link_send(c->fd, &msg, FW_LINK_STOP, sizeof(msg)) != FW_OK) {
        fw_child_kill(c);
        return;
    }
    c->state = CHILD_STOPPING;
    c->since_ns = fw_now_ns();
    watch(c, false);
}

void fw_child_kill(struct child *c)
{
    c->session = NULL;
    c->state = CHILD_STOPPING;
    fw_child_signal_kill(c);
    fw_child_close_link(c);
}

static void describe_end(int status, char *out, size_t size)
{
    if (WIFSIGNALED(status))
        snprintf(out, size, "the worker was ended by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(out, size, "the worker ended by itself with status %d", WEXITSTATUS(status));
}

static bool crashed(int status)
{
    if (!WIFSIGNALED(status))
        return false;
    const int sig = WTERMSIG(status);
    return sig == SIGSEGV || sig == SIGABRT || sig == SIGBUS || sig == SIGFPE || sig == SIGILL;
}

// What crashes while it opens will do so again: one more try, then the session fails.
static void lost_opening(struct session *s, const char *reason)
{
    if (s->opening_crashes++ == 0) {
        fw_session_lost(s, FW_LOST_CRASHED, reason);
        return;
    }
    s->manager->metrics.lost[FW_LOST_CRASHED]++;
    char message[512];
    snprintf(message, sizeof(message), "Opening \"%s\" made the worker crash, twice; the last: %s.",
             s->title, reason);
    s->child = NULL;
    fw_session_fail(s, "crash_loop", message);
}

static void child_ended(struct child *c, int status)
{
    struct fw_manager *m = c->manager;
    char reason[160];
    describe_end(status, reason, sizeof(reason));
    const bool expected = c->state == CHILD_STOPPING;
    fw_log(m->p.log, expected ? FW_LOG_DEBUG : FW_LOG_WARN, "manager", "worker %d: %s", (int)c->pid,
           reason);
    c->reaped = true;
    if (!expected && c->poll_open)
        fw_child_readable(c); // its last words, if any
    kill(-c->pid, SIGKILL);   // apps it may have left
    if (c->state == CHILD_BOOTING)
        fw_manager_boot_failed(m);
    else if (c->state == CHILD_WARM) // no haste, should they all die so
        m->spawn_after_ns = fw_now_ns() + WARM_LOST_WAIT_MS * (int64_t)FW_NS_PER_MS;
    struct session *s = c->session;
    const bool opening = c->state == CHILD_STARTED && crashed(status);
    c->session = NULL;
    c->state = CHILD_STOPPING;
    if (s && opening)
        lost_opening(s, reason);
    else if (s)
        fw_session_lost(s, FW_LOST_CRASHED, reason);
    if (c->poll_open)
        fw_child_close_link(c);
    else
        child_free(c);
}

void fw_child_reap(struct fw_manager *m)
{
    for (struct child *c = m->children, *next; c; c = next) {
        int status;
        struct rusage use;
        next = c->next;
        if (c->reaped || wait4(c->pid, &status, WNOHANG, &use) != c->pid)
            continue;
        m->metrics.ended_cpu_seconds += (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                                        (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
        child_ended(c, status);
    }
    fw_manager_schedule(m);
}
