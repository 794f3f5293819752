// SPDX-License-Identifier: MIT
// The pure parts of `framewire bench`: promises, schedules, records, the search, limits, options.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/input.h"
#include "session/cli/bench_capacity.h"
#include "session/cli/bench_limit.h"
#include "session/cli/bench_options.h"
#include "session/cli/bench_records.h"
#include "session/cli/bench_report.h"
#include "session/cli/bench_schedule.h"
#include "session/cli/bench_slo.h"

#define MS ((int64_t)FW_NS_PER_MS)

// ---- promises

static void test_slo(void **state)
{
    (void)state;
    struct fw_slo slo;
    char words[200];
    static struct fw_bench_figures f;
    assert_int_equal(fw_slo_parse(&slo, " aoi_p99 <= 50ms, fps>=55,encode_p95<=0.01s , drops<=2%",
                                  words, sizeof(words)),
                     FW_OK);
    assert_int_equal(slo.count, 4);
    assert_string_equal(slo.term[0].text, "AoI P99 ≤ 50 ms");
    assert_string_equal(slo.term[1].text, "fps ≥ 55");
    assert_string_equal(slo.term[2].text, "encode P95 ≤ 10 ms");
    assert_string_equal(slo.term[3].text, "dropped ≤ 2 %");
    fw_slo_words(&slo, words, sizeof(words));
    assert_string_equal(words,
                        "AoI P99 ≤ 50 ms and fps ≥ 55 and encode P95 ≤ 10 ms and dropped ≤ 2 %");
    // Nothing measured is nothing kept.
    for (unsigned i = 0; i < slo.count; i++)
        assert_false(fw_slo_kept(&slo.term[i], &f));
    for (int i = 0; i < 100; i++)
        fw_histogram_add(&f.aoi, (i < 98 ? 20 : 60) * MS);
    fw_histogram_add(&f.stage[FW_STAGE_ENCODE], 4 * MS);
    f.seconds = 10;
    f.presented = 550;
    f.outcome[FW_OUTCOME_PRESENTED] = 550;
    f.outcome[FW_OUTCOME_SKIPPED] = 50;
    assert_false(fw_slo_kept(&slo.term[0], &f));
    assert_true(fw_slo_value(&slo.term[0], &f) > 59);
    assert_true(fw_slo_kept(&slo.term[1], &f));
    assert_true(fw_slo_kept(&slo.term[2], &f));
    assert_false(fw_slo_kept(&slo.term[3], &f));
}

static void test_slo_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *hint;
    } bad[] = {
        { "", "aoi_p99<=50ms" },
        { "aoi<=50ms", "_p99" },
        { "latency_p99<=50ms", "aoi" },
        { "aoi_p98<=50ms", "_p95" },
        { "aoi_p99=50ms", "<=" },
        { "aoi_p99<50ms", "<=" },
        { "aoi_p99<=50", "ms" },
        { "aoi_p99<=x", "limit" },
        { "aoi_p99<=-1ms", "limit" },
        { "aoi_p99<=50fps", "ms" },
        { "fps_p99>=5", "just fps" },
        { "fps>=5ms", "fps takes none" },
        { "aoi_p99<=50ms fps>=5", "comma" },
        { "aoi_p99<=50ms,", "aoi" },
        { "aoi_p99<=nanms", "limit" },
        { "fps>=1,fps>=1,fps>=1,fps>=1,fps>=1,fps>=1,fps>=1,"
          "fps>=1,fps>=1",
          "eight" },
    };
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct fw_slo slo;
        char message[300];
        assert_int_equal(fw_slo_parse(&slo, bad[i].text, message, sizeof(message)), FW_ERR_INVALID);
        if (!strstr(message, bad[i].hint))
            fail_msg("'%s' says '%s', not %s", bad[i].text, message, bad[i].hint);
    }
}

// ---- schedules

static void test_schedule(void **state)
{
    (void)state;
    for (int kind = FW_BENCH_ORBIT; kind <= FW_BENCH_CLICKS; kind++) {
        struct fw_bench_schedule a, b, other;
        fw_bench_schedule_init(&a, (enum fw_bench_input)kind, 1, 640, 360);
        fw_bench_schedule_init(&b, (enum fw_bench_input)kind, 1, 640, 360);
        fw_bench_schedule_init(&other, (enum fw_bench_input)kind, 2, 640, 360);
        int64_t last = -1;
        unsigned same = 0, followed = 0;
        for (int i = 0; i < 600; i++) {
            struct fw_bench_step x, y, z;
            assert_int_equal(fw_bench_schedule_due(&a), fw_bench_schedule_due(&b));
            fw_bench_schedule_take(&a, &x);
            fw_bench_schedule_take(&b, &y);
            fw_bench_schedule_take(&other, &z);
            assert_memory_equal(&x, &y, sizeof(x));
            assert_true(x.at_ns > last && x.count >= 1 && x.count <= FW_BENCH_STEP_EVENTS);
            for (unsigned e = 0; e < x.count; e++)
                assert_true(x.event[e].x >= 0 && x.event[e].x < 640 && x.event[e].y >= 0 &&
                            x.event[e].y < 360);
            last = x.at_ns;
            same += x.at_ns == z.at_ns;
            followed += x.followed;
        }
        assert_true(same < 60); // sessions do not click in step
        if (kind == FW_BENCH_ORBIT) {
            assert_int_equal(followed, 599);
            assert_in_range(last, 9950 * MS, 10010 * MS);
        } else {
            assert_int_equal(followed, 300); // half of them let go
            assert_in_range(last, 300 * 400 * MS, 300 * 600 * MS);
        }
    }
    struct fw_bench_schedule none;
    fw_bench_schedule_init(&none, FW_BENCH_NONE, 1, 640, 360);
    assert_true(fw_bench_schedule_due(&none) == INT64_MAX);
}

// ---- records

// A row as the server writes it; `begun` 0 = never. Each stage takes 1 ms but deliver and wait.
static void add_row(char *csv, size_t size, unsigned id, const char *outcome, int64_t begun_ms,
                    double total_us)
{
    const size_t used = strlen(csv);
    char begun[24] = "", total[24] = "", stages[200] = ",,";
    if (begun_ms)
        snprintf(begun, sizeof(begun), "%lld", (long long)(begun_ms * MS));
    if (total_us > 0) {
        snprintf(total, sizeof(total), "%.3f", total_us);
        for (int i = 0; i < FW_STAGE_COUNT - 3; i++)
            strcat(stages, "1000.000,");
        strcat(stages, "0.000,");
    } else {
        for (int i = 0; i < FW_STAGE_COUNT - 2; i++)
            strcat(stages, ",");
    }
    snprintf(csv + used, size - used, "%u,%s,%s,0,77,%s,%s%s,more\r\n", id, outcome,
             strcmp(outcome, "skipped") ? "" : "newer", begun, stages, total);
}

static void begin_csv(char *csv, size_t size)
{
    snprintf(csv, size, "frame_id,outcome,reason,key,bytes,begun_ns,");
    for (int i = 0; i < FW_STAGE_COUNT; i++) {
        strcat(csv, fw_stages[i].name);
        strcat(csv, "_us,");
    }
    strcat(csv, "total_us,something_new\r\n");
}

static void test_records(void **state)
{
    (void)state;
    static struct fw_bench_figures f;
    struct fw_bench_reading reading = { .last_id = 0 };
    struct fw_bench_window window = { .from_ns = 1000 * MS, .to_ns = 2000 * MS };
    const double whole = (FW_STAGE_COUNT - 3) * 1000;
    char csv[8192];
    begin_csv(csv, sizeof(csv));
    add_row(csv, sizeof(csv), 1, "presented", 990, whole); // before the window
    add_row(csv, sizeof(csv), 2, "presented", 1010, whole);
    add_row(csv, sizeof(csv), 3, "skipped", 0, 0); // between two that count
    add_row(csv, sizeof(csv), 4, "open", 1050, 0);
    add_row(csv, sizeof(csv), 5, "presented", 1060, whole);
    assert_int_equal(fw_bench_records_add(&reading, csv, &window, &f), FW_OK);
    assert_int_equal(reading.last_id, 3); // 4 is still under way: later
    assert_int_equal(f.outcome[FW_OUTCOME_PRESENTED], 1);
    assert_int_equal(f.reason[FW_REASON_NEWER], 1);
    assert_int_equal(f.bytes, 2 * 77);
    assert_int_equal(f.stage[FW_STAGE_DELIVER].count, 0);
    assert_int_equal(f.stage[FW_STAGE_ENCODE].count, 1);
    assert_int_equal(f.total.max_us, (uint64_t)whole);
    // The next part overlaps; a sum that is wrong, a gap, and one after the window.
    begin_csv(csv, sizeof(csv));
    add_row(csv, sizeof(csv), 2, "presented", 1010, whole);
    add_row(csv, sizeof(csv), 4, "presented", 1050, whole);
    add_row(csv, sizeof(csv), 5, "presented", 1060, whole + 1);
    add_row(csv, sizeof(csv), 9, "open", 1100, 0);
    add_row(csv, sizeof(csv), 10, "presented", 2000, whole);
    window.last = true;
    assert_int_equal(fw_bench_records_add(&reading, csv, &window, &f), FW_OK);
    assert_int_equal(f.outcome[FW_OUTCOME_PRESENTED], 3);
    assert_int_equal(f.outcome[FW_OUTCOME_OPEN], 1);
    assert_int_equal(f.sums_checked, 3);
    assert_int_equal(f.sums_wrong, 1);
    assert_int_equal(f.records_missing, 3);
    assert_int_equal(reading.last_id, 10);
    strcpy(csv, "frame_id,outcome\r\n1,presented\r\n");
    assert_int_equal(fw_bench_records_add(&reading, csv, &window, &f), FW_ERR_FORMAT);
    csv[0] = '\0';
    assert_int_equal(fw_bench_records_add(&reading, csv, &window, &f), FW_ERR_FORMAT);
}

// ---- the search

// Runs it against a machine that holds `holds`, starts `starts` and loses `shaky` in a longer look.
static unsigned climb(unsigned limit, unsigned holds, unsigned starts, unsigned shaky,
                      unsigned *steps)
{
    struct fw_capacity c;
    fw_capacity_init(&c, limit);
    for (*steps = 0; c.step != FW_CAPACITY_DONE; ++*steps) {
        assert_true(c.sessions >= 1 && c.sessions <= limit && *steps < 40);
        const unsigned room = c.step == FW_CAPACITY_CONFIRM ? holds - shaky : holds;
        fw_capacity_said(&c, c.sessions <= room, c.sessions <= starts);
    }
    assert_true(c.confirmations || !c.best);
    return c.best;
}

static void test_capacity(void **state)
{
    (void)state;
    unsigned steps;
    for (unsigned holds = 0; holds < 70; holds++) {
        assert_int_equal(climb(64, holds, 999, 0, &steps), holds < 64 ? holds : 64);
        assert_true(steps <= 15);
    }
    assert_int_equal(climb(64, 50, 8, 0, &steps), 8);    // refused beyond
    assert_int_equal(climb(64, 20, 999, 2, &steps), 18); // less in a longer look
    assert_int_equal(climb(64, 1, 999, 1, &steps), 0);
    assert_int_equal(climb(1, 5, 999, 0, &steps), 1);
}

static void test_limit(void **state)
{
    (void)state;
    static struct fw_bench_result broken, before;
    char words[400];
    struct fw_bench_evidence e = { .broken = &broken, .before = &before };
    fw_bench_watchman_begin(&broken.machine);
    for (int i = 0; i < 50; i++) {
        fw_histogram_add(&before.all.stage[FW_STAGE_ENCODE], 3 * MS);
        fw_histogram_add(&broken.all.stage[FW_STAGE_ENCODE], 40 * MS);
        fw_histogram_add(&before.all.stage[FW_STAGE_RENDER], 50 * MS);
        fw_histogram_add(&broken.all.stage[FW_STAGE_RENDER], 55 * MS);
    }
    assert_int_equal(fw_bench_find_limit(&e, words, sizeof(words)), FW_LIMIT_STAGE);
    assert_non_null(strstr(words, "'encode'"));
    assert_non_null(strstr(words, "instead of 3.0"));
    for (int i = 0; i < 50; i++)
        fw_histogram_add(&broken.all.stage[FW_STAGE_NETWORK], 200 * MS);
    assert_int_equal(fw_bench_find_limit(&e, words, sizeof(words)), FW_LIMIT_NETWORK);
    broken.machine.cores = 2;
    broken.machine.samples = 2;
    broken.machine.used_cores_sum = 3.9;
    broken.client_cpu = 0.5;
    broken.workers_cpu = 1.2;
    broken.front_cpu = 0.1;
    e.same_machine = true;
    assert_int_equal(fw_bench_find_limit(&e, words, sizeof(words)), FW_LIMIT_CPU);
    assert_string_equal(words,
                        "CPU: 98 % of 2 cores busy, 65 % by the server and its sessions, 25 % "
                        "by this load generator");
    broken.workers_cpu = 0.3;
    fw_bench_find_limit(&e, words, sizeof(words));
    assert_non_null(strstr(words, "most by other programs"));
    // Late inputs on a full machine of both are the machine's fault, elsewhere the generator's.
    fw_histogram_add(&broken.all.late, 30 * MS);
    assert_int_equal(fw_bench_find_limit(&e, words, sizeof(words)), FW_LIMIT_CPU);
    e.same_machine = false;
    assert_int_equal(fw_bench_find_limit(&e, words, sizeof(words)), FW_LIMIT_CLIENT);
    memset(&broken.all.late, 0, sizeof(broken.all.late));
    broken.machine.gpu_use_most = 0.97;
    assert_int_equal(fw_bench_find_limit(&e, words, sizeof(words)), FW_LIMIT_GPU);
    broken.client_thread_cpu = 0.9;
    assert_int_equal(fw_bench_find_limit(&e, words, sizeof(words)), FW_LIMIT_CLIENT);
    e.refusal = "all 8 seats are taken";
    assert_int_equal(fw_bench_find_limit(&e, words, sizeof(words)), FW_LIMIT_ADMISSION);
    assert_string_equal(words, "admission: all 8 seats are taken");
    e = (struct fw_bench_evidence){ .our_limit = true };
    assert_int_equal(fw_bench_find_limit(&e, words, sizeof(words)), FW_LIMIT_OURS);
}

// ---- options

static enum fw_err parse(struct fw_bench_options *o, char *message, const char *line)
{
    static char text[512];
    char *argv[32], *save = NULL;
    int argc = 0;
    snprintf(text, sizeof(text), "%s", line);
    for (char *p = strtok_r(text, " ", &save); p && argc < 32; p = strtok_r(NULL, " ", &save))
        argv[argc++] = p;
    return fw_bench_options_parse(o, argc, argv, message, 300);
}

static void test_options(void **state)
{
    (void)state;
    struct fw_bench_options o;
    char message[300];
    assert_int_equal(parse(&o, message, "http://h:1"), FW_OK);
    assert_int_equal(o.mode, FW_BENCH_RUN);
    assert_int_equal(o.load.width, 1280);
    assert_int_equal(o.load.input, FW_BENCH_ORBIT);
    assert_int_equal(parse(&o, message,
                           "--sessions 4 --source scene --arg model=a=b --size=640x360 --fps 30 "
                           "http://h:1 --seconds 5m --input clicks --decode --json -"),
                     FW_OK);
    assert_string_equal(o.url, "http://h:1");
    assert_string_equal(o.load.args[0], "model=a=b");
    assert_int_equal(o.seconds, 300);
    assert_int_equal(o.load.height, 360);
    assert_true(o.load.decode);
    assert_int_equal(parse(&o, message, "h --find-capacity --slo fps>=20"), FW_OK);
    assert_int_equal(o.mode, FW_BENCH_CAPACITY);
    assert_int_equal(o.slo.count, 1);
    assert_int_equal(parse(&o, message, "--verify p.yaml --soak 4h --drill"), FW_OK);
    assert_int_equal(o.mode, FW_BENCH_VERIFY);
    assert_int_equal(o.soak, 14400);
    assert_int_equal(parse(&o, message, "new.json --compare base.json"), FW_OK);
    assert_int_equal(o.mode, FW_BENCH_COMPARE);
    assert_int_equal(parse(&o, message, "--help"), FW_OK);
    static const struct {
        const char *line, *hint;
    } bad[] = {
        { "", "http://127.0.0.1:8080" },
        { "h --speed 3", "--help" },
        { "h --sessions 0", "1 to 256" },
        { "h --sessions", "wants a value" },
        { "h --size 20x", "1280x720" },
        { "h --size 9000x20", "3840x2160" },
        { "h --fps 241", "240" },
        { "h --seconds 5d", "5m" },
        { "h --input jump", "clicks" },
        { "h --arg x", "KEY=VALUE" },
        { "h --decode=1", "just --decode" },
        { "h --find-capacity --slo aoi<5", "_p99" },
        { "h --slo fps>=3", "--find-capacity" },
        { "h --find-capacity --slo i2p_p99<=9ms --input none", "drop one" },
        { "h --drill", "--verify" },
        { "h --find-capacity --verify p", "exclude" },
        { "h second", "unknown argument" },
    };
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(parse(&o, message, bad[i].line), FW_ERR_INVALID);
        if (!strstr(message, bad[i].hint))
            fail_msg("'%s' says '%s', not %s", bad[i].line, message, bad[i].hint);
    }
    char help[8192];
    assert_in_range(fw_bench_options_help(help, sizeof(help)), 1000, sizeof(help) - 1);
    assert_non_null(strstr(help, "--find-capacity"));
}

// ---- two reports

static json_t *made_up(double scale)
{
    static struct fw_bench_result r;
    static struct fw_bench_options o;
    const struct fw_bench b = { .options = &o, .machine = "one" };
    o.load = (struct fw_bench_load_options){ .source = "testcard", .width = 64, .height = 48 };
    memset(&r, 0, sizeof(r));
    for (int i = 1; i <= 1000; i++)
        fw_histogram_add(&r.all.stage[FW_STAGE_ENCODE], (int64_t)(scale * i * 10000));
    return fw_bench_report_json(&b, &r);
}

static void test_report_and_compare(void **state)
{
    (void)state;
    json_t *base = made_up(1), *now = made_up(2);
    const json_t *encode = json_object_get(json_object_get(base, "stages"), "encode");
    assert_int_equal(json_integer_value(json_object_get(encode, "count")), 1000);
    const double p99 = json_number_value(json_object_get(encode, "p99_ms"));
    assert_true(p99 > 9.9 && p99 < 10.1);
    // The raw histogram holds what was put in.
    const json_t *raw = json_object_get(json_object_get(base, "histograms_us"), "encode");
    json_int_t count = 0;
    for (size_t i = 0; i < json_array_size(raw); i++)
        count += json_integer_value(json_array_get(json_array_get(raw, i), 1));
    assert_int_equal(count, 1000);
    char *text = NULL, message[200];
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(fw_bench_compare(out, base, now, message, sizeof(message)), FW_OK);
    fclose(out);
    const char *line = strstr(text, "encode P50");
    double from, to, ratio;
    assert_non_null(line);
    assert_int_equal(sscanf(line, "encode P50 %lf %lf %lf", &from, &to, &ratio), 3);
    assert_true(ratio > 1.97 && ratio < 2.03);
    assert_null(strstr(text, "not the same"));
    free(text);
    json_object_set_new(now, "machine", json_string("another"));
    json_object_del(base, "stages");
    out = open_memstream(&text, &size);
    assert_int_equal(fw_bench_compare(out, base, now, message, sizeof(message)), FW_ERR_FORMAT);
    fclose(out);
    free(text);
    json_decref(base);
    json_decref(now);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slo),      cmocka_unit_test(test_slo_refused),
        cmocka_unit_test(test_schedule), cmocka_unit_test(test_records),
        cmocka_unit_test(test_capacity), cmocka_unit_test(test_limit),
        cmocka_unit_test(test_options),  cmocka_unit_test(test_report_and_compare),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
