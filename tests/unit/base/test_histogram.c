// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "base/histogram.h"

static struct fw_histogram h, other;

static int clear(void **state)
{
    (void)state;
    h = other = (struct fw_histogram){ .count = 0 };
    return 0;
}

static void empty_is_zero(void **state)
{
    (void)state;
    assert_int_equal(fw_histogram_quantile(&h, 0.5), 0);
}

static void each_value_is_kept_within_1_6_percent(void **state)
{
    (void)state;
    for (uint64_t us = 1; us < 64000000; us += us / 37 + 1) {
        h = (struct fw_histogram){ .count = 0 };
        fw_histogram_add(&h, (int64_t)us * 1000);
        fw_histogram_add(&h, 64000000000); // so that max_us does not cut the edge
        const uint64_t q = fw_histogram_quantile(&h, 0.0);
        assert_true(q >= us);
        assert_true((double)(q - us) <= 0.016 * (double)us);
    }
}

static void values_out_of_range_land_at_the_ends(void **state)
{
    (void)state;
    fw_histogram_add(&h, -5);
    assert_int_equal(h.bucket[0], 1);
    fw_histogram_add(&h, INT64_MAX);
    assert_int_equal(h.bucket[FW_HISTOGRAM_POW * FW_HISTOGRAM_SUB - 1], 1);
    assert_int_equal(h.max_us, INT64_MAX / 1000);
    assert_int_equal(h.count, 2);
}

static int by_value(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void the_worst_of_few_is_their_p99(void **state)
{
    (void)state;
    for (int i = 0; i < 32; i++) {
        fw_histogram_add(&h, 1000 * 1000);
    }
    fw_histogram_add(&h, 50 * 1000 * 1000);
    assert_int_equal(fw_histogram_quantile(&h, 0.99), 50000);
    assert_in_range(fw_histogram_quantile(&h, 0.95), 990, 1010);
    assert_in_range(fw_histogram_quantile(&h, 0.5), 990, 1010);
}

static void quantiles_agree_with_sorting(void **state)
{
    (void)state;
    enum { N = 10000 };
    static int64_t us[N];
    uint64_t sum = 0;
    unsigned seed = 3;
    for (int i = 0; i < N; i++) {
        us[i] = rand_r(&seed) % (1 << (4 + i % 18));
        sum += (uint64_t)us[i];
        fw_histogram_add(&h, us[i] * 1000);
    }
    qsort(us, N, sizeof(us[0]), by_value);
    const double q[] = { 0.0, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0 };
    for (size_t i = 0; i < sizeof(q) / sizeof(q[0]); i++) {
        const int64_t exact = us[(int)(q[i] * (N - 1))];
        const double got = (double)fw_histogram_quantile(&h, q[i]);
        assert_true(got >= (double)exact);
        assert_true(got <= (double)exact * 1.016 + 1);
    }
    assert_int_equal(h.sum_us, sum);
    assert_int_equal(fw_histogram_quantile(&h, 1.0), us[N - 1]);
}

static void merging_is_adding_all(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        fw_histogram_add(&h, i * 1000000);
        fw_histogram_add(&other, (i + 100) * 1000000);
    }
    fw_histogram_merge(&h, &other);
    assert_int_equal(h.count, 200);
    assert_int_equal(h.max_us, 199000);
    assert_in_range(fw_histogram_quantile(&h, 0.5), 99000, 101000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(empty_is_zero, clear),
        cmocka_unit_test_setup(each_value_is_kept_within_1_6_percent, clear),
        cmocka_unit_test_setup(values_out_of_range_land_at_the_ends, clear),
        cmocka_unit_test_setup(the_worst_of_few_is_their_p99, clear),
        cmocka_unit_test_setup(quantiles_agree_with_sorting, clear),
        cmocka_unit_test_setup(merging_is_adding_all, clear),
    };
    return cmocka_run_group_tests_name("histogram", tests, NULL, NULL);
}
