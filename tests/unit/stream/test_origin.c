// SPDX-License-Identifier: MIT
// Host and Origin tables, ids and secrets.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stream/origin.h"
#include "stream/secret.h"

static const char *const public_origins[] = { "https://view.example", "http://proxy.lan:8000" };
static const struct fw_origin_policy plain = { .bound_host = "127.0.0.1" };
static const struct fw_origin_policy open_tls = {
    .tls = true, .bound_host = "0.0.0.0", .origins = public_origins, .origin_count = 2
};

static const struct fw_origin_policy proxied = { .bound_host = "127.0.0.1",
                                                 .origins = public_origins,
                                                 .origin_count = 2 };

static void test_host(void **state)
{
    (void)state;
    static const struct {
        const struct fw_origin_policy *policy;
        const char *host, *local;
        bool allowed;
    } cases[] = {
        { &plain, "127.0.0.1:8080", "127.0.0.1", true },
        { &plain, "localhost:8080", "127.0.0.1", true },
        { &plain, "LOCALHOST", "127.0.0.1", true },
        { &plain, "[::1]:8080", "::1", true },
        { &plain, "localhost:9000", "127.0.0.1", true }, // ssh -L
        { &plain, "evil.example", "127.0.0.1", false },
        { &plain, "evil.example:8080", "127.0.0.1", false },
        { &plain, "127.0.0.1.evil.example", "127.0.0.1", false },
        { &plain, "localhost.evil.example", "127.0.0.1", false },
        { &plain, "10.0.0.1:8080", "127.0.0.1", false },
        { &plain, "", "127.0.0.1", false },
        { &plain, ":8080", "127.0.0.1", false },
        { &plain, "localhost:", "127.0.0.1", false },
        { &plain, "localhost:99999", "127.0.0.1", false },
        { &plain, "localhost:80x", "127.0.0.1", false },
        { &plain, "local host", "127.0.0.1", false },
        { &plain, "localhost@evil.example", "127.0.0.1", false },
        { &plain, "[::1", "::1", false },
        { &plain, "2130706433", "127.0.0.1", false },
        { &plain, "view.example", "127.0.0.1", false },
        { &open_tls, "10.0.0.1:8443", "10.0.0.1", true },
        { &open_tls, "10.0.0.1:8443", "::ffff:10.0.0.1", true },
        { &open_tls, "10.0.0.2:8443", "10.0.0.1", false },
        { &open_tls, "[fe80::1]:8443", "fe80::1", true },
        { &open_tls, "view.example", "10.0.0.1", true },
        { &open_tls, "VIEW.example:443", "10.0.0.1", true },
        { &open_tls, "view.example:444", "10.0.0.1", false },
        { &open_tls, "proxy.lan:8000", "10.0.0.1", true },
        { &open_tls, "proxy.lan", "10.0.0.1", false },
        { &open_tls, "other.example", "10.0.0.1", false },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (fw_host_allowed(cases[i].policy, cases[i].host, cases[i].local) != cases[i].allowed)
            fail_msg("Host \"%s\" at %s", cases[i].host, cases[i].local);
    }
    assert_false(fw_host_allowed(&plain, NULL, "127.0.0.1"));
}

static void test_origin(void **state)
{
    (void)state;
    static const struct {
        const struct fw_origin_policy *policy;
        const char *origin, *host;
        bool allowed;
    } cases[] = {
        { &plain, NULL, "localhost:8080", true },
        { &plain, "http://localhost:8080", "localhost:8080", true },
        { &plain, "HTTP://LOCALHOST:8080", "localhost:8080", true },
        { &plain, "http://localhost", "localhost:80", true },
        { &plain, "https://localhost:8080", "localhost:8080", false },
        { &plain, "http://localhost:8081", "localhost:8080", false },
        { &plain, "http://127.0.0.1:8080", "localhost:8080", false },
        { &plain, "http://evil.example", "localhost:8080", false },
        { &plain, "null", "localhost:8080", false },
        { &plain, "", "localhost:8080", false },
        { &plain, "file://", "localhost:8080", false },
        { &plain, "http://localhost:8080.evil.example", "localhost:8080", false },
        { &plain, "http://localhost:8080/", "localhost:8080", false },
        { &plain, "chrome-extension://abc", "localhost:8080", false },
        { &open_tls, "https://10.0.0.1:8443", "10.0.0.1:8443", true },
        { &open_tls, "http://10.0.0.1:8443", "10.0.0.1:8443", false },
        { &open_tls, "https://10.0.0.1", "10.0.0.1", true },
        { &open_tls, "https://view.example", "10.0.0.1:8443", true },
        { &open_tls, "http://view.example", "view.example", false },
        { &open_tls, "http://proxy.lan:8000", "proxy.lan:8000", true },
        { &proxied, "https://view.example", "view.example", true },
        { &proxied, "https://view.example", "view.example:443", true },
        { &proxied, "http://view.example", "view.example", false }, // not what the list says
        { &proxied, "http://view.example:443", "view.example:443", false },
        { &proxied, "http://proxy.lan:8000", "proxy.lan:8000", true },
        { &proxied, "http://localhost:8080", "localhost:8080", true },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (fw_origin_allowed(cases[i].policy, cases[i].origin, cases[i].host) != cases[i].allowed)
            fail_msg("Origin \"%s\" for %s", cases[i].origin ? cases[i].origin : "(none)",
                     cases[i].host);
    }
    assert_true(fw_origin_valid("https://view.example:8443"));
    assert_false(fw_origin_valid("view.example"));
    assert_false(fw_origin_valid("https://"));
    assert_false(fw_origin_valid("https://a b"));
    assert_false(fw_origin_valid(NULL));
}

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

// 1000 ids: all differ, no common prefix, every hex digit about equally often.
static void test_ids(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    static char ids[COUNT][FW_ID_SIZE];
    unsigned seen[16] = { 0 };
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(fw_random_hex(ids[i], FW_ID_BYTES), FW_OK);
        assert_int_equal(strlen(ids[i]), 32);
        assert_int_equal(strspn(ids[i], "0123456789abcdef"), 32);
        for (int k = 0; k < 32; k++)
            seen[ids[i][k] <= '9' ? ids[i][k] - '0' : ids[i][k] - 'a' + 10]++;
    }
    for (int d = 0; d < 16; d++)
        assert_in_range(seen[d], 1700, 2300); // 2000 expected, deviation 43
    qsort(ids, COUNT, sizeof(ids[0]), compare);
    for (int i = 1; i < COUNT; i++)
        assert_true(strncmp(ids[i - 1], ids[i], 16) != 0);
    char small[3];
    assert_int_equal(fw_random_hex(small, 65), FW_ERR_INVALID);
}

static void test_secret(void **state)
{
    (void)state;
    assert_true(fw_secret_equal("abc", "abc"));
    assert_true(fw_secret_equal("", ""));
    assert_false(fw_secret_equal("abc", "abd"));
    assert_false(fw_secret_equal("ab", "abc"));
    assert_false(fw_secret_equal("", "abc"));
    assert_false(fw_secret_equal(NULL, "abc"));
    assert_false(fw_secret_equal("abc", NULL));
    uint8_t digest[FW_SHA256_SIZE];
    char hex[2 * FW_SHA256_SIZE + 1];
    fw_sha256("abc", 3, digest);
    fw_hex(digest, sizeof(digest), hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host),
        cmocka_unit_test(test_origin),
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_secret),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
