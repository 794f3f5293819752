// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bins.h"

static void edges_rise(void **state)
{
    (void)state;
    for (int i = 1; i < FW_BINS; i++)
        assert_true(fw_bin_edges_us[i] > fw_bin_edges_us[i - 1]);
}

static void an_edge_belongs_to_its_bin(void **state)
{
    (void)state;
    for (int i = 0; i < FW_BINS; i++) {
        struct fw_bins b = { .count = 0 };
        const int64_t edge = fw_bin_edges_us[i] * INT64_C(1000);
        fw_bins_add(&b, edge, 1);
        assert_int_equal(b.bin[i], 1);
        fw_bins_add(&b, edge + 1, 1);
        assert_int_equal(b.bin[i + 1], 1);
    }
}

static void it_sums_up(void **state)
{
    (void)state;
    struct fw_bins b = { .count = 0 };
    fw_bins_add(&b, -5, 1);
    fw_bins_add(&b, 0, 3);
    fw_bins_add(&b, 7000000, 2);
    fw_bins_add(&b, INT64_C(3600000000000), 1);
    assert_int_equal(b.bin[0], 4);
    assert_int_equal(b.bin[FW_BINS], 1);
    assert_int_equal(b.count, 7);
    assert_int_equal(b.sum_us, 14000 + UINT64_C(3600000000));
    uint64_t sum = 0;
    for (int i = 0; i <= FW_BINS; i++)
        sum += b.bin[i];
    assert_int_equal(sum, b.count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edges_rise),
        cmocka_unit_test(an_edge_belongs_to_its_bin),
        cmocka_unit_test(it_sums_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
