// SPDX-License-Identifier: MIT
#include "session/cli/bench_verify.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "session/cli/bench_modes.h"
#include "session/cli/bench_report.h"

const char *const fw_verify_part_names[FW_VERIFY_PARTS] = { "function", "performance", "resources",
                                                            "stability" };
const char *const fw_verdict_names[FW_VERDICTS] = { "pass", "warn", "fail", "unknown" };

// ---- checks

struct fw_check *fw_verify_add(struct fw_verify *v, enum fw_verify_part part,
                               enum fw_verdict verdict, const char *name)
{
    // Over the limit the last one is used again: plans are far from it.
    struct fw_check *c = &v->check[v->count < FW_CHECKS_MAX ? v->count++ : FW_CHECKS_MAX - 1];
    *c = (struct fw_check){ .part = part, .verdict = verdict };
    snprintf(c->name, sizeof(c->name), "%s", name);
    return c;
}

void fw_check_found(struct fw_check *check, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(check->found, sizeof(check->found), format, args);
    va_end(args);
}

void fw_check_wanted(struct fw_check *check, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(check->wanted, sizeof(check->wanted), format, args);
    va_end(args);
}

void fw_check_note(struct fw_check *check, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(check->note, sizeof(check->note), format, args);
    va_end(args);
}

enum fw_verdict fw_verify_verdict(const struct fw_verify *v)
{
    enum fw_verdict worst = FW_PASS;
    for (unsigned i = 0; i < v->count; i++)
        if (v->check[i].verdict != FW_UNKNOWN && v->check[i].verdict > worst)
            worst = v->check[i].verdict;
    return worst;
}

// ---- reports

static json_t *soak_json(const struct fw_verify *v)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < v->soak_count; i++) {
        const struct fw_soak_point *p = &v->soak[i];
        json_array_append_new(
            list,
            json_pack("{s:f, s:o, s:o}", "at_s", p->at_s, "memory_mb",
                      p->memory_mb < 0 ? json_null() : json_real(p->memory_mb), "gpu_memory_mb",
                      p->gpu_memory_mb < 0 ? json_null() : json_real(p->gpu_memory_mb)));
    }
    return list;
}

json_t *fw_verify_json(const struct fw_verify *v)
{
    json_t *checks = json_array();
    for (unsigned i = 0; i < v->count; i++) {
        const struct fw_check *c = &v->check[i];
        json_array_append_new(checks, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "part",
                                                fw_verify_part_names[c->part], "name", c->name,
                                                "verdict", fw_verdict_names[c->verdict], "found",
                                                c->found, "wanted", c->wanted, "note", c->note));
    }
    json_t *json = json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:b, s:o, s:o}", "framewire_verify", 1,
                             "plan", v->plan->name, "url", v->bench->remote.target.origin,
                             "version", v->bench->version, "machine", v->bench->machine, "verdict",
                             fw_verdict_names[fw_verify_verdict(v)], "interrupted",
                             (int)v->interrupted, "checks", checks, "soak", soak_json(v));
    if (json && v->has_performance)
        json_object_set_new(json, "performance", fw_bench_report_json(v->bench, &v->performance));
    if (json && v->has_capacity)
        json_object_set_new(json, "capacity",
                            json_pack("{s:i, s:s, s:s, s:O}", "sessions", (int)v->capacity.sessions,
                                      "limit", fw_bench_limit_names[v->capacity.limit],
                                      "limit_words", v->capacity.words, "steps",
                                      v->capacity.steps));
    return json;
}

static void print_part(const struct fw_verify *v, enum fw_verify_part part)
{
    static const char *const marks[FW_VERDICTS] = { "ok", "WARN", "FAIL", "?" };
    bool first = true;
    for (unsigned i = 0; i < v->count; i++) {
        const struct fw_check *c = &v->check[i];
        if (c->part != part)
            continue;
        if (first)
            printf("\n%s\n", fw_verify_part_names[part]);
        first = false;
        printf("  %-5s %s%s%s", marks[c->verdict], c->name, c->found[0] ? ": " : "", c->found);
        if (c->wanted[0] && c->verdict != FW_PASS)
            printf(" (wanted: %s)", c->wanted);
        printf("\n");
        if (c->note[0])
            printf("        %s\n", c->note);
    }
}

static int write_html(const struct fw_verify *v, const char *path)
{
    FILE *f = fopen(path, "we");
    bool ok = f != NULL;
    if (f) {
        fw_verify_html(f, v);
        ok = !ferror(f);
        ok = fclose(f) == 0 && ok;
    }
    if (!ok)
        fw_bench_complain("can't write %s: %s", path, strerror(errno));
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int report(const struct fw_verify *v)
{
    const struct fw_bench_options *o = v->bench->options;
    const enum fw_verdict verdict = fw_verify_verdict(v);
    int rc = verdict == FW_FAIL ? EXIT_FAILURE : EXIT_SUCCESS;
    const bool json_only = o->json && strcmp(o->json, "-") == 0;
    if (!json_only) {
        printf("%s: %s\non %s\n", v->plan->name, v->bench->remote.target.origin, v->bench->machine);
        for (int part = 0; part < FW_VERIFY_PARTS; part++)
            print_part(v, (enum fw_verify_part)part);
        printf("\n%s\n", v->interrupted       ? "interrupted: no verdict"
                         : verdict == FW_FAIL ? "not ready to go live"
                         : verdict == FW_WARN ? "ready to go live, with warnings"
                                              : "ready to go live");
    }
    if (o->json) {
        json_t *json = fw_verify_json(v);
        if (fw_bench_write_json(o->json, json))
            rc = EXIT_FAILURE;
        json_decref(json);
    }
    if (o->html && write_html(v, o->html))
        rc = EXIT_FAILURE;
    return v->interrupted ? FW_BENCH_EXIT_INTERRUPTED : rc;
}

// ---- the command

static void run_parts(struct fw_verify *v)
{
    static const struct {
        const char *words;
        void (*run)(struct fw_verify *v);
    } parts[FW_VERIFY_PARTS] = {
        { "looking at pictures", fw_verify_function },
        { "under load", fw_verify_performance },
        { "what the machine says", fw_verify_resources },
        { "stability", fw_verify_stability },
    };
    const struct fw_plan *p = v->plan;
    const bool wanted[FW_VERIFY_PARTS] = {
        p->function.on,
        p->performance.on,
        p->resources.on,
        p->stability.on || v->bench->options->soak >= 0 || v->bench->options->drill,
    };
    for (int i = 0; i < FW_VERIFY_PARTS && !*v->bench->stop; i++) {
        if (!wanted[i])
            continue;
        fw_bench_progress(parts[i].words);
        parts[i].run(v);
        fw_bench_progress_end();
    }
    v->interrupted |= *v->bench->stop;
}

int fw_bench_verify(struct fw_bench *b, const char *url)
{
    static struct fw_plan plan;
    static struct fw_verify v;
    static struct fw_bench_options options;
    char message[700];
    if (fw_plan_read(&plan, b->options->verify, message, sizeof(message))) {
        fw_bench_complain("%s", message);
        return EXIT_FAILURE;
    }
    if (!url && !plan.url) {
        fw_bench_complain("where is the server? Give its URL here, or as url: in %s",
                          b->options->verify);
        return EXIT_FAILURE;
    }
    // From here on the plan's load is that of the command line.
    options = *b->options;
    options.load = plan.load;
    b->options = &options;
    if (!fw_bench_aim(b, url ? url : plan.url) || !fw_bench_greet(b))
        return EXIT_FAILURE;
    v = (struct fw_verify){ .bench = b, .plan = &plan, .when = time(NULL) };
    run_parts(&v);
    const int rc = report(&v);
    fw_bench_result_finish(&v.performance);
    json_decref(v.capacity.steps);
    return rc;
}
