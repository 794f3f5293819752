// SPDX-License-Identifier: MIT
#include "base/log.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const level_names[] = {
    [FW_LOG_ERROR] = "error", [FW_LOG_WARN] = "warn",   [FW_LOG_INFO] = "info",
    [FW_LOG_DEBUG] = "debug", [FW_LOG_TRACE] = "trace",
};

// Names of files, words of workers and browsers end up in here: one message is one line, and none
// of them moves the cursor of the terminal that shows it.
static void clean(char *line)
{
    for (char *c = line; *c; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f) {
            *c = *c == '\n' || *c == '\t' ? ' ' : '?';
        }
    }
}

void fw_log(struct fw_log *log, enum fw_log_level level, const char *module, const char *fmt, ...)
{
    if (!log || level > log->level) {
        return;
    }
    char line[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    clean(line);
    log->write(log, level, module, line);
}

static void write_stderr(struct fw_log *log, enum fw_log_level level, const char *module,
                         const char *line)
{
    (void)log;
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    struct tm tm;
    localtime_r(&ts.tv_sec, &tm);
    char out[1200];
    int n = snprintf(out, sizeof(out), "%02d:%02d:%02d.%03ld %-5s %s: %s\n", tm.tm_hour, tm.tm_min,
                     tm.tm_sec, ts.tv_nsec / 1000000, level_names[level], module, line);
    if (n > 0) {
        // A closed stderr is no reason to fail, and there is nowhere to report it.
        ssize_t ignored = write(STDERR_FILENO, out, (size_t)n);
        (void)ignored;
    }
}

struct fw_log *fw_log_stderr(enum fw_log_level level)
{
    static struct fw_log log = { .write = write_stderr };
    log.level = level;
    return &log;
}

int fw_log_level_from_name(const char *name)
{
    for (int i = 0; i <= FW_LOG_TRACE; i++) {
        if (strcmp(name, level_names[i]) == 0) {
            return i;
        }
    }
    return -1;
}
