// SPDX-License-Identifier: MIT
// /metrics over many sessions that come and go: sums stay, and the text does not grow with them.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "tests/unit/session/api_rig.h"

enum { MS = FW_NS_PER_MS, FRAMES = 5, VIEWER = 1 };

static struct fw_metrics metrics;
static struct fw_stream_totals stream;
static struct fw_machine machine;
static struct fw_metrics_now at;

static int setup(void **state)
{
    metrics = (struct fw_metrics){ .set_count = 0 };
    stream = (struct fw_stream_totals){ .http_count = 0 };
    fw_machine_clear(&machine);
    at =
        (struct fw_metrics_now){ .gpu = "", .encoder = "", .stream = &stream, .machine = &machine };
    setup_open(state);
    fake.metrics = &metrics;
    fake.now = &at;
    return 0;
}

static void scrape(char **text)
{
    assert_int_equal(ask("", "GET", "/metrics", ""), 200);
    free(*text);
    *text = strdup(res.body);
    assert_non_null(*text);
}

// The value of a sample, written as it is; fails where there is none.
static double value(const char *text, const char *sample)
{
    const size_t size = strlen(sample);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, sample, size) == 0 && line[size] == ' ')
            return strtod(line + size, NULL);
    }
    fail_msg("no %s", sample);
    return NAN;
}

// The same samples in the same order, each counter no less than before. How many samples.
static unsigned compare(const char *before, const char *after)
{
    unsigned samples = 0;
    bool falls = false; // a gauge may
    while (*before && *after) {
        const size_t b = strcspn(before, "\n"), a = strcspn(after, "\n");
        if (*before == '#') {
            if (a != b || memcmp(before, after, a) != 0)
                fail_msg("another family: %.60s", after);
            if (strncmp(before, "# TYPE", 6) == 0)
                falls = strncmp(before + b - 5, "gauge", 5) == 0;
        } else {
            size_t name = b, other = a;
            while (before[name - 1] != ' ')
                name--;
            while (after[other - 1] != ' ')
                other--;
            if (name != other || memcmp(before, after, name) != 0)
                fail_msg("another sample: %.*s", (int)a, after);
            if (!falls && strtod(after + name, NULL) < strtod(before + name, NULL))
                fail_msg("fell: %.*s", (int)a, after);
            samples++;
        }
        before += b + 1;
        after += a + 1;
    }
    assert_int_equal(*before, *after);
    return samples;
}

// A session of a few frames over the API, summed up as the manager and the channel do.
static void short_session(void)
{
    struct fw_records *r = fw_records_create();
    assert_non_null(r);
    fake.records = r;
    struct made m = make("");
    char path[128];
    metrics.sessions++;
    fw_records_set_totals(r, fw_metrics_frames(&metrics, "scene", "x264", "g"));
    int64_t t = 1000 * (int64_t)FW_NS_PER_S;
    for (uint64_t id = 1; id <= FRAMES; id++, t += 17 * (int64_t)MS) {
        const struct fw_packet p = { .frame_id = id,
                                     .input_id = id,
                                     .key = id == 1,
                                     .size = 100,
                                     .times = { .change_ns = t,
                                                .begun_ns = t,
                                                .enc_begin_ns = t + MS,
                                                .enc_end_ns = t + 3 * MS,
                                                .picked_ns = t + 4 * MS } };
        const struct fw_record_viewer viewer = { .serial = VIEWER };
        const struct fw_record_ack ack = { .frame_id = id,
                                           .point = FW_POINT_PRESENTED,
                                           .ns = t + 10 * MS };
        fw_records_input(r, id, 1, t - MS);
        fw_records_publish(r, &p, &viewer, t + 4 * MS);
        fw_records_sent(r, VIEWER, id, FW_POINT_HANDED, t + 5 * MS);
        if (id < FRAMES) // the last is under way when it ends
            fw_records_ack(r, VIEWER, &ack, t + 11 * MS);
    }
    fw_records_left(r, VIEWER);
    snprintf(path, sizeof(path), "/api/v1/sessions/%s", m.id);
    assert_int_equal(ask("", "DELETE", path, ""), 204);
    fake.records = NULL;
    fw_records_destroy(&r);
    metrics.sessions_ended++;
}

static void ten_thousand_short_sessions(void **state)
{
    (void)state;
    enum { SESSIONS = 10000 };
    char *first = NULL, *before = NULL, *after = NULL;
    unsigned samples = 0;
    short_session();
    scrape(&first);
    scrape(&before);
    for (unsigned i = 2; i <= SESSIONS; i++) {
        short_session();
        if (i % 1000)
            continue;
        scrape(&after);
        samples = compare(before, after);
        scrape(&before);
    }
    // As many samples, longer by no more than their digits.
    assert_true(samples > 400);
    assert_int_equal(compare(first, after), samples);
    assert_true(strlen(after) - strlen(first) <= samples * (size_t)strlen("0000"));
    assert_true(value(after, "framewire_sessions_started_total") == SESSIONS);
#define SET "source=\"scene\",encoder=\"x264\",gpu=\"g\"}"
    assert_true(value(after, "framewire_frames_total{outcome=\"presented\",reason=\"\"," SET) ==
                SESSIONS * (FRAMES - 1));
    assert_true(value(after, "framewire_frames_total{outcome=\"dropped\",reason=\"gone\"," SET) ==
                SESSIONS);
    assert_true(value(after, "framewire_key_frames_total{" SET) == SESSIONS);
    assert_true(value(after, "framewire_encoded_bytes_total{" SET) == SESSIONS * FRAMES * 100);
    assert_true(value(after, "framewire_stage_seconds_count{stage=\"encode\"," SET) ==
                SESSIONS * FRAMES);
    assert_non_null(strstr(after,
                           "framewire_stage_seconds_bucket{stage=\"encode\",source=\"scene\","
                           "encoder=\"x264\",gpu=\"g\",le=\"0.002\"} 50000\n"));
    assert_true(value(after, "framewire_input_to_photon_seconds_count{" SET) ==
                SESSIONS * (FRAMES - 1));
    assert_true(value(after, "framewire_age_seconds_count{" SET) > SESSIONS);
    free(first);
    free(before);
    free(after);
}

// Encoder and GPU are a worker's word.
static void labels_are_bounded(void **state)
{
    (void)state;
    char *text = NULL, gpu[300];
    size_t size = 0;
    for (unsigned i = 0; i < 10000; i++) {
        snprintf(gpu, sizeof(gpu), "GPU %u \"\\\n\xff%0200u", i, i);
        fw_metrics_frames(&metrics, "scene", "x264", gpu)->frames++;
        if (i == 100) {
            scrape(&text);
            size = strlen(text);
        }
    }
    assert_int_equal(metrics.set_count, FW_METRICS_SETS);
    scrape(&text);
    assert_int_equal(strlen(text), size);
    assert_non_null(strstr(text, "source=\"other\",encoder=\"other\",gpu=\"other\""));
    assert_ptr_equal(fw_metrics_frames(&metrics, "scene", "x264", "one more"),
                     &metrics.set[FW_METRICS_SETS - 1].frames);
    assert_ptr_not_equal(fw_metrics_frames(&metrics, "scene", "x264", gpu), &metrics.set[0].frames);
    free(text);
}

static void routes_are_bounded(void **state)
{
    (void)state;
    static char names[100][8];
    for (unsigned i = 0; i < 100; i++) {
        snprintf(names[i], sizeof(names[i]), "/%u", i);
        fw_totals_status(fw_totals_route(&stream, names[i]), 200);
        fw_totals_status(fw_totals_route(&stream, names[i]), 299);
    }
    assert_int_equal(stream.http_count, FW_HTTP_ROUTES);
    char *text = NULL;
    scrape(&text);
    assert_true(value(text, "framewire_http_requests_total{route=\"/7\",status=\"200\"}") == 1);
    assert_true(value(text, "framewire_http_requests_total{route=\"/7\",status=\"0\"}") == 1);
    assert_true(value(text, "framewire_http_requests_total{route=\"more\",status=\"200\"}") ==
                100 - FW_HTTP_ROUTES + 1);
    free(text);
}

// What nobody tells has no sample, and what is told has.
static void unknown_is_absent(void **state)
{
    (void)state;
    char *text = NULL;
    at.gpu_budget_bytes = at.gpu_budget_used_bytes = -1;
    at.sample_age_seconds = NAN;
    scrape(&text);
    assert_non_null(strstr(text, "# TYPE framewire_gpu_use_ratio gauge\n# HELP"));
    assert_null(strstr(text, "\nframewire_machine_memory_total_bytes "));
    assert_null(strstr(text, "\nframewire_video_memory_budget_bytes "));
    assert_null(strstr(text, "\nprocess_cpu_seconds_total "));
    struct fw_machine_gpu *gpu = fw_machine_add_gpu(&machine, "nvidia");
    strcpy(gpu->name, "One");
    strcpy(gpu->pci, "0000:01:00.0");
    gpu->use = 0.5;
    gpu->memory_used_bytes = 3;
    gpu->memory_total_bytes = 4;
    gpu->throttle_known = true;
    gpu->throttle = 1 << FW_THROTTLE_THERMAL;
    at.gpu_budget_bytes = 5;
    at.gpu_bytes[FW_GPU_USE_ENCODE] = 6;
    scrape(&text);
#define ONE "{gpu=\"One\",pci=\"0000:01:00.0\"}"
    assert_true(value(text, "framewire_gpu_use_ratio" ONE) == 0.5);
    assert_true(value(text, "framewire_gpu_memory_level_ratio" ONE) == 0.75);
    assert_true(value(text, "framewire_video_memory_budget_bytes") == 5);
    assert_true(value(text, "framewire_video_memory_bytes{use=\"encode\"}") == 6);
    assert_true(value(text, "framewire_gpu_throttled{gpu=\"One\",pci=\"0000:01:00.0\","
                            "reason=\"thermal\"}") == 1);
    assert_true(value(text, "framewire_gpu_throttled{gpu=\"One\",pci=\"0000:01:00.0\","
                            "reason=\"power\"}") == 0);
    assert_null(strstr(text, "\nframewire_gpu_power_watts{"));
    free(text);
}

static void twins_are_told_apart(void **state)
{
    (void)state;
    char *text = NULL;
    for (int i = 0; i < 3; i++) {
        struct fw_machine_gpu *gpu = fw_machine_add_gpu(&machine, "amd");
        strcpy(gpu->name, "Twin");
        gpu->use = i;
    }
    scrape(&text);
    assert_true(value(text, "framewire_gpu_use_ratio{gpu=\"Twin\",pci=\"\"}") == 0);
    assert_true(value(text, "framewire_gpu_use_ratio{gpu=\"Twin\",pci=\"#1\"}") == 1);
    assert_true(value(text, "framewire_gpu_use_ratio{gpu=\"Twin\",pci=\"#2\"}") == 2);
    free(text);
}

static void failures_have_a_code(void **state)
{
    (void)state;
    char *text = NULL;
    fw_metrics_failed(&metrics, "crash_loop");
    fw_metrics_failed(&metrics, "not_found");
    fw_metrics_failed(&metrics, "a code nobody knows");
    scrape(&text);
    assert_true(value(text, "framewire_sessions_failed_total{code=\"crash_loop\"}") == 1);
    assert_true(value(text, "framewire_sessions_failed_total{code=\"not_found\"}") == 1);
    assert_true(value(text, "framewire_sessions_failed_total{code=\"other\"}") == 1);
    assert_true(value(text, "framewire_sessions_failed_total{code=\"timeout\"}") == 0);
    free(text);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(ten_thousand_short_sessions), TEST(labels_are_bounded),   TEST(routes_are_bounded),
        TEST(unknown_is_absent),           TEST(twins_are_told_apart), TEST(failures_have_a_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
