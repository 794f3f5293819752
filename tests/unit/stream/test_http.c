// SPDX-License-Identifier: MIT
// HTTP as raw bytes: files, escapes, headers on every answer, Host and Origin, bodies, upgrades.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pthread.h>

#include <cmocka.h>

#include "fake_host.h"

static struct host host;
static char answer[512 << 10];

static int raw(const char *request, size_t size)
{
    const struct fw_client_params p = host_client(&host, "/");
    int status = 0;
    if (fw_client_http(&p, request, size, answer, sizeof(answer)))
        return -1;
    return sscanf(answer, "HTTP/1.%*d %d", &status) == 1 ? status : 0;
}

// `more`: header lines. NULL host header: the right one.
static int request(const char *method, const char *path, const char *host_header, const char *more,
                   const char *body)
{
    static char text[80 << 10];
    char right[64];
    snprintf(right, sizeof(right), "127.0.0.1:%d", host.port);
    const int n =
        snprintf(text, sizeof(text), "%s %s HTTP/1.1\r\nHost: %s\r\n%s\r\n%s", method, path,
                 host_header ? host_header : right, more ? more : "", body ? body : "");
    return raw(text, (size_t)n);
}

static int get(const char *path)
{
    return request("GET", path, NULL, NULL, NULL);
}

static const char *body(void)
{
    const char *end = strstr(answer, "\r\n\r\n");
    return end ? end + 4 : "";
}

// The value of a header in `answer`; "" when absent.
static const char *header(const char *name)
{
    static char value[1024];
    char key[64];
    snprintf(key, sizeof(key), "\r\n%s: ", name);
    const char *at = strcasestr(answer, key);
    value[0] = '\0';
    if (at) {
        at += strlen(key);
        snprintf(value, sizeof(value), "%.*s", (int)strcspn(at, "\r\n"), at);
    }
    return value;
}

static void check_security_headers(void)
{
    assert_string_equal(header("cross-origin-opener-policy"), "same-origin");
    assert_string_equal(header("cross-origin-embedder-policy"), "require-corp");
    assert_string_equal(header("cross-origin-resource-policy"), "same-origin");
    assert_string_equal(header("x-content-type-options"), "nosniff");
    assert_string_equal(header("referrer-policy"), "no-referrer");
    assert_string_equal(header("cache-control"), "no-cache");
    assert_non_null(strstr(header("permissions-policy"), "fullscreen=(self)"));
    assert_non_null(strstr(header("content-security-policy"), "frame-ancestors 'none'"));
    assert_non_null(strstr(header("content-security-policy"), "default-src 'self'"));
    assert_null(strstr(header("content-security-policy"), "unsafe"));
}

static void test_files(void **state)
{
    (void)state;
    assert_int_equal(get("/"), 200);
    assert_string_equal(header("content-type"), "text/html; charset=utf-8");
    assert_non_null(strstr(body(), "<title>start"));
    assert_int_equal(get("/lib/wire.js"), 200);
    assert_string_equal(header("content-type"), "text/javascript; charset=utf-8");
    assert_int_equal(get("/lib/wire.js?v=1&w"), 200);
    assert_int_equal(get("/s/abc"), 200);
    assert_non_null(strstr(body(), "<title>session"));
    assert_int_equal(get("/big.css"), 200);
    assert_int_equal(strspn(body(), "x"), 300000);
    assert_int_equal(get("/healthz"), 200);
    assert_string_equal(body(), "ok\n");
    assert_int_equal(get("/nothing.js"), 404);
    assert_int_equal(get("/lib"), 404);
    assert_int_equal(get("/lib/"), 404);
}

// It lies elsewhere, behind a symbolic link as in Debian, and may be installed while the server
// runs.
static void test_chart_js(void **state)
{
    (void)state;
    char file[128], link[128];
    snprintf(file, sizeof(file), "%s/chart.js", host.dir);
    snprintf(link, sizeof(link), "%s/Chart.min.js", host.dir);
    assert_int_equal(get("/vendor/chart.js"), 404);
    assert_non_null(strstr(body(), "install libjs-chart.js, or start the server with --chart-js"));
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    fputs("var Chart;\n", f);
    fclose(f);
    assert_int_equal(symlink("chart.js", link), 0);
    assert_int_equal(get("/vendor/chart.js"), 200);
    assert_string_equal(header("content-type"), "text/javascript; charset=utf-8");
    assert_string_equal(body(), "var Chart;\n");
    check_security_headers();
    assert_int_equal(get("/vendor/secret.txt"), 404);
    assert_int_equal(get("/vendor/"), 404);
    unlink(link);
    unlink(file);
    assert_int_equal(get("/vendor/chart.js"), 404);
}

static void test_validators(void **state)
{
    (void)state;
    char etag[128], modified[128], more[300];
    assert_int_equal(get("/lib/wire.js"), 200);
    snprintf(etag, sizeof(etag), "%s", header("etag"));
    snprintf(modified, sizeof(modified), "%s", header("last-modified"));
    assert_true(etag[0] == '"' && modified[0]);
    snprintf(more, sizeof(more), "If-None-Match: %s\r\nConnection: close\r\n", etag);
    assert_int_equal(request("GET", "/lib/wire.js", NULL, more, NULL), 304);
    assert_string_equal(body(), "");
    check_security_headers();
    snprintf(more, sizeof(more), "If-Modified-Since: %s\r\nConnection: close\r\n", modified);
    assert_int_equal(request("GET", "/lib/wire.js", NULL, more, NULL), 304);
    assert_int_equal(request("GET", "/lib/wire.js", NULL, "If-None-Match: \"x\"\r\n", NULL), 200);
    assert_int_equal(request("HEAD", "/big.css", NULL, "Connection: close\r\n", NULL), 200);
    assert_string_equal(header("content-length"), "300000");
    assert_string_equal(body(), "");
}

static void test_headers_everywhere(void **state)
{
    (void)state;
    static const struct {
        const char *method, *path, *more;
        int status;
    } cases[] = {
        { "GET", "/", NULL, 200 },
        { "GET", "/lib/wire.js", NULL, 200 },
        { "GET", "/s/abc", NULL, 200 },
        { "GET", "/healthz", NULL, 200 },
        { "GET", "/nothing", NULL, 404 },
        { "GET", "/api/v1/nothing", NULL, 404 },
        { "GET", "/api/v1/busy", NULL, 503 },
        { "OPTIONS", "/", NULL, 405 },
        { "PATCH", "/api/v1/echo", "Content-Length: 0\r\n", 405 },
        { "POST", "/", "Content-Length: 0\r\n", 405 },
        { "DELETE", "/lib/wire.js", NULL, 405 },
        { "POST", "/api/v1/echo", "Content-Length: 0\r\n", 201 },
        { "POST", "/api/v1/echo", NULL, 411 },
        { "POST", "/api/v1/echo", "Content-Length: 65537\r\n", 413 },
        { "POST", "/api/v1/echo", "Content-Length: 99999999999999999999\r\n", 413 },
        { "POST", "/api/v1/echo", "Content-Length: -1\r\n", 400 },
        { "POST", "/api/v1/echo", "Transfer-Encoding: chunked\r\n", 501 },
        { "GET", "/", "Origin: http://evil.example\r\n", 403 },
        { "GET", "/s/s1/ws", "Upgrade: websocket\r\nConnection: Upgrade\r\n", 426 },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const int status = request(cases[i].method, cases[i].path, NULL, cases[i].more, NULL);
        if (status != cases[i].status)
            fail_msg("%s %s %s: %d, not %d", cases[i].method, cases[i].path,
                     cases[i].more ? cases[i].more : "", status, cases[i].status);
        check_security_headers();
        if (status >= 400 && status != 404)
            assert_non_null(strstr(answer, status == 503 ? "" : "\"error\""));
        if (status == 405)
            assert_true(strlen(header("allow")) > 0);
    }
    assert_int_equal(get("/api/v1/posted"), 405);
    assert_string_equal(header("allow"), "POST");
    assert_int_equal(request("PUT", "/api/v1/echo", NULL, "Content-Length: 0\r\n", NULL), 201);
    assert_string_equal(header("location"), "/api/v1/echo/1");
    assert_int_equal(get("/api/v1/busy"), 503);
    assert_string_equal(header("retry-after"), "7");
}

// Nothing outside the root, hidden, or behind a link is ever served.
static void test_path_escapes(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "/../secret.txt",
        "/../../../../../../etc/passwd",
        "/./../secret.txt",
        "/lib/../../secret.txt",
        "/lib/../../../etc/passwd",
        "/lib/..",
        "/..",
        "/../",
        "/.../secret.txt",
        "/....//secret.txt",
        "/%2e%2e/secret.txt",
        "/%2e%2e%2fsecret.txt",
        "/%2E%2E%2Fsecret.txt",
        "/..%2fsecret.txt",
        "/..%2F..%2F..%2Fetc%2Fpasswd",
        "/.%2e/secret.txt",
        "/%2e./secret.txt",
        "/%252e%252e/secret.txt",
        "/%252e%252e%252fsecret.txt",
        "/.%252e/secret.txt",
        "/..%252fsecret.txt",
        "/%25252e%25252e/secret.txt",
        "/..%5csecret.txt",
        "/..\\secret.txt",
        "/lib\\..\\..\\secret.txt",
        "/%5c..%5csecret.txt",
        "//secret.txt",
        "//etc/passwd",
        "///etc/passwd",
        "/%2fetc/passwd",
        "/%2f%2fetc/passwd",
        "/lib/%2e%2e/%2e%2e/secret.txt",
        "/lib//../../secret.txt",
        "/lib/./../../secret.txt",
        "/lib/wire.js/../../../secret.txt",
        "/link.txt",
        "/lib/../link.txt",
        "/.hidden",
        "/lib/../.hidden",
        "/%2ehidden",
        "/secret.txt%00.js",
        "/%00/../secret.txt",
        "/lib/wire.js%00",
        "/%c0%ae%c0%ae/secret.txt",
        "/%c0%ae%c0%ae%c0%afsecret.txt",
        "/..;/secret.txt",
        "/;/../secret.txt",
        "/..%0d%0a/secret.txt",
        "/%0a../secret.txt",
        "/lib/..?/../secret.txt",
        "/s/../../secret.txt",
        "/s/..%2f..%2fsecret.txt",
        "/api/../../secret.txt",
        "/api/v1/..%2f..%2f..%2fsecret.txt",
        "http://127.0.0.1/../secret.txt",
        "file:///etc/passwd",
        "../secret.txt",
        "secret.txt",
        "/dev/null",
        "/proc/self/environ",
    };
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        const int status = get(paths[i]);
        if (strstr(answer, "SECRET") || strstr(answer, "root:"))
            fail_msg("%s leaks", paths[i]);
        // Some normalise to a page of ours ("/.." is "/"); none is anything else.
        if (status == 200 && !strstr(body(), "<title>"))
            fail_msg("%s gives something", paths[i]);
        if (status > 0)
            check_security_headers();
    }
    assert_int_equal(get("/"), 200); // still there
}

static void test_host_and_origin(void **state)
{
    (void)state;
    char same[64], other[64];
    snprintf(same, sizeof(same), "Origin: http%s://127.0.0.1:%d\r\n", host.tls ? "s" : "",
             host.port);
    snprintf(other, sizeof(other), "Origin: http%s://127.0.0.1:%d\r\n", host.tls ? "s" : "",
             host.port + 1);
    static const char *const routes[] = { "/", "/s/abc", "/api/v1/echo", "/lib/wire.js" };
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
        assert_int_equal(request("GET", routes[i], "evil.example", NULL, NULL), 403);
        assert_int_equal(request("GET", routes[i], "127.0.0.1.evil.example", NULL, NULL), 403);
        assert_true(request("GET", routes[i], NULL, same, NULL) < 300);
        assert_int_equal(request("GET", routes[i], NULL, other, NULL), 403);
        assert_int_equal(request("GET", routes[i], NULL, "Origin: null\r\n", NULL), 403);
        assert_int_equal(request("GET", routes[i], NULL, "Origin: \r\n", NULL) < 300, 1);
        assert_true(request("GET", routes[i], "view.example", "Origin: https://view.example\r\n",
                            NULL) < 300);
    }
    assert_int_equal(request("POST", "/api/v1/echo", NULL,
                             "Origin: http://evil.example\r\nContent-Length: 2\r\n", "{}"),
                     403);
    // A probe may call us by any name; it learns nothing.
    assert_int_equal(request("GET", "/healthz", "10.1.2.3", NULL, NULL), 200);
    const char *bare = "GET / HTTP/1.0\r\n\r\n";
    assert_int_equal(raw(bare, strlen(bare)), 403);
}

static void test_bodies(void **state)
{
    (void)state;
    static char big[FW_HTTP_BODY_MAX + 1], more[100];
    assert_int_equal(request("POST", "/api/v1/echo?a=1&b=2", NULL,
                             "Content-Length: 7\r\nContent-Type: application/json\r\n"
                             "Authorization: Bearer tok-en\r\n",
                             "{\"a\":1}"),
                     201);
    assert_string_equal(body(), "{\"method\":\"POST\",\"query\":\"a=1&b=2\",\"bearer\":\"tok-en\","
                                "\"type\":\"application/json\",\"size\":7}");
    memset(big, 'b', FW_HTTP_BODY_MAX);
    snprintf(more, sizeof(more), "Content-Length: %d\r\n", FW_HTTP_BODY_MAX);
    assert_int_equal(request("POST", "/api/v1/echo", NULL, more, big), 201);
    assert_non_null(strstr(body(), "\"size\":65536"));
    assert_int_equal(request("DELETE", "/api/v1/echo", NULL, "Content-Length: 2\r\n", "xx"), 201);
    assert_non_null(strstr(body(), "\"method\":\"DELETE\""));
    assert_int_equal(request("PUT", "/api/v1/echo", NULL, "Content-Length: 0\r\n", NULL), 201);
    // The body of a refused request is not taken for the next request.
    static const char smuggled[] = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
    snprintf(more, sizeof(more), "Origin: http://evil.example\r\nContent-Length: %zu\r\n",
             strlen(smuggled));
    assert_int_equal(request("POST", "/api/v1/echo", NULL, more, smuggled), 403);
    assert_null(strstr(answer, "ok\n"));
}

static void test_upgrade_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *path, *protocol, *origin, *host;
        int status;
    } cases[] = {
        { "/s/s1/ws", NULL, NULL, NULL, 101 },
        { "/s/s1/ws", "chat, framewire.v1", NULL, NULL, 101 },
        { "/s/s1/ws", "", NULL, NULL, 400 },
        { "/s/s1/ws", "chat", NULL, NULL, 400 },
        { "/s/s1/ws", "framewire.v2", NULL, NULL, 400 },
        { "/s/s1/ws", NULL, "http://evil.example", NULL, 403 },
        { "/s/s1/ws", NULL, "null", NULL, 403 },
        { "/", NULL, NULL, NULL, 404 },
        { "/s//ws", NULL, NULL, NULL, 404 },
        { "/s/a.b/ws", NULL, NULL, NULL, 404 },
        { "/s/s1/ws/x", NULL, NULL, NULL, 404 },
        { "/s/s1", NULL, NULL, NULL, 404 },
        { "/api/v1/echo", NULL, NULL, NULL, 404 },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fw_client_params p = host_client(&host, cases[i].path);
        struct fw_client *c;
        int status = 0;
        p.protocol = cases[i].protocol;
        p.origin = cases[i].origin;
        fw_client_open(&c, &p, &status);
        if (status != cases[i].status)
            fail_msg("%s %s %s: %d, not %d", cases[i].path, p.protocol ? p.protocol : "v1",
                     p.origin ? p.origin : "", status, cases[i].status);
        fw_client_close(&c);
    }
    assert_int_equal(request("GET", "/s/s1/ws", "evil.example",
                             "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                             "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: framewire.v1\r\n"
                             "Sec-WebSocket-Key: AAECAwQFBgcICQoLDA0ODw==\r\n",
                             NULL),
                     403);
    // No extension is ever agreed.
    struct fw_client_params p = host_client(&host, "/s/s1/ws");
    struct fw_client *c;
    p.headers = "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n";
    assert_int_equal(fw_client_open(&c, &p, NULL), FW_OK);
    fw_client_close(&c);
    assert_int_equal(request("GET", "/s/s1/ws", NULL,
                             "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                             "Sec-WebSocket-Extensions: permessage-deflate\r\n"
                             "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: framewire.v1\r\n"
                             "Sec-WebSocket-Key: AAECAwQFBgcICQoLDA0ODw==\r\n",
                             NULL) == 101,
                     1);
    assert_string_equal(header("sec-websocket-extensions"), "");
    assert_string_equal(header("sec-websocket-protocol"), "framewire.v1");
}

static void test_nonsense(void **state)
{
    (void)state;
    static const char *const requests[] = {
        "\r\n\r\n",
        "GET\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        "BREW /pot HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    };
    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        struct fw_client_params p = host_client(&host, "/");
        p.timeout_ms = 300;
        fw_client_http(&p, requests[i], strlen(requests[i]), answer, sizeof(answer));
    }
    // A header block without end is cut off, not collected.
    static char endless[64 << 10];
    memset(endless, 'a', sizeof(endless));
    memcpy(endless, "GET / HTTP/1.1\r\nX: ", 19);
    struct fw_client_params p = host_client(&host, "/");
    p.timeout_ms = 1000;
    fw_client_http(&p, endless, sizeof(endless), answer, sizeof(answer));
    assert_int_equal(get("/"), 200);
}

static const char *const origins[] = { "https://view.example" };

struct asker {
    pthread_t thread;
    int timeout_ms;
    size_t got;
    char answer[400 << 10];
};

static void *ask_for_work(void *arg)
{
    struct asker *a = arg;
    struct fw_client_params p = host_client(&host, "/");
    char text[128];
    p.timeout_ms = a->timeout_ms;
    const int n = snprintf(text, sizeof(text),
                           "GET /api/v1/work HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", host.port);
    if (!fw_client_http(&p, text, (size_t)n, a->answer, sizeof(a->answer))) {
        const char *end = strstr(a->answer, "\r\n\r\n");
        a->got = end ? strspn(end + 4, "w") : 0;
    }
    return NULL;
}

static bool reaches(atomic_uint *value, unsigned least)
{
    for (int i = 0; i < 20000 && atomic_load(value) < least; i++)
        usleep(1000);
    return atomic_load(value) >= least;
}

// Answers made on threads hold up nobody, and nothing is left of those that nobody waits for.
static void test_work(void **state)
{
    enum { PATIENT = 2, ASKERS = 4 };
    static struct asker askers[ASKERS];
    (void)state;
    assert_int_equal(get("/api/v1/work"), 200);
    assert_string_equal(header("content-length"), "300000");
    assert_int_equal(strspn(body(), "w"), 300000);
    check_security_headers();
    assert_true(reaches(&host.works_freed, 1));
    atomic_store(&host.hold, true);
    atomic_store(&host.works_begun, 0);
    for (int i = 0; i < ASKERS; i++) {
        askers[i] = (struct asker){ .timeout_ms = i < PATIENT ? 20000 : 300 };
        assert_int_equal(pthread_create(&askers[i].thread, NULL, ask_for_work, &askers[i]), 0);
    }
    assert_true(reaches(&host.works_begun, ASKERS));
    assert_int_equal(get("/healthz"), 200); // the loop turns
    assert_int_equal(get("/api/v1/work"), 503);
    for (int i = PATIENT; i < ASKERS; i++) // have gone by the time the answer is there
        pthread_join(askers[i].thread, NULL);
    assert_int_equal(get("/healthz"), 200);
    atomic_store(&host.hold, false);
    for (int i = 0; i < PATIENT; i++) {
        pthread_join(askers[i].thread, NULL);
        assert_int_equal(askers[i].got, 300000);
    }
    assert_true(reaches(&host.works_freed, 1 + 1 + ASKERS));
    assert_int_equal(get("/api/v1/work"), 200);
}

static int start_plain(void **state)
{
    (void)state;
    host_start(&host, false, "127.0.0.1", origins, 1);
    return 0;
}

static int start_tls(void **state)
{
    (void)state;
    host_start(&host, true, "127.0.0.1", origins, 1);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    host_stop(&host);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),        cmocka_unit_test(test_chart_js),
        cmocka_unit_test(test_validators),   cmocka_unit_test(test_headers_everywhere),
        cmocka_unit_test(test_path_escapes), cmocka_unit_test(test_host_and_origin),
        cmocka_unit_test(test_bodies),       cmocka_unit_test(test_upgrade_refusals),
        cmocka_unit_test(test_nonsense),     cmocka_unit_test(test_work),
    };
    const int plain = cmocka_run_group_tests_name("http", tests, start_plain, stop);
    const int tls = cmocka_run_group_tests_name("https", tests, start_tls, stop);
    return plain + tls ? 1 : 0;
}
