// SPDX-License-Identifier: MIT
// The address that breaks a session on purpose: only with --allow-faults, only for who may see it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "tests/unit/session/api_rig.h"

static int strike(const char *bearer, const char *id, const char *body)
{
    char path[128];
    snprintf(path, sizeof(path), "/api/v1/sessions/%s/fault", id);
    return ask(bearer, "POST", path, body);
}

static void closed_by_default(void **state)
{
    (void)state;
    struct made a = make(ALICE);
    assert_int_equal(strike(ALICE, a.id, "{\"kill\":true}"), 403);
    assert_string_equal(error_code(), "faults_not_allowed");
    assert_non_null(strstr(error_message(), "--allow-faults"));
    assert_int_equal(strike(BOB, a.id, "{\"kill\":true}"), 404); // what exists is not told
    assert_int_equal(strike("", a.id, "{\"kill\":true}"), 401);
    assert_int_equal(fake.faults, 0);
}

static void does_what_it_is_told(void **state)
{
    (void)state;
    struct made a = make(ALICE);
    assert_int_equal(strike(ALICE, a.id, "{\"kill\":true}"), 204);
    assert_true(fake.fault.kill && !fake.fault.hang && !fake.fault.delays);
    assert_int_equal(strike(a.token, a.id, "{\"hang\":true,\"delay\":\"encode:20ms\"}"), 204);
    assert_true(fake.fault.hang && !fake.fault.kill && fake.fault.delays);
    assert_int_equal(fake.fault.faults.delay_ns[FW_FAULT_ENCODE], 20 * FW_NS_PER_MS);
    assert_int_equal(strike(ALICE, a.id, "{\"delay\":\"\"}"), 204);
    assert_true(fake.fault.delays);
    assert_int_equal(fake.fault.faults.delay_ns[FW_FAULT_ENCODE], 0);
    assert_int_equal(fake.faults, 3);
    fake.no_worker = true;
    assert_int_equal(strike(ALICE, a.id, "{\"kill\":true}"), 409);
    assert_string_equal(error_code(), "no_worker");
}

static void refuses_all_else(void **state)
{
    (void)state;
    struct made a = make(ALICE);
    static const char *const bad[][2] = {
        { "{}", "delay: missing" },
        { "{\"kill\":false}", "kill: must be true" },
        { "{\"hang\":1}", "hang: must be true" },
        { "{\"kill\":true,\"hang\":true}", "kill: not together" },
        { "{\"delay\":20}", "delay: must be a string" },
        { "{\"delay\":\"encode:20\"}", "delay: 'encode:20' has no delay" },
        { "{\"delay\":\"paint:20ms\"}", "delay: 'paint:20ms' names no stage" },
        { "{\"delay\":\"\",\"kill\":null}", "kill: must be true" },
        { "{\"stop\":true}", "stop: unknown field" },
        { "[]", "body: must be a JSON object" },
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(strike(ALICE, a.id, bad[i][0]), 400);
        assert_string_equal(error_code(), "invalid_argument");
        assert_int_equal(strncmp(error_message(), bad[i][1], strlen(bad[i][1])), 0);
    }
    assert_int_equal(strike(BOB, a.id, "{\"kill\":true}"), 404);
    assert_int_equal(strike("x", a.id, "{\"kill\":true}"), 401);
    char path[128];
    snprintf(path, sizeof(path), "/api/v1/sessions/%s/fault", a.id);
    assert_int_equal(ask(ALICE, "GET", path, ""), 405);
    assert_string_equal(res.allow, "POST");
    assert_int_equal(ask_as(ALICE, "text/plain", "POST", path, "{\"kill\":true}"), 415);
    assert_int_equal(fake.faults, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TOKENS(closed_by_default),
        FAULTS(does_what_it_is_told),
        FAULTS(refuses_all_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
