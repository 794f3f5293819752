// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "session/options.h"

static struct fw_serve_options o;
static char message[512];

// Arguments up to NULL.
static enum fw_err parse(const char *first, ...)
{
    char *argv[16];
    int argc = 0;
    va_list list;
    va_start(list, first);
    for (const char *arg = first; arg && argc < 16; arg = va_arg(list, const char *))
        argv[argc++] = (char *)(uintptr_t)arg;
    va_end(list);
    return fw_serve_options_parse(&o, argc, argv, message, sizeof(message));
}

static void test_defaults(void **state)
{
    (void)state;
    assert_int_equal(parse(NULL), FW_OK);
    assert_string_equal(o.host, "127.0.0.1");
    assert_int_equal(o.port, 8080);
    assert_string_equal(o.encoder, "auto");
    assert_int_equal(o.max_sessions, 8);
    assert_int_equal(o.warm, 1);
    assert_int_equal(o.idle_timeout, 300);
    assert_false(o.insecure || o.validation || o.tls_self_signed || o.help);
    assert_null(o.models);
    assert_string_equal(o.chart_js, "/usr/share/javascript/chart.js/chart.min.js");
    assert_int_equal(fw_serve_options_check(&o, message, sizeof(message)), FW_OK);
    assert_string_equal(message, "");
}

static void test_both_spellings(void **state)
{
    (void)state;
    assert_int_equal(parse("--listen", "127.0.0.1:9000", "--models=/m", "--encoder", "x264",
                           "--gpu=llvm=pipe", "--warm", "0", "--validation", NULL),
                     FW_OK);
    assert_int_equal(o.port, 9000);
    assert_string_equal(o.models, "/m");
    assert_string_equal(o.encoder, "x264");
    assert_string_equal(o.gpu, "llvm=pipe");
    assert_int_equal(o.warm, 0);
    assert_true(o.validation);
    assert_int_equal(parse("-h", NULL), FW_OK);
    assert_true(o.help);
}

static void test_listen(void **state)
{
    (void)state;
    assert_int_equal(parse("--listen", "[::1]:0", NULL), FW_OK);
    assert_string_equal(o.host, "::1");
    assert_int_equal(o.port, 0);
    static const char *const bad[] = { "8080",       ":8080",        "127.0.0.1:", "127.0.0.1:x",
                                       "1.2.3.4:-1", "h:65536",      "::1:80",     "[::1:80",
                                       "[]:80",      "127.0.0.1:80x" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(parse("--listen", bad[i], NULL), FW_ERR_INVALID);
        assert_non_null(strstr(message, "--listen"));
        assert_non_null(strstr(message, bad[i]));
    }
}

// Each error names the option.
static void test_errors(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b, *says;
    } rows[] = {
        { "--nope", NULL, "--nope" },
        { "models", NULL, "models" },
        { "--models", NULL, "--models wants a value" },
        { "--models", "--warm=1", "--models wants a value" },
        { "--models=", NULL, "--models wants a value" },
        { "--max-sessions", "0", "--max-sessions wants a number from 1 to 256" },
        { "--max-sessions", "257", "--max-sessions" },
        { "--max-sessions", "8x", "--max-sessions" },
        { "--warm", "99999999999999999999", "--warm" },
        { "--insecure=1", NULL, "--insecure takes no value" },
        { "--log-level", "loud", "--log-level" },
        { "--public-origin", "host.example", "--public-origin" },
        { "--tls-cert", "a", "--tls-key" },
        { "--tls-key", "a", "--tls-cert" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(parse(rows[i].a, rows[i].b, NULL), FW_ERR_INVALID);
        if (!strstr(message, rows[i].says))
            fail_msg("%s: '%s' lacks '%s'", rows[i].a, message, rows[i].says);
    }
    assert_int_equal(parse("--tls-cert=a", "--tls-key=b", "--tls-self-signed", NULL),
                     FW_ERR_INVALID);
}

static void test_origins(void **state)
{
    (void)state;
    assert_int_equal(
        parse("--public-origin", "https://a.example", "--public-origin=http://b:1", NULL), FW_OK);
    assert_int_equal(o.origin_count, 2);
    assert_string_equal(o.origins[1], "http://b:1");
    char *many[FW_OPTIONS_MAX_ORIGINS + 1];
    for (int i = 0; i <= FW_OPTIONS_MAX_ORIGINS; i++)
        many[i] = (char *)(uintptr_t) "--public-origin=https://x";
    assert_int_equal(
        fw_serve_options_parse(&o, FW_OPTIONS_MAX_ORIGINS + 1, many, message, sizeof(message)),
        FW_ERR_INVALID);
}

// An address others can reach: only with TLS and tokens, or loudly.
static void test_exposure(void **state)
{
    (void)state;
    static const struct {
        const char *listen, *a, *b;
        enum fw_err want;
        const char *says;
    } rows[] = {
        { "0.0.0.0:1", NULL, NULL, FW_ERR_DENIED, "--tls-self-signed" },
        { "0.0.0.0:1", "--tls-self-signed", NULL, FW_ERR_DENIED, "--token-file" },
        { "0.0.0.0:1", "--token-file=f", NULL, FW_ERR_DENIED, "--tls-self-signed" },
        { "0.0.0.0:1", "--token-file=f", "--tls-self-signed", FW_OK, NULL },
        { "[::]:1", NULL, NULL, FW_ERR_DENIED, "--token-file" },
        { "127.evil.example:1", NULL, NULL, FW_ERR_DENIED, "--token-file" },
        { "10.0.0.5:1", "--insecure", NULL, FW_OK, "INSECURE" },
        { "10.0.0.5:1", "--insecure", "--token-file=f", FW_OK, "INSECURE" },
        { "127.0.0.2:1", NULL, NULL, FW_OK, NULL },
        { "[::1]:1", NULL, NULL, FW_OK, NULL },
        { "localhost:1", NULL, NULL, FW_OK, NULL },
        { "[::1]:1", "--public-origin=https://x", "--token-file=f", FW_OK, NULL },
        { "[::1]:1", "--public-origin=https://x", NULL, FW_OK, "--token-file" },
        { "[2001:db8::1]:1", "--tls-self-signed", NULL, FW_ERR_DENIED, "--token-file" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(parse("--listen", rows[i].listen, rows[i].a, rows[i].b, NULL), FW_OK);
        const enum fw_err err = fw_serve_options_check(&o, message, sizeof(message));
        if (err != rows[i].want || (rows[i].says ? !strstr(message, rows[i].says) : message[0]))
            fail_msg("%s: %d '%s'", rows[i].listen, (int)err, message);
    }
}

static void test_help(void **state)
{
    (void)state;
    char text[8192], small[16];
    const size_t n = fw_serve_options_help(text, sizeof(text));
    assert_true(n < sizeof(text) && n == strlen(text));
    assert_non_null(strstr(text, "--listen ADDR:PORT"));
    assert_non_null(strstr(text, "--idle-timeout S"));
    assert_int_equal(fw_serve_options_help(small, sizeof(small)), n);
    assert_true(strlen(small) < sizeof(small));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults), cmocka_unit_test(test_both_spellings),
        cmocka_unit_test(test_listen),   cmocka_unit_test(test_errors),
        cmocka_unit_test(test_origins),  cmocka_unit_test(test_exposure),
        cmocka_unit_test(test_help),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
