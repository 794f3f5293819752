// SPDX-License-Identifier: MIT
#include "session/manager_impl.h"

#include <string.h>

static struct session *session_of(struct fw_channel *channel)
{
    return fw_channel_user(channel);
}

static void on_http(void *user, const struct fw_http_request *req, struct fw_http_response *res)
{
    const struct fw_manager *m = user;
    m->p.http(m->p.user, req, res);
}

static enum fw_err on_hello(void *user, const struct fw_hello *hello, struct fw_channel **channel,
                            const char **message)
{
    struct fw_manager *m = user;
    const enum fw_err err = m->p.admit(m->p.user, hello->session_id, hello->token, message);
    if (err)
        return err;
    for (struct session *s = m->sessions; s; s = s->next) {
        if (strcmp(s->id, hello->session_id) != 0)
            continue;
        *channel = s->channel;
        return FW_OK;
    }
    *message = "there is no such session";
    return FW_ERR_NOT_FOUND;
}

static void on_joined(void *user, struct fw_channel *channel, struct fw_viewer *viewer)
{
    const struct fw_manager *m = user;
    (void)viewer;
    fw_log(m->p.log, FW_LOG_DEBUG, "manager", "session %.10s: a viewer came",
           session_of(channel)->id);
}

static void on_left(void *user, struct fw_channel *channel, struct fw_viewer *viewer)
{
    const struct fw_manager *m = user;
    (void)viewer;
    fw_log(m->p.log, FW_LOG_DEBUG, "manager", "session %.10s: a viewer went",
           session_of(channel)->id);
}

static void on_input(void *user, struct fw_channel *channel, struct fw_viewer *viewer,
                     const struct fw_input_event *events, unsigned count)
{
    struct child *c = session_of(channel)->child;
    (void)user;
    (void)viewer;
    if (!c)
        return; // a new worker holds no keys down: nothing to tell it
    for (unsigned i = 0; i < count; i++)
        fw_input_queue_push(&c->input, &events[i]);
    fw_child_flush(c);
}

static void on_viewport(void *user, struct fw_channel *channel, const struct fw_viewport *viewport)
{
    struct session *s = session_of(channel);
    (void)user;
    if (s->width == viewport->width && s->height == viewport->height)
        return;
    s->width = viewport->width;
    s->height = viewport->height;
    if (!s->child)
        return; // START will carry it
    s->child->resize_due = true;
    fw_child_flush(s->child);
}

static void on_keyframe(void *user, struct fw_channel *channel)
{
    struct session *s = session_of(channel);
    (void)user;
    if (!s->child)
        return; // the first frame is one
    s->child->keyframe_due = true;
    fw_child_flush(s->child);
}

static void on_credit(void *user, struct fw_channel *channel, uint64_t allowed, bool active)
{
    struct session *s = session_of(channel);
    (void)user;
    s->allowed = allowed;
    s->active = active;
    if (!s->child)
        return;
    s->child->credit_due = true;
    fw_child_flush(s->child);
}

const struct fw_server_handler fw_manager_stream_handler = {
    .http = on_http,
    .hello = on_hello,
    .joined = on_joined,
    .left = on_left,
    .input = on_input,
    .viewport = on_viewport,
    .keyframe = on_keyframe,
    .credit = on_credit,
};
