// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "stream/selfsigned.h"

static char parent[64], dir[96];

static int make_dir(void **state)
{
    (void)state;
    snprintf(parent, sizeof(parent), "%s/fwtest.XXXXXX", P_tmpdir);
    if (!mkdtemp(parent))
        return -1;
    snprintf(dir, sizeof(dir), "%s/tls", parent);
    return 0;
}

static int drop_dir(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", parent);
    return system(command);
}

static unsigned mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 0777;
}

static void test_kept_and_renewed(void **state)
{
    (void)state;
    static struct fw_selfsigned first, again;
    const char *const names[] = { "box.lan", "10.1.2.3", "fd00::1" };
    assert_int_equal(fw_selfsigned_ensure(dir, NULL, 0, NULL, &first), FW_OK);
    assert_int_equal(mode_of(first.key_path), 0600);
    assert_int_equal(mode_of(first.cert_path), 0600);
    assert_int_equal(mode_of(dir), 0700);
    assert_int_equal(strlen(first.fingerprint), 32 * 3 - 1);
    assert_int_equal(strspn(first.fingerprint, "0123456789ABCDEF:"), 95);
    // The second start finds it.
    assert_int_equal(fw_selfsigned_ensure(dir, NULL, 0, NULL, &again), FW_OK);
    assert_string_equal(first.fingerprint, again.fingerprint);
    // A name more: a new one; the same names, or fewer: kept.
    assert_int_equal(fw_selfsigned_ensure(dir, names, 3, NULL, &again), FW_OK);
    assert_string_not_equal(first.fingerprint, again.fingerprint);
    first = again;
    assert_int_equal(fw_selfsigned_ensure(dir, names, 2, NULL, &again), FW_OK);
    assert_string_equal(first.fingerprint, again.fingerprint);
}

static void test_damage_is_mended(void **state)
{
    (void)state;
    static struct fw_selfsigned first, again;
    assert_int_equal(fw_selfsigned_ensure(dir, NULL, 0, NULL, &first), FW_OK);
    assert_int_equal(truncate(first.key_path, 10), 0);
    assert_int_equal(fw_selfsigned_ensure(dir, NULL, 0, NULL, &again), FW_OK);
    assert_string_not_equal(first.fingerprint, again.fingerprint);
    assert_int_equal(unlink(again.cert_path), 0);
    assert_int_equal(fw_selfsigned_ensure(dir, NULL, 0, NULL, &first), FW_OK);
    assert_string_not_equal(first.fingerprint, again.fingerprint);
}

static void test_refusals(void **state)
{
    (void)state;
    static struct fw_selfsigned out;
    static const char *const bad[] = { "a,DNS:evil.example", "", "a b", "x\ny", "*" };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(fw_selfsigned_ensure(dir, &bad[i], 1, NULL, &out), FW_ERR_INVALID);
    assert_int_equal(fw_selfsigned_ensure("/nonexistent/tls", NULL, 0, NULL, &out), FW_ERR_IO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kept_and_renewed, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(test_damage_is_mended, make_dir, drop_dir),
        cmocka_unit_test_setup_teardown(test_refusals, make_dir, drop_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
