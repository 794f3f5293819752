// SPDX-License-Identifier: MIT
#include "session/cli/bench_find.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/cli/bench_capacity.h"
#include "session/cli/bench_modes.h"
#include "session/cli/bench_report.h"

enum { CONFIRM_TIMES = 2 }; // the last look is that much longer

// What the climb remembers.
struct climb {
    struct fw_bench *b;
    struct fw_bench_load *load;
    const struct fw_bench_ramp *ramp;
    struct fw_capacity search;
    struct fw_bench_result *now, *best, *broken;
    bool has_best, has_broken;
    char refusal[320];
    json_t *steps;
};

// Every session must keep every term. Says in words how it went, and adds it to `terms`.
static bool judge(const struct fw_slo *slo, const struct fw_bench_result *r, json_t *terms,
                  char *words, size_t size)
{
    bool kept = r->said.ended == 0;
    size_t used = 0;
    words[0] = '\0';
    for (unsigned t = 0; t < slo->count; t++) {
        const struct fw_slo_term *term = &slo->term[t];
        double worst = -1;
        bool held = r->sessions > 0;
        for (unsigned i = 0; i < r->sessions; i++) {
            const double value = fw_slo_value(term, &r->each[i]);
            held &= fw_slo_kept(term, &r->each[i]);
            if (i == 0 || (term->at_least ? value < worst : value > worst))
                worst = value;
        }
        kept &= held;
        json_array_append_new(terms, json_pack("{s:s, s:f, s:b}", "promise", term->text,
                                               "worst_session", worst, "kept", (int)held));
        if (used < size && worst < 0)
            used += (size_t)snprintf(words + used, size - used, "%s%s: nothing was measured",
                                     t ? ", " : "", term->text);
        else if (used < size)
            used += (size_t)snprintf(words + used, size - used, "%s%s: %.2f%s", t ? ", " : "",
                                     term->text, worst, held ? "" : " (broken)");
    }
    return kept;
}

static void swap(struct fw_bench_result **a, struct fw_bench_result **b)
{
    struct fw_bench_result *const c = *a;
    *a = *b;
    *b = c;
}

static void remember(struct climb *c, bool kept)
{
    fw_bench_result_finish(kept ? c->best : c->broken);
    swap(&c->now, kept ? &c->best : &c->broken);
    *(kept ? &c->has_best : &c->has_broken) = true;
    fw_bench_result_finish(c->now);
}

static void note_step(struct climb *c, bool kept, json_t *terms, const char *words)
{
    const struct fw_bench_result *r = c->now;
    const bool confirm = c->search.step == FW_CAPACITY_CONFIRM;
    const double cpu = fw_bench_watchman_cpu(&r->machine);
    json_array_append_new(c->steps,
                          json_pack("{s:i, s:b, s:b, s:o, s:o, s:f}", "sessions", (int)r->sessions,
                                    "kept", (int)kept, "confirmation", (int)confirm, "terms", terms,
                                    "machine_percent", cpu < 0 ? json_null() : json_real(100 * cpu),
                                    "client_thread_percent", 100 * r->client_thread_cpu));
    fw_bench_progress_end();
    if (c->ramp->quiet)
        return;
    printf("%3u session%s  %-7s %s%s\n", r->sessions, r->sessions == 1 ? " " : "s",
           kept ? "kept" : "broken", words, confirm ? ", looked at for longer" : "");
    fflush(stdout);
}

// One step of the search. False: it was interrupted.
static bool step(struct climb *c)
{
    struct fw_remote_error error = { .status = 0 };
    char what[64], words[320];
    const bool confirm = c->search.step == FW_CAPACITY_CONFIRM;
    const unsigned wanted = c->search.sessions;
    enum fw_err err = fw_bench_load_resize(c->load, wanted, &error);
    if (err == FW_ERR_CLOSED)
        return false;
    if (err) {
        snprintf(c->refusal, sizeof(c->refusal), "%.300s", error.message);
        const unsigned got = fw_bench_load_count(c->load);
        if (!c->ramp->quiet)
            printf("%3u sessions: refused: %s\n", wanted, error.message);
        json_array_append_new(c->steps, json_pack("{s:i, s:b, s:s}", "sessions", (int)wanted,
                                                  "kept", 0, "refused", error.message));
        // A refusal says exactly how many there is room for.
        if (strcmp(error.code, "max_sessions") == 0 && got && got < wanted)
            c->search.sessions = got + 1;
        fw_capacity_said(&c->search, false, false);
        return true;
    }
    snprintf(what, sizeof(what), "%s %u: ", confirm ? "confirming" : "trying", wanted);
    if (!fw_bench_measure(c->b, c->load, c->ramp->warmup,
                          c->ramp->step_seconds * (confirm ? CONFIRM_TIMES : 1), what, c->now) ||
        c->now->interrupted)
        return false;
    json_t *terms = json_array();
    const bool kept = judge(c->ramp->slo, c->now, terms, words, sizeof(words));
    note_step(c, kept, terms, words);
    remember(c, kept);
    fw_capacity_said(&c->search, kept, true);
    return true;
}

static void conclude(struct climb *c, struct fw_bench_capacity *out)
{
    const bool refused = c->refusal[0] && c->search.broke;
    // A run that broke with fewer sessions than were refused is what counts.
    const bool by_refusal =
        refused && (!c->has_broken || c->broken->sessions > c->search.best + 1 ||
                    c->search.broke > c->broken->sessions);
    const struct fw_bench_evidence e = {
        .refusal = by_refusal ? c->refusal : NULL,
        .our_limit = !c->search.broke,
        .most = c->search.limit,
        .same_machine = fw_bench_is_local(&c->b->remote),
        .broken = c->has_broken ? c->broken : NULL,
        .before = c->has_best ? c->best : NULL,
    };
    out->sessions = c->search.best;
    out->steps = c->steps;
    out->limit = fw_bench_find_limit(&e, out->words, sizeof(out->words));
    if (!c->has_best && !c->has_broken)
        snprintf(out->trouble, sizeof(out->trouble), "%s", c->refusal);
}

void fw_bench_climb(struct fw_bench *b, struct fw_bench_load *load,
                    const struct fw_bench_ramp *ramp, struct fw_bench_capacity *out)
{
    struct fw_bench_result *results = calloc(3, sizeof(*results));
    struct climb c = { .b = b, .load = load, .ramp = ramp, .steps = json_array() };
    *out = (struct fw_bench_capacity){ .sessions = 0 };
    if (!results) {
        snprintf(out->trouble, sizeof(out->trouble), "out of memory");
        json_decref(c.steps);
        return;
    }
    c.now = &results[0];
    c.best = &results[1];
    c.broken = &results[2];
    fw_capacity_init(&c.search, ramp->limit);
    while (c.search.step != FW_CAPACITY_DONE && !out->interrupted)
        out->interrupted = !step(&c);
    const bool interrupted = out->interrupted;
    struct fw_remote_error error;
    fw_bench_load_resize(load, 0, &error);
    conclude(&c, out);
    out->interrupted = interrupted;
    for (int i = 0; i < 3; i++)
        fw_bench_result_finish(&results[i]);
    free(results);
}

// ---- the command

static int say(struct fw_bench *b, struct fw_bench_capacity *found)
{
    char promise[256];
    const struct fw_bench_options *o = b->options;
    // Standard output is for one of the two.
    FILE *out = o->json && strcmp(o->json, "-") == 0 ? stderr : stdout;
    fw_slo_words(&o->slo, promise, sizeof(promise));
    fprintf(out, "\n%u session%s at %s on %s%s\n", found->sessions, found->sessions == 1 ? "" : "s",
            promise, b->machine, found->interrupted ? " (interrupted: at least that)" : "");
    if (!found->interrupted)
        fprintf(out, "limited by %s\n", found->words);
    if (!o->json)
        return EXIT_SUCCESS;
    json_t *json = json_pack(
        "{s:i, s:s, s:s, s:s, s:s, s:i, s:s, s:s, s:b, s:O}", "framewire_capacity", 1, "url",
        b->remote.target.origin, "version", b->version, "machine", b->machine, "promise", promise,
        "sessions", (int)found->sessions, "limit", fw_bench_limit_names[found->limit],
        "limit_words", found->words, "interrupted", (int)found->interrupted, "steps", found->steps);
    const int rc = fw_bench_write_json(o->json, json) ? EXIT_FAILURE : EXIT_SUCCESS;
    json_decref(json);
    return rc;
}

int fw_bench_find_capacity(struct fw_bench *b)
{
    const struct fw_bench_options *o = b->options;
    struct fw_bench_load *load = NULL;
    struct fw_bench_capacity found = { .sessions = 0 };
    if (!fw_bench_aim(b, o->url) || !fw_bench_greet(b))
        return EXIT_FAILURE;
    if (fw_bench_load_create(&load, &b->remote, &o->load, b->stop)) {
        fw_bench_complain("out of memory or of threads");
        return EXIT_FAILURE;
    }
    const struct fw_bench_ramp ramp = {
        .slo = &o->slo,
        .limit = (unsigned)o->max_sessions,
        .warmup = o->warmup,
        .step_seconds = o->step_seconds,
    };
    fw_bench_climb(b, load, &ramp, &found);
    fw_bench_load_destroy(&load);
    int rc = found.interrupted ? FW_BENCH_EXIT_INTERRUPTED : EXIT_FAILURE;
    if (found.trouble[0]) {
        fw_bench_complain("%s", found.trouble);
    } else {
        const int said = say(b, &found);
        if (!found.interrupted)
            rc = found.sessions ? said : EXIT_FAILURE;
    }
    json_decref(found.steps);
    return rc;
}
