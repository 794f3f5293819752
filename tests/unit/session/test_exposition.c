// SPDX-License-Identifier: MIT
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "session/exposition.h"

static struct fw_exposition e;

static int setup(void **state)
{
    (void)state;
    e = (struct fw_exposition){ 0 };
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(e.text);
    return 0;
}

static void is(const char *want)
{
    assert_false(e.failed);
    assert_int_equal(strlen(e.text), e.size);
    assert_string_equal(e.text, want);
}

static void values(void **state)
{
    (void)state;
    fw_expo_family(&e, "a_total", "counter", "Help.");
    fw_expo_count(&e, "", UINT64_MAX);
    fw_expo_count(&e, "x=\"1\"", 0);
    fw_expo_real(&e, "", 0.1);
    fw_expo_real(&e, "", 1796043200.25);
    fw_expo_whole(&e, "", INT64_C(1) << 40);
    is("# HELP a_total Help.\n# TYPE a_total counter\n"
       "a_total 18446744073709551615\na_total{x=\"1\"} 0\na_total 0.1\n"
       "a_total 1796043200.25\na_total 1099511627776\n");
}

// What is unknown is left out: it is not 0.
static void unknown(void **state)
{
    (void)state;
    fw_expo_family(&e, "a", "gauge", "Help.");
    fw_expo_real(&e, "", NAN);
    fw_expo_whole(&e, "", -1);
    is("# HELP a Help.\n# TYPE a gauge\n");
}

static void bins_add_up(void **state)
{
    (void)state;
    struct fw_bins b = { 0 };
    unsigned lines = 0;
    fw_bins_add(&b, 40000, 1);                // 0.04 ms
    fw_bins_add(&b, 1500000, 2);              // 1.5 ms
    fw_bins_add(&b, INT64_C(20000000000), 1); // 20 s
    fw_expo_family(&e, "a_seconds", "histogram", "Help.");
    fw_expo_bins(&e, "k=\"v\"", &b);
    assert_non_null(strstr(e.text, "a_seconds_bucket{k=\"v\",le=\"5e-05\"} 1\n"));
    assert_non_null(strstr(e.text, "a_seconds_bucket{k=\"v\",le=\"0.001\"} 1\n"));
    assert_non_null(strstr(e.text, "a_seconds_bucket{k=\"v\",le=\"0.002\"} 3\n"));
    assert_non_null(strstr(e.text, "a_seconds_bucket{k=\"v\",le=\"10\"} 3\n"));
    assert_non_null(strstr(e.text, "a_seconds_bucket{k=\"v\",le=\"+Inf\"} 4\n"));
    assert_non_null(strstr(e.text, "a_seconds_sum{k=\"v\"} 20.00304\n"));
    assert_non_null(strstr(e.text, "a_seconds_count{k=\"v\"} 4\n"));
    for (const char *at = e.text; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, 2 + FW_BINS + 3);
    fw_expo_family(&e, "b_seconds", "histogram", "Help.");
    fw_expo_bins(&e, "", &b);
    assert_non_null(strstr(e.text, "b_seconds_bucket{le=\"0.002\"} 3\n"));
    assert_non_null(strstr(e.text, "b_seconds_count 4\n"));
}

static void labels_hold_anything(void **state)
{
    (void)state;
    static const struct {
        const char *value, *want;
    } rows[] = {
        { "", "n=\"\"" },
        { "llvmpipe (LLVM 15)", "n=\"llvmpipe (LLVM 15)\"" },
        { "a\"b\\c\nd", "n=\"a\\\"b\\\\c\\nd\"" },
        { "GPU \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
          "n=\"GPU \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"" },
        { "\xff\xc3", "n=\"??\"" },
        { "\xed\xa0\x80 \xe0\x80\x80", "n=\"??? ???\"" }, // half a pair; too long for its value
        { "\xf4\x90\x80\x80 \xf0\x8f\xbf\xbf", "n=\"???? ????\"" },
        { "€ 😀 \xf4\x8f\xbf\xbf", "n=\"€ 😀 \xf4\x8f\xbf\xbf\"" },
        { "\xe2\x82", "n=\"??\"" }, // cut off
        { "\"} evil 1\n", "n=\"\\\"} evil 1\\n\"" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct fw_labels l;
        assert_string_equal(fw_label(&l, "n", rows[i].value), rows[i].want);
    }
    struct fw_labels l;
    fw_label(&l, "a", "1");
    fw_labels_add(&l, "b", "2");
    assert_string_equal(l.text, "a=\"1\",b=\"2\"");
}

// A pair that is too long is left out as a whole.
static void labels_are_bounded(void **state)
{
    (void)state;
    char value[2 * FW_LABELS_SIZE];
    for (size_t n = FW_LABELS_SIZE - 40; n < sizeof(value) - 1; n++) {
        struct fw_labels l;
        memset(value, '"', n);
        value[n] = '\0';
        fw_label(&l, "a", "1");
        fw_labels_add(&l, "b", value);
        assert_true(l.size < FW_LABELS_SIZE);
        assert_int_equal(strlen(l.text), l.size);
        assert_string_equal(l.text, "a=\"1\"");
        fw_labels_add(&l, "c", "3");
        assert_string_equal(l.text, "a=\"1\",c=\"3\"");
    }
    for (size_t n = FW_LABELS_SIZE - 40; n < FW_LABELS_SIZE; n++) {
        struct fw_labels l;
        memset(value, 'x', n);
        value[n] = '\0';
        fw_label(&l, "a", value);
        assert_true(l.size == 0 || l.size == n + 4);
        assert_int_equal(strlen(l.text), l.size);
    }
}

static void it_grows(void **state)
{
    (void)state;
    fw_expo_family(&e, "a", "gauge", "Help.");
    const size_t head = e.size;
    for (unsigned i = 0; i < 100000; i++)
        fw_expo_count(&e, "l=\"label\"", i % 10);
    assert_false(e.failed);
    assert_int_equal(e.size, head + 100000 * strlen("a{l=\"label\"} 0\n"));
    assert_int_equal(strlen(e.text), e.size);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(values),
        TEST(unknown),
        TEST(bins_add_up),
        TEST(labels_hold_anything),
        TEST(labels_are_bounded),
        TEST(it_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
