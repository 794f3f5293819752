// SPDX-License-Identifier: MIT
// A build without GLFW has the command too, and says what is missing.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "session/cli/view.h"

static void it_says_what_is_missing(void **state)
{
    char *argv[] = { "view", "http://127.0.0.1:1", NULL };
    char words[1024] = "";
    int ends[2];
    (void)state;
    assert_int_equal(pipe(ends), 0);
    const int before = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    const int code = fw_view_main(2, argv);
    dup2(before, STDERR_FILENO);
    assert_int_equal(code, 1);
    assert_true(read(ends[0], words, sizeof(words) - 1) > 0);
    assert_non_null(strstr(words, "libglfw3-dev"));
    close(before);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(it_says_what_is_missing) };
    return cmocka_run_group_tests_name("view-unsupported", tests, NULL, NULL);
}
