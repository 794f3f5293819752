// SPDX-License-Identifier: MIT
#include "session/cli/bench_slo.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 32 };

static const struct {
    const char *name, *words;
    enum fw_slo_metric metric;
} metrics[] = {
    { "aoi", "AoI", FW_SLO_AOI },         { "i2p", "input to photon", FW_SLO_INPUT },
    { "total", "total", FW_SLO_TOTAL },   { "fps", "fps", FW_SLO_FPS },
    { "drops", "dropped", FW_SLO_DROPS },
};

static const struct {
    const char *name, *words;
    double q;
} quantiles[] = {
    { "p50", "P50", 0.5 },      { "p95", "P95", 0.95 }, { "p99", "P99", 0.99 },
    { "p999", "P99.9", 0.999 }, { "max", "max", 1 },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct reader {
    const char *at; // what is not read yet
    char *message;
    size_t size;
};

static enum fw_err wrong(const struct reader *r, const char *what, const char *help)
{
    snprintf(r->message, r->size, "%s at '%.40s': %s", what, r->at, help);
    return FW_ERR_INVALID;
}

static void skip_space(struct reader *r)
{
    while (isspace((unsigned char)*r->at))
        r->at++;
}

// "aoi_p99" into a metric and a quantile. `word` is cut at the quantile.
static bool find_metric(struct fw_slo_term *t, const char *name, const char **words)
{
    for (size_t i = 0; i < COUNT(metrics); i++)
        if (strcmp(metrics[i].name, name) == 0) {
            t->metric = metrics[i].metric;
            *words = metrics[i].words;
            return true;
        }
    for (int i = 0; i < FW_STAGE_COUNT; i++)
        if (strcmp(fw_stages[i].name, name) == 0) {
            t->metric = FW_SLO_STAGE;
            t->stage = (enum fw_stage)i;
            *words = fw_stages[i].name;
            return true;
        }
    return false;
}

static bool plain(const struct fw_slo_term *t)
{
    return t->metric == FW_SLO_FPS || t->metric == FW_SLO_DROPS;
}

// Writes "AoI P99" to `out`.
static enum fw_err read_name(struct reader *r, struct fw_slo_term *t, char *out, size_t size)
{
    char name[WORD];
    const char *words = "", *which = "";
    const size_t length = strspn(r->at, "abcdefghijklmnopqrstuvwxyz0123456789_");
    snprintf(name, sizeof(name), "%.*s", length < WORD ? (int)length : WORD - 1, r->at);
    char *cut = strrchr(name, '_');
    if (cut)
        *cut = '\0';
    if (!find_metric(t, name, &words))
        return wrong(r, "no such figure",
                     "write aoi, i2p, total or a stage with _p50, _p95, _p99, _p999 or _max, or "
                     "fps, or drops; for example aoi_p99<=50ms");
    if (plain(t) == !!cut)
        return wrong(r, plain(t) ? "a figure without percentiles" : "which percentile?",
                     plain(t) ? "write just fps or drops"
                              : "add _p50, _p95, _p99, _p999 or _max, for example aoi_p99<=50ms");
    for (size_t i = 0; cut && i < COUNT(quantiles); i++)
        if (strcmp(quantiles[i].name, cut + 1) == 0) {
            t->quantile = quantiles[i].q;
            which = quantiles[i].words;
        }
    if (cut && !*which)
        return wrong(r, "no such percentile", "_p50, _p95, _p99, _p999 and _max are known");
    snprintf(out, size, "%s%s%s", words, *which ? " " : "", which);
    r->at += length;
    return FW_OK;
}

static enum fw_err read_limit(struct reader *r, struct fw_slo_term *t, const char **unit)
{
    static const struct {
        const char *name;
        double factor;
    } times[] = { { "ms", 1 }, { "us", 1e-3 }, { "s", 1e3 } };
    char *end;
    const double value = strtod(r->at, &end);
    if (end == r->at || !isfinite(value) || value < 0)
        return wrong(r, "no number", "write a limit, for example aoi_p99<=50ms or fps>=55");
    const char *number = r->at;
    r->at = end;
    skip_space(r);
    const size_t length = strcspn(r->at, ", \t\n");
    t->limit = value;
    if (t->metric == FW_SLO_FPS || t->metric == FW_SLO_DROPS) {
        *unit = t->metric == FW_SLO_FPS ? "fps" : "%";
        if (length && (strlen(*unit) != length || strncmp(*unit, r->at, length) != 0))
            return wrong(r, "a wrong unit",
                         t->metric == FW_SLO_FPS ? "fps takes none" : "drops are in %");
        r->at += length;
        return FW_OK;
    }
    *unit = "ms";
    for (size_t i = 0; i < COUNT(times); i++)
        if (strlen(times[i].name) == length && strncmp(times[i].name, r->at, length) == 0) {
            t->limit = value * times[i].factor;
            r->at += length;
            return FW_OK;
        }
    r->at = number;
    return wrong(r, "a time needs a unit", "ms, us or s; for example 50ms");
}

static enum fw_err read_term(struct reader *r, struct fw_slo_term *t)
{
    char name[40];
    const char *unit = "";
    skip_space(r);
    enum fw_err err = read_name(r, t, name, sizeof(name));
    if (err)
        return err;
    skip_space(r);
    if (strncmp(r->at, "<=", 2) != 0 && strncmp(r->at, ">=", 2) != 0)
        return wrong(r, "no comparison", "write <= (at most) or >= (at least)");
    t->at_least = *r->at == '>';
    r->at += 2;
    skip_space(r);
    err = read_limit(r, t, &unit);
    if (err)
        return err;
    snprintf(t->text, sizeof(t->text), "%s %s %g %s", name, t->at_least ? "≥" : "≤", t->limit,
             t->metric == FW_SLO_FPS ? "" : unit);
    if (t->metric == FW_SLO_FPS)
        t->text[strlen(t->text) - 1] = '\0'; // the blank before no unit
    return FW_OK;
}

enum fw_err fw_slo_parse(struct fw_slo *slo, const char *text, char *message, size_t size)
{
    struct reader r = { .at = text, .message = message, .size = size };
    *slo = (struct fw_slo){ .count = 0 };
    do {
        if (slo->count == FW_SLO_TERMS)
            return wrong(&r, "too many terms", "eight can be promised at a time");
        const enum fw_err err = read_term(&r, &slo->term[slo->count]);
        if (err)
            return err;
        slo->count++;
        skip_space(&r);
    } while (*r.at == ',' && *r.at++);
    return *r.at ? wrong(&r, "more than a term", "put a comma between terms") : FW_OK;
}

static double of(const struct fw_histogram *h, double q)
{
    if (!h->count)
        return -1;
    return (double)(q < 1 ? fw_histogram_quantile(h, q) : h->max_us) / 1000;
}

double fw_slo_value(const struct fw_slo_term *t, const struct fw_bench_figures *f)
{
    switch (t->metric) {
    case FW_SLO_AOI: return of(&f->aoi, t->quantile);
    case FW_SLO_INPUT: return of(&f->input, t->quantile);
    case FW_SLO_TOTAL: return of(&f->total, t->quantile);
    case FW_SLO_STAGE: return of(&f->stage[t->stage], t->quantile);
    case FW_SLO_FPS: return f->seconds > 0 ? fw_bench_fps(f) : -1;
    case FW_SLO_DROPS: return f->seconds > 0 ? 100 * fw_bench_drops(f) : -1;
    }
    return -1;
}

bool fw_slo_kept(const struct fw_slo_term *t, const struct fw_bench_figures *f)
{
    const double value = fw_slo_value(t, f);
    return value >= 0 && (t->at_least ? value >= t->limit : value <= t->limit);
}

bool fw_slo_needs_input(const struct fw_slo *slo)
{
    for (unsigned i = 0; i < slo->count; i++)
        if (slo->term[i].metric == FW_SLO_INPUT)
            return true;
    return false;
}

void fw_slo_words(const struct fw_slo *slo, char *out, size_t size)
{
    size_t used = 0;
    *out = '\0';
    for (unsigned i = 0; i < slo->count && used < size; i++)
        used +=
            (size_t)snprintf(out + used, size - used, "%s%s", i ? " and " : "", slo->term[i].text);
}
