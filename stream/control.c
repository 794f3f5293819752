// SPDX-License-Identifier: MIT
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/frame.h"
#include "stream/server_priv.h"

static void bad_message(struct fw_conn *conn, const char *message)
{
    fw_conn_fail(conn, FW_CLOSE_BAD_MESSAGE, "bad_message", message);
}

static json_t *parse(const char *text, size_t size)
{
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object(root))
        return root;
    json_decref(root);
    return NULL;
}

static const char *string_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

// A sound viewport, else false: zero and absurd sizes are ignored.
static bool read_viewport(const json_t *object, struct fw_viewport *viewport)
{
    const json_t *w = json_object_get(object, "width"), *h = json_object_get(object, "height");
    if (!json_is_number(w) || !json_is_number(h))
        return false;
    const double width = json_number_value(w), height = json_number_value(h);
    if (!(width >= 16 && width <= 3840 && height >= 16 && height <= 2160))
        return false;
    viewport->width = (int)width;
    viewport->height = (int)height;
    return true;
}

// ---- hello

static void refuse_hello(struct fw_conn *conn, enum fw_err err, const char *message)
{
    uint64_t *refused = conn->server->totals.refused;
    switch (err) {
    case FW_ERR_DENIED:
        refused[FW_REFUSAL_VIEWER_UNAUTHORIZED]++;
        fw_conn_fail(conn, FW_CLOSE_UNAUTHORIZED, "unauthorized", message);
        return;
    case FW_ERR_NOT_FOUND:
        refused[FW_REFUSAL_VIEWER_NO_SESSION]++;
        fw_conn_fail(conn, FW_CLOSE_NO_SUCH_SESSION, "no_such_session", message);
        return;
    default: fw_conn_fail(conn, FW_CLOSE_BAD_MESSAGE, fw_err_name(err), message); return;
    }
}

static void hello_control(struct fw_conn *conn, const json_t *root)
{
    struct fw_server *server = conn->server;
    const char *codecs[FW_MAX_CODECS];
    struct fw_viewport viewport = { 0 };
    read_viewport(json_object_get(root, "viewport"), &viewport);
    const json_t *visible = json_object_get(root, "visible");
    struct fw_hello hello = {
        .session_id = conn->session_id,
        .token = string_of(root, "token"),
        .width = viewport.width,
        .height = viewport.height,
        .visible = !json_is_false(visible),
        .device_pixel_ratio = json_number_value(json_object_get(root, "devicePixelRatio")),
        .codecs = codecs,
        .user_agent = conn->user_agent,
    };
    if (!(hello.device_pixel_ratio > 0.1 && hello.device_pixel_ratio < 16))
        hello.device_pixel_ratio = 1;
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(root, "codecs"), i, item)
    {
        if (hello.codec_count < FW_MAX_CODECS && json_is_string(item))
            codecs[hello.codec_count++] = json_string_value(item);
    }
    struct fw_channel *channel = NULL;
    const char *message = "";
    const enum fw_err err = server->handler.hello(server->handler.user, &hello, &channel, &message);
    if (err || !channel) {
        refuse_hello(conn, err ? err : FW_ERR_INTERNAL, message);
        return;
    }
    struct fw_viewer *viewer = fw_viewer_create(channel, conn);
    if (!viewer) {
        refuse_hello(conn, FW_ERR_NOMEM, "Out of memory.");
        return;
    }
    viewer->visible = hello.visible;
    viewer->viewport = viewport;
    conn->role = FW_CONN_CONTROL;
    server->totals.viewers++;
    fw_channel_welcome(channel, viewer);
    if (server->handler.joined)
        server->handler.joined(server->handler.user, channel, viewer);
}

static void hello_media(struct fw_conn *conn, const json_t *root)
{
    struct fw_viewer *viewer = fw_viewer_find(conn->server, string_of(root, "viewer"));
    // A viewer of another session is as unknown as one that never was.
    if (!viewer || viewer->closing || strcmp(viewer->control->session_id, conn->session_id) != 0) {
        refuse_hello(conn, FW_ERR_DENIED, "This viewer is not known.");
        return;
    }
    conn->role = FW_CONN_MEDIA;
    fw_viewer_set_media(viewer, conn);
}

void fw_control_hello(struct fw_conn *conn, const char *text, size_t size)
{
    json_t *root = parse(text, size);
    const json_t *version = json_object_get(root, "version");
    const char *channel = string_of(root, "channel");
    if (!root || strcmp(string_of(root, "type"), "hello") != 0 || !json_is_integer(version))
        bad_message(conn, "Say hello first.");
    else if (json_integer_value(version) != FW_WIRE_VERSION) {
        conn->server->totals.refused[FW_REFUSAL_VIEWER_VERSION]++;
        fw_conn_fail(conn, FW_CLOSE_UNSUPPORTED_VERSION, "unsupported_version",
                     "This server speaks version 1 of the protocol; reload the page.");
    } else if (!strcmp(channel, "control"))
        hello_control(conn, root);
    else if (!strcmp(channel, "media"))
        hello_media(conn, root);
    else
        bad_message(conn, "The channel is control or media.");
    json_decref(root);
}

// ---- text

void fw_control_text(struct fw_conn *conn, const char *text, size_t size)
{
    struct fw_viewer *viewer = conn->viewer;
    json_t *root = parse(text, size);
    if (!root) {
        bad_message(conn, "Not a JSON object.");
        return;
    }
    const char *type = string_of(root, "type");
    if (!strcmp(type, "viewport")) {
        struct fw_viewport viewport;
        if (read_viewport(root, &viewport)) {
            viewer->viewport = viewport;
            fw_channel_update(viewer->channel);
        }
    } else if (!strcmp(type, "visibility")) {
        const json_t *visible = json_object_get(root, "visible");
        if (json_is_boolean(visible))
            fw_viewer_set_visible(viewer, json_is_true(visible));
    } else if (!strcmp(type, "keyframe")) {
        fw_viewer_want_key(viewer);
        fw_channel_update(viewer->channel);
    } else if (!strcmp(type, "bye")) {
        conn->said_bye = true;
        fw_conn_close(conn, LWS_CLOSE_STATUS_NORMAL, "bye");
    } // others are of a later protocol: skipped
    json_decref(root);
}

// ---- binary

static void clock_ping(struct fw_conn *conn, const uint8_t *data, size_t size, int64_t now)
{
    uint8_t out[FW_WIRE_SMALL_MAX];
    struct fw_wire_ping ping;
    if (fw_wire_parse_ping(data, size, &ping)) {
        fw_conn_close(conn, LWS_CLOSE_STATUS_PROTOCOL_ERR, "lengths");
        return;
    }
    fw_peer_clock_heard(&conn->viewer->clock, ping.client_us, now);
    if (ping.estimate)
        fw_peer_clock_told(&conn->viewer->clock, ping.offset_ns, ping.error_us);
    const struct fw_wire_pong pong = {
        .client_us = ping.client_us,
        .rx_ns = now,
        .tx_ns = fw_now_ns(),
    };
    fw_conn_send(conn, out, fw_wire_write_pong(out, &pong), false);
}

static void record_ack(struct fw_viewer *viewer, const struct fw_wire_ack *ack, int64_t now)
{
    static const enum fw_point points[] = {
        [FW_ACK_RECEIVED] = FW_POINT_RECEIVED,
        [FW_ACK_PRESENTED] = FW_POINT_PRESENTED,
        [FW_ACK_DECODED] = FW_POINT_DECODED,
        [FW_ACK_DROPPED] = FW_POINT_COUNT,
    };
    struct fw_record_ack out = {
        .frame_id = ack->frame_id,
        .point = points[ack->what],
        .dropped = ack->what == FW_ACK_DROPPED,
    };
    const int64_t sent = fw_flow_sent_ns(&viewer->flow, ack->frame_id);
    if (sent && ack->what == FW_ACK_RECEIVED)
        fw_peer_clock_reached(&viewer->clock, ack->time_us, sent);
    out.ns = fw_peer_clock_place(&viewer->clock, ack->time_us, &out.error_us, &out.clock);
    fw_records_ack(viewer->channel->records, viewer->serial, &out, now);
}

static void acks(struct fw_conn *conn, const uint8_t *data, size_t size, int64_t now)
{
    struct fw_wire_ack acked[FW_WIRE_BATCH_MAX];
    unsigned count;
    if (fw_wire_parse_ack(data, size, acked, &count)) {
        fw_conn_close(conn, LWS_CLOSE_STATUS_PROTOCOL_ERR, "lengths");
        return;
    }
    struct fw_viewer *viewer = conn->viewer;
    bool changed = false;
    // The newest time is that of the sending, or close to it.
    if (FW_TRACE_ON)
        fw_peer_clock_heard(&viewer->clock, acked[count - 1].time_us, now);
    // Decoded, presented or dropped were received as well.
    for (unsigned i = 0; i < count; i++) {
        if (acked[i].what < FW_ACK_RECEIVED || acked[i].what > FW_ACK_DECODED)
            continue;
        if (FW_TRACE_ON)
            record_ack(viewer, &acked[i], now);
        changed |= fw_flow_acked(&viewer->flow, acked[i].frame_id, now);
    }
    if (changed)
        fw_channel_update(viewer->channel);
}

// Remembers what is held, so that it can be let go when the viewer goes.
static void track_held(struct fw_viewer *viewer, const struct fw_input_event *e)
{
    switch (e->kind) {
    case FW_INPUT_BUTTON:
        viewer->buttons =
            e->state ? viewer->buttons | 1u << e->code : viewer->buttons & ~(1u << e->code);
        break;
    case FW_INPUT_TOUCH:
        if (e->state == FW_TOUCH_DOWN)
            viewer->touches |= 1u << e->code;
        else if (e->state != FW_TOUCH_MOVE)
            viewer->touches &= ~(1u << e->code);
        break;
    case FW_INPUT_KEY: {
        uint64_t *word = &viewer->keys[e->code / 64];
        const uint64_t bit = UINT64_C(1) << (e->code % 64);
        *word = e->state ? *word | bit : *word & ~bit;
        break;
    }
    case FW_INPUT_RELEASE:
        viewer->buttons = viewer->touches = 0;
        memset(viewer->keys, 0, sizeof(viewer->keys));
        break;
    default: break;
    }
}

static float clamp(float value, int size)
{
    const float limit = (float)(size > 0 ? size : FW_FRAME_MAX_WIDTH);
    return value < 0 ? 0 : value > limit ? limit : value;
}

static bool within_budget(struct fw_viewer *viewer, unsigned count, int64_t now)
{
    const int64_t second = now / FW_NS_PER_S;
    if (second != viewer->input_second) {
        viewer->input_second = second;
        viewer->input_count = 0;
    }
    viewer->input_count += count;
    return viewer->input_count <= FW_INPUT_PER_SECOND;
}

// Times of inputs and of pictures are placed by the same clock: what lies between them is told by
// the client's alone.
static void record_inputs(struct fw_viewer *viewer, const struct fw_wire_input *in, unsigned count,
                          int64_t now)
{
    struct fw_channel *channel = viewer->channel;
    const uint64_t before = channel->next_input_id - count;
    channel->server->totals.input_events += count;
    fw_records_input(channel->records, channel->next_input_id, count, now);
    for (unsigned i = 0; FW_TRACE_ON && i < count; i++) {
        uint32_t error_us;
        enum fw_peer_clock_kind kind;
        const int64_t made = fw_peer_clock_place(&viewer->clock, in[i].time_us, &error_us, &kind);
        if (made)
            fw_records_input_made(channel->records, before + 1 + i, made);
    }
}

static void input(struct fw_conn *conn, const uint8_t *data, size_t size, int64_t now)
{
    struct fw_viewer *viewer = conn->viewer;
    struct fw_channel *channel = viewer->channel;
    struct fw_server *server = conn->server;
    struct fw_wire_input in[FW_WIRE_BATCH_MAX];
    struct fw_input_event events[FW_WIRE_BATCH_MAX];
    unsigned count, kept = 0;
    if (fw_wire_parse_input(data, size, in, &count)) {
        fw_conn_close(conn, LWS_CLOSE_STATUS_PROTOCOL_ERR, "lengths");
        return;
    }
    if (!within_budget(viewer, count, now)) {
        bad_message(conn, "More than 4096 events in a second.");
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        // A skipped event uses up its id too: the client counts along.
        const uint64_t id = ++channel->next_input_id;
        if (!in[i].valid)
            continue;
        events[kept] = (struct fw_input_event){
            .id = id,
            .rx_ns = now,
            .kind = in[i].kind,
            .state = in[i].state,
            .mods = in[i].mods,
            .code = in[i].code,
            .x = clamp(in[i].x, channel->width),
            .y = clamp(in[i].y, channel->height),
            .dx = in[i].dx,
            .dy = in[i].dy,
        };
        track_held(viewer, &events[kept++]);
    }
    record_inputs(viewer, in, count, now);
    const struct fw_wire_input_stamp stamp = { .seq = in[count - 1].seq,
                                               .input_id = channel->next_input_id,
                                               .rx_ns = now };
    // The worker first: the stamp can wait, the picture should not.
    viewer->last_input_ns = now;
    if (kept && server->handler.input)
        server->handler.input(server->handler.user, channel, viewer, events, kept);
    if (conn->viewer != viewer)
        return; // the handler ended the channel
    uint8_t out[FW_WIRE_SMALL_MAX];
    fw_conn_send(conn, out, fw_wire_write_input_stamp(out, &stamp), false);
    if (channel->driver != viewer)
        fw_channel_update(channel);
}

void fw_control_binary(struct fw_conn *conn, const uint8_t *data, size_t size)
{
    const int64_t now = fw_now_ns();
    struct fw_wire_head head;
    if (fw_wire_parse_head(data, size, &head)) {
        fw_conn_close(conn, LWS_CLOSE_STATUS_PROTOCOL_ERR, "lengths");
        return;
    }
    switch (head.type) {
    case FW_WIRE_INPUT: input(conn, data, size, now); return;
    case FW_WIRE_ACK: acks(conn, data, size, now); return;
    case FW_WIRE_PING: clock_ping(conn, data, size, now); return;
    default: return; // of a later protocol: skipped
    }
}
