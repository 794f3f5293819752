// SPDX-License-Identifier: MIT
#include "session/cli/bench_probe.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/input.h"
#include "encode/decode.h"
#include "session/cli/bench_client.h"

struct fw_bench_probe {
    const struct fw_remote *remote;
    const volatile sig_atomic_t *stop;
    struct fw_remote_session session;
    struct fw_watch *watch;
    struct fw_decoder *decoder;
    bool need_key;
    float x, y;                      // of the pointer
    struct fw_bench_picture picture; // the newest
    bool fresh;
    enum fw_err broken;
};

static void on_video(void *user, const struct fw_wire_video *video, size_t bytes, int64_t now_ns)
{
    struct fw_bench_probe *p = user;
    struct fw_frame *frame = NULL;
    (void)bytes;
    fw_watch_ack(p->watch, video->frame_id, FW_ACK_RECEIVED, now_ns);
    p->need_key &= !video->key;
    const enum fw_err err =
        p->need_key ? FW_ERR_AGAIN
                    : fw_decoder_decode(p->decoder, video->payload, video->payload_size, &frame);
    const int64_t done = fw_now_ns();
    if (err) {
        fw_watch_ack(p->watch, video->frame_id, FW_ACK_DROPPED, done);
        if (err != FW_ERR_AGAIN) {
            p->broken = err;
            p->need_key = true;
            fw_watch_want_key(p->watch, "decoder-error");
        }
        return;
    }
    fw_watch_ack(p->watch, video->frame_id, FW_ACK_DECODED, done);
    fw_watch_ack(p->watch, video->frame_id, FW_ACK_PRESENTED, done);
    fw_frame_unref(&p->picture.frame);
    p->picture.head = *video;
    p->picture.frame = frame;
    p->picture.shown_ns = done;
    if (video->render_us)
        p->picture.drawn_id = video->frame_id;
    if (video->key)
        p->picture.key_ns = video->begun_ns;
    p->picture.head.payload = NULL;
    p->fresh = true;
}

enum fw_err fw_bench_probe_create(struct fw_bench_probe **out, const struct fw_remote *remote,
                                  const struct fw_bench_load_options *options,
                                  const volatile sig_atomic_t *stop, struct fw_remote_error *error)
{
    struct fw_bench_probe *p = calloc(1, sizeof(*p));
    *out = p;
    snprintf(error->message, sizeof(error->message), "out of memory");
    if (!p)
        return FW_ERR_NOMEM;
    p->remote = remote;
    p->stop = stop;
    p->need_key = true;
    json_t *request = fw_bench_session_request(options);
    enum fw_err err = fw_remote_create(remote, request, &p->session, error);
    json_decref(request);
    if (!err)
        err = fw_decoder_create(&p->decoder);
    const struct fw_watch_params params = {
        .remote = remote,
        .id = p->session.id,
        .token = p->session.token,
        .width = options->width,
        .height = options->height,
        .handler = { .video = on_video },
        .user = p,
    };
    if (!err)
        err = fw_watch_open(&p->watch, &params, error);
    if (err)
        fw_bench_probe_destroy(out);
    return err;
}

void fw_bench_probe_destroy(struct fw_bench_probe **probe)
{
    struct fw_bench_probe *p = *probe;
    struct fw_remote_error error;
    *probe = NULL;
    if (!p)
        return;
    fw_watch_close(&p->watch);
    if (p->session.id[0])
        fw_remote_delete(p->remote, p->session.id, &error);
    fw_decoder_destroy(&p->decoder);
    fw_frame_unref(&p->picture.frame);
    free(p);
}

enum fw_err fw_bench_probe_next(struct fw_bench_probe *p, int timeout_ms,
                                struct fw_bench_picture *picture)
{
    enum { SLICE_MS = 100 };
    const int64_t until = fw_now_ns() + timeout_ms * (int64_t)FW_NS_PER_MS;
    p->fresh = false;
    p->broken = FW_OK;
    while (!p->fresh && !p->broken) {
        int fds[2];
        if (*p->stop)
            return FW_ERR_CLOSED;
        if (fw_now_ns() > until)
            return FW_ERR_TIMEOUT;
        fw_watch_fds(p->watch, fds);
        struct pollfd polled[2] = { { fds[0], POLLIN, 0 }, { fds[1], POLLIN, 0 } };
        poll(polled, 2, SLICE_MS);
        if (fw_watch_turn(p->watch))
            return FW_ERR_CLOSED;
    }
    *picture = p->picture;
    return p->broken ? FW_ERR_FORMAT : FW_OK;
}

void fw_bench_probe_button(struct fw_bench_probe *p, bool press, float x, float y)
{
    struct fw_wire_input events[2] = {
        { .kind = FW_INPUT_MOTION, .x = x, .y = y, .dx = x - p->x, .dy = y - p->y },
        { .kind = FW_INPUT_BUTTON, .state = press, .x = x, .y = y },
    };
    p->x = x;
    p->y = y;
    fw_watch_input(p->watch, events, 2, 0);
}

const char *fw_bench_probe_id(const struct fw_bench_probe *p)
{
    return p->session.id;
}

struct fw_watch *fw_bench_probe_watch(struct fw_bench_probe *p)
{
    return p->watch;
}
