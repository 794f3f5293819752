// SPDX-License-Identifier: MIT
#include "session/cli/bench_run.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "session/cli/bench_modes.h"

enum {
    TICK_MS = 100,
    PROGRESS_TTY_MS = 500,
    PROGRESS_LOG_MS = 10000,
    LOOK_MS = 2000, // at the machine
};

// ---- progress

static bool line_open;

void fw_bench_progress(const char *text)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K%s", text);
    else
        fprintf(stderr, "%s\n", text);
    line_open = true;
    fflush(stderr);
}

void fw_bench_progress_end(void)
{
    if (line_open && isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
    line_open = false;
    fflush(stderr);
}

static void show_progress(struct fw_bench_load *load, const char *what, double passed, int of)
{
    struct fw_bench_figures *one = malloc(2 * sizeof(*one)), *all = one ? one + 1 : NULL;
    char text[200];
    const unsigned count = fw_bench_load_count(load);
    if (!one)
        return;
    memset(all, 0, sizeof(*all));
    for (unsigned i = 0; i < count; i++) {
        fw_bench_load_figures(load, i, one);
        fw_bench_figures_merge(all, one);
    }
    snprintf(text, sizeof(text),
             "%s%.0f of %d s · %u session%s · %.1f fps · AoI P99 %.1f ms · input to photon P50 "
             "%.1f ms",
             what, passed, of, count, count == 1 ? "" : "s", fw_bench_fps(all),
             (double)fw_histogram_quantile(&all->aoi, 0.99) / 1000,
             (double)fw_histogram_quantile(&all->input, 0.5) / 1000);
    free(one);
    fw_bench_progress(text);
}

// ---- the window

struct usage {
    struct fw_bench_processes server;
    bool known;
    int64_t process_ns, thread_ns, at_ns;
};

static void read_usage(const struct fw_bench *b, struct fw_bench_load *load, struct usage *u)
{
    *u = (struct usage){ .known = true };
    for (unsigned i = 0; i < fw_bench_load_count(load) && u->known; i++)
        u->known =
            fw_bench_processes_add(&b->remote, fw_bench_load_session_id(load, i), &u->server) > 0;
    if (!u->known)
        u->known = fw_bench_processes_ask(&b->remote, &u->server);
    fw_bench_load_cpu(load, &u->process_ns, &u->thread_ns);
    u->at_ns = fw_now_ns();
}

static void share_usage(const struct usage *from, const struct usage *to, struct fw_bench_result *r)
{
    const double s = (double)(to->at_ns - from->at_ns) / FW_NS_PER_S;
    r->front_cpu = r->workers_cpu = -1;
    r->client_cpu = (double)(to->process_ns - from->process_ns) / FW_NS_PER_S / s;
    r->client_thread_cpu = (double)(to->thread_ns - from->thread_ns) / FW_NS_PER_S / s;
    const double workers = to->server.workers_cpu_s - from->server.workers_cpu_s;
    // Below zero: a worker was replaced meanwhile.
    if (!from->known || !to->known || from->server.front != to->server.front || workers < 0)
        return;
    r->front_cpu = (to->server.front_cpu_s - from->server.front_cpu_s) / s;
    r->workers_cpu = workers / s;
}

// Waits for `seconds`, with a look at everything that needs one now and then. `collect`: records
// are to be read before the server overwrites them.
static void wait_window(const struct fw_bench *b, struct fw_bench_load *load, int seconds,
                        const char *what, bool collect, struct fw_bench_result *r)
{
    const int64_t begin = fw_now_ns();
    const int64_t every =
        (isatty(STDERR_FILENO) ? PROGRESS_TTY_MS : PROGRESS_LOG_MS) * (int64_t)FW_NS_PER_MS;
    int64_t shown = begin, looked = begin, collected = begin, now;
    struct fw_remote_error error = { .status = 0 };
    while ((now = fw_now_ns()) - begin < seconds * (int64_t)FW_NS_PER_S && !*b->stop) {
        poll(NULL, 0, TICK_MS);
        if (!collect)
            continue;
        if (b->tick)
            b->tick(b->tick_user);
        if (now - shown >= every) {
            shown = now;
            show_progress(load, what, (double)(now - begin) / FW_NS_PER_S, seconds);
        }
        if (now - looked >= LOOK_MS * (int64_t)FW_NS_PER_MS) {
            looked = now;
            fw_bench_watchman_look(&r->machine, &b->remote);
        }
        if (now - collected >= fw_bench_load_collect_s(load) * (int64_t)FW_NS_PER_S) {
            collected = now;
            fw_bench_load_collect(load, false, &error);
        }
    }
}

bool fw_bench_measure(struct fw_bench *b, struct fw_bench_load *load, int warmup, int seconds,
                      const char *what, struct fw_bench_result *r)
{
    struct usage before, after;
    struct fw_remote_error error;
    *r = (struct fw_bench_result){ .when = time(NULL), .sessions = fw_bench_load_count(load) };
    fw_bench_watchman_begin(&r->machine);
    r->each = calloc(r->sessions ? r->sessions : 1, sizeof(*r->each));
    if (!r->each)
        return false;
    wait_window(b, load, warmup, what, false, r);
    read_usage(b, load, &before);
    fw_bench_load_begin(load);
    const int64_t begin = fw_now_ns();
    wait_window(b, load, seconds, what, true, r);
    fw_bench_load_end(load);
    r->seconds = (double)(fw_now_ns() - begin) / FW_NS_PER_S;
    read_usage(b, load, &after);
    r->interrupted = *b->stop;
    share_usage(&before, &after, r);
    if (!r->machine.samples)
        fw_bench_watchman_look(&r->machine, &b->remote);
    fw_bench_load_said(load, &r->said);
    if (!b->named)
        fw_bench_name_machine(b, r->said.gpu, r->said.encoder);
    if (fw_bench_load_collect(load, true, &error))
        snprintf(r->trouble, sizeof(r->trouble), "stages are missing: %.280s", error.message);
    for (unsigned i = 0; i < r->sessions; i++) {
        fw_bench_load_figures(load, i, &r->each[i]);
        fw_bench_figures_merge(&r->all, &r->each[i]);
    }
    fw_bench_progress_end();
    return true;
}

void fw_bench_result_finish(struct fw_bench_result *r)
{
    free(r->each);
    r->each = NULL;
}
