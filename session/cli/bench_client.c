// SPDX-License-Identifier: MIT
#include "session/cli/bench_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum { UNDECODED_SOFT = 3 }; // more than these, and "received" is held back, as a browser does

static bool counts(const struct fw_bench_client *c, int64_t at_ns)
{
    return c->from_ns && at_ns >= c->from_ns && at_ns < c->to_ns;
}

// ---- pictures

// Tells the age up to `now_ns`, as far as that is in the window. Only now, with the oldest change
// that was not on screen, is it known how old the picture has been.
static void tell_age(struct fw_bench_client *c, int64_t change_ns, int64_t now_ns)
{
    const struct fw_age_out out = { .histogram = &c->figures.aoi };
    if (c->from_ns)
        fw_age_until(&c->age, change_ns, now_ns < c->to_ns ? now_ns : c->to_ns, &out);
}

static void present(struct fw_bench_client *c, uint64_t frame_id, bool animating, int64_t begun_ns,
                    int64_t decoded_ns)
{
    const int64_t now = fw_now_ns();
    tell_age(c, fw_watch_change(c->watch), decoded_ns);
    fw_age_shown(&c->age, animating ? fw_client_clock_local(fw_watch_clock(c->watch), begun_ns) : 0,
                 decoded_ns);
    fw_watch_ack(c->watch, frame_id, FW_ACK_DECODED, decoded_ns);
    fw_watch_ack(c->watch, frame_id, FW_ACK_PRESENTED, decoded_ns);
    c->shown = true;
    if (counts(c, now))
        c->figures.presented++;
}

static void drop(struct fw_bench_client *c, uint64_t frame_id)
{
    const int64_t now = fw_now_ns();
    fw_watch_ack(c->watch, frame_id, FW_ACK_DROPPED, now);
    if (counts(c, now))
        c->figures.dropped++;
}

static void want_key(struct fw_bench_client *c, const char *reason)
{
    if (!c->asked_key)
        fw_watch_want_key(c->watch, reason);
    c->asked_key = true;
}

static void decode(struct fw_bench_client *c, const struct fw_wire_video *video, int64_t now_ns)
{
    struct fw_bench_job *job = NULL;
    if (video->key)
        c->need_key = c->asked_key = false;
    else if (c->need_key)
        want_key(c, "no key frame yet");
    if (!c->need_key)
        job = fw_bench_job_create(video->payload, video->payload_size);
    if (!job) {
        fw_watch_ack(c->watch, video->frame_id, FW_ACK_RECEIVED, now_ns);
        drop(c, video->frame_id);
        return;
    }
    job->owner = c;
    job->decoder = c->decoder;
    job->frame_id = video->frame_id;
    job->drawn = video->render_us > 0;
    job->width = video->width;
    job->height = video->height;
    job->animating = video->animating;
    job->begun_ns = video->begun_ns;
    job->received_ns = now_ns;
    job->held = ++c->undecoded > UNDECODED_SOFT;
    if (!job->held)
        fw_watch_ack(c->watch, video->frame_id, FW_ACK_RECEIVED, now_ns);
    fw_bench_decoders_submit(c->decoders, c->number, job);
}

static void on_video(void *user, const struct fw_wire_video *video, size_t bytes, int64_t now_ns)
{
    struct fw_bench_client *c = user;
    if (counts(c, now_ns))
        c->figures.received_bytes += bytes;
    if (c->decoders) {
        decode(c, video, now_ns);
        return;
    }
    fw_watch_ack(c->watch, video->frame_id, FW_ACK_RECEIVED, now_ns);
    present(c, video->frame_id, video->animating, video->begun_ns, now_ns);
}

// The picture must carry its own number; one that is only sent sharper, that of the one before.
static void check_id(struct fw_bench_client *c, const struct fw_bench_job *job)
{
    const uint64_t wanted = job->drawn ? job->frame_id : c->painted;
    const bool known = job->drawn || c->painted;
    c->painted = job->painted;
    if (!known || !counts(c, job->decoded_ns))
        return;
    c->figures.ids_checked++;
    if (job->painted == wanted)
        return;
    c->figures.ids_wrong++;
    c->figures.worst_id_header = wanted;
    c->figures.worst_id_painted = job->painted;
}

void fw_bench_client_decoded(struct fw_bench_client *c, const struct fw_bench_job *job)
{
    c->undecoded--;
    if (c->ended)
        return;
    if (job->held)
        fw_watch_ack(c->watch, job->frame_id, FW_ACK_RECEIVED, job->received_ns);
    if (job->err) {
        c->figures.decode_errors += counts(c, job->decoded_ns);
        c->need_key = true;
        drop(c, job->frame_id);
        want_key(c, "decoder-error");
    } else {
        if (c->check_ids)
            check_id(c, job);
        present(c, job->frame_id, job->animating, job->begun_ns, job->decoded_ns);
    }
    fw_watch_flush(c->watch);
}

// ---- age and input

void fw_bench_client_settle(struct fw_bench_client *c)
{
    const int64_t now = fw_now_ns(), age = fw_watch_age(c->watch, now);
    tell_age(c, age > 0 ? now - age : 0, now);
}

static void on_seen(void *user, uint64_t seq, int64_t since_ns, int64_t seen_ns)
{
    struct fw_bench_client *c = user;
    (void)seq;
    if (!counts(c, since_ns))
        return;
    fw_histogram_add(&c->figures.input, seen_ns - since_ns);
    c->figures.inputs_open--;
}

int64_t fw_bench_client_input(struct fw_bench_client *c, int64_t now_ns)
{
    if (c->ended || !c->shown)
        return INT64_MAX;
    if (!c->schedule_ns)
        c->schedule_ns = now_ns;
    for (;;) {
        const int64_t next = fw_bench_schedule_due(&c->schedule);
        const int64_t due = next == INT64_MAX ? next : c->schedule_ns + next;
        struct fw_bench_step step;
        if (due > now_ns)
            return due;
        fw_bench_schedule_take(&c->schedule, &step);
        if (step.followed && counts(c, due)) {
            c->figures.inputs += step.count;
            c->figures.inputs_open += step.count;
            fw_histogram_add(&c->figures.late, now_ns - due);
        }
        fw_watch_input(c->watch, step.event, step.count,
                       step.followed ? due : FW_WATCH_NOT_FOLLOWED);
    }
}

void fw_bench_client_turn(struct fw_bench_client *c)
{
    if (c->ended)
        return;
    if (fw_watch_turn(c->watch))
        c->ended = true;
}

void fw_bench_client_begin(struct fw_bench_client *c, int64_t now_ns)
{
    memset(&c->figures, 0, sizeof(c->figures));
    c->from_ns = now_ns;
    if (c->age.told_ns)
        c->age.told_ns = now_ns; // what was before does not count
    c->to_ns = INT64_MAX;
}

// ---- life

json_t *fw_bench_session_request(const struct fw_bench_load_options *o)
{
    json_t *args = json_object();
    for (unsigned i = 0; i < o->arg_count; i++) {
        char key[64];
        const char *equals = strchr(o->args[i], '=');
        snprintf(key, sizeof(key), "%.*s", (int)(equals - o->args[i]), o->args[i]);
        json_object_set_new(args, key, json_string(equals + 1));
    }
    return json_pack("{s:s, s:o, s:i, s:i, s:i}", "source", o->source, "args", args, "width",
                     o->width, "height", o->height, "fps", o->fps);
}

struct fw_bench_client *fw_bench_client_create(const struct fw_remote *remote,
                                               const struct fw_bench_load_options *options,
                                               unsigned number, struct fw_bench_decoders *decoders,
                                               struct fw_remote_error *error)
{
    struct fw_bench_client *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->number = number;
    c->options = options;
    c->decoders = decoders;
    c->check_ids = strcmp(options->source, "testcard") == 0;
    c->need_key = true;
    fw_bench_schedule_init(&c->schedule, options->input, number + 1, options->width,
                           options->height);
    json_t *request = fw_bench_session_request(options);
    enum fw_err err = fw_remote_create(remote, request, &c->session, error);
    json_decref(request);
    if (!err && decoders)
        err = fw_decoder_create(&c->decoder);
    const struct fw_watch_params params = {
        .remote = remote,
        .id = c->session.id,
        .token = c->session.token,
        .width = options->width,
        .height = options->height,
        .handler = { .video = on_video, .input_seen = on_seen },
        .user = c,
    };
    if (!err)
        err = fw_watch_open(&c->watch, &params, error);
    if (err)
        fw_bench_client_destroy(&c, remote);
    return c;
}

enum fw_err fw_bench_client_destroy(struct fw_bench_client **client, const struct fw_remote *remote)
{
    struct fw_bench_client *c = *client;
    struct fw_remote_error error;
    enum fw_err err = FW_OK;
    *client = NULL;
    if (!c)
        return err;
    fw_watch_close(&c->watch);
    if (c->session.id[0])
        err = fw_remote_delete(remote, c->session.id, &error);
    fw_decoder_destroy(&c->decoder);
    free(c);
    return err;
}
