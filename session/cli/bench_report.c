// SPDX-License-Identifier: MIT
#include "session/cli/bench_report.h"

#include <errno.h>
#include <string.h>

static const char *const input_names[] = { "none", "orbit", "clicks" };

// ---- JSON

static double ms(uint64_t us)
{
    return (double)us / 1000;
}

json_t *fw_bench_span_json(const struct fw_histogram *h)
{
    return json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:f}", "count", (json_int_t)h->count, "p50_ms",
                     ms(fw_histogram_quantile(h, 0.5)), "p95_ms",
                     ms(fw_histogram_quantile(h, 0.95)), "p99_ms",
                     ms(fw_histogram_quantile(h, 0.99)), "p999_ms",
                     ms(fw_histogram_quantile(h, 0.999)), "max_ms", ms(h->max_us), "mean_ms",
                     h->count ? (double)h->sum_us / (double)h->count / 1000 : 0.0);
}

// [[largest value of the step in us, how many], …], steps that hold any.
static json_t *raw_json(const struct fw_histogram *h)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < FW_HISTOGRAM_POW * FW_HISTOGRAM_SUB; i++)
        if (h->bucket[i])
            json_array_append_new(list, json_pack("[I, I]", (json_int_t)fw_histogram_edge(i),
                                                  (json_int_t)h->bucket[i]));
    return list;
}

static json_t *counts_json(const char *const *names, const uint64_t *counts, int count)
{
    json_t *json = json_object();
    for (int i = 0; i < count; i++)
        if (names[i][0] && counts[i])
            json_object_set_new(json, names[i], json_integer((json_int_t)counts[i]));
    return json;
}

// A share of a core in %, null = unknown.
static json_t *percent(double share)
{
    return share < 0 ? json_null() : json_real(100 * share);
}

static json_t *known(double value)
{
    return value < 0 ? json_null() : json_real(value);
}

static json_t *cpu_json(const struct fw_bench_result *r)
{
    const double n = r->sessions ? r->sessions : 1;
    const bool server = r->front_cpu >= 0;
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "server_percent_per_session",
                     percent(server ? (r->front_cpu + r->workers_cpu) / n : -1), "front_percent",
                     percent(r->front_cpu), "workers_percent", percent(r->workers_cpu),
                     "client_percent_per_session", percent(r->client_cpu / n),
                     "client_thread_percent", percent(r->client_thread_cpu), "machine_percent",
                     percent(fw_bench_watchman_cpu(&r->machine)));
}

static json_t *checks_json(const struct fw_bench_figures *f)
{
    json_t *json = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I}", "painted_ids", (json_int_t)f->ids_checked,
        "painted_ids_wrong", (json_int_t)f->ids_wrong, "decode_errors",
        (json_int_t)f->decode_errors, "stage_sums", (json_int_t)f->sums_checked, "stage_sums_wrong",
        (json_int_t)f->sums_wrong, "records_missing", (json_int_t)f->records_missing);
    if (f->ids_wrong)
        json_object_set_new(json, "wrong_id",
                            json_pack("{s:I, s:I}", "header", (json_int_t)f->worst_id_header,
                                      "painted", (json_int_t)f->worst_id_painted));
    return json;
}

static json_t *wanted_json(const struct fw_bench *b, const struct fw_bench_result *r)
{
    const struct fw_bench_load_options *o = &b->options->load;
    char size[24];
    json_t *args = json_array();
    for (unsigned i = 0; i < o->arg_count; i++)
        json_array_append_new(args, json_string(o->args[i]));
    snprintf(size, sizeof(size), "%dx%d", o->width, o->height);
    return json_pack("{s:i, s:s, s:o, s:s, s:i, s:s, s:b}", "sessions", (int)r->sessions, "source",
                     o->source, "args", args, "size", size, "fps", o->fps, "input",
                     input_names[o->input], "decode", (int)o->decode);
}

static json_t *sessions_json(const struct fw_bench_result *r)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < r->sessions; i++) {
        const struct fw_bench_figures *f = &r->each[i];
        json_array_append_new(
            list, json_pack("{s:f, s:f, s:f, s:f, s:I}", "fps", fw_bench_fps(f), "aoi_p99_ms",
                            ms(fw_histogram_quantile(&f->aoi, 0.99)), "input_to_photon_p99_ms",
                            ms(fw_histogram_quantile(&f->input, 0.99)), "total_p99_ms",
                            ms(fw_histogram_quantile(&f->total, 0.99)), "presented",
                            (json_int_t)f->presented));
    }
    return list;
}

static double worst_fps(const struct fw_bench_result *r)
{
    double worst = -1;
    for (unsigned i = 0; i < r->sessions; i++)
        if (worst < 0 || fw_bench_fps(&r->each[i]) < worst)
            worst = fw_bench_fps(&r->each[i]);
    return worst;
}

static void add_histograms(json_t *report, const struct fw_bench_figures *f)
{
    json_t *stages = json_object(), *raw = json_object();
    for (int i = 0; i < FW_STAGE_COUNT; i++) {
        json_object_set_new(stages, fw_stages[i].name, fw_bench_span_json(&f->stage[i]));
        json_object_set_new(raw, fw_stages[i].name, raw_json(&f->stage[i]));
    }
    json_object_set_new(report, "stages", stages);
    const struct {
        const char *name;
        const struct fw_histogram *h;
    } others[] = { { "total_ms", &f->total },
                   { "aoi_ms", &f->aoi },
                   { "input_to_photon_ms", &f->input },
                   { "input_late_ms", &f->late } };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        char name[32];
        snprintf(name, sizeof(name), "%.*s", (int)strlen(others[i].name) - 3, others[i].name);
        json_object_set_new(report, others[i].name, fw_bench_span_json(others[i].h));
        json_object_set_new(raw, name, raw_json(others[i].h));
    }
    json_object_set_new(report, "histograms_us", raw);
}

json_t *fw_bench_report_json(const struct fw_bench *b, const struct fw_bench_result *r)
{
    const struct fw_bench_figures *f = &r->all;
    const double seconds = f->seconds > 0 ? f->seconds : 1; // of all sessions together
    char when[32];
    struct tm tm;
    gmtime_r(&r->when, &tm);
    strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
    json_t *report =
        json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:f, s:b}", "framewire_bench", 1,
                  "when", when, "url", b->remote.target.origin, "version", b->version, "machine",
                  b->machine, "gpu", r->said.gpu, "encoder", r->said.encoder, "wanted",
                  wanted_json(b, r), "seconds", r->seconds, "interrupted", (int)r->interrupted);
    if (!report)
        return NULL;
    json_object_set_new(report, "fps", json_real(fw_bench_fps(f)));
    json_object_set_new(report, "fps_worst_session", json_real(worst_fps(r)));
    json_object_set_new(report, "presented", json_integer((json_int_t)f->presented));
    json_object_set_new(report, "frames",
                        counts_json(fw_outcome_names, f->outcome, FW_OUTCOME_COUNT));
    json_object_set_new(report, "drops", counts_json(fw_reason_names, f->reason, FW_REASON_COUNT));
    json_object_set_new(report, "drops_percent", json_real(100 * fw_bench_drops(f)));
    json_object_set_new(report, "inputs",
                        json_pack("{s:I, s:I}", "sent", (json_int_t)f->inputs, "not_seen",
                                  (json_int_t)f->inputs_open));
    json_object_set_new(report, "key_frames", json_integer((json_int_t)f->keys));
    json_object_set_new(report, "bytes", json_integer((json_int_t)f->received_bytes));
    json_object_set_new(report, "mbit_per_s_per_session",
                        json_real((double)f->received_bytes * 8 / 1e6 / seconds));
    json_object_set_new(report, "cpu", cpu_json(r));
    json_object_set_new(report, "rtt_ms",
                        known(r->said.rtt_ns ? (double)r->said.rtt_ns / 1e6 : -1));
    json_object_set_new(report, "clock_error_ms", json_real((double)r->said.clock_us / 1000));
    json_object_set_new(report, "checks", checks_json(f));
    json_object_set_new(report, "sessions_ended", json_integer(r->said.ended));
    json_object_set_new(report, "sessions", sessions_json(r));
    if (r->trouble[0])
        json_object_set_new(report, "trouble", json_string(r->trouble));
    add_histograms(report, f);
    return report;
}

enum fw_err fw_bench_write_json(const char *path, const json_t *json)
{
    const size_t flags = JSON_INDENT(1) | JSON_REAL_PRECISION(7);
    const bool out = strcmp(path, "-") == 0;
    FILE *f = out ? stdout : fopen(path, "we");
    bool ok = f && json && json_dumpf(json, f, flags) == 0 && fputc('\n', f) != EOF;
    if (f && !out)
        ok = fclose(f) == 0 && ok;
    if (ok)
        return FW_OK;
    fprintf(stderr, "framewire bench: can't write %s: %s\n", path, strerror(errno));
    return FW_ERR_IO;
}

// ---- the table

static void row(FILE *out, const char *name, const struct fw_histogram *h, double share)
{
    if (!h->count) {
        fprintf(out, "  %-16s%9s\n", name, "–");
        return;
    }
    fprintf(out, "  %-16s%9.2f%9.2f%9.2f%9.2f%9.2f", name, ms(fw_histogram_quantile(h, 0.5)),
            ms(fw_histogram_quantile(h, 0.95)), ms(fw_histogram_quantile(h, 0.99)),
            ms(fw_histogram_quantile(h, 0.999)), ms(h->max_us));
    if (share >= 0)
        fprintf(out, "%8.1f %%", 100 * share);
    fprintf(out, "\n");
}

static void print_counts(FILE *out, const struct fw_bench_figures *f)
{
    fprintf(out, "frames    %llu shown, %.1f %% of those begun were not",
            (unsigned long long)f->presented, 100 * fw_bench_drops(f));
    const char *lead = ": ";
    for (int i = 1; i < FW_REASON_COUNT; i++)
        if (f->reason[i]) {
            fprintf(out, "%s%s %llu", lead, fw_reason_names[i], (unsigned long long)f->reason[i]);
            lead = ", ";
        }
    fprintf(out, "\n");
    if (f->inputs)
        fprintf(out, "inputs    %llu sent, %llu not seen in any picture\n",
                (unsigned long long)f->inputs, (unsigned long long)f->inputs_open);
}

static void print_cpu(FILE *out, const struct fw_bench_result *r)
{
    const double n = r->sessions ? r->sessions : 1;
    fprintf(out, "cpu       ");
    if (r->front_cpu >= 0)
        fprintf(out, "server %.1f %% of a core per session (workers %.1f %%, front %.1f %%)",
                100 * (r->front_cpu + r->workers_cpu) / n, 100 * r->workers_cpu / n,
                100 * r->front_cpu / n);
    else
        fprintf(out, "server not known");
    fprintf(out, ", this client %.1f %%\n", 100 * r->client_cpu / n);
    const double machine = fw_bench_watchman_cpu(&r->machine);
    if (machine >= 0)
        fprintf(out, "machine   %.0f %% of %.0f cores busy\n", 100 * machine, r->machine.cores);
}

static void print_checks(FILE *out, const struct fw_bench *b, const struct fw_bench_result *r)
{
    const struct fw_bench_figures *f = &r->all;
    fprintf(out, "checks    stages sum up to the total in %llu of %llu frames",
            (unsigned long long)(f->sums_checked - f->sums_wrong),
            (unsigned long long)f->sums_checked);
    if (b->options->load.decode && !f->ids_checked)
        fprintf(out, "; %llu pictures undecodable", (unsigned long long)f->decode_errors);
    else if (b->options->load.decode)
        fprintf(out, "; the painted number is right in %llu of %llu pictures, %llu undecodable",
                (unsigned long long)(f->ids_checked - f->ids_wrong),
                (unsigned long long)f->ids_checked, (unsigned long long)f->decode_errors);
    fprintf(out, "\n");
    if (f->ids_wrong)
        fprintf(out, "          for example: header %llu, painted %llu\n",
                (unsigned long long)f->worst_id_header, (unsigned long long)f->worst_id_painted);
    if (f->records_missing)
        fprintf(out, "          %llu records were overwritten before they were read\n",
                (unsigned long long)f->records_missing);
    if (r->said.ended)
        fprintf(out, "ended     %u session%s by the end: %s\n", r->said.ended,
                r->said.ended == 1 ? "" : "s", r->said.why);
    if (r->trouble[0])
        fprintf(out, "note      %s\n", r->trouble);
}

void fw_bench_report_table(FILE *out, const struct fw_bench *b, const struct fw_bench_result *r)
{
    const struct fw_bench_load_options *o = &b->options->load;
    const struct fw_bench_figures *f = &r->all;
    const double total = (double)f->total.sum_us;
    fprintf(out, "%u session%s of %s, %dx%d at %d fps, input %s, %.1f s%s\n", r->sessions,
            r->sessions == 1 ? "" : "s", o->source, o->width, o->height, o->fps,
            input_names[o->input], r->seconds, r->interrupted ? " (interrupted)" : "");
    fprintf(out, "on %s\n\n", b->machine);
    fprintf(out, "  %-16s%9s%9s%9s%9s%9s%10s\n", "ms", "P50", "P95", "P99", "P99.9", "max",
            "share");
    for (int i = 0; i < FW_STAGE_COUNT; i++) {
        // Those that only frames with new input have do not have every frame's weight.
        const double share = total > 0 ? (double)f->stage[i].sum_us / total : -1;
        row(out, fw_stages[i].name, &f->stage[i], share);
    }
    row(out, "total", &f->total, -1);
    row(out, "input to photon", &f->input, -1);
    row(out, "age of picture", &f->aoi, -1);
    fprintf(out, "\nfps       %.1f per session", fw_bench_fps(f));
    if (r->sessions > 1)
        fprintf(out, " (worst %.1f)", worst_fps(r));
    fprintf(out, ", %.2f Mbit/s per session, %llu key frames\n",
            f->seconds > 0 ? (double)f->received_bytes * 8 / 1e6 / f->seconds : 0,
            (unsigned long long)f->keys);
    print_counts(out, f);
    print_cpu(out, r);
    if (r->said.rtt_ns)
        fprintf(out, "link      round trip %.2f ms, clocks within %.2f ms\n",
                (double)r->said.rtt_ns / 1e6, (double)r->said.clock_us / 1000);
    print_checks(out, b, r);
}
