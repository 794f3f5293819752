// SPDX-License-Identifier: MIT
// The API against a manager that only remembers: every endpoint with every kind of credential, and
// what a request must look like.
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

static void test_create_and_watch(void **state)
{
    (void)state;
    char path[128], want[128];
    struct made m = make("");
    snprintf(want, sizeof(want), "/s/%s#", m.id);
    assert_int_equal(strncmp(m.page, want, strlen(want)), 0);
    assert_int_equal(strlen(m.code), 32);
    snprintf(want, sizeof(want), "/s/%s/ws", m.id);
    assert_string_equal(m.ws, want);
    assert_int_equal(strlen(m.token), 64);

    snprintf(path, sizeof(path), "/api/v1/sessions/%s", m.id);
    assert_int_equal(ask("", "GET", path, ""), 200);
    assert_string_equal(text_of("state"), "running");
    assert_string_equal(text_of("created"), "1970-01-02T00:00:00Z");
    assert_int_equal(json_integer_value(json_object_get(answer, "width")), 1280);
    assert_int_equal(json_integer_value(json_object_get(answer, "fps")), 60);
    assert_null(strstr(res.body, m.token)); // secrets are told once
    assert_null(strstr(res.body, m.code));
    assert_int_equal(ask("", "HEAD", path, ""), 200);
    assert_int_equal(ask("", "GET", "/api/v1/sessions", ""), 200);
    assert_int_equal(json_array_size(json_object_get(answer, "sessions")), 1);
    assert_null(strstr(res.body, m.token));
    assert_int_equal(ask("", "DELETE", path, ""), 204);
    assert_null(res.body);
    assert_int_equal(ask("", "DELETE", path, ""), 404);
    assert_string_equal(error_code(), "no_such_session");
    assert_int_equal(ask("", "GET", path, ""), 404);
}

static void test_sources(void **state)
{
    (void)state;
    assert_int_equal(ask("", "GET", "/api/v1/sources", ""), 200);
    json_t *list = json_object_get(answer, "sources");
    assert_int_equal(json_array_size(list), 3);
    static const char *const kinds[] = { "demo", "testcard", "model" };
    for (size_t i = 0; i < 3; i++) {
        json_t *one = json_array_get(list, i);
        assert_string_equal(json_string_value(json_object_get(one, "kind")), kinds[i]);
        assert_true(json_is_object(json_object_get(one, "args")));
        assert_true(json_is_object(json_object_get(one, "options")));
        assert_true(json_is_string(json_object_get(one, "title")));
    }
    json_t *duck = json_array_get(list, 2);
    assert_string_equal(json_string_value(json_object_get(duck, "file")), "Duck.glb");
    assert_int_equal(json_integer_value(json_object_get(duck, "bytes")), 4);
    assert_string_equal(json_string_value(json_object_get(json_object_get(duck, "args"), "model")),
                        "Duck.glb");
    assert_string_equal(text_of("version"), FW_VERSION);
}

// What a card says can be posted as it stands; the worker gets a path, the user sees a name.
static void test_model(void **state)
{
    (void)state;
    assert_int_equal(ask("", "POST", "/api/v1/sessions",
                         "{\"source\":\"scene\",\"args\":{\"model\":\"Duck.glb\"},\"width\":16,"
                         "\"height\":2160,\"fps\":240}"),
                     201);
    const struct fw_session_request *r = &fake.session[0].request;
    assert_int_equal(r->arg_count, 1);
    assert_string_equal(r->shown[0].value, "Duck.glb");
    assert_int_equal(r->args[0].value[0], '/');
    assert_non_null(strstr(r->args[0].value, "/Duck.glb"));
    assert_string_equal(r->args[0].key, "model");
    assert_int_equal(r->width, 16);
    assert_int_equal(r->height, 2160);
    assert_int_equal(r->fps, 240);
    assert_int_equal(ask("", "GET", "/api/v1/sessions/id0", ""), 200);
    assert_null(strstr(res.body, models_dir)); // where the folder lies is nobody's business
}

static void test_bad_requests(void **state)
{
    (void)state;
    static const struct {
        const char *body, *field;
    } rows[] = {
        { "", "body" },
        { "{", "body" },
        { "[]", "body" },
        { "null", "body" },
        { "{\"source\":\"scene\",\"source\":\"scene\"}", "body" },
        { "{}", "source" },
        { "{\"source\":1}", "source" },
        { "{\"source\":\"\"}", "source" },
        { "{\"source\":\"Scene\"}", "source" },
        { "{\"source\":\"../scene\"}", "source" },
        { "{\"source\":\"scene\\u0000\"}", "body" },
        { "{\"source\":\"scene\",\"args\":[]}", "args" },
        { "{\"source\":\"scene\",\"args\":{\"model\":1}}", "args.model" },
        { "{\"source\":\"scene\",\"args\":{\"model\":\"\"}}", "args.model" },
        { "{\"source\":\"scene\",\"args\":{\"model\":\"../tokens\"}}", "args.model" },
        { "{\"source\":\"scene\",\"args\":{\"model\":\"tokens\"}}", "args.model" },
        { "{\"source\":\"scene\",\"args\":{\"model\":\"/etc/passwd\"}}", "args.model" },
        { "{\"source\":\"scene\",\"args\":{\"model\":\"%2e%2e/Duck.glb\"}}", "args.model" },
        { "{\"source\":\"scene\",\"args\":{\"models\":\"Duck.glb\"}}", "args.models" },
        { "{\"source\":\"testcard\",\"args\":{\"model\":\"Duck.glb\"}}", "args.model" },
        { "{\"source\":\"scene\",\"width\":0}", "width" },
        { "{\"source\":\"scene\",\"width\":15}", "width" },
        { "{\"source\":\"scene\",\"width\":3841}", "width" },
        { "{\"source\":\"scene\",\"width\":\"640\"}", "width" },
        { "{\"source\":\"scene\",\"width\":640.5}", "width" },
        { "{\"source\":\"scene\",\"height\":2161}", "height" },
        { "{\"source\":\"scene\",\"height\":-1}", "height" },
        { "{\"source\":\"scene\",\"fps\":0}", "fps" },
        { "{\"source\":\"scene\",\"fps\":241}", "fps" },
        { "{\"source\":\"scene\",\"fps\":99999999999999999999}", "body" },
        { "{\"source\":\"scene\",\"speed\":1}", "speed" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const int status = ask("", "POST", "/api/v1/sessions", rows[i].body);
        if (status != 400 || strcmp(error_code(), "invalid_argument") != 0 ||
            strncmp(error_message(), rows[i].field, strlen(rows[i].field)) != 0)
            fail_msg("%s: %d %s", rows[i].body, status, error_message());
    }
    assert_int_equal(fake.made, 0);
    char *huge = malloc(3000);
    snprintf(huge, 3000, "{\"source\":\"scene\",\"args\":{\"model\":\"%02000d\"}}", 0);
    assert_int_equal(ask("", "POST", "/api/v1/sessions", huge), 400);
    free(huge);
}

static void test_media_types(void **state)
{
    (void)state;
    static const char *const bad[] = { "", "text/plain", "application/jsonx",
                                       "application/x-www-form-urlencoded" };
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(ask_as("", bad[i], "POST", "/api/v1/sessions", "{\"source\":\"scene\"}"),
                         415);
        assert_string_equal(error_code(), "unsupported_media_type");
    }
    assert_int_equal(ask_as("", "Application/JSON; charset=utf-8", "POST", "/api/v1/sessions",
                            "{\"source\":\"scene\"}"),
                     201);
}

static void test_methods(void **state)
{
    (void)state;
    make("");
    static const struct {
        const char *method, *path;
    } rows[] = {
        { "POST", "/api/v1/sources" },
        { "DELETE", "/api/v1/sources" },
        { "PUT", "/api/v1/sessions" },
        { "DELETE", "/api/v1/sessions" },
        { "POST", "/api/v1/sessions/id0" },
        { "PUT", "/api/v1/sessions/id0" },
        { "GET", "/api/v1/sessions/id0/exchange" },
        { "POST", "/healthz" },
        { "POST", "/readyz" },
        { "POST", "/s/id0" },
        { "PUT", "/api/v1/openapi.yaml" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (ask("", rows[i].method, rows[i].path, "{}") != 405)
            fail_msg("%s %s: %d", rows[i].method, rows[i].path, res.status);
        else if (!res.allow || strstr(res.allow, rows[i].method))
            fail_msg("%s %s: allow %s", rows[i].method, rows[i].path, res.allow);
    static const char *const nowhere[] = { "/api/v1/",  "/api/v1/session", "/api/v1/sessions/id0/x",
                                           "/api/v2/x", "/api/",           "/s/",
                                           "/s/id0/x",  "/nothing",        "/api/v1/sources/" };
    for (size_t i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++)
        if (ask("", "GET", nowhere[i], "") != 404)
            fail_msg("%s: %d", nowhere[i], res.status);
}

static void test_seats(void **state)
{
    (void)state;
    for (int i = 0; i < FAKE_ROOM; i++)
        make("");
    assert_int_equal(ask("", "POST", "/api/v1/sessions", "{\"source\":\"testcard\"}"), 503);
    assert_string_equal(error_code(), "max_sessions");
    assert_true(res.retry_after_s > 0);
    assert_int_equal(ask("", "DELETE", "/api/v1/sessions/id2", ""), 204);
    make("");
    fake.draining = true;
    assert_int_equal(ask("", "POST", "/api/v1/sessions", "{\"source\":\"testcard\"}"), 503);
    assert_string_equal(error_code(), "draining");
    assert_int_equal(ask("", "GET", "/healthz", ""), 200);
    assert_int_equal(ask("", "GET", "/readyz", ""), 503);
    assert_string_equal(text_of("reason"), "draining");
    assert_true(res.retry_after_s > 0);
}

static void test_pages(void **state)
{
    (void)state;
    make("");
    assert_int_equal(ask("", "GET", "/s/id0", ""), 200);
    assert_string_equal(res.file, "session.html");
    assert_int_equal(ask("", "GET", "/s/id9", ""), 404);
    assert_string_equal(res.file, "404.html");
}

static void test_openapi(void **state)
{
    (void)state;
    static const char *const paths[] = { "/api/v1/sources:",
                                         "/api/v1/sessions:",
                                         "/api/v1/sessions/{id}:",
                                         "/api/v1/sessions/{id}/exchange:",
                                         "/api/v1/machine:",
                                         "/metrics:",
                                         "/healthz:",
                                         "/readyz:" };
    assert_int_equal(ask("", "GET", "/api/v1/openapi.yaml", ""), 200);
    assert_string_equal(res.content_type, "application/yaml");
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        assert_non_null(strstr(res.body, paths[i]));
    assert_non_null(strstr(res.body, "\"201\":"));
}

static json_t *under(const char *a, const char *b)
{
    return json_object_get(json_object_get(answer, a), b);
}

// What is unknown is null, and null only what is unknown.
static void test_machine(void **state)
{
    (void)state;
    struct fw_machine m;
    assert_int_equal(ask("", "GET", "/api/v1/machine", ""), 200);
    assert_true(json_is_null(json_object_get(answer, "sample_age_ms")));
    assert_true(json_is_null(under("cpu", "cores")) && json_is_null(under("cpu", "used_cores")));
    assert_true(json_is_null(under("memory", "total_bytes")));
    assert_true(json_is_null(under("process", "cpu_seconds")));
    assert_int_equal(json_array_size(json_object_get(answer, "gpus")), 0);
    fw_machine_clear(&m);
    m.sampled_ns = now - 250 * (int64_t)FW_NS_PER_MS;
    m.cores = 8;
    m.used_cores = 1.23456;
    struct fw_machine_gpu *gpu = fw_machine_add_gpu(&m, "nvidia");
    strcpy(gpu->name, "One");
    gpu->use = 0.5;
    gpu->throttle_known = true;
    gpu->throttle = 1 << FW_THROTTLE_THERMAL;
    strcpy(fw_machine_add_gpu(&m, "software")->name, "Two \xff"); // no UTF-8
    fake.machine = &m;
    assert_int_equal(ask("", "GET", "/api/v1/machine", ""), 200);
    assert_non_null(strstr(res.body, "\"sample_age_ms\":250"));
    assert_non_null(strstr(res.body, "\"cores\":8,\"used_cores\":1.235"));
    assert_non_null(strstr(res.body, "\"name\":\"One\",\"uuid\":null,\"pci\":null,"
                                     "\"kind\":\"nvidia\",\"use\":0.5,"
                                     "\"memory_used_bytes\":null"));
    assert_non_null(strstr(res.body, "\"throttle\":[\"thermal\"]"));
    assert_non_null(strstr(res.body, "{\"name\":null,"));
    assert_int_equal(ask("", "POST", "/api/v1/machine", ""), 405);
}

// The node's affairs are for those of the file.
static void test_machine_access(void **state)
{
    (void)state;
    const struct made m = make(ALICE);
    assert_int_equal(ask(ALICE, "GET", "/api/v1/machine", ""), 200);
    assert_int_equal(ask(BOB, "GET", "/api/v1/machine", ""), 200);
    assert_int_equal(ask(m.token, "GET", "/api/v1/machine", ""), 403);
    assert_string_equal(error_code(), "forbidden");
    assert_int_equal(ask(ALICE, "GET", "/metrics", ""), 200);
    assert_string_equal(res.content_type, "text/plain; version=0.0.4; charset=utf-8");
    assert_int_equal(ask(m.token, "GET", "/metrics", ""), 403);
    assert_int_equal(ask("", "GET", "/metrics", ""), 401);
    assert_int_equal(ask(ALICE, "POST", "/metrics", ""), 405);
}

// Each endpoint with each bad credential: 401 and nothing else, the same bytes each time.
static void test_bad_credentials(void **state)
{
    (void)state;
    struct made m = make(ALICE);
    char path[128], half[80], code[80];
    snprintf(path, sizeof(path), "/api/v1/sessions/%s", m.id);
    snprintf(half, sizeof(half), "%.60s", m.token);
    snprintf(code, sizeof(code), "%s", m.code);
    const char *const bad[] = { "",
                                "null",
                                "undefined",
                                "Bearer " ALICE,
                                "alice",
                                "*",
                                half,
                                code,
                                "alice-alice-alic",
                                ALICE "x",
                                "ALICE-ALICE-ALICE",
                                m.id };
    const struct {
        const char *method, *path;
    } rows[] = {
        { "GET", "/api/v1/sources" },
        { "GET", "/api/v1/sessions" },
        { "POST", "/api/v1/sessions" },
        { "GET", path },
        { "DELETE", path },
        { "GET", "/api/v1/sessions/id99" },
        { "DELETE", "/api/v1/sessions/id99" },
        { "GET", "/api/v1/machine" },
        { "GET", "/metrics" },
        { "GET", "/api/v1/openapi.yaml" },
        { "GET", "/api/v1/nothing" },
        { "PUT", path },
    };
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++)
        for (size_t b = 0; b < sizeof(bad) / sizeof(bad[0]); b++) {
            const int status = ask(bad[b], rows[r].method, rows[r].path, "{\"source\":\"scene\"}");
            if (status != 401 || strcmp(error_code(), "unauthorized") != 0)
                fail_msg("%s %s with '%s': %d", rows[r].method, rows[r].path, bad[b], status);
        }
    assert_int_equal(fake.made, 1);
    assert_int_equal(ask(ALICE, "GET", path, ""), 200); // still there
    // No token: the page asks itself, and does not say whether the session exists.
    assert_int_equal(ask("", "GET", "/s/id0", ""), 200);
    assert_int_equal(ask("", "GET", "/s/id9", ""), 200);
    assert_string_equal(res.file, "session.html");
    assert_int_equal(ask("", "GET", "/healthz", ""), 200);
    assert_int_equal(ask("", "GET", "/readyz", ""), 200);
}

// Others' sessions look like none.
static void test_foreign(void **state)
{
    (void)state;
    struct made a = make(ALICE), b = make(BOB);
    const char *const foreign[][2] = { { BOB, a.id },     { ALICE, b.id },   { a.token, b.id },
                                       { b.token, a.id }, { ALICE, "id99" }, { a.token, "id99" } };
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
        char path[128];
        snprintf(path, sizeof(path), "/api/v1/sessions/%s", foreign[i][1]);
        assert_int_equal(ask(foreign[i][0], "GET", path, ""), 404);
        assert_string_equal(error_code(), "no_such_session");
        assert_string_equal(error_message(), "there is no such session");
        assert_int_equal(ask(foreign[i][0], "DELETE", path, ""), 404);
    }
    const char *const sees_a[] = { ALICE, a.token };
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ask(sees_a[i], "GET", "/api/v1/sessions", ""), 200);
        json_t *list = json_object_get(answer, "sessions");
        assert_int_equal(json_array_size(list), 1);
        assert_string_equal(json_string_value(json_object_get(json_array_get(list, 0), "id")),
                            a.id);
    }
    assert_int_equal(ask(a.token, "POST", "/api/v1/sessions", "{\"source\":\"scene\"}"), 403);
    char path[128];
    snprintf(path, sizeof(path), "/api/v1/sessions/%s", a.id);
    assert_int_equal(ask(a.token, "DELETE", path, ""), 204);
    assert_int_equal(ask(a.token, "GET", "/api/v1/sessions", ""), 401); // it died with its session
}

static int exchange(const char *id, const char *code)
{
    char path[128], body[160];
    snprintf(path, sizeof(path), "/api/v1/sessions/%s/exchange", id);
    snprintf(body, sizeof(body), "{\"code\":\"%s\"}", code);
    return ask("", "POST", path, body);
}

static void test_exchange(void **state)
{
    (void)state;
    struct made a = make(ALICE), b = make(ALICE), c = make(ALICE);
    static const char *const bad[] = { "", "null", "00000000000000000000000000000000" };
    for (int i = 0; i < 3; i++) {
        assert_int_equal(exchange(a.id, bad[i]), 401);
        assert_string_equal(error_code(), "invalid_code");
    }
    assert_int_equal(exchange(a.id, b.code), 401);
    assert_int_equal(exchange("id99", a.code), 401);
    assert_int_equal(exchange(a.id, a.token), 401);
    now = (int64_t)FW_CODE_LIFE_S * FW_NS_PER_S - 1;
    assert_int_equal(exchange(a.id, a.code), 200);
    assert_string_equal(text_of("token"), a.token);
    assert_int_equal(exchange(a.id, a.code), 401); // once
    assert_int_equal(exchange(b.id, b.code), 200); // the wrong tries did not spend it
    now++;
    assert_int_equal(exchange(c.id, c.code), 401); // late
    char path[128];
    snprintf(path, sizeof(path), "/api/v1/sessions/%s/exchange", c.id);
    assert_int_equal(ask("", "POST", path, "{}"), 400);
    assert_int_equal(ask("", "POST", path, "{\"code\":7}"), 400);
    assert_int_equal(ask_as("", "text/plain", "POST", path, "{\"code\":\"x\"}"), 415);
}

static void test_admit(void **state)
{
    (void)state;
    struct made a = make(ALICE);
    const char *message;
    assert_int_equal(fw_api_admit(api, a.id, a.token, &message), FW_OK);
    assert_int_equal(fw_api_admit(api, a.id, ALICE, &message), FW_OK);
    assert_int_equal(fw_api_admit(api, a.id, BOB, &message), FW_ERR_NOT_FOUND);
    assert_int_equal(fw_api_admit(api, "id99", ALICE, &message), FW_ERR_NOT_FOUND);
    static const char *const bad[] = { "", "null", "x" };
    for (int i = 0; i < 3; i++) {
        assert_int_equal(fw_api_admit(api, a.id, bad[i], &message), FW_ERR_DENIED);
        assert_int_equal(fw_api_admit(api, "id99", bad[i], &message), FW_ERR_DENIED);
        assert_non_null(message);
    }
    assert_int_equal(fw_api_admit(api, a.id, a.code, &message), FW_ERR_DENIED);
}

static void test_admit_open(void **state)
{
    (void)state;
    struct made a = make("");
    const char *message;
    assert_int_equal(fw_api_admit(api, a.id, "", &message), FW_OK);
    assert_int_equal(fw_api_admit(api, a.id, "stale", &message), FW_OK);
    assert_int_equal(fw_api_admit(api, "id99", "", &message), FW_ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OPEN(test_create_and_watch),
        OPEN(test_sources),
        OPEN(test_model),
        OPEN(test_bad_requests),
        OPEN(test_media_types),
        OPEN(test_methods),
        OPEN(test_seats),
        OPEN(test_pages),
        OPEN(test_openapi),
        OPEN(test_machine),
        TOKENS(test_machine_access),
        OPEN(test_admit_open),
        TOKENS(test_bad_credentials),
        TOKENS(test_foreign),
        TOKENS(test_exchange),
        TOKENS(test_admit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
