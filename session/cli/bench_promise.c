// SPDX-License-Identifier: MIT
// Is it fast enough, for how many, and what does that leave of the machine.
#include <math.h>
#include <string.h>

#include "session/cli/bench_modes.h"
#include "session/cli/bench_verify.h"

static double ms(const struct fw_histogram *h, double q)
{
    return (double)fw_histogram_quantile(h, q) / 1000;
}

// ---- performance

static void add_span(struct fw_verify *v, const char *name, const struct fw_histogram *h)
{
    struct fw_check *c =
        fw_verify_add(v, FW_VERIFY_PERFORMANCE, h->count ? FW_PASS : FW_UNKNOWN, name);
    if (h->count)
        fw_check_found(c, "P50 %.1f, P95 %.1f, P99 %.1f ms", ms(h, 0.5), ms(h, 0.95), ms(h, 0.99));
    else
        fw_check_note(c, "nothing was measured: does the source move, is there input?");
}

// The worst session counts.
static void check_promise(struct fw_verify *v, const struct fw_bench_result *r)
{
    const struct fw_slo *slo = &v->plan->performance.promise;
    for (unsigned t = 0; t < slo->count; t++) {
        const struct fw_slo_term *term = &slo->term[t];
        double worst = -1;
        bool kept = r->sessions > 0;
        for (unsigned i = 0; i < r->sessions; i++) {
            const double value = fw_slo_value(term, &r->each[i]);
            kept &= fw_slo_kept(term, &r->each[i]);
            if (i == 0 || (term->at_least ? value < worst : value > worst))
                worst = value;
        }
        char name[64];
        snprintf(name, sizeof(name), "promise of %.*s", (int)strcspn(term->text, "≤≥") - 1,
                 term->text);
        struct fw_check *c =
            fw_verify_add(v, FW_VERIFY_PERFORMANCE, kept ? FW_PASS : FW_FAIL, name);
        fw_check_wanted(c, "%s", term->text + strcspn(term->text, "≤≥"));
        if (worst < 0)
            fw_check_found(c, "nothing was measured");
        else
            fw_check_found(c, "%.1f in the worst of %u session%s", worst, r->sessions,
                           r->sessions == 1 ? "" : "s");
    }
}

static void check_honesty(struct fw_verify *v, const struct fw_bench_figures *f)
{
    const bool wrong = f->ids_wrong || f->sums_wrong;
    struct fw_check *c = fw_verify_add(v, FW_VERIFY_PERFORMANCE, wrong ? FW_FAIL : FW_PASS,
                                       "figures can be trusted");
    fw_check_found(
        c, "stages sum up in %llu of %llu frames, numbers right in %llu of %llu",
        (unsigned long long)(f->sums_checked - f->sums_wrong), (unsigned long long)f->sums_checked,
        (unsigned long long)(f->ids_checked - f->ids_wrong), (unsigned long long)f->ids_checked);
    fw_check_wanted(c, "all");
}

static void check_capacity(struct fw_verify *v, struct fw_bench_load *load)
{
    const unsigned least = (unsigned)v->plan->performance.capacity_min;
    const struct fw_bench_ramp ramp = {
        .slo = &v->plan->performance.promise,
        .limit = (unsigned)v->plan->performance.capacity_max,
        .warmup = v->plan->performance.warmup,
        .step_seconds = v->plan->performance.step_seconds,
        .quiet = true,
    };
    fw_bench_climb(v->bench, load, &ramp, &v->capacity);
    v->has_capacity = true;
    v->interrupted |= v->capacity.interrupted;
    struct fw_check *c =
        fw_verify_add(v, FW_VERIFY_PERFORMANCE, v->capacity.sessions >= least ? FW_PASS : FW_FAIL,
                      "sessions at a time");
    fw_check_found(c, "%u keep the promise", v->capacity.sessions);
    fw_check_wanted(c, "%u or more", least);
    fw_check_note(c, "limited by %.250s",
                  v->capacity.trouble[0] ? v->capacity.trouble : v->capacity.words);
}

void fw_verify_performance(struct fw_verify *v)
{
    struct fw_bench *b = v->bench;
    struct fw_bench_load *load = NULL;
    struct fw_remote_error error = { .status = 0 };
    struct fw_bench_result *r = &v->performance;
    const unsigned sessions = (unsigned)v->plan->performance.sessions;
    const bool made = !fw_bench_load_create(&load, &b->remote, &v->plan->load, b->stop);
    const enum fw_err err = made ? fw_bench_load_resize(load, sessions, &error) : FW_ERR_NOMEM;
    if (err) {
        struct fw_check *c = fw_verify_add(v, FW_VERIFY_PERFORMANCE, FW_FAIL, "sessions start");
        fw_check_found(c, "%.150s", made ? error.message : "out of memory");
        fw_check_wanted(c, "%u at a time", sessions);
    } else if (fw_bench_measure(b, load, v->plan->performance.warmup, v->plan->performance.seconds,
                                "performance: ", r)) {
        v->has_performance = true;
        v->interrupted |= r->interrupted;
        add_span(v, "age of the picture", &r->all.aoi);
        add_span(v, "input to photon", &r->all.input);
        add_span(v, "a frame's whole way", &r->all.total);
        check_promise(v, r);
        check_honesty(v, &r->all);
        if (r->said.ended) {
            struct fw_check *c =
                fw_verify_add(v, FW_VERIFY_PERFORMANCE, FW_FAIL, "sessions live on");
            fw_check_found(c, "%u ended: %.120s", r->said.ended, r->said.why);
        }
    }
    if (!err && v->plan->performance.capacity_min && !*b->stop)
        check_capacity(v, load);
    fw_bench_load_destroy(&load);
}

// ---- resources

// A level in % against what the plan allows. Below 0 = unknown.
static void check_level(struct fw_verify *v, const char *name, double share, int most,
                        const char *full)
{
    enum { NEAR = 10 }; // % below the limit
    if (!most)
        return;
    struct fw_check *c = fw_verify_add(v, FW_VERIFY_RESOURCES, FW_UNKNOWN, name);
    fw_check_wanted(c, "%d %% at most", most);
    if (share < 0) {
        fw_check_note(c, "the server does not tell");
        return;
    }
    const double percent = fmin(100, 100 * share); // two clocks: a little over is full
    c->verdict = percent > most ? FW_FAIL : percent > most - NEAR ? FW_WARN : FW_PASS;
    fw_check_found(c, "%.0f %%%s", percent,
                   c->verdict == FW_FAIL   ? ": over the limit"
                   : c->verdict == FW_WARN ? ": near the limit"
                                           : "");
    if (c->verdict != FW_PASS)
        fw_check_note(c, "%s", full);
}

static void check_gpu_use(struct fw_verify *v, const struct fw_bench_watchman *w)
{
    const int least = v->plan->resources.gpu_use_min;
    if (!least)
        return;
    struct fw_check *c = fw_verify_add(v, FW_VERIFY_RESOURCES, FW_UNKNOWN, "GPU use under load");
    fw_check_wanted(c, "%d %% or more", least);
    if (w->gpu_use_most < 0) {
        fw_check_note(c, "the driver does not tell");
        return;
    }
    const double percent = 100 * w->gpu_use_most;
    c->verdict = percent < least ? FW_FAIL : FW_PASS;
    fw_check_found(c, "%.0f %% at most%s", percent, percent < least ? ": too low" : "");
    if (percent < least)
        fw_check_note(c, "sessions may be drawn by another device: `framewire gpus` lists them");
}

static void say_encoder(struct fw_verify *v)
{
    const struct fw_bench_said *said = &v->performance.said;
    const bool software = strncmp(said->encoder, "x264", 4) == 0;
    struct fw_check *c = fw_verify_add(v, FW_VERIFY_RESOURCES, FW_PASS, "encoder");
    fw_check_found(c, "%s for %u of %u session%s", said->encoder, said->same_encoder,
                   v->performance.sessions, v->performance.sessions == 1 ? "" : "s");
    fw_check_wanted(c, "one for each");
    if (software)
        fw_check_note(c,
                      "it runs on the CPU, which sets the limit: there are no slots to run out of");
    else if (said->same_encoder < v->performance.sessions) {
        c->verdict = FW_WARN;
        fw_check_note(c, "the others had to take another encoder: its slots are used up");
    }
}

void fw_verify_resources(struct fw_verify *v)
{
    const struct fw_bench_watchman *w = &v->performance.machine;
    if (!v->has_performance) {
        struct fw_check *c =
            fw_verify_add(v, FW_VERIFY_RESOURCES, FW_UNKNOWN, "resources under load");
        fw_check_note(c, "there was no load: add performance to the plan");
        return;
    }
    const double memory = w->memory_total > 0 && w->memory_available_least >= 0
                              ? 1 - w->memory_available_least / w->memory_total
                              : -1;
    check_level(v, "processor", fw_bench_watchman_cpu(w), v->plan->resources.cpu_max,
                "fewer or smaller sessions, or more cores");
    check_level(v, "memory", memory, v->plan->resources.memory_max,
                "fewer sessions, or more memory");
    check_gpu_use(v, w);
    check_level(v, "GPU use", w->gpu_use_most, v->plan->resources.gpu_use_max,
                "fewer or smaller sessions on this GPU");
    check_level(v, "video memory", w->gpu_memory_share_most, v->plan->resources.gpu_memory_max,
                "fewer sessions, or smaller models");
    check_level(v, "encoder engine", w->encoder_use_most, v->plan->resources.encoder_use_max,
                "fewer or smaller sessions, or lower fps");
    say_encoder(v);
}
