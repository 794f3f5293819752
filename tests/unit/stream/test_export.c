// SPDX-License-Identifier: MIT
// The three files that records become, from frames with made-up times.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <jansson.h>

#include "base/clock.h"
#include "stream/export.h"
#include "stream/recent.h"

enum { MS = FW_NS_PER_MS, VIEWER = 1, FRAMES = 20, STEP = 10 };

static const int64_t t0 = 1000 * (int64_t)FW_NS_PER_S;
static struct fw_records *r;
static char *text;
static size_t size;

// Frame k begins at t0 + 10 ms × k and takes 25 ms, 18 of them on the network: frames overlap
// there. Every fifth is dropped by the client, every second shows an input of its own.
static int setup(void **state)
{
    (void)state;
    r = fw_records_create();
    for (int k = 1; k <= FRAMES; k++) {
        const int64_t begun = t0 + k * STEP * MS;
        const bool led = k % 2 == 0;
        if (led)
            fw_records_input(r, (uint64_t)k, 2, begun - 2 * MS);
        const struct fw_packet packet = {
            .frame_id = (uint64_t)k,
            .input_id = led ? (uint64_t)k : (uint64_t)k - 1,
            .width = 640,
            .height = 360,
            .size = 1234,
            .key = k == 1,
            .times = { .delivered_ns = begun - MS,
                       .begun_ns = begun,
                       .submitted_ns = begun + 1,
                       .rendered_ns = begun + 1 * MS,
                       .converted_ns = begun + 1 * MS + 1,
                       .enc_begin_ns = begun + 1 * MS + 2,
                       .enc_end_ns = begun + 3 * MS + 123456,
                       .ring_ns = begun + 4 * MS,
                       .picked_ns = begun + 4 * MS },
            .facts = { .gpu = { .begin_ns = begun + 1000,
                                .pass_us = { 700, 0, 20 },
                                .part_us = { 100, 0, 500, 100 },
                                .vertices = 30,
                                .primitives = 10,
                                .fragments = 230400 },
                       .damage_px = 4000,
                       .qp_plus1 = (uint8_t)(k % 2 ? 1 : 24),
                       .encoder = "x264" },
        };
        const struct fw_record_viewer viewer = {
            .serial = VIEWER, .window = 2, .link_kbps = 9000, .unsent_bytes = 77
        };
        fw_records_publish(r, &packet, &viewer, begun + 4 * MS);
    }
    for (int k = 1; k <= FRAMES; k++) {
        const int64_t begun = t0 + k * STEP * MS;
        const uint64_t id = (uint64_t)k;
        struct fw_record_ack ack = { .frame_id = id, .clock = FW_PEER_CLOCK_ESTIMATE };
        fw_records_sent(r, VIEWER, id, FW_POINT_HANDED, begun + 5 * MS);
        fw_records_sent(r, VIEWER, id, FW_POINT_ACCEPTED, begun + 5 * MS + 1000);
        for (int point = FW_POINT_RECEIVED; point <= FW_POINT_PRESENTED; point++) {
            ack.point = (enum fw_point)point;
            ack.ns = begun + (23 + point - FW_POINT_RECEIVED) * (int64_t)MS;
            ack.error_us = 40;
            ack.dropped = k % 5 == 0 && point == FW_POINT_DECODED;
            fw_records_ack(r, VIEWER, &ack, t0 + FW_NS_PER_S);
        }
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(text);
    text = NULL;
    fw_records_destroy(&r);
    return 0;
}

static void export(enum fw_export_format format, int64_t now, int64_t last)
{
    const struct fw_export_params params = {
        .format = format,
        .now_ns = now,
        .last_ns = last,
        .wall_ms = INT64_C(1700000000000),
        .session = "abcd-1",
        .title = "a \"t\\\n\xff\xc3\xa9\xed\xa0\x80",
        .gpu = "g",
        .encoder = "x264",
        .no_parts = "not here",
        .faults = "encode:20ms",
    };
    free(text);
    text = NULL;
    assert_int_equal(fw_export(r, &params, &text, &size), FW_OK);
}

static const int64_t all_now = 1000 * (int64_t)FW_NS_PER_S + FW_NS_PER_S;

// The cell of a column in a line of the CSV; 0 is the first frame.
static const char *cell(unsigned line, const char *column)
{
    static char found[64];
    unsigned index = 0;
    const char *p = text;
    for (;; p++, index++) {
        const size_t length = strcspn(p, ",\r");
        if (strlen(column) == length && !memcmp(p, column, length))
            break;
        p += length;
        assert_int_equal(*p, ',');
    }
    p = text;
    for (unsigned i = 0; i <= line; i++)
        p = strstr(p, "\r\n") + 2;
    for (; index; index--)
        p += strcspn(p, ",") + 1;
    snprintf(found, sizeof(found), "%.*s", (int)strcspn(p, ",\r"), p);
    return found;
}

static unsigned count(const char *what)
{
    unsigned n = 0;
    for (const char *p = text; (p = strstr(p, what)); p++)
        n++;
    return n;
}

static void csv_has_a_line_per_frame(void **state)
{
    (void)state;
    export(FW_EXPORT_CSV, all_now, FW_NS_PER_S);
    assert_int_equal(size, strlen(text));
    assert_int_equal(count("\r\n"), 1 + FRAMES);
    const char *end = strstr(text, "\r\n");
    unsigned commas = 0, all = 0;
    for (const char *p = text; *p; p++) {
        commas += *p == ',' && p < end;
        all += *p == ',';
    }
    assert_int_equal(all, commas * (1 + FRAMES));
    assert_string_equal(cell(0, "frame_id"), "1");
    assert_string_equal(cell(0, "key"), "1");
    assert_string_equal(cell(0, "input_id"), "");
    assert_string_equal(cell(0, "deliver_us"), "");
    assert_string_equal(cell(1, "outcome"), "presented");
    assert_string_equal(cell(1, "reason"), "");
    assert_string_equal(cell(1, "bytes"), "1234");
    assert_string_equal(cell(1, "shows_input"), "1");
    assert_string_equal(cell(1, "start_ns"), "1000018000000");
    assert_string_equal(cell(1, "begun_ns"), "1000020000000");
    assert_string_equal(cell(1, "deliver_us"), "1000.000");
    assert_string_equal(cell(1, "submit_us"), "0.001");
    assert_string_equal(cell(1, "encode_us"), "2123.454");
    assert_string_equal(cell(1, "network_us"), "17999.000");
    assert_string_equal(cell(1, "rest_us"), "0.000");
    assert_string_equal(cell(1, "total_us"), "27000.000");
    assert_string_equal(cell(1, "input_to_presented_us"), "27000.000");
    assert_string_equal(cell(1, "gpu_source_us"), "700");
    assert_string_equal(cell(1, "gpu_merge_us"), "");
    assert_string_equal(cell(1, "encoder"), "x264");
    assert_string_equal(cell(0, "qp"), "0");
    assert_string_equal(cell(1, "qp"), "23");
    assert_string_equal(cell(1, "damage_px"), "4000");
    assert_string_equal(cell(1, "link_kbps"), "9000");
    assert_string_equal(cell(1, "unsent_bytes"), "77");
    assert_string_equal(cell(1, "gpu_begin_ns"), "1000020001000");
    assert_string_equal(cell(1, "gpu_vertex_us"), "100");
    assert_string_equal(cell(1, "gpu_raster_us"), "0");
    assert_string_equal(cell(1, "gpu_output_us"), "100");
    assert_string_equal(cell(1, "vertices"), "30");
    assert_string_equal(cell(1, "fragments"), "230400");
    assert_string_equal(cell(1, "clock"), "estimate");
    assert_string_equal(cell(1, "clock_error_us"), "40");
    assert_string_equal(cell(4, "outcome"), "dropped");
    assert_string_equal(cell(4, "reason"), "client");
    assert_string_equal(cell(4, "total_us"), "");
    assert_string_equal(cell(4, "encode_us"), "2123.454");
}

static void only_the_last_are_told(void **state)
{
    (void)state;
    // Frame 15 was seen 154 ms after t0.
    export(FW_EXPORT_CSV, t0 + 154 * MS + 3 * (int64_t)FW_NS_PER_S, 3 * (int64_t)FW_NS_PER_S);
    assert_int_equal(count("\r\n"), 1 + 6);
    assert_string_equal(cell(0, "frame_id"), "15");
    export(FW_EXPORT_CSV, t0 + 600 * (int64_t)FW_NS_PER_S, FW_NS_PER_S);
    assert_int_equal(count("\r\n"), 1);
}

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void json_has_the_same_and_percentiles(void **state)
{
    (void)state;
    export(FW_EXPORT_JSON, all_now, 60 * (int64_t)FW_NS_PER_S);
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    assert_string_equal(json_string_value(json_object_get(root, "title")), "a \"t\\??\xc3\xa9???");
    assert_string_equal(json_string_value(json_object_get(root, "faults")), "encode:20ms");
    assert_string_equal(json_string_value(json_object_get(root, "no_gpu_parts")), "not here");
    assert_true(json_is_false(json_object_get(root, "gpu_parts")));
    assert_string_equal(json_string_value(json_object_get(root, "now")), "2023-11-14T22:13:20Z");
    const json_t *frames = json_object_get(root, "frames");
    assert_int_equal(json_array_size(frames), FRAMES);
    const json_t *frame = json_array_get(frames, 1);
    double sum = 0;
    for (int i = 0; i < FW_STAGE_COUNT; i++) {
        char name[32];
        snprintf(name, sizeof(name), "%s_us", fw_stages[i].name);
        sum += number_of(frame, name);
        const json_t *stage = json_array_get(json_object_get(root, "stages"), (size_t)i);
        assert_string_equal(json_string_value(json_object_get(stage, "name")), fw_stages[i].name);
    }
    assert_true(sum > 26999.9 && sum < 27000.1);
    assert_true(number_of(frame, "total_us") == 27000);
    assert_true(json_is_true(json_object_get(frame, "shows_input")));
    assert_true(json_is_null(json_object_get(frame, "gpu_merge_us")));
    assert_true(json_is_null(json_object_get(json_array_get(frames, 0), "deliver_us")));
    const json_t *sums = json_object_get(root, "summary");
    const json_t *encode = json_object_get(json_object_get(sums, "stages"), "encode");
    assert_int_equal(number_of(encode, "count"), FRAMES);
    assert_true(number_of(encode, "max_ms") == 2.123);
    assert_true(number_of(encode, "p50_ms") > 2.08 && number_of(encode, "p99_ms") <= 2.123);
    assert_int_equal(number_of(json_object_get(sums, "outcomes"), "presented"), 16);
    assert_int_equal(number_of(json_object_get(sums, "reasons"), "client"), 4);
    assert_int_equal(number_of(sums, "keys"), 1);
    assert_int_equal(number_of(sums, "bytes"), FRAMES * 1234);
    const json_t *ever = json_object_get(root, "since_start");
    // Both inputs of each even frame, but 10 and 20, which are not shown; 11 shows what 10 would
    // have.
    assert_int_equal(number_of(json_object_get(ever, "input_to_presented"), "count"), 18);
    json_decref(root);
}

static void perfetto_has_tracks_slices_and_arrows(void **state)
{
    (void)state;
    export(FW_EXPORT_PERFETTO, all_now, FW_NS_PER_S);
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    const json_t *events = json_object_get(root, "traceEvents");
    static double end[2000];
    unsigned slices = 0, flows = 0, lost = 0, lanes = 0;
    memset(end, 0, sizeof(end));
    size_t i;
    json_t *e;
    json_array_foreach(events, i, e)
    {
        const char phase = *json_string_value(json_object_get(e, "ph"));
        const char *name = json_string_value(json_object_get(e, "name"));
        flows += phase == 's' || phase == 't' || phase == 'f';
        lost += phase == 'i';
        if (phase == 'M' && !strcmp(name, "thread_name"))
            lanes +=
                !strncmp(json_string_value(json_object_get(json_object_get(e, "args"), "name")),
                         "network", 7);
        if (phase != 'X')
            continue;
        const unsigned track = (unsigned)number_of(e, "tid");
        assert_true(track < 2000);
        assert_true(number_of(e, "ts") >= end[track] - 0.0005); // no overlap in a track
        end[track] = number_of(e, "ts") + number_of(e, "dur");
        slices++;
    }
    // 12 stages each, decode and present of those not dropped, two more of those that led.
    // On the GPU two passes, and three parts of the first. Nine inputs had a newer one beside them.
    assert_int_equal(slices, FRAMES * (10 + 5) + 16 * 2 + 10 * 2 + 1 * 2 + 9);
    assert_int_equal(lanes, 2); // 18 ms every 10 ms
    assert_int_equal(lost, 4);
    assert_int_equal(flows, 3 * 9 + 2 * 9);
    json_decref(root);
}

static void nothing_yet_is_a_file_as_well(void **state)
{
    (void)state;
    fw_records_destroy(&r);
    r = fw_records_create();
    export(FW_EXPORT_CSV, all_now, FW_NS_PER_S);
    assert_int_equal(count("\r\n"), 1);
    static const enum fw_export_format formats[] = { FW_EXPORT_JSON, FW_EXPORT_PERFETTO };
    for (int i = 0; i < 2; i++) {
        export(formats[i], all_now, FW_NS_PER_S);
        json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(root);
        json_decref(root);
    }
}

#define EXPORT(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static json_t *figures_at(int64_t now)
{
    export(FW_EXPORT_FIGURES, now, 10 * (int64_t)FW_NS_PER_S);
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    return root;
}

static void figures_are_sums_bins_and_rows(void **state)
{
    (void)state;
    json_t *root = figures_at(all_now);
    const json_t *recent = json_object_get(root, "recent");
    assert_int_equal(number_of(recent, "frames"), FRAMES);
    assert_int_equal(number_of(json_object_get(recent, "outcomes"), "presented"), FRAMES * 4 / 5);
    assert_int_equal(number_of(json_object_get(recent, "reasons"), "client"), FRAMES / 5);
    const json_t *bins = json_object_get(root, "bins");
    const json_t *edges = json_object_get(bins, "edges_us");
    const json_t *total = json_object_get(bins, "total");
    assert_int_equal(json_array_size(total), json_array_size(edges) + 1);
    json_int_t sum = 0;
    for (size_t i = 0; i < json_array_size(total); i++)
        sum += json_integer_value(json_array_get(total, i));
    assert_int_equal(sum, FRAMES * 4 / 5);
    const json_t *columns = json_object_get(root, "columns");
    const json_t *frames = json_object_get(root, "frames");
    assert_int_equal(json_array_size(frames), FRAMES);
    const json_t *row = json_array_get(frames, 1);
    assert_int_equal(json_array_size(row), json_array_size(columns));
    assert_int_equal(json_integer_value(json_array_get(row, 0)), 2);
    assert_string_equal(json_string_value(json_array_get(row, 2)), "presented");
    assert_int_equal(json_integer_value(json_array_get(row, 6)), 27000);
    int64_t tiled = 0;
    for (size_t i = 7; i < json_array_size(row); i++)
        tiled += json_integer_value(json_array_get(row, i));
    assert_true(tiled > 26985 && tiled <= 27000); // whole microseconds each
    assert_true(json_is_null(json_array_get(json_array_get(frames, 4), 6))); // dropped
    json_decref(root);
    root = figures_at(all_now + 60 * (int64_t)FW_NS_PER_S);
    assert_int_equal(json_array_size(json_object_get(root, "frames")), 0);
    assert_int_equal(number_of(json_object_get(root, "since_start"), "frames"), FRAMES);
    json_decref(root);
}

// The age of a window, from the records, is what was told while they came in.
static void recent_age_is_the_same_as_told_live(void **state)
{
    (void)state;
    static struct fw_record_sums sums;
    const int64_t second = FW_NS_PER_S, end = t0 + 20 * second;
    fw_records_tick(r, VIEWER, end);
    const struct fw_histogram *live = &fw_records_sums(r)->age;
    fw_recent_read(r, end - 30 * second, end, true, &sums);
    assert_true(live->count > 18000); // from the first picture to a second ago
    assert_int_equal(sums.age.count, live->count);
    assert_memory_equal(sums.age.bucket, live->bucket, sizeof(live->bucket));
    // A window in which nothing came: what was shown before it is still on the screen.
    fw_recent_read(r, end - 5 * second, end, true, &sums);
    assert_int_equal(sums.age.count, 4000);
    assert_int_equal(sums.frames, 0);
    fw_recent_read(r, end - 5 * second, end, false, &sums);
    assert_int_equal(sums.age.count, 0); // nobody looks
}

// What a list tells is of the last seconds, whoever asks how often.
static void lately_is_what_came_since(void **state)
{
    (void)state;
    static struct fw_marks marks;
    static struct fw_lately lately;
    static struct fw_record_sums sums;
    const int64_t second = FW_NS_PER_S;
    for (int64_t s = 1; s <= 60; s++) {
        for (int i = 0; i < 30; i++)
            fw_histogram_add(&sums.total, s * FW_NS_PER_MS);
        sums.outcome[FW_OUTCOME_PRESENTED] += 30;
        sums.outcome[FW_OUTCOME_SKIPPED] += 1;
        sums.bytes += 1000;
        if (s < 10)
            continue; // nobody asks yet
        fw_lately_read(&marks, &sums, t0 + s * second, s * second, &lately);
        const double seconds = lately.seconds;
        // Until two looks are five seconds apart: since the session began.
        assert_true(s < 15 ? seconds == (double)s : seconds >= 5 && seconds < 10);
        assert_true(lately.presented == (uint64_t)seconds * 30);
        assert_true(lately.lost == (uint64_t)seconds && lately.bytes == 1000 * (uint64_t)seconds);
        assert_int_equal(lately.total.count, lately.presented);
        assert_true(fw_histogram_quantile(&lately.total, 0) >=
                    (uint64_t)(s - (int64_t)seconds) * 1000);
    }
    // It was let be for a minute: that is told, and the next ones are short again.
    fw_lately_read(&marks, &sums, t0 + 120 * second, 120 * second, &lately);
    assert_true(lately.seconds == 60 && lately.presented == 0);
    fw_lately_read(&marks, &sums, t0 + 125 * second, 125 * second, &lately);
    assert_true(lately.seconds == 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EXPORT(csv_has_a_line_per_frame),
        EXPORT(only_the_last_are_told),
        EXPORT(json_has_the_same_and_percentiles),
        EXPORT(perfetto_has_tracks_slices_and_arrows),
        EXPORT(nothing_yet_is_a_file_as_well),
        EXPORT(figures_are_sums_bins_and_rows),
        EXPORT(recent_age_is_the_same_as_told_live),
        EXPORT(lately_is_what_came_since),
    };
    return cmocka_run_group_tests_name("export", tests, NULL, NULL);
}
