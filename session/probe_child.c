// SPDX-License-Identifier: MIT
#include "session/probe_child.h"

#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUTPUT_MAX = 32 << 10, TIME_MAX_MS = 20000 };

struct fw_probe_child {
    struct fw_probe_child_params p;
    uv_process_t process;
    uv_pipe_t out;
    uv_timer_t timer;
    unsigned open; // handles not closed yet
    bool ended, at_eof, told, spawned, destroyed;
    bool timed_out;
    int64_t status;
    int signal;
    size_t size;
    char text[OUTPUT_MAX + 1];
};

static void on_closed(uv_handle_t *handle)
{
    struct fw_probe_child *c = handle->data;
    if (--c->open == 0 && c->destroyed)
        free(c);
}

static void close_handle(void *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, on_closed);
}

static void tell(struct fw_probe_child *c)
{
    if (c->told || c->destroyed || !c->ended || !c->at_eof)
        return;
    c->told = true;
    uv_timer_stop(&c->timer);
    char why[160];
    json_t *json = c->timed_out ? NULL : json_loadb(c->text, c->size, 0, NULL);
    const char *name = json_string_value(json_object_get(json, "chosen"));
    const char *summary = json_string_value(json_object_get(json, "summary"));
    const char *error = json_string_value(json_object_get(json, "error"));
    if (name) {
        c->p.done(c->p.user, name, summary ? summary : name);
    } else {
        if (c->timed_out)
            snprintf(why, sizeof(why), "trying the encoders took longer than %d s",
                     TIME_MAX_MS / 1000);
        else if (c->signal)
            snprintf(why, sizeof(why), "trying the encoders crashed (%s)", strsignal(c->signal));
        else
            snprintf(why, sizeof(why), "trying the encoders failed (status %d)", (int)c->status);
        c->p.done(c->p.user, NULL, error && *error ? error : why);
    }
    json_decref(json);
}

static void on_exit_cb(uv_process_t *process, int64_t status, int term_signal)
{
    struct fw_probe_child *c = process->data;
    c->ended = true;
    c->status = status;
    c->signal = term_signal;
    tell(c);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct fw_probe_child *c = handle->data;
    (void)suggested;
    *buf = uv_buf_init(c->text + c->size, (unsigned)(OUTPUT_MAX - c->size));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct fw_probe_child *c = stream->data;
    (void)buf;
    if (n > 0) {
        c->size += (size_t)n;
        return;
    }
    if (n == 0)
        return;
    c->at_eof = true; // end, error, or more than we take
    close_handle(&c->out);
    tell(c);
}

static void on_timeout(uv_timer_t *timer)
{
    struct fw_probe_child *c = timer->data;
    c->timed_out = true;
    uv_process_kill(&c->process, SIGKILL);
}

enum fw_err fw_probe_child_start(struct fw_probe_child **probe,
                                 const struct fw_probe_child_params *params)
{
    *probe = NULL;
    struct fw_probe_child *c = calloc(1, sizeof(*c));
    if (!c)
        return FW_ERR_NOMEM;
    c->p = *params;
    uv_pipe_init(c->p.loop, &c->out, 0);
    uv_timer_init(c->p.loop, &c->timer);
    c->out.data = c->timer.data = c->process.data = c;
    c->open = 3;
    const char *argv[] = { "framewire", "encoders", "--json", c->p.encoder, NULL };
    uv_stdio_container_t stdio[3] = {
        { .flags = UV_IGNORE },
        { .flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&c->out },
        { .flags = UV_INHERIT_FD, .data.fd = 2 },
    };
    const uv_process_options_t options = {
        .exit_cb = on_exit_cb,
        .file = "/proc/self/exe",
        .args = (char **)(void *)argv,
        .flags = UV_PROCESS_DETACHED, // a group of its own: Ctrl-C is for the front
        .stdio = stdio,
        .stdio_count = 3,
    };
    const int rc = uv_spawn(c->p.loop, &c->process, &options);
    c->spawned = rc == 0;
    *probe = c;
    if (rc) {
        fw_log(c->p.log, FW_LOG_ERROR, "probe", "can't start a process: %s", uv_strerror(rc));
        fw_probe_child_destroy(probe);
        return FW_ERR_IO;
    }
    uv_read_start((uv_stream_t *)&c->out, on_alloc, on_read);
    uv_timer_start(&c->timer, on_timeout, TIME_MAX_MS, 0);
    return FW_OK;
}

void fw_probe_child_destroy(struct fw_probe_child **probe)
{
    struct fw_probe_child *c = *probe;
    *probe = NULL;
    if (!c)
        return;
    c->destroyed = true;
    if (c->spawned && !c->ended)
        uv_process_kill(&c->process, SIGKILL);
    const bool all_closed = c->open == 0;
    close_handle(&c->process);
    close_handle(&c->out);
    close_handle(&c->timer);
    if (all_closed)
        free(c);
}
