// SPDX-License-Identifier: MIT
// What FRAMEWIRE_FAULT may say.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/clock.h"
#include "base/fault.h"

static void takes_what_is_documented(void **state)
{
    (void)state;
    char message[256] = "";
    struct fw_faults f;
    assert_int_equal(fw_faults_parse(&f, "encode:20ms,front:1.5ms", message, sizeof(message)),
                     FW_OK);
    assert_int_equal(f.delay_ns[FW_FAULT_ENCODE], 20 * FW_NS_PER_MS);
    assert_int_equal(f.delay_ns[FW_FAULT_FRONT], 1500 * FW_NS_PER_US);
    assert_int_equal(f.delay_ns[FW_FAULT_RENDER], 0);
    assert_int_equal(f.delay_ns[FW_FAULT_CONVERT], 0);
    assert_int_equal(f.delay_ns[FW_FAULT_DECODE], 0);
    char text[128];
    assert_string_equal(fw_faults_print(&f, text, sizeof(text)), "encode:20ms,front:1.5ms");

    assert_int_equal(
        fw_faults_parse(&f, "render:1ms,convert:2ms,decode:2000ms", message, sizeof(message)),
        FW_OK);
    assert_int_equal(f.delay_ns[FW_FAULT_DECODE], (int64_t)2 * FW_NS_PER_S);
    assert_int_equal(f.delay_ns[FW_FAULT_ENCODE], 0); // what was there before is gone
    static const char *const none[] = { NULL, "", "encode:0ms" };
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        assert_int_equal(fw_faults_parse(&f, none[i], message, sizeof(message)), FW_OK);
        assert_string_equal(fw_faults_print(&f, text, sizeof(text)), "");
    }
}

static void refuses_all_else(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        { "encode", "has no delay" },
        { "encode:", "has no delay" },
        { "encode:20", "has no delay" },
        { "encode:20s", "has no delay" },
        { "encode:-1ms", "has no delay" },
        { "encode:ms", "has no delay" },
        { "encode: 20ms", "has no delay" },
        { "encode:0x20ms", "has no delay" },
        { "encode:nanms", "has no delay" },
        { "encode:1e9ms", "has no delay" },
        { "encode:2001ms", "has no delay" },
        { "encode:20ms ", "has no delay" },
        { "encode:00000000000000000020ms", "has no delay" },
        { "encode:1ms,encode:2ms", "given twice" },
        { "paint:20ms", "names no stage" },
        { ":20ms", "names no stage" },
        { "20ms", "names no stage" },
        { ",", "names no stage" },
        { "encode:1ms,,front:1ms", "names no stage" },
        { "Encode:1ms", "names no stage" },
        { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "names no stage" },
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char message[256] = "";
        struct fw_faults f = { .delay_ns = { 1, 1, 1, 1, 1 } };
        if (fw_faults_parse(&f, bad[i].text, message, sizeof(message)) != FW_ERR_INVALID ||
            !strstr(message, bad[i].says)) {
            fail_msg("'%s' gives '%s', not '%s'", bad[i].text, message, bad[i].says);
        }
        for (int k = 0; k < FW_FAULT_COUNT; k++)
            assert_int_equal(f.delay_ns[k], 0);
    }
}

static void a_wait_lasts(void **state)
{
    (void)state;
    const int64_t begin = fw_now_ns();
    fw_fault_wait(0);
    fw_fault_wait(20 * FW_NS_PER_MS);
    assert_true(fw_now_ns() - begin >= 20 * FW_NS_PER_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_what_is_documented),
        cmocka_unit_test(refuses_all_else),
        cmocka_unit_test(a_wait_lasts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
