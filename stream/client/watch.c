// SPDX-License-Identifier: MIT
#include "stream/client/watch.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "stream/client/age.h"
#include "stream/client/client.h"
#include "stream/client/text.h"

enum {
    PING_BURST = 5,
    PING_EVERY_MS = 2000,
    SILENT_MS = 8000, // without a word on control the link is dead
    MEDIA_RETRIES = 6,
    MEDIA_RETRY_MS = 300,
    TEXT_MAX = 1024,
    SHOWN_KEPT = 64,
    TURN_MESSAGES = 512, // and TURN_MS: what comes after both waits for the next turn
    TURN_MS = 50,
};

struct fw_watch {
    struct fw_watch_params p;
    char path[128];
    struct fw_client *control, *media;
    struct fw_watch_info info;
    struct fw_client_clock clock;
    struct fw_client_age age;
    struct fw_inputs inputs;
    unsigned pongs;
    int64_t ping_ns, heard_ns; // sent last; anything received on control
    int64_t media_retry_ns;
    unsigned media_tries;
    uint64_t seq; // of the newest input sent
    struct fw_wire_ack acks[FW_WIRE_BATCH_MAX];
    unsigned ack_count;
    bool ack_due; // one that is not just "decoded"
    // Which input a frame shows, from its header; slot frame_id % SHOWN_KEPT.
    struct {
        uint64_t frame_id, input_id;
    } shows[SHOWN_KEPT];
    bool over;
};

// ---- sending

static enum fw_err lost(struct fw_watch *w, const char *code, const char *message)
{
    if (!w->over && !w->info.code[0]) {
        snprintf(w->info.code, sizeof(w->info.code), "%s", code);
        snprintf(w->info.message, sizeof(w->info.message), "%s", message);
    }
    w->over = true;
    return FW_ERR_CLOSED;
}

static enum fw_err send_bytes(struct fw_watch *w, int opcode, const void *data, size_t size)
{
    if (w->over || fw_client_send(w->control, opcode, data, size))
        return lost(w, "link", "the connection to the server was lost");
    return FW_OK;
}

static enum fw_err send_json(struct fw_watch *w, json_t *message)
{
    char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
    json_decref(message);
    const enum fw_err err = text ? send_bytes(w, FW_CLIENT_TEXT, text, strlen(text)) : FW_ERR_NOMEM;
    free(text);
    return err;
}

static enum fw_err ping(struct fw_watch *w, int64_t now_ns)
{
    uint8_t out[FW_WIRE_SMALL_MAX];
    struct fw_wire_ping p = { .client_us = (uint64_t)(now_ns / FW_NS_PER_US) };
    p.estimate = fw_client_clock_estimate(&w->clock, now_ns, &p.offset_ns, &p.error_us);
    w->ping_ns = now_ns;
    return send_bytes(w, FW_CLIENT_BINARY, out, fw_wire_write_ping(out, &p));
}

enum fw_err fw_watch_flush(struct fw_watch *w)
{
    uint8_t out[FW_WIRE_BATCH_HEADER + FW_WIRE_BATCH_MAX * FW_WIRE_ACK_SIZE];
    if (!w->ack_count)
        return FW_OK;
    const size_t size = fw_wire_write_ack(out, w->acks, w->ack_count);
    w->ack_count = 0;
    w->ack_due = false;
    return send_bytes(w, FW_CLIENT_BINARY, out, size);
}

static void input_seen(void *user, uint64_t seq, int64_t since_ns, int64_t seen_ns)
{
    const struct fw_watch *w = user;
    if (w->p.handler.input_seen)
        w->p.handler.input_seen(w->p.user, seq, since_ns, seen_ns);
}

void fw_watch_ack(struct fw_watch *w, uint64_t frame_id, enum fw_wire_ack_what what, int64_t at_ns)
{
    if (w->ack_count == FW_WIRE_BATCH_MAX)
        fw_watch_flush(w);
    w->acks[w->ack_count++] = (struct fw_wire_ack){
        .frame_id = frame_id,
        .what = (uint8_t)what,
        .time_us = (uint64_t)(at_ns / FW_NS_PER_US),
    };
    w->ack_due |= what != FW_ACK_DECODED;
    if (what != FW_ACK_PRESENTED)
        return;
    fw_client_age_presented(&w->age, frame_id);
    if (w->shows[frame_id % SHOWN_KEPT].frame_id == frame_id)
        fw_inputs_presented(&w->inputs, w->shows[frame_id % SHOWN_KEPT].input_id, at_ns, input_seen,
                            w);
}

enum fw_err fw_watch_input(struct fw_watch *w, struct fw_wire_input *events, unsigned count,
                           int64_t due_ns)
{
    uint8_t out[FW_WIRE_BATCH_HEADER + FW_WIRE_BATCH_MAX * FW_WIRE_INPUT_SIZE];
    const int64_t now = fw_now_ns();
    if (!count || count > FW_WIRE_BATCH_MAX)
        return FW_ERR_INVALID;
    for (unsigned i = 0; i < count; i++) {
        events[i].valid = true;
        events[i].seq = ++w->seq;
        events[i].time_us = (uint64_t)(now / FW_NS_PER_US);
        if (due_ns != FW_WATCH_NOT_FOLLOWED)
            fw_inputs_sent(&w->inputs, w->seq, due_ns ? due_ns : now);
    }
    return send_bytes(w, FW_CLIENT_BINARY, out, fw_wire_write_input(out, events, count));
}

enum fw_err fw_watch_viewport(struct fw_watch *w, int width, int height)
{
    return send_json(
        w, json_pack("{s:s, s:i, s:i}", "type", "viewport", "width", width, "height", height));
}

enum fw_err fw_watch_visible(struct fw_watch *w, bool visible)
{
    return send_json(w, json_pack("{s:s, s:b}", "type", "visibility", "visible", (int)visible));
}

enum fw_err fw_watch_want_key(struct fw_watch *w, const char *reason)
{
    return send_json(w, json_pack("{s:s, s:s}", "type", "keyframe", "reason", reason));
}

// ---- receiving

static void take(const json_t *from, const char *key, char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(from, key));
    if (text)
        fw_text_copy(out, size, text);
}

// What welcome and info say of the session: some on top, some in "session".
static void take_info(struct fw_watch_info *info, const json_t *m)
{
    const json_t *session = json_object_get(m, "session");
    const json_t *parts[] = { session, m };
    for (int i = 0; i < 2; i++) {
        take(parts[i], "title", info->title, sizeof(info->title));
        take(parts[i], "source", info->source, sizeof(info->source));
        take(parts[i], "gpu", info->gpu, sizeof(info->gpu));
        take(parts[i], "encoder", info->encoder, sizeof(info->encoder));
        const json_t *fps = json_object_get(parts[i], "fps");
        if (json_is_integer(fps))
            info->fps = (int)json_integer_value(fps);
    }
    take(session, "state", info->state, sizeof(info->state));
}

static void on_text(struct fw_watch *w, const struct fw_client_message *message)
{
    struct fw_watch_info *info = &w->info;
    json_t *m = json_loadb((const char *)message->data, message->size, 0, NULL);
    const char *type = json_string_value(json_object_get(m, "type"));
    if (!type) {
        json_decref(m);
        return;
    }
    if (strcmp(type, "state") == 0) {
        info->code[0] = info->message[0] = '\0';
        take(m, "state", info->state, sizeof(info->state));
        take(m, "code", info->code, sizeof(info->code));
        take(m, "message", info->message, sizeof(info->message));
    } else if (strcmp(type, "info") == 0 || strcmp(type, "welcome") == 0) {
        take(m, "viewer", info->viewer, sizeof(info->viewer));
        take_info(info, m);
    } else if (strcmp(type, "progress") == 0) {
        info->percent = (int)json_number_value(json_object_get(m, "percent"));
    } else if (strcmp(type, "error") == 0) {
        const json_t *error = json_object_get(m, "error");
        take(error, "code", info->code, sizeof(info->code));
        take(error, "message", info->message, sizeof(info->message));
    }
    json_decref(m);
    if (w->p.handler.info)
        w->p.handler.info(w->p.user, info);
}

static void on_video(struct fw_watch *w, const struct fw_client_message *m, int64_t now_ns)
{
    struct fw_wire_video video;
    if (fw_wire_parse_video(m->data, m->size, &video)) {
        lost(w, "bad_message", "the server sent a picture message that makes no sense");
        return;
    }
    w->media_tries = 0;
    w->shows[video.frame_id % SHOWN_KEPT].frame_id = video.frame_id;
    w->shows[video.frame_id % SHOWN_KEPT].input_id = video.input_id;
    fw_client_age_received(&w->age, &video);
    w->p.handler.video(w->p.user, &video, m->size, now_ns);
}

static void on_stamps(struct fw_watch *w, const struct fw_client_message *m, int64_t now_ns)
{
    struct fw_wire_stamp stamps[FW_WIRE_STAMPS_MAX];
    unsigned count = 0;
    if (fw_wire_parse_stamps(m->data, m->size, stamps, &count) || !w->p.handler.stamp)
        return;
    for (unsigned i = 0; i < count; i++)
        w->p.handler.stamp(w->p.user, &stamps[i], now_ns);
}

static void on_pong(struct fw_watch *w, const struct fw_client_message *m, int64_t now_ns)
{
    struct fw_wire_pong pong;
    if (fw_wire_parse_pong(m->data, m->size, &pong))
        return;
    fw_client_clock_add(&w->clock, &pong, now_ns);
    // The burst has given an estimate: the server is told at once, not seconds later.
    if (++w->pongs == PING_BURST)
        ping(w, now_ns);
}

static void on_beacon(struct fw_watch *w, const struct fw_client_message *m, int64_t now_ns)
{
    struct fw_wire_beacon beacon;
    if (fw_wire_parse_beacon(m->data, m->size, &beacon))
        return;
    fw_client_age_beacon(&w->age, &beacon, now_ns);
    if (w->p.handler.beacon)
        w->p.handler.beacon(w->p.user, &beacon, now_ns);
    if (now_ns - w->ping_ns >= PING_EVERY_MS * (int64_t)FW_NS_PER_MS)
        ping(w, now_ns);
}

static void on_control(struct fw_watch *w, const struct fw_client_message *m, int64_t now_ns)
{
    struct fw_wire_input_stamp stamp;
    w->heard_ns = now_ns;
    if (m->opcode == FW_CLIENT_TEXT) {
        on_text(w, m);
        return;
    }
    switch (m->size ? m->data[0] : 0) {
    case FW_WIRE_PONG: on_pong(w, m, now_ns); break;
    case FW_WIRE_BEACON: on_beacon(w, m, now_ns); break;
    case FW_WIRE_STAMP: on_stamps(w, m, now_ns); break;
    case FW_WIRE_INPUT_STAMP:
        if (!fw_wire_parse_input_stamp(m->data, m->size, &stamp))
            fw_inputs_stamp(&w->inputs, &stamp, input_seen, w);
        break;
    default: break; // a type of a later version
    }
}

// Everything that has come on one connection; a server that never stops does not keep the caller
// from what else is due. False: it ended.
static bool drain(struct fw_watch *w, struct fw_client *from)
{
    struct fw_client_message m;
    const int64_t until = fw_now_ns() + TURN_MS * (int64_t)FW_NS_PER_MS;
    for (int64_t n = 0, now = 0; !w->over && (n < TURN_MESSAGES || now < until); n++) {
        const enum fw_err err = fw_client_receive(from, 0, &m);
        if (err)
            return err == FW_ERR_AGAIN;
        if (m.opcode == FW_CLIENT_CLOSE)
            return false;
        now = fw_now_ns();
        if (from == w->control)
            on_control(w, &m, now);
        else if (m.opcode == FW_CLIENT_BINARY)
            on_video(w, &m, now);
    }
    return true;
}

// ---- opening

static enum fw_err say_hello(struct fw_watch *w)
{
    json_t *hello =
        json_pack("{s:s, s:i, s:s, s:{s:i, s:i}, s:f, s:b, s:[s]}", "type", "hello", "version",
                  FW_WIRE_VERSION, "channel", "control", "viewport", "width", w->p.width, "height",
                  w->p.height, "devicePixelRatio", w->p.pixel_ratio > 0 ? w->p.pixel_ratio : 1.0,
                  "visible", (int)!w->p.hidden, "codecs", "avc1.42e01f");
    if (hello && w->p.token && w->p.token[0])
        json_object_set_new(hello, "token", json_string(w->p.token));
    return send_json(w, hello);
}

static enum fw_err open_media(struct fw_watch *w)
{
    char text[256];
    struct fw_client_params connect = fw_remote_connect(w->p.remote);
    connect.path = w->path;
    enum fw_err err = fw_client_open(&w->media, &connect, NULL);
    if (err)
        return err;
    snprintf(text, sizeof(text),
             "{\"type\":\"hello\",\"version\":1,\"channel\":\"media\",\"viewer\":\"%s\"}",
             w->info.viewer);
    err = fw_client_send_text(w->media, text);
    if (err)
        fw_client_close(&w->media);
    else if (w->p.handler.media_open)
        w->p.handler.media_open(w->p.user);
    return err;
}

// Reads until the server has welcomed us, or has said why not.
static enum fw_err await_welcome(struct fw_watch *w, int timeout_ms)
{
    const int64_t until = fw_now_ns() + timeout_ms * (int64_t)FW_NS_PER_MS;
    while (!w->info.viewer[0]) {
        struct fw_client_message m;
        const int64_t left = (until - fw_now_ns()) / FW_NS_PER_MS;
        const enum fw_err err =
            left > 0 ? fw_client_receive(w->control, (int)left, &m) : FW_ERR_TIMEOUT;
        if (err || m.opcode == FW_CLIENT_CLOSE)
            return err == FW_ERR_AGAIN ? FW_ERR_TIMEOUT : err ? err : FW_ERR_DENIED;
        on_control(w, &m, fw_now_ns());
    }
    return FW_OK;
}

static void explain(const struct fw_watch *w, int status, enum fw_err err,
                    struct fw_remote_error *error)
{
    *error = (struct fw_remote_error){ .status = status };
    if (w->info.code[0]) {
        snprintf(error->code, sizeof(error->code), "%s", w->info.code);
        snprintf(error->message, sizeof(error->message), "%s", w->info.message);
        return;
    }
    snprintf(error->code, sizeof(error->code), "%s", status ? "refused" : "unreachable");
    if (status)
        snprintf(error->message, sizeof(error->message),
                 "%s refuses the WebSocket of the session (HTTP status %d)",
                 w->p.remote->target.origin, status);
    else
        snprintf(error->message, sizeof(error->message), "%s does not let us watch the session: %s",
                 w->p.remote->target.origin,
                 err == FW_ERR_TIMEOUT ? "no answer in time" : "the connection failed");
}

enum fw_err fw_watch_open(struct fw_watch **out, const struct fw_watch_params *params,
                          struct fw_remote_error *error)
{
    int status = 0;
    *out = NULL;
    *error = (struct fw_remote_error){ .status = 0 };
    struct fw_watch *w = calloc(1, sizeof(*w));
    if (!w)
        return FW_ERR_NOMEM;
    w->p = *params;
    w->info.percent = -1;
    snprintf(w->path, sizeof(w->path), "/s/%.80s/ws", params->id);
    struct fw_client_params connect = fw_remote_connect(params->remote);
    connect.path = w->path;
    enum fw_err err = fw_client_open(&w->control, &connect, &status);
    if (!err) {
        status = 0;
        err = say_hello(w);
    }
    if (!err)
        err = await_welcome(w, connect.timeout_ms);
    if (!err)
        err = open_media(w);
    w->heard_ns = fw_now_ns();
    for (int i = 0; i < PING_BURST && !err; i++)
        err = ping(w, fw_now_ns());
    if (err) {
        explain(w, status, err, error);
        fw_watch_close(&w);
        return err;
    }
    *out = w;
    return FW_OK;
}

void fw_watch_close(struct fw_watch **watch)
{
    struct fw_watch *w = *watch;
    *watch = NULL;
    if (!w)
        return;
    if (w->control && w->info.viewer[0] && !w->over)
        fw_client_send_text(w->control, "{\"type\":\"bye\"}");
    fw_client_close(&w->control);
    fw_client_close(&w->media);
    free(w);
}

// ---- the turn

// The media connection has ended: the viewer lives on with control, so only this one comes back.
static enum fw_err media_ended(struct fw_watch *w, int64_t now_ns)
{
    fw_client_close(&w->media);
    if (++w->media_tries > MEDIA_RETRIES)
        return lost(w, "media", "the picture connection ends again and again");
    w->media_retry_ns = now_ns + w->media_tries * (int64_t)MEDIA_RETRY_MS * FW_NS_PER_MS;
    return FW_OK;
}

enum fw_err fw_watch_turn(struct fw_watch *w)
{
    const int64_t now = fw_now_ns();
    if (w->over)
        return FW_ERR_CLOSED;
    if (!drain(w, w->control))
        return lost(w, "closed", "the server closed the connection");
    if (w->media && !drain(w, w->media)) {
        const enum fw_err err = media_ended(w, now);
        if (err)
            return err;
    }
    if (!w->media && !w->over && now >= w->media_retry_ns && open_media(w))
        media_ended(w, now);
    if (w->over)
        return FW_ERR_CLOSED;
    if (now - w->heard_ns > SILENT_MS * (int64_t)FW_NS_PER_MS)
        return lost(w, "silent", "the server has not said a word for 8 seconds");
    return w->ack_due ? fw_watch_flush(w) : FW_OK;
}

void fw_watch_fds(const struct fw_watch *w, int fds[2])
{
    fds[0] = fw_client_fd(w->control);
    fds[1] = w->media ? fw_client_fd(w->media) : -1;
}

const struct fw_watch_info *fw_watch_info(const struct fw_watch *w)
{
    return &w->info;
}

const struct fw_client_clock *fw_watch_clock(const struct fw_watch *w)
{
    return &w->clock;
}

int64_t fw_watch_age(const struct fw_watch *w, int64_t now_ns)
{
    return fw_client_age_now(&w->age, &w->clock, now_ns);
}

int64_t fw_watch_change(const struct fw_watch *w)
{
    return fw_client_age_change(&w->age, &w->clock);
}

unsigned fw_watch_inputs_open(const struct fw_watch *w)
{
    return w->inputs.count;
}
