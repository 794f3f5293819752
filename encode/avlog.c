// SPDX-License-Identifier: MIT
#include "encode/avlog.h"

#include <ctype.h>
#include <libavutil/error.h>
#include <libavutil/log.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_once_t installed = PTHREAD_ONCE_INIT;
// libavutil's log has no user pointer, so what it says is kept by thread: encoders of two sessions
// in one process do not mix up their reasons.
static _Thread_local char first_error[160];
// Some failures are only told as a remark (VA-API devices that don't open): the last one counts.
static _Thread_local char last_remark[160];

static void keep_reason(void *context, int level, const char *format, va_list args)
{
    (void)context;
    if (level > AV_LOG_VERBOSE || first_error[0]) {
        return;
    }
    char *text = level > AV_LOG_ERROR ? last_remark : first_error;
    vsnprintf(text, sizeof(first_error), format, args);
    char *out = text;
    for (const char *in = text; *in; in++) {
        *out = isprint((unsigned char)*in) ? *in : ' ';
        out++;
    }
    while (out > text && (out[-1] == ' ' || out[-1] == '.')) {
        out--;
    }
    *out = '\0';
}

static void install(void)
{
    av_log_set_callback(keep_reason);
}

void fw_avlog_install(void)
{
    pthread_once(&installed, install);
}

void fw_avlog_reset(void)
{
    first_error[0] = last_remark[0] = '\0';
}

const char *fw_avlog_reason(int averror)
{
    if (!first_error[0] && last_remark[0]) {
        return last_remark;
    }
    if (!first_error[0]) {
        av_strerror(averror, first_error, sizeof(first_error));
    }
    return first_error;
}
