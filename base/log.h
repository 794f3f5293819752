// SPDX-License-Identifier: MIT
// An injected log. Modules get a `struct fw_log *` in their params; NULL means silence.
#pragma once

#include <stdarg.h>

enum fw_log_level {
    FW_LOG_ERROR, // something was lost or refused; a person should act
    FW_LOG_WARN,  // worked around; a person may want to know
    FW_LOG_INFO,  // rare milestones: start, ready, session created, stop
    FW_LOG_DEBUG, // per session or per connection detail
    FW_LOG_TRACE, // per frame detail
};

// Thread: any. `write` must be thread-safe; it gets one line without a newline.
struct fw_log {
    enum fw_log_level level; // lines above this level are not formatted at all
    void (*write)(struct fw_log *log, enum fw_log_level level, const char *module,
                  const char *line);
};

// Formats and writes one line (cut at 1 KiB). `log` may be NULL.
void fw_log(struct fw_log *log, enum fw_log_level level, const char *module, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

// A log that writes "time level module: line" to stderr, one write(2) per line. Static, never
// freed.
struct fw_log *fw_log_stderr(enum fw_log_level level);

// Parses "error".."trace". Returns -1 when unknown.
int fw_log_level_from_name(const char *name);
