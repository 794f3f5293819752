// SPDX-License-Identifier: MIT
// Two reports side by side. Pure but for reading the file.
#include <stdlib.h>
#include <string.h>

#include "base/trace.h"
#include "session/cli/bench_report.h"

json_t *fw_bench_read_report(const char *path, char *message, size_t size)
{
    json_error_t error;
    json_t *json = json_load_file(path, 0, &error);
    if (!json) {
        snprintf(message, size, "%.200s, line %d: %.160s", path, error.line, error.text);
        return NULL;
    }
    if (json_integer_value(json_object_get(json, "framewire_bench")) == 1)
        return json;
    snprintf(message, size, "%.200s is no report of `framewire bench --json`", path);
    json_decref(json);
    return NULL;
}

// A number by its path, "cpu.server_percent_per_session"; below 0 = not there.
static double at(const json_t *json, const char *path)
{
    char part[64];
    while (*path) {
        const size_t length = strcspn(path, ".");
        snprintf(part, sizeof(part), "%.*s", (int)length, path);
        json = json_object_get(json, part);
        path += length + (path[length] == '.');
    }
    return json_is_number(json) ? json_number_value(json) : -1;
}

static void row(FILE *out, const char *name, const char *unit, double base, double now)
{
    if (base < 0 || now < 0)
        return;
    fprintf(out, "  %-28s%11.2f%11.2f", name, base, now);
    if (base > 0)
        fprintf(out, "%9.2f", now / base);
    else
        fprintf(out, "%9s", now > 0 ? "∞" : "–");
    fprintf(out, "  %s\n", unit);
}

static void span_rows(FILE *out, const char *label, const char *path, const json_t *base,
                      const json_t *now)
{
    static const char *const quantiles[][2] = { { "P50", "p50_ms" },
                                                { "P95", "p95_ms" },
                                                { "P99", "p99_ms" } };
    char name[64], where[96];
    snprintf(where, sizeof(where), "%s.count", path);
    if (at(base, where) <= 0 || at(now, where) <= 0)
        return;
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof(name), "%s %s", label, quantiles[i][0]);
        snprintf(where, sizeof(where), "%s.%s", path, quantiles[i][1]);
        row(out, name, "ms", at(base, where), at(now, where));
    }
}

static void say_different(FILE *out, const json_t *base, const json_t *now)
{
    const char *const what[] = { "machine", "gpu", "encoder", "version" };
    const json_t *a = json_object_get(base, "wanted"), *b = json_object_get(now, "wanted");
    if (!json_equal(a, b)) {
        char *from = json_dumps(a, JSON_COMPACT), *to = json_dumps(b, JSON_COMPACT);
        fprintf(out, "not the same load: %s, now %s\n", from ? from : "?", to ? to : "?");
        free(from);
        free(to);
    }
    for (int i = 0; i < 4; i++) {
        const char *from = json_string_value(json_object_get(base, what[i]));
        const char *to = json_string_value(json_object_get(now, what[i]));
        if (from && to && strcmp(from, to) != 0)
            fprintf(out, "not the same %s: %s, now %s\n", what[i], from, to);
    }
}

enum fw_err fw_bench_compare(FILE *out, const json_t *base, const json_t *now, char *message,
                             size_t size)
{
    char path[64];
    if (at(base, "stages.encode.count") < 0 || at(now, "stages.encode.count") < 0) {
        snprintf(message, size,
                 "one of the two reports has no stages: was it made by this version?");
        return FW_ERR_FORMAT;
    }
    say_different(out, base, now);
    fprintf(out, "  %-28s%11s%11s%9s\n", "", "base", "now", "ratio");
    span_rows(out, "age of picture", "aoi_ms", base, now);
    span_rows(out, "input to photon", "input_to_photon_ms", base, now);
    span_rows(out, "total", "total_ms", base, now);
    for (int i = 0; i < FW_STAGE_COUNT; i++) {
        snprintf(path, sizeof(path), "stages.%s", fw_stages[i].name);
        span_rows(out, fw_stages[i].name, path, base, now);
    }
    row(out, "fps", "per session", at(base, "fps"), at(now, "fps"));
    row(out, "drops", "%", at(base, "drops_percent"), at(now, "drops_percent"));
    row(out, "rate", "Mbit/s per session", at(base, "mbit_per_s_per_session"),
        at(now, "mbit_per_s_per_session"));
    row(out, "server cpu", "% of a core per session", at(base, "cpu.server_percent_per_session"),
        at(now, "cpu.server_percent_per_session"));
    row(out, "client cpu", "% of a core per session", at(base, "cpu.client_percent_per_session"),
        at(now, "cpu.client_percent_per_session"));
    return FW_OK;
}
