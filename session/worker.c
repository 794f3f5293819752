// SPDX-License-Identifier: MIT
#include "session/worker.h"

#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "session/keep_loaded.h"
#include "session/pipeline.h"

enum {
    EXIT_USAGE = 2,
    REFINE_FRAMES = 3,
    END_LIMIT_S = 1,
    STOP_LIMIT_S = 2,
    LAST_WORD_TRIES = 500
};

struct options {
    const char *gpu, *cache_dir, *encoder;
    int log_level;
    bool validation;
};

// Thread: set up by main, then read by the watcher; `pipeline` under its lock.
struct worker {
    struct fw_watchdog watchdog;
    struct fw_log *log;
    int link; // a second fd of the link, for the watcher
    pthread_mutex_t lock;
    struct fw_pipeline *pipeline;
};

static int usage(const char *why)
{
    fprintf(stderr,
            "framewire worker: %s\n"
            "It is started by `framewire serve`, with its link on fd %d and its ring on fd %d.\n"
            "Options: --gpu NAME, --cache-dir DIR, --encoder NAME, --log-level LEVEL, "
            "--validation, --lp-threads N\n",
            why, FW_LINK_FD, FW_RING_FD);
    return EXIT_USAGE;
}

static bool set_lp_threads(const char *text)
{
    char *end;
    const long n = strtol(text, &end, 10);
    if (*end || end == text || n < 1 || n > 32) {
        return false;
    }
    // Read by lavapipe when its first device is made.
    return setenv("LP_NUM_THREADS", text, 1) == 0;
}

static const char *parse(int argc, char **argv, struct options *o)
{
    static const struct option longs[] = {
        { "gpu", required_argument, NULL, 'g' },
        { "cache-dir", required_argument, NULL, 'c' },
        { "encoder", required_argument, NULL, 'e' },
        { "log-level", required_argument, NULL, 'l' },
        { "lp-threads", required_argument, NULL, 't' },
        { "validation", no_argument, NULL, 'v' },
        { NULL, 0, NULL, 0 },
    };
    opterr = 0;
    optind = 1;
    for (int c; (c = getopt_long(argc, argv, "", longs, NULL)) != -1;) {
        switch (c) {
        case 'g': o->gpu = optarg; break;
        case 'c': o->cache_dir = optarg; break;
        case 'e': o->encoder = optarg; break;
        case 'v': o->validation = true; break;
        case 'l':
            o->log_level = fw_log_level_from_name(optarg);
            if (o->log_level < 0) {
                return "unknown log level";
            }
            break;
        case 't':
            if (!set_lp_threads(optarg)) {
                return "--lp-threads wants a number from 1 to 32";
            }
            break;
        default: return "unknown option";
        }
    }
    return optind < argc ? "unexpected argument" : NULL;
}

static bool has_link(void)
{
    int type = 0;
    socklen_t size = sizeof(type);
    struct stat st;
    return getsockopt(FW_LINK_FD, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
           type == SOCK_SEQPACKET && fstat(FW_RING_FD, &st) == 0 && S_ISREG(st.st_mode);
}

static void write_file(const char *path, const char *text)
{
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        const ssize_t n = write(fd, text, strlen(text)); // as far as we are allowed
        (void)n;
        close(fd);
    }
}

// What a worker must not do: die of the terminal's Ctrl-C (the front ends it in order), keep files
// of the front open, leave a core full of a user's picture, or be spared when memory runs out.
static void settle(void)
{
    if (getpgrp() != getpid()) {
        setpgid(0, 0);
    }
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    close_range(FW_RING_FD + 1, ~0U, 0);
    fcntl(FW_LINK_FD, F_SETFD, FD_CLOEXEC);
    fcntl(FW_RING_FD, F_SETFD, FD_CLOEXEC);
    setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_TIMERSLACK, 1000UL); // frames start on time
    write_file("/proc/self/oom_score_adj", "500");
}

static void stop_pipeline(struct worker *w)
{
    pthread_mutex_lock(&w->lock);
    if (w->pipeline) {
        fw_pipeline_stop(w->pipeline);
    }
    pthread_mutex_unlock(&w->lock);
}

static void set_pipeline(struct worker *w, struct fw_pipeline *pipeline)
{
    pthread_mutex_lock(&w->lock);
    w->pipeline = pipeline;
    pthread_mutex_unlock(&w->lock);
}

_Noreturn static void end_with(struct worker *w, struct fw_link_failed *m)
{
    fw_log(w->log, FW_LOG_ERROR, "worker", "%s", m->message);
    // Progress may fill the socket; the front reads it soon.
    for (int i = 0; i < LAST_WORD_TRIES; i++) {
        if (fw_link_send(w->link, m, FW_LINK_FAILED, sizeof(*m)) != FW_ERR_AGAIN) {
            break;
        }
        nanosleep(&(struct timespec){ .tv_nsec = FW_NS_PER_MS }, NULL);
    }
    _exit(EXIT_FAILURE);
}

_Noreturn static void end_hung(struct worker *w, const char *what)
{
    struct fw_link_failed m = { .err = FW_ERR_TIMEOUT };
    snprintf(m.message, sizeof(m.message), "%s", what);
    end_with(w, &m);
}

// A small file can make its reader ask for more than there is. A new worker would fare no better.
static void limit_memory(struct worker *w)
{
    char statm[128];
    uint64_t beats;
    if (read(w->watchdog.fd[FW_WATCH_MEMORY], &beats, sizeof(beats)) < 0) {
        return; // disarmed meanwhile
    }
    const int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, statm, sizeof(statm) - 1);
    if (fd >= 0) {
        close(fd);
    }
    statm[n < 0 ? 0 : n] = 0;
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t limit = fw_watchdog_memory_limit((uint64_t)sysconf(_SC_PHYS_PAGES) * page);
    if (fw_watchdog_resident(statm, page) <= limit) {
        return;
    }
    struct fw_link_failed m = { .err = FW_ERR_TOO_LARGE, .permanent = 1 };
    snprintf(m.message, sizeof(m.message), "Opening it takes more than %.1f GiB of memory.",
             (double)limit / (double)(1 << 30));
    end_with(w, &m);
}

// Ends the process when the front has gone, a thread hangs or opening takes too much memory,
// whatever the other threads do.
static void *watch_main(void *arg)
{
    struct worker *w = arg;
    pthread_setname_np(pthread_self(), "fw-watch");
    struct pollfd fds[] = {
        { .fd = w->link }, // hang-up is always reported
        { .fd = w->watchdog.fd[FW_WATCH_SESSION], .events = POLLIN },
        { .fd = w->watchdog.fd[FW_WATCH_ENCODE], .events = POLLIN },
        { .fd = w->watchdog.fd[FW_WATCH_MEMORY], .events = POLLIN },
    };
    for (;;) {
        if (poll(fds, sizeof(fds) / sizeof(fds[0]), -1) <= 0) {
            continue;
        }
        if (fds[1].revents) {
            end_hung(w, "The source or the graphics driver hangs.");
        }
        if (fds[2].revents) {
            end_hung(w, "The encoder hangs.");
        }
        if (fds[3].revents) {
            limit_memory(w);
        }
        if (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL)) {
            stop_pipeline(w);
            const struct timespec grace = { .tv_sec = END_LIMIT_S };
            nanosleep(&grace, NULL);
            _exit(EXIT_SUCCESS);
        }
    }
    return NULL;
}

static bool start_watcher(struct worker *w)
{
    pthread_t thread;
    w->link = fcntl(FW_LINK_FD, F_DUPFD_CLOEXEC, FW_RING_FD + 1);
    if (w->link < 0 || fw_watchdog_init(&w->watchdog) != FW_OK ||
        pthread_create(&thread, NULL, watch_main, w) != 0) {
        return false;
    }
    pthread_detach(thread); // lives as long as the process
    return true;
}

// Ending in order may hang too (a driver's exit handlers).
static void limit_the_end(struct worker *w)
{
    fw_watchdog_arm(&w->watchdog, FW_WATCH_SESSION, STOP_LIMIT_S * (int64_t)FW_NS_PER_S);
}

static int run(struct worker *w, const struct options *o, struct fw_transport *transport)
{
    struct fw_pipeline *pipeline = NULL;
    enum fw_err err = fw_pipeline_create(&pipeline, &(struct fw_pipeline_params){
                                                        .transport = transport,
                                                        .render = {
                                                            .gpu = o->gpu,
                                                            .cache_dir = o->cache_dir,
                                                            .validation = o->validation,
                                                            .log = w->log,
                                                        },
                                                        .watchdog = &w->watchdog,
                                                        .log = w->log,
                                                        .warm_encoder = o->encoder,
                                                        .refine_frames = REFINE_FRAMES,
                                                    });
    if (err) {
        return EXIT_FAILURE;
    }
    fw_keep_loaded();
    set_pipeline(w, pipeline);
    err = fw_pipeline_run(pipeline);
    set_pipeline(w, NULL);
    limit_the_end(w);
    if (!fw_pipeline_destroy(&pipeline)) {
        _exit(EXIT_FAILURE); // a thread hangs in what we would free
    }
    return err ? EXIT_FAILURE : EXIT_SUCCESS;
}

int fw_worker_main(int argc, char **argv)
{
    struct options o = { .log_level = FW_LOG_INFO, .encoder = "x264" };
    const char *wrong = parse(argc, argv, &o);
    if (wrong) {
        return usage(wrong);
    }
    if (!has_link()) {
        return usage("there is no link");
    }
    settle();
    static struct worker worker = { .lock = PTHREAD_MUTEX_INITIALIZER };
    worker.log = fw_log_stderr((enum fw_log_level)o.log_level);
    struct fw_transport *transport = NULL;
    if (!start_watcher(&worker) ||
        fw_transport_link_create(&transport, FW_LINK_FD, FW_RING_FD) != FW_OK) {
        fprintf(stderr, "framewire worker: the link or the ring is unusable\n");
        return EXIT_FAILURE;
    }
    const int status = run(&worker, &o, transport);
    fw_transport_destroy(&transport);
    return status;
}
