// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "render/source_arg.h"
#include "session/pipeline_impl.h"

// Loading a large model from a slow disk takes its time; a hung one must end all the same.
static const int64_t open_limit_ns = 120 * (int64_t)FW_NS_PER_S;
static const int64_t memory_beat_ns = 50 * (int64_t)FW_NS_PER_MS;

static void wake(void *user)
{
    struct fw_pipeline *p = user;
    const uint64_t one = 1;
    const ssize_t n = write(p->wake_fd, &one, sizeof(one)); // fails only when readable anyway
    (void)n;
}

// Would a new process fare better?
static bool is_permanent(enum fw_err err)
{
    switch (err) {
    case FW_ERR_INVALID:
    case FW_ERR_FORMAT:
    case FW_ERR_TOO_LARGE:
    case FW_ERR_NOT_FOUND:
    case FW_ERR_DENIED:
    case FW_ERR_UNSUPPORTED: return true;
    default: return false;
    }
}

// What the page calls the session: its title, else the model's file, else the source.
static void make_title(struct fw_pipeline *p, const struct fw_link_start *m)
{
    const char *title = m->source;
    for (uint32_t i = 0; i < m->arg_count; i++) {
        const char *value = m->args[i].value;
        if (strcmp(m->args[i].key, "title") == 0 && value[0]) {
            title = value;
            break;
        }
        if (strcmp(m->args[i].key, "model") == 0 && value[0]) {
            const char *slash = strrchr(value, '/');
            title = slash ? slash + 1 : value;
        }
    }
    snprintf(p->title, sizeof(p->title), "%s", title);
}

static enum fw_err open_source(struct fw_pipeline *p, const struct fw_link_start *m, char *message,
                               size_t message_size)
{
    struct fw_source_arg args[FW_LINK_MAX_ARGS];
    for (uint32_t i = 0; i < m->arg_count; i++) {
        args[i] = (struct fw_source_arg){ m->args[i].key, m->args[i].value };
    }
    fw_watchdog_arm(p->params.watchdog, FW_WATCH_SESSION, open_limit_ns);
    fw_watchdog_beat(p->params.watchdog, FW_WATCH_MEMORY, memory_beat_ns);
    const enum fw_err err = fw_render_open(p->render, &(struct fw_render_open_params){
                                                          .source = m->source,
                                                          .args = args,
                                                          .arg_count = m->arg_count,
                                                          .width = m->width,
                                                          .height = m->height,
                                                          .fps = m->fps,
                                                          .message = message,
                                                          .message_size = message_size,
                                                          .progress = fw_pipeline_send_progress,
                                                          .progress_user = p,
                                                      });
    fw_watchdog_disarm(p->params.watchdog, FW_WATCH_MEMORY);
    fw_watchdog_disarm(p->params.watchdog, FW_WATCH_SESSION);
    return err;
}

static void begin_session(struct fw_pipeline *p, const struct fw_link_start *m)
{
    p->width = m->width;
    p->height = m->height;
    p->fps = m->fps;
    p->next_id = m->first_frame_id ? m->first_frame_id : 1;
    p->fresh = true;
    p->drawn = p->ahead = false;
    p->change_ns = fw_now_ns();
    p->beacon_ns = 0;
    make_title(p, m);
    fw_pacing_init(&p->pacing, &(struct fw_pacing_params){
                                   .fps = m->fps,
                                   .refine_frames = p->params.refine_frames,
                                   .refine_after_ns = p->params.refine_after_ns,
                               });
}

// Source and encoder open side by side.
static enum fw_err start(struct fw_pipeline *p, const struct fw_link_start *m)
{
    if (p->stage) {
        return fw_pipeline_fail(p, FW_ERR_INTERNAL, false, "A session was started twice.");
    }
    if (p->warming) {
        pthread_join(p->warm_thread, NULL);
        p->warming = false;
    }
    begin_session(p, m);
    const struct fw_encode_stage_params stage = {
        .transport = p->params.transport,
        .watchdog = p->params.watchdog,
        .log = p->params.log,
        .encoder = m->encoder[0] ? m->encoder : NULL,
        .device = m->device[0] ? m->device : NULL,
        .width = m->width,
        .height = m->height,
        .fps = m->fps,
        .bitrate_kbps = m->bitrate_kbps,
        .wake = wake,
        .wake_user = p,
    };
    enum fw_err err = fw_encode_stage_create(&p->stage, &stage);
    if (err) {
        return fw_pipeline_fail(p, err, false, "The encode thread could not be started.");
    }
    // Both must have come to an end before the message they read from goes away.
    char source_message[512] = "", encoder_message[512] = "";
    err = open_source(p, m, source_message, sizeof(source_message));
    const enum fw_err encoder_err =
        fw_encode_stage_wait_open(p->stage, encoder_message, sizeof(encoder_message));
    if (err) {
        return fw_pipeline_fail(p, err, is_permanent(err),
                                source_message[0] ? source_message
                                                  : "The source could not be opened.");
    }
    if (encoder_err) {
        return fw_pipeline_fail(p, encoder_err, true, encoder_message);
    }
    fw_render_restore(p->render, m->view.bytes, m->view.size);
    fw_encode_stage_get_status(p->stage, &p->status);
    snprintf(p->encoder, sizeof(p->encoder), "%s", p->status.encoder);
    fw_pipeline_send_ready(p);
    return FW_OK;
}

// What a person does on purpose and waits to see, at the pace of a hand.
static bool is_press(const struct fw_input_event *event)
{
    switch (event->kind) {
    case FW_INPUT_BUTTON:
    case FW_INPUT_KEY: return event->state != 0;
    case FW_INPUT_TOUCH: return event->state == FW_TOUCH_DOWN;
    case FW_INPUT_WHEEL: return true;
    default: return false;
    }
}

static void input(struct fw_pipeline *p, const struct fw_link_input *m)
{
    const int64_t now = fw_now_ns();
    for (uint32_t i = 0; i < m->count; i++) {
        fw_render_input(p->render, &m->events[i]);
        p->pressed |= is_press(&m->events[i]);
    }
    const struct fw_input_event *newest = &m->events[m->count - 1];
    p->input_id = newest->id;
    p->input_rx_ns = newest->rx_ns;
    p->delivered_ns = FW_TRACE_ON ? now : 0;
    if (p->change_ns == 0) {
        int64_t next;
        bool animating;
        if (fw_render_wants_frame(p->render, now, &next, &animating) && !animating) {
            p->change_ns = m->events[0].rx_ns;
        }
    }
}

static void resize(struct fw_pipeline *p, const struct fw_link_resize *m)
{
    const bool same = m->width == p->width && m->height == p->height;
    p->resize_width = same ? 0 : m->width;
    p->resize_height = same ? 0 : m->height;
    if (!same && p->change_ns == 0) {
        p->change_ns = fw_now_ns();
    }
}

static void credit(struct fw_pipeline *p, const struct fw_link_credit *m)
{
    p->allowed = m->allowed;
    p->active = m->active;
}

static void fault(struct fw_pipeline *p, const struct fw_link_fault *m)
{
    const int64_t *delay = m->faults.delay_ns;
    fw_render_set_delays(p->render, delay[FW_FAULT_RENDER], delay[FW_FAULT_CONVERT]);
    fw_encode_stage_set_delay(p->stage, delay[FW_FAULT_ENCODE]);
}

static enum fw_err in_session(struct fw_pipeline *p, uint16_t type)
{
    switch (type) {
    case FW_LINK_INPUT: input(p, (const void *)p->buf); break;
    case FW_LINK_RESIZE: resize(p, (const void *)p->buf); break;
    case FW_LINK_FAULT: fault(p, (const void *)p->buf); break;
    case FW_LINK_KEYFRAME: fw_encode_stage_request_key(p->stage); break;
    case FW_LINK_RATE: {
        const struct fw_link_rate *m = (const void *)p->buf;
        fw_encode_stage_set_rate(p->stage, m->bitrate_kbps, m->frame_bytes);
        break;
    }
    default: return FW_ERR_FORMAT;
    }
    return FW_OK;
}

static enum fw_err dispatch(struct fw_pipeline *p)
{
    const struct fw_link_header *h = (const void *)p->buf;
    switch (h->type) {
    case FW_LINK_START: return start(p, (const void *)p->buf);
    case FW_LINK_CREDIT: credit(p, (const void *)p->buf); return FW_OK;
    case FW_LINK_STOP: return FW_ERR_CLOSED;
    default: return p->stage ? in_session(p, h->type) : FW_ERR_FORMAT;
    }
}

enum fw_err fw_pipeline_commands(struct fw_pipeline *p)
{
    // Bounded, so that a flood of input still lets frames through.
    enum { AT_ONCE = 64 };
    for (int i = 0; i < AT_ONCE; i++) {
        size_t size;
        enum fw_err err = p->params.transport->impl->recv(p->params.transport, p->buf, &size);
        if (err == FW_ERR_AGAIN) {
            return FW_OK;
        }
        if (!err) {
            err = dispatch(p);
        }
        if (err == FW_ERR_FORMAT && !p->failed) {
            return fw_pipeline_fail(p, err, false, "A broken command came over the link.");
        }
        if (err) {
            return err;
        }
    }
    return FW_OK;
}
