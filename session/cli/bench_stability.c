// SPDX-License-Identifier: MIT
// Does it last: slow growth, heat, lost workers. And the drill: a worker is killed on purpose.
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "session/cli/bench_modes.h"
#include "session/cli/bench_probe.h"
#include "session/cli/bench_verify.h"

enum {
    FIRST_MS = 60000,
    RECOVERY_MS = 60000,
    SLOPE_MIN_S = 600, // a shorter soak tells no slope
    GROWTH_MIN_S = 60, // and one shorter than that nothing at all: sessions have just begun
    SETTLING = 5,      // the first fifth of a soak is for memory to settle
    SHORT_GROWTH_MB = 64,
};
static const double MB = 1024 * 1024;

// ---- slope

bool fw_soak_slope(const struct fw_soak_point *points, unsigned count, double from_s,
                   double (*pick)(const struct fw_soak_point *), double *per_hour)
{
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (unsigned i = 0; i < count; i++) {
        const double x = points[i].at_s / 3600, y = pick(&points[i]);
        if (points[i].at_s < from_s || y < 0)
            continue;
        n++;
        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
    }
    const double below = n * sxx - sx * sx;
    if (n < 3 || below <= 0)
        return false;
    *per_hour = (n * sxy - sx * sy) / below;
    return true;
}

static double memory_of(const struct fw_soak_point *p)
{
    return p->memory_mb;
}

static double gpu_memory_of(const struct fw_soak_point *p)
{
    return p->gpu_memory_mb;
}

static void check_growth(struct fw_verify *v, const char *name,
                         double (*pick)(const struct fw_soak_point *))
{
    const double length = v->soak_count ? v->soak[v->soak_count - 1].at_s : 0;
    const double from = length / SETTLING;
    const int most = v->plan->stability.growth_max;
    double per_hour, first = -1, last = -1;
    for (unsigned i = 0; i < v->soak_count; i++) {
        const double value = pick(&v->soak[i]);
        if (value < 0 || v->soak[i].at_s < from)
            continue;
        first = first < 0 ? value : first;
        last = value;
    }
    const bool known = fw_soak_slope(v->soak, v->soak_count, from, pick, &per_hour);
    struct fw_check *c = fw_verify_add(v, FW_VERIFY_STABILITY, FW_UNKNOWN, name);
    if (!known) {
        fw_check_note(c, "the server does not tell it, or the soak was too short");
        return;
    }
    if (length < SLOPE_MIN_S) {
        if (length >= GROWTH_MIN_S)
            c->verdict = last - first <= SHORT_GROWTH_MB ? FW_PASS : FW_FAIL;
        fw_check_found(c, "%+.1f MB in %.0f s (%.0f MB now)", last - first, length - from, last);
        fw_check_wanted(c, "%d MB at most", SHORT_GROWTH_MB);
        fw_check_note(c, "too short to tell a slope: soak for 10 minutes or more for that");
        return;
    }
    c->verdict = per_hour <= most ? FW_PASS : FW_FAIL;
    fw_check_found(c, "%+.1f MB an hour (%.0f MB now)", per_hour, last);
    fw_check_wanted(c, "%d MB an hour at most", most);
    if (c->verdict == FW_FAIL)
        fw_check_note(c, "it keeps growing: look for a leak, restart regularly until it is found");
}

// ---- soak

struct soak {
    struct fw_verify *v;
    struct fw_bench_load *load;
    int64_t begin_ns, next_ns, every_ns;
    int restarts; // of all sessions
    struct fw_bench_watchman watchman;
};

static int count_restarts(struct soak *s)
{
    int all = 0;
    for (unsigned i = 0; i < fw_bench_load_count(s->load); i++) {
        int restarts = 0;
        fw_bench_worker_pid(&s->v->bench->remote, fw_bench_load_session_id(s->load, i), &restarts);
        all += restarts > 0 ? restarts : 0;
    }
    return all;
}

static void soak_tick(void *user)
{
    struct soak *s = user;
    const int64_t now = fw_now_ns();
    if (now < s->next_ns || s->v->soak_count == FW_SOAK_POINTS_MAX)
        return;
    s->next_ns = now + s->every_ns;
    fw_bench_watchman_look(&s->watchman, &s->v->bench->remote);
    const struct fw_bench_machine *m = &s->watchman.newest;
    struct fw_soak_point *p = &s->v->soak[s->v->soak_count++];
    *p = (struct fw_soak_point){ .at_s = (double)(now - s->begin_ns) / FW_NS_PER_S,
                                 .memory_mb = -1,
                                 .gpu_memory_mb = -1,
                                 .temperature_c = -1 };
    if (m->front_resident >= 0)
        p->memory_mb = (m->front_resident + fmax(0, m->workers_resident)) / MB;
    for (unsigned i = 0; i < m->gpu_count; i++) {
        if (m->gpu[i].memory_used >= 0)
            p->gpu_memory_mb = fmax(0, p->gpu_memory_mb) + m->gpu[i].memory_used / MB;
        p->temperature_c = fmax(p->temperature_c, m->gpu[i].temperature_c);
    }
    s->restarts = count_restarts(s);
}

static void check_heat(struct fw_verify *v, const struct fw_bench_watchman *w)
{
    struct fw_check *c = fw_verify_add(v, FW_VERIFY_STABILITY, FW_UNKNOWN, "heat and power");
    bool told = false, hardware = false;
    for (unsigned i = 0; i < w->newest.gpu_count; i++) {
        told |= w->newest.gpu[i].throttle[0] != '?';
        hardware |= strcmp(w->newest.gpu[i].kind, "software") != 0;
    }
    if (!hardware || !told) {
        fw_check_note(c, hardware ? "the driver does not tell why clocks are low"
                                  : "no GPU of its own draws here");
        return;
    }
    c->verdict = w->throttle[0] ? FW_WARN : FW_PASS;
    fw_check_found(c, "%s%s", w->throttle[0] ? "slowed down: " : "not slowed down", w->throttle);
    if (w->temperature_most >= 0)
        fw_check_wanted(c, "no throttling (%.0f °C at most)", w->temperature_most);
    if (w->throttle[0])
        fw_check_note(c, "better cooling, or a higher power limit");
}

static void check_restarts(struct fw_verify *v, const struct soak *s,
                           const struct fw_bench_said *said)
{
    const bool fine = s->restarts <= v->plan->stability.restarts_max && !said->ended;
    struct fw_check *c = fw_verify_add(v, FW_VERIFY_STABILITY, fine ? FW_PASS : FW_FAIL,
                                       "workers and sessions live on");
    fw_check_found(c, "%d restart%s, %u session%s ended", s->restarts, s->restarts == 1 ? "" : "s",
                   said->ended, said->ended == 1 ? "" : "s");
    fw_check_wanted(c, "%d restarts at most", v->plan->stability.restarts_max);
    if (said->ended)
        fw_check_note(c, "%s", said->why);
    else if (!fine)
        fw_check_note(c, "the server's log says why workers ended");
}

static void soak(struct fw_verify *v, int seconds)
{
    static struct fw_bench_result result;
    struct fw_bench b = *v->bench;
    struct soak s = { .v = v, .begin_ns = fw_now_ns() };
    struct fw_remote_error error = { .status = 0 };
    s.every_ns = (int64_t)seconds * FW_NS_PER_S / (FW_SOAK_POINTS_MAX - 20);
    if (s.every_ns < FW_NS_PER_S)
        s.every_ns = FW_NS_PER_S;
    fw_bench_watchman_begin(&s.watchman);
    b.tick = soak_tick;
    b.tick_user = &s;
    const bool made = !fw_bench_load_create(&s.load, &b.remote, &v->plan->load, b.stop);
    if (!made || fw_bench_load_resize(s.load, (unsigned)v->plan->performance.sessions, &error)) {
        struct fw_check *c = fw_verify_add(v, FW_VERIFY_STABILITY, FW_FAIL, "soak");
        fw_check_found(c, "%.150s", made ? error.message : "out of memory");
    } else if (fw_bench_measure(&b, s.load, 0, seconds, "soak: ", &result)) {
        struct fw_check *c = fw_verify_add(v, FW_VERIFY_STABILITY, FW_PASS, "soak");
        fw_check_found(c, "%.0f s, %llu pictures, %.1f fps", result.seconds,
                       (unsigned long long)result.all.presented, fw_bench_fps(&result.all));
        v->interrupted |= result.interrupted;
        check_growth(v, "memory of the server", memory_of);
        check_growth(v, "video memory", gpu_memory_of);
        check_heat(v, &s.watchman);
        check_restarts(v, &s, &result.said);
    }
    fw_bench_result_finish(&result);
    fw_bench_load_destroy(&s.load);
}

// ---- drill

// Kills the session's worker: by the server where it was started for that, else where it is a
// process of ours on this machine. NULL, or why not.
static const char *kill_worker(struct fw_verify *v, const char *session)
{
    static char words[300];
    struct fw_remote_error error;
    char path[128];
    snprintf(path, sizeof(path), "/sessions/%.80s/fault", session);
    json_t *body = json_pack("{s:b}", "kill", 1);
    const enum fw_err err = fw_remote_call(&v->bench->remote, "POST", path, body, NULL, &error);
    json_decref(body);
    if (!err)
        return NULL;
    if (!fw_bench_is_local(&v->bench->remote)) {
        snprintf(words, sizeof(words), "start the server with --allow-faults for a drill (%.200s)",
                 error.message);
        return words;
    }
    struct fw_bench_processes processes = { .front = 0 };
    // The number that was seen to be a worker's, not one that the server names when asked again.
    const pid_t pid = fw_bench_processes_add(&v->bench->remote, session, &processes);
    if (!pid || processes.front == pid || kill(pid, SIGKILL)) {
        snprintf(words, sizeof(words),
                 "its worker is not one of our processes here: start the server with "
                 "--allow-faults");
        return words;
    }
    return NULL;
}

static void drill(struct fw_verify *v)
{
    struct fw_bench_probe *probe = NULL;
    struct fw_remote_error error = { .status = 0 };
    struct fw_bench_picture p = { .frame = NULL };
    struct fw_check *c =
        fw_verify_add(v, FW_VERIFY_STABILITY, FW_FAIL, "drill: a worker is killed");
    fw_check_wanted(c, "picture again within %d s", v->plan->stability.recovery_max);
    if (fw_bench_probe_create(&probe, &v->bench->remote, &v->plan->load, v->bench->stop, &error) ||
        fw_bench_probe_next(probe, FIRST_MS, &p)) {
        fw_check_found(c, "%.150s", error.message[0] ? error.message : "no picture before it");
        goto error;
    }
    const int64_t begin = fw_now_ns();
    const char *refused = kill_worker(v, fw_bench_probe_id(probe));
    if (refused) {
        c->verdict = FW_UNKNOWN;
        fw_check_note(c, "%s", refused);
        goto error;
    }
    // Pictures of before may still be on their way: the new worker begins with a key frame.
    const struct fw_client_clock *clock = fw_watch_clock(fw_bench_probe_watch(probe));
    enum fw_err err = FW_OK;
    do {
        const int64_t left = RECOVERY_MS - (fw_now_ns() - begin) / FW_NS_PER_MS;
        err = fw_bench_probe_next(probe, left > 0 ? (int)left : 0, &p);
    } while (!err && fw_client_clock_local(clock, p.key_ns) <= begin);
    const double took = (double)(fw_now_ns() - begin) / FW_NS_PER_S;
    if (err) {
        fw_check_found(c, "no picture within %.0f s", took);
        fw_check_note(c, "the server's log says why no new worker started");
    } else {
        c->verdict = took <= v->plan->stability.recovery_max ? FW_PASS : FW_FAIL;
        fw_check_found(c, "picture again after %.2f s", took);
    }
error:
    fw_bench_probe_destroy(&probe);
}

void fw_verify_stability(struct fw_verify *v)
{
    const struct fw_bench_options *o = v->bench->options;
    const int seconds = o->soak >= 0 ? o->soak : v->plan->stability.soak;
    if (v->plan->stability.drill || o->drill)
        drill(v);
    if (seconds && !*v->bench->stop)
        soak(v, seconds);
}
