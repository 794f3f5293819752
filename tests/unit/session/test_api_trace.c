// SPDX-License-Identifier: MIT
// The addresses of the trace and of the figures: what a query must look like, and who may ask.
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

static int64_t cpu_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (int64_t)ts.tv_sec * FW_NS_PER_S + ts.tv_nsec;
}

static int ask_trace(const char *bearer, const char *id, const char *query)
{
    char path[128];
    snprintf(path, sizeof(path), "/api/v1/sessions/%s/trace%s", id, query);
    return ask(bearer, "GET", path, "");
}

static void record_one_frame(void)
{
    fake.records = fw_records_create();
    now = 100 * (int64_t)FW_NS_PER_S;
    const struct fw_packet packet = { .frame_id = 1,
                                      .times = { .begun_ns = now - 5, .picked_ns = now } };
    fw_records_publish(fake.records, &packet, &(struct fw_record_viewer){ 0 }, now);
}

static void test_trace(void **state)
{
    (void)state;
    struct made a = make("");
    record_one_frame();
    assert_int_equal(ask_trace("", a.id, ""), 200); // JSON of a minute
    assert_int_equal(json_array_size(json_object_get(answer, "frames")), 1);
    assert_string_equal(text_of("session"), a.id);
    assert_string_equal(res.save_as, "framewire-id0.json");
    assert_int_equal(ask_trace("", a.id, "?last=1s&format=csv"), 200);
    assert_int_equal(strncmp(res.content_type, "text/csv", 8), 0);
    assert_string_equal(res.save_as, "framewire-id0.csv");
    assert_non_null(strstr(res.body, "\r\n1,skipped,nobody,"));
    assert_int_equal(ask_trace("", a.id, "?format=perfetto&last=600"), 200);
    assert_true(json_array_size(json_object_get(answer, "traceEvents")) > 10);
    now += 60 * (int64_t)FW_NS_PER_S + 1;
    assert_int_equal(ask_trace("", a.id, "?format=json"), 200);
    assert_int_equal(json_array_size(json_object_get(answer, "frames")), 0);
    assert_int_equal(ask_trace("", a.id, "?last=61s"), 200);
    assert_int_equal(ask_trace("", a.id, "?last=10m"), 200);
    assert_int_equal(json_array_size(json_object_get(answer, "frames")), 1);
    static const char *const bad[][2] = {
        { "?format=xml", "format: " },    { "?format=", "format: " },
        { "?format", "format: " },        { "?format=csvx", "format: " },
        { "?last=0s", "last: " },         { "?last=601s", "last: " },
        { "?last=11m", "last: " },        { "?last=m", "last: " },
        { "?last=99999", "last: " },      { "?last=s", "last: " },
        { "?last=1.5s", "last: " },       { "?last=-1s", "last: " },
        { "?last=1ss", "last: " },        { "?first=1", "first: unknown" },
        { "?format=csv&=", ": unknown" }, { "?FORMAT=csv", "FORMAT: unknown" },
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(ask_trace("", a.id, bad[i][0]), 400);
        assert_string_equal(error_code(), "invalid_argument");
        assert_int_equal(strncmp(error_message(), bad[i][1], strlen(bad[i][1])), 0);
        assert_string_equal(res.save_as, "");
    }
    assert_int_equal(ask_trace("", "id9", ""), 404);
    assert_string_equal(error_code(), "no_such_session");
    char path[128];
    snprintf(path, sizeof(path), "/api/v1/sessions/%s/trace", a.id);
    assert_int_equal(ask("", "DELETE", path, ""), 405);
    assert_string_equal(res.allow, "GET, HEAD");
    assert_int_equal(ask("", "HEAD", path, ""), 200);
    snprintf(path, sizeof(path), "/api/v1/sessions/%s/trace/", a.id);
    assert_int_equal(ask("", "GET", path, ""), 404);
}

// However much there is to write: the loop only copies.
static void test_loop_time(void **state)
{
    enum { TRIES = 9, FRAMES = FW_RECORDS_KEPT };
    (void)state;
    struct made a = make("");
    record_one_frame();
    for (uint64_t id = 2; id <= FRAMES; id++) {
        const struct fw_packet packet = { .frame_id = id,
                                          .times = { .begun_ns = now - 5, .picked_ns = now } };
        fw_records_publish(fake.records, &packet, &(struct fw_record_viewer){ .serial = 1 }, now);
    }
    char path[128];
    snprintf(path, sizeof(path), "/api/v1/sessions/%s/trace", a.id);
    const struct fw_http_request req = { .method = "GET",
                                         .path = path,
                                         .query = "format=perfetto&last=600s",
                                         .bearer = "",
                                         .content_type = "",
                                         .body = "" };
    int64_t least = INT64_MAX, whole = 0;
    for (int i = 0; i < TRIES; i++) {
        struct fw_http_response answer_here = { 0 };
        const int64_t begin = cpu_ns();
        fw_api_http(api, &req, now, &answer_here);
        const int64_t took = cpu_ns() - begin;
        least = took < least ? took : least;
        assert_non_null(answer_here.work);
        assert_null(answer_here.body);
        answer_here.work->run(answer_here.work, &answer_here);
        whole = cpu_ns() - begin;
        assert_int_equal(answer_here.status, 200);
        assert_true(answer_here.body_size > FRAMES * 100);
        free(answer_here.body - FW_HTTP_HEADROOM);
        answer_here.work->free(answer_here.work);
    }
    print_message("on the loop %.3f ms, in all %.3f ms of CPU\n", (double)least / 1e6,
                  (double)whole / 1e6);
    assert_true(least < FW_NS_PER_MS || least < whole / 3); // the latter under sanitizers
}

static void test_trace_credentials(void **state)
{
    (void)state;
    struct made a = make(ALICE), b = make(BOB);
    record_one_frame();
    assert_int_equal(ask_trace(ALICE, a.id, ""), 200);
    assert_int_equal(ask_trace(a.token, a.id, "?format=csv"), 200);
    assert_int_equal(ask_trace(a.token, b.id, ""), 404);
    assert_int_equal(ask_trace(ALICE, b.id, "?format=xml"), 404); // what exists is not told
    static const char *const bad[] = { "", "null", "x" };
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ask_trace(bad[i], a.id, ""), 401);
        assert_int_equal(ask_trace(bad[i], "id9", "?format=xml"), 401);
        assert_string_equal(error_code(), "unauthorized");
    }
    assert_int_equal(ask_trace(a.code, a.id, ""), 401);
}

static void test_figures(void **state)
{
    (void)state;
    struct made a = make(ALICE), b = make(BOB);
    char path[128];
    record_one_frame();
    assert_int_equal(ask(ALICE, "GET", "/api/v1/sessions?figures=1", ""), 200);
    const json_t *list = json_object_get(answer, "sessions");
    assert_int_equal(json_array_size(list), 1); // not those of others
    const json_t *figures = json_object_get(json_array_get(list, 0), "figures");
    assert_true(json_real_value(json_object_get(figures, "lastS")) >= 1);
    assert_int_equal(json_integer_value(json_object_get(figures, "dropped")), 1);
    assert_true(json_is_real(json_object_get(figures, "fps")));
    assert_true(json_is_null(json_object_get(json_object_get(figures, "ageMs"), "p50")));
    assert_int_equal(ask(ALICE, "GET", "/api/v1/sessions", ""), 200);
    const json_t *plain = json_array_get(json_object_get(answer, "sessions"), 0);
    assert_null(json_object_get(plain, "figures"));
    assert_int_equal(ask(ALICE, "GET", "/api/v1/sessions?figures=yes", ""), 400);
    assert_string_equal(error_code(), "invalid_argument");
    snprintf(path, sizeof(path), "/api/v1/sessions/%s/figures", a.id);
    assert_int_equal(ask(ALICE, "GET", path, ""), 200);
    assert_int_equal(json_array_size(json_object_get(answer, "frames")), 1);
    assert_int_equal(ask(a.token, "GET", path, ""), 200);
    assert_int_equal(ask(b.token, "GET", path, ""), 404);
    assert_int_equal(ask("", "GET", path, ""), 401);
    assert_int_equal(ask(ALICE, "DELETE", path, ""), 405);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPEN(test_trace),
        OPEN(test_loop_time),
        TOKENS(test_trace_credentials),
        TOKENS(test_figures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
