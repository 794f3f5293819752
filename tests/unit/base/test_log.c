// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

static unsigned lines;
static char last[2048];

static void write_line(struct fw_log *log, enum fw_log_level level, const char *module,
                       const char *line)
{
    (void)log;
    lines++;
    snprintf(last, sizeof(last), "%d %s %s", level, module, line);
}

static void levels_above_are_silent(void **state)
{
    (void)state;
    struct fw_log log = { .level = FW_LOG_WARN, .write = write_line };
    lines = 0;
    fw_log(&log, FW_LOG_INFO, "m", "%d", 1);
    assert_int_equal(lines, 0);
    fw_log(&log, FW_LOG_WARN, "m", "%d", 2);
    assert_int_equal(lines, 1);
    assert_string_equal(last, "1 m 2");
    fw_log(NULL, FW_LOG_ERROR, "m", "nobody listens");
}

static void long_lines_are_cut(void **state)
{
    (void)state;
    struct fw_log log = { .level = FW_LOG_TRACE, .write = write_line };
    char text[5000];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = 0;
    fw_log(&log, FW_LOG_ERROR, "m", "%s", text);
    assert_int_equal(strlen(last), 4 + 1023);
}

static void names_are_parsed(void **state)
{
    (void)state;
    assert_int_equal(fw_log_level_from_name("error"), FW_LOG_ERROR);
    assert_int_equal(fw_log_level_from_name("trace"), FW_LOG_TRACE);
    assert_int_equal(fw_log_level_from_name("loud"), -1);
    assert_int_equal(fw_log_level_from_name(""), -1);
}

static void stderr_gets_one_line(void **state)
{
    (void)state;
    int pipe_fd[2];
    assert_int_equal(pipe(pipe_fd), 0);
    const int saved = dup(STDERR_FILENO);
    dup2(pipe_fd[1], STDERR_FILENO);
    fw_log(fw_log_stderr(FW_LOG_INFO), FW_LOG_INFO, "module", "hello %s", "there");
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(pipe_fd[1]);
    char text[200] = "";
    const ssize_t n = read(pipe_fd[0], text, sizeof(text) - 1);
    close(pipe_fd[0]);
    assert_true(n > 0);
    assert_non_null(strstr(text, " info  module: hello there\n"));
    assert_ptr_equal(strchr(text, '\n'), text + n - 1);
}

static void a_message_stays_on_its_line(void **state)
{
    (void)state;
    struct fw_log log = { .level = FW_LOG_INFO, .write = write_line };
    fw_log(&log, FW_LOG_INFO, "m", "%s", "a\nb\033[2J\tc\177 \xc3\xa4");
    assert_string_equal(last, "2 m a b?[2J c? \xc3\xa4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_above_are_silent),
        cmocka_unit_test(long_lines_are_cut),
        cmocka_unit_test(names_are_parsed),
        cmocka_unit_test(stderr_gets_one_line),
        cmocka_unit_test(a_message_stays_on_its_line),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
