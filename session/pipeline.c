// SPDX-License-Identifier: MIT
#include "session/pipeline.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "session/pipeline_impl.h"

static const int64_t frame_limit_ns = 10 * (int64_t)FW_NS_PER_S;
// A front that does not empty its ring is not asked again at once.
static const int64_t stall_pause_ns = 100 * (int64_t)FW_NS_PER_MS;

static void *warm_main(void *arg)
{
    struct fw_pipeline *p = arg;
    pthread_setname_np(pthread_self(), "fw-warm");
    fw_encode_warm_up(p->warm_encoder, NULL, p->params.log);
    fw_render_warm_up();
    return NULL;
}

// Beside the making of the device: each takes about as long.
static void start_warm_up(struct fw_pipeline *p)
{
    if (p->params.warm_encoder) {
        snprintf(p->warm_encoder, sizeof(p->warm_encoder), "%s", p->params.warm_encoder);
        p->warming = pthread_create(&p->warm_thread, NULL, warm_main, p) == 0;
    }
}

enum fw_err fw_pipeline_create(struct fw_pipeline **pipeline,
                               const struct fw_pipeline_params *params)
{
    struct fw_pipeline *p = calloc(1, sizeof(*p));
    if (!p) {
        return FW_ERR_NOMEM;
    }
    p->params = *params;
    enum fw_err err = FW_ERR_IO;
    p->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (p->wake_fd < 0) {
        goto error;
    }
    start_warm_up(p);
    fw_watchdog_arm(params->watchdog, FW_WATCH_SESSION, frame_limit_ns);
    err = fw_render_create(&p->render, &params->render);
    fw_watchdog_disarm(params->watchdog, FW_WATCH_SESSION);
    if (err) {
        goto error;
    }
    fw_pipeline_send_warm(p);
    *pipeline = p;
    return FW_OK;

error:
    fw_pipeline_fail(p, err, err == FW_ERR_NOT_FOUND || err == FW_ERR_UNSUPPORTED,
                     "The graphics device could not be opened; the line before says why.");
    fw_pipeline_destroy(&p);
    return err;
}

void fw_pipeline_stop(struct fw_pipeline *p)
{
    atomic_store(&p->stop, true);
    const uint64_t one = 1;
    const ssize_t n = write(p->wake_fd, &one, sizeof(one)); // fails only when readable anyway
    (void)n;
}

bool fw_pipeline_destroy(struct fw_pipeline **pipeline)
{
    struct fw_pipeline *p = *pipeline;
    *pipeline = NULL;
    if (!p) {
        return true;
    }
    if (!fw_encode_stage_destroy(&p->stage)) {
        return false; // the thread still holds frames and the encoder
    }
    if (p->warming) {
        pthread_join(p->warm_thread, NULL);
    }
    fw_frame_unref(&p->last);
    fw_render_destroy(&p->render);
    if (p->wake_fd >= 0) {
        close(p->wake_fd);
    }
    free(p);
    return true;
}

// ---- one step ----------------------------------------------------------------------------------

static enum fw_err apply_resize(struct fw_pipeline *p)
{
    if (p->resize_width == 0) {
        return FW_OK;
    }
    const int width = p->resize_width, height = p->resize_height;
    p->resize_width = p->resize_height = 0;
    fw_frame_unref(&p->last); // an old picture of the wrong size
    p->fresh = true;
    const enum fw_err err = fw_render_resize(p->render, width, height);
    if (err == FW_ERR_INVALID) {
        fw_log(p->params.log, FW_LOG_WARN, "session", "no resize to %dx%d", width, height);
        return FW_OK;
    }
    if (!err) {
        p->width = width;
        p->height = height;
    }
    return err;
}

static void submit(struct fw_pipeline *p, struct fw_frame *frame, bool again, int64_t now_ns)
{
    fw_frame_unref(&p->last);
    p->last = fw_frame_ref(frame);
    fw_encode_stage_submit(p->stage, &(struct fw_job){
                                         .frame = frame,
                                         .id = p->next_id++,
                                         .again = again,
                                         .now_ns = now_ns,
                                     });
}

static void stamp(struct fw_pipeline *p, struct fw_frame *frame, int64_t now_ns, bool animating)
{
    frame->input_id = p->input_id;
    frame->animating = animating;
    frame->times.input_rx_ns = p->input_rx_ns;
    frame->times.delivered_ns = p->delivered_ns;
    frame->times.change_ns = p->change_ns ? p->change_ns : now_ns;
    if (frame->times.begun_ns == 0) {
        frame->times.begun_ns = now_ns;
    }
    p->change_ns = 0;
    p->answering = p->pressed;
    p->pressed = false;
}

// `*frame` is NULL when the encoder holds all slots.
static enum fw_err render(struct fw_pipeline *p, bool animating, int64_t now_ns,
                          struct fw_frame **frame)
{
    *frame = NULL;
    fw_watchdog_arm(p->params.watchdog, FW_WATCH_SESSION, frame_limit_ns);
    enum fw_err err = apply_resize(p);
    if (!err) {
        err = fw_render_frame(p->render, p->next_id, now_ns, frame);
    }
    fw_watchdog_disarm(p->params.watchdog, FW_WATCH_SESSION);
    if (err == FW_ERR_AGAIN) {
        fw_pacing_hold(&p->pacing, now_ns + 2 * FW_NS_PER_MS);
        return FW_OK;
    }
    if (err) {
        return fw_pipeline_fail(p, err, false,
                                err == FW_ERR_DEVICE_LOST ? "The graphics device was lost."
                                : err == FW_ERR_TIMEOUT
                                    ? "The graphics device did not finish a frame in time."
                                    : "A frame could not be drawn.");
    }
    p->fresh = false;
    p->drawn = true;
    fw_pacing_rendered(&p->pacing, fw_now_ns() - now_ns);
    stamp(p, *frame, now_ns, animating);
    return FW_OK;
}

static enum fw_err draw(struct fw_pipeline *p, bool animating)
{
    const int64_t now = fw_now_ns();
    struct fw_frame *frame;
    fw_pacing_begun(&p->pacing, FW_PACE_FRAME, now, animating);
    const enum fw_err err = render(p, animating, now, &frame);
    if (!err && frame) {
        submit(p, frame, false, now);
    }
    return err;
}

// The first picture is drawn while the page still loads and nobody looks: a driver that compiles at
// first use does it now.
static enum fw_err draw_ahead(struct fw_pipeline *p, bool animating)
{
    struct fw_frame *frame;
    const enum fw_err err = render(p, animating, fw_now_ns(), &frame);
    if (!err && frame) {
        p->last = frame;
        p->ahead = true;
    }
    return err;
}

static void show_ahead(struct fw_pipeline *p, bool animating)
{
    const int64_t now = fw_now_ns();
    struct fw_frame *frame = p->last;
    p->last = NULL;
    p->ahead = false;
    fw_pacing_begun(&p->pacing, FW_PACE_FRAME, now, animating);
    submit(p, frame, false, now);
}

static void draw_nothing(struct fw_pipeline *p, enum fw_pacing_action action)
{
    const int64_t now = fw_now_ns();
    fw_pacing_begun(&p->pacing, action, now, false);
    submit(p, fw_frame_ref(p->last), true, now);
}

static enum fw_err read_status(struct fw_pipeline *p)
{
    fw_encode_stage_get_status(p->stage, &p->status);
    if (p->status.err) {
        return fw_pipeline_fail(p, p->status.err, false, p->status.message);
    }
    if (strcmp(p->encoder, p->status.encoder) != 0) {
        fw_log(p->params.log, FW_LOG_WARN, "session", "the encoder is %s now, it was %s",
               p->status.encoder, p->encoder);
        snprintf(p->encoder, sizeof(p->encoder), "%s", p->status.encoder);
        fw_pipeline_send_ready(p);
    }
    if (p->status.stalled_ns) {
        fw_pacing_hold(&p->pacing, p->status.stalled_ns + stall_pause_ns);
    }
    return FW_OK;
}

// Does at most one thing. `*wake_ns`: when to come back, at the latest.
static enum fw_err step(struct fw_pipeline *p, int64_t *wake_ns)
{
    enum fw_err err = read_status(p);
    if (err) {
        return err;
    }
    p->answering = p->answering && p->status.pending > 0;
    const int64_t now = fw_now_ns();
    int64_t source_next = INT64_MAX;
    bool animating = false;
    const bool changed = fw_render_wants_frame(p->render, now, &source_next, &animating);
    const bool wants = changed || p->fresh || p->resize_width != 0;
    const struct fw_pacing_facts facts = {
        .now_ns = now,
        .wants = wants,
        .animating = animating,
        .pressed = p->pressed,
        .source_next_ns = source_next,
        .room = p->active && !p->answering && !p->status.waiting &&
                p->status.written + p->status.pending < p->allowed,
        .encoder_free_ns = p->status.free_ns,
        .quiet = p->status.pending == 0,
        .key_wanted = p->status.key_wanted,
        .have_last = p->last != NULL,
        .starved = p->status.starved,
    };
    enum fw_pacing_action action = fw_pacing_decide(&p->pacing, &facts, wake_ns);
    p->ahead = p->ahead && p->resize_width == 0;
    if (p->ahead && facts.room) {
        show_ahead(p, animating);
        action = FW_PACE_FRAME;
    } else if (wants && !p->drawn && !facts.room) {
        err = draw_ahead(p, animating);
    } else if (action == FW_PACE_FRAME) {
        err = draw(p, animating);
    } else if (action != FW_PACE_WAIT) {
        draw_nothing(p, action);
    }
    if (action != FW_PACE_WAIT) {
        *wake_ns = now; // look again at once: the status has changed
    }
    const int64_t beacon = fw_pipeline_beacon(p, now, wants, animating);
    const int64_t view = fw_pipeline_view(p, now, wants, animating);
    const int64_t report = beacon < view ? beacon : view;
    if (report < *wake_ns) {
        *wake_ns = report;
    }
    return err;
}

static void wait(struct fw_pipeline *p, int64_t wake_ns)
{
    struct pollfd fds[2] = {
        { .fd = p->params.transport->impl->poll_fd(p->params.transport), .events = POLLIN },
        { .fd = p->wake_fd, .events = POLLIN },
    };
    struct timespec ts, *timeout = NULL;
    if (wake_ns != INT64_MAX) {
        const int64_t now = fw_now_ns();
        const int64_t left = wake_ns > now ? wake_ns - now : 0;
        ts = (struct timespec){ .tv_sec = left / FW_NS_PER_S, .tv_nsec = left % FW_NS_PER_S };
        timeout = &ts;
    }
    if (ppoll(fds, 2, timeout, NULL) > 0 && (fds[1].revents & POLLIN)) {
        uint64_t n;
        const ssize_t got = read(p->wake_fd, &n, sizeof(n));
        (void)got;
    }
}

enum fw_err fw_pipeline_run(struct fw_pipeline *p)
{
    enum fw_err err = FW_OK;
    while (!atomic_load(&p->stop)) {
        int64_t wake_ns = INT64_MAX;
        err = fw_pipeline_commands(p);
        if (!err && p->stage) {
            err = step(p, &wake_ns);
        }
        if (err) {
            break;
        }
        wait(p, wake_ns);
    }
    return err == FW_ERR_CLOSED ? FW_OK : err;
}
