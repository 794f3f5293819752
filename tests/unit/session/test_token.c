// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "session/token.h"

static char path[64];
static char message[512];
static unsigned warnings;

static void count_warning(struct fw_log *log, enum fw_log_level level, const char *module,
                          const char *line)
{
    (void)log;
    (void)module;
    (void)line;
    warnings += level == FW_LOG_WARN;
}

static struct fw_log counting = { .level = FW_LOG_TRACE, .write = count_warning };

static enum fw_err load(struct fw_tokens **t, const char *text, size_t size, mode_t mode)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, size, f), size);
    fclose(f);
    chmod(path, mode);
    warnings = 0;
    return fw_tokens_load(t, path, &counting, message, sizeof(message));
}

static int setup(void **state)
{
    (void)state;
    snprintf(path, sizeof(path), "/tmp/fw-token-XXXXXX");
    const int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
    (void)state;
    return unlink(path);
}

static void test_file(void **state)
{
    (void)state;
    static const char text[] = "# who\n\n  alice:0123456789abcdef  \r\nfedcba9876543210\n"
                               "bob:with:colon:0123456789";
    struct fw_tokens *t;
    assert_int_equal(load(&t, text, strlen(text), 0600), FW_OK);
    assert_int_equal(warnings, 0);
    assert_true(fw_tokens_required(t));
    assert_int_equal(fw_tokens_count(t), 3);
    assert_string_equal(fw_tokens_name(t, "0123456789abcdef"), "alice");
    assert_string_equal(fw_tokens_name(t, "fedcba9876543210"), "token-4");
    assert_string_equal(fw_tokens_name(t, "with:colon:0123456789"), "bob");
    static const char *const wrong[] = { "",
                                         "null",
                                         "0123456789abcde",
                                         "0123456789abcdefg",
                                         "alice:0123456789abcdef",
                                         "alice",
                                         "0123456789ABCDEF" };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_null(fw_tokens_name(t, wrong[i]));
    fw_tokens_destroy(&t);
    assert_null(t);
    fw_tokens_destroy(&t);
}

static void test_open_file_is_warned_of(void **state)
{
    (void)state;
    struct fw_tokens *t;
    assert_int_equal(load(&t, "0123456789abcdef", 16, 0644), FW_OK);
    assert_int_equal(warnings, 1);
    fw_tokens_destroy(&t);
}

static void test_refused(void **state)
{
    (void)state;
    char longest[FW_TOKEN_MAX + 2];
    memset(longest, 'a', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    const struct {
        const char *text, *says;
    } rows[] = {
        { "", "no token" },
        { "# only words\n\n", "no token" },
        { "short\n", "line 1" },
        { "0123456789abcdef\nx:short\n", "line 2" },
        { ":0123456789abcdef\n", "name" },
        { "a:0123456789abcdef\na:0123456789abcdeg\n", "line 2" },
        { "a:0123456789abcdef\nb:0123456789abcdef\n", "line 2" },
        { "0123456789 abcdef\n", "printable" },
        { "0123456789abcdef\xc3\xa4\n", "printable" },
        { longest, "line 1" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct fw_tokens *t;
        if (load(&t, rows[i].text, strlen(rows[i].text), 0600) == FW_OK)
            fail_msg("taken: %s", rows[i].text);
        assert_null(t);
        if (!strstr(message, rows[i].says) || !strstr(message, "--token-file"))
            fail_msg("'%s' lacks '%s'", message, rows[i].says);
        assert_null(strstr(message, "abcdef")); // no token in an error
    }
    struct fw_tokens *t;
    assert_int_not_equal(load(&t, "0123456789abcdef\0xxxxxxxxx", 25, 0600), FW_OK);
    assert_int_equal(fw_tokens_load(&t, "/nonexistent/f", NULL, message, sizeof(message)),
                     FW_ERR_NOT_FOUND);
    assert_int_equal(fw_tokens_load(&t, "/dev/zero", NULL, message, sizeof(message)),
                     FW_ERR_INVALID);
}

static void test_none(void **state)
{
    (void)state;
    struct fw_tokens *t;
    assert_int_equal(fw_tokens_load(&t, NULL, NULL, message, sizeof(message)), FW_OK);
    assert_false(fw_tokens_required(t));
    assert_null(fw_tokens_name(t, ""));
    fw_tokens_destroy(&t);
}

static void test_code(void **state)
{
    (void)state;
    const int64_t life = (int64_t)FW_CODE_LIFE_S * FW_NS_PER_S;
    struct fw_access a;
    char code[sizeof(a.code)];
    assert_int_equal(fw_access_init(&a, "alice", 1000), FW_OK);
    assert_int_equal(strlen(a.token), 64);
    assert_int_equal(strlen(a.code), 32);
    memcpy(code, a.code, sizeof(code));
    assert_false(fw_access_redeem(&a, "", 1000));
    assert_false(fw_access_redeem(&a, "00000000000000000000000000000000", 1000));
    assert_false(fw_access_redeem(&a, a.token, 1000));
    assert_true(fw_access_redeem(&a, code, 1000 + life - 1));
    assert_false(fw_access_redeem(&a, code, 1000)); // once
    assert_false(fw_access_redeem(&a, "", 1000));   // the spent code is not the empty one
    assert_int_equal(fw_access_init(&a, NULL, 0), FW_OK);
    memcpy(code, a.code, sizeof(code));
    assert_false(fw_access_redeem(&a, code, life)); // late
    assert_true(fw_access_token_ok(&a, a.token));
    assert_false(fw_access_token_ok(&a, ""));
    assert_false(fw_access_token_ok(&a, code));
    memset(&a, 0, sizeof(a));
    assert_false(fw_access_token_ok(&a, ""));
}

static void test_secrets_differ(void **state)
{
    (void)state;
    enum { N = 1000 };
    static struct fw_access a[N];
    unsigned digit[16] = { 0 };
    for (int i = 0; i < N; i++) {
        assert_int_equal(fw_access_init(&a[i], "", 0), FW_OK);
        for (const char *c = a[i].code; *c; c++)
            digit[*c <= '9' ? *c - '0' : *c - 'a' + 10]++;
        for (int j = 0; j < i; j++)
            assert_memory_not_equal(a[i].code, a[j].code, 16);
    }
    double chi = 0; // 15 degrees of freedom; 60 is passed by chance once in 4 million runs
    for (int i = 0; i < 16; i++) {
        const double off = (double)digit[i] - N * 32 / 16.0;
        chi += off * off / (N * 32 / 16.0);
    }
    assert_true(chi < 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_file, setup, teardown),
        cmocka_unit_test_setup_teardown(test_open_file_is_warned_of, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_code),
        cmocka_unit_test(test_secrets_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
