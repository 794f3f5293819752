// SPDX-License-Identifier: MIT
#include <assert.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "stream/link_estimate.h"
#include "stream/server_priv.h"

static_assert(FW_PACKET_HEADROOM >= FW_WIRE_VIDEO_HEADER_MAX + LWS_PRE,
              "both headers fit before the payload");

static const int64_t ms = FW_NS_PER_MS;

// ---- life

static void on_timer(uv_timer_t *timer);

enum fw_err fw_channel_create(struct fw_channel **out, struct fw_server *server, void *user)
{
    *out = NULL;
    struct fw_channel *channel = calloc(1, sizeof(*channel));
    if (!channel)
        return FW_ERR_NOMEM;
    channel->timer = calloc(1, sizeof(*channel->timer));
    channel->records = fw_records_create();
    if (!channel->timer || !channel->records) {
        fw_records_destroy(&channel->records);
        free(channel->timer);
        free(channel);
        return FW_ERR_NOMEM;
    }
    uv_timer_init(server->loop, channel->timer);
    channel->timer->data = channel;
    channel->server = server;
    channel->user = user;
    channel->fps = 60;
    strcpy(channel->state, "starting");
    channel->stats.absent_since_ns = fw_now_ns();
    TAILQ_INIT(&channel->viewers);
    TAILQ_INSERT_TAIL(&server->channels, channel, link);
    *out = channel;
    return FW_OK;
}

static void on_timer_closed(uv_handle_t *handle)
{
    free(handle);
}

void fw_channel_destroy(struct fw_channel **pointer, const char *code, const char *message)
{
    struct fw_channel *channel = *pointer;
    *pointer = NULL;
    if (!channel)
        return;
    struct fw_viewer *viewer;
    while ((viewer = TAILQ_FIRST(&channel->viewers))) {
        fw_viewer_close(viewer, code, message);
        fw_viewer_destroy(viewer, false);
    }
    TAILQ_REMOVE(&channel->server->channels, channel, link);
    uv_close((uv_handle_t *)channel->timer, on_timer_closed);
    fw_records_destroy(&channel->records);
    free(channel->id);
    free(channel->title);
    free(channel->source);
    free(channel->gpu);
    free(channel->encoder);
    free(channel->state_code);
    free(channel->state_message);
    free(channel);
}

void *fw_channel_user(const struct fw_channel *channel)
{
    return channel->user;
}

// ---- JSON to viewers

static void send_object(struct fw_conn *conn, json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT);
    if (text)
        fw_conn_send(conn, text, strlen(text), true);
    free(text);
}

void fw_channel_send_json(struct fw_channel *channel, const char *text)
{
    const size_t size = strlen(text);
    struct fw_viewer *viewer;
    TAILQ_FOREACH(viewer, &channel->viewers, link)
    fw_conn_send(viewer->control, text, size, true);
}

static void send_all(struct fw_channel *channel, json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT);
    if (text)
        fw_channel_send_json(channel, text);
    free(text);
    json_decref(object);
}

static json_t *text_or_empty(const char *text)
{
    json_t *string = json_string(text ? text : "");
    return string ? string : json_string("");
}

static void add_info(const struct fw_channel *channel, json_t *object, json_t *session)
{
    json_object_set_new(session, "id", text_or_empty(channel->id));
    json_object_set_new(session, "title", text_or_empty(channel->title));
    json_object_set_new(session, "source", text_or_empty(channel->source));
    json_object_set_new(session, "state", text_or_empty(channel->state));
    json_object_set_new(session, "fps", json_integer(channel->fps));
    if (channel->decode_delay_ns)
        json_object_set_new(session, "decodeDelayMs",
                            json_real((double)channel->decode_delay_ns / ms));
    json_object_set_new(object, "gpu", text_or_empty(channel->gpu));
    json_object_set_new(object, "encoder", text_or_empty(channel->encoder));
}

static json_t *state_object(const struct fw_channel *channel)
{
    json_t *object = json_object();
    json_object_set_new(object, "type", json_string("state"));
    json_object_set_new(object, "state", json_string(channel->state));
    json_object_set_new(object, "code", text_or_empty(channel->state_code));
    json_object_set_new(object, "message", text_or_empty(channel->state_message));
    return object;
}

static void set_text(char **slot, const char *text)
{
    if (!text)
        return;
    char *copy = strdup(text);
    if (!copy)
        return; // the old text stays; nothing depends on it
    free(*slot);
    *slot = copy;
}

void fw_channel_set_info(struct fw_channel *channel, const struct fw_channel_info *info)
{
    set_text(&channel->id, info->id);
    set_text(&channel->title, info->title);
    set_text(&channel->source, info->source);
    set_text(&channel->gpu, info->gpu);
    set_text(&channel->encoder, info->encoder);
    if (info->fps > 0)
        channel->fps = info->fps;
    channel->decode_delay_ns = info->decode_delay_ns;
    if (TAILQ_EMPTY(&channel->viewers))
        return;
    json_t *object = json_object();
    json_object_set_new(object, "type", json_string("info"));
    json_t *session = json_object();
    add_info(channel, object, session);
    json_object_update(object, session); // as docs/protocol.md says: the session's fields, flat
    json_object_set_new(object, "session", session);
    send_all(channel, object);
}

void fw_channel_set_state(struct fw_channel *channel, const char *state, const char *code,
                          const char *message)
{
    strncpy(channel->state, state, sizeof(channel->state) - 1);
    set_text(&channel->state_code, code);
    set_text(&channel->state_message, message);
    send_all(channel, state_object(channel));
}

static void send_beacon(struct fw_channel *channel, struct fw_viewer *only, int64_t now)
{
    uint8_t out[FW_WIRE_SMALL_MAX];
    channel->beacon.server_ns = now;
    const size_t size = fw_wire_write_beacon(out, &channel->beacon);
    struct fw_viewer *viewer;
    TAILQ_FOREACH(viewer, &channel->viewers, link)
    {
        if (only && only != viewer)
            continue;
        fw_viewer_tell_stamps(viewer, now);
        fw_conn_send(viewer->control, out, size, false);
    }
    if (only)
        return;
    channel->beacon_sent_ns = now;
    channel->beacon_due = false;
}

void fw_channel_welcome(struct fw_channel *channel, struct fw_viewer *viewer)
{
    char ns[24];
    const int64_t now = fw_now_ns();
    snprintf(ns, sizeof(ns), "%lld", (long long)now);
    json_t *object = json_object(), *session = json_object();
    json_object_set_new(object, "type", json_string("welcome"));
    json_object_set_new(object, "version", json_integer(FW_WIRE_VERSION));
    json_object_set_new(object, "viewer", json_string(viewer->id));
    add_info(channel, object, session);
    json_object_set_new(object, "session", session);
    json_object_set_new(object, "serverNs", json_string(ns));
    send_object(viewer->control, object);
    json_decref(object);
    object = state_object(channel);
    send_object(viewer->control, object);
    json_decref(object);
    send_beacon(channel, viewer, now);
    fw_channel_count_viewers(channel);
}

void fw_channel_count_viewers(struct fw_channel *channel)
{
    struct fw_viewer *viewer;
    unsigned viewers = 0, visible = 0;
    TAILQ_FOREACH(viewer, &channel->viewers, link)
    {
        viewers += !viewer->closing;
        visible += fw_viewer_watches(viewer);
    }
    channel->stats.viewers = viewers;
    channel->stats.visible = visible;
    if (viewers)
        channel->stats.absent_since_ns = 0;
    else if (!channel->stats.absent_since_ns)
        channel->stats.absent_since_ns = fw_now_ns();
}

// ---- who drives, who paces

// A long way is no stall.
static bool stalls(const struct fw_viewer *viewer, int64_t now, int64_t patience)
{
    return fw_flow_stalled(&viewer->flow, now, patience + 2 * fw_flow_min_rtt_ns(&viewer->flow));
}

// The last to give input, else the first; a stalled one only when there is no other.
static struct fw_viewer *pick(struct fw_channel *channel, int64_t now, int64_t patience)
{
    struct fw_viewer *viewer, *best = NULL, *stalled = NULL;
    TAILQ_FOREACH(viewer, &channel->viewers, link)
    {
        if (!fw_viewer_watches(viewer))
            continue;
        struct fw_viewer **slot = stalls(viewer, now, patience) ? &stalled : &best;
        if (!*slot || viewer->last_input_ns > (*slot)->last_input_ns)
            *slot = viewer;
    }
    return best ? best : stalled;
}

static bool viewport_differs(const struct fw_channel *channel)
{
    const struct fw_viewer *driver = channel->driver;
    return driver && driver->viewport.width &&
           (driver->viewport.width != channel->told_viewport.width ||
            driver->viewport.height != channel->told_viewport.height);
}

// Each new size costs a key frame: the first is told at once, a storm of them by and by.
static int64_t viewport_due_ns(const struct fw_channel *channel)
{
    return viewport_differs(channel) ? channel->told_viewport_ns + FW_VIEWPORT_INTERVAL_MS * ms
                                     : INT64_MAX;
}

static void tell_viewport(struct fw_channel *channel, int64_t now)
{
    const struct fw_server_handler *handler = &channel->server->handler;
    if (viewport_due_ns(channel) > now)
        return;
    channel->told_viewport = channel->driver->viewport;
    channel->told_viewport_ns = now;
    if (handler->viewport)
        handler->viewport(handler->user, channel, &channel->told_viewport);
}

static void tell_credit(struct fw_channel *channel)
{
    const struct fw_server_handler *handler = &channel->server->handler;
    const struct fw_viewer *pacer = channel->pacer;
    uint64_t allowed = channel->stats.published;
    // While the socket holds back the last message nothing more is to be made.
    if (pacer && fw_viewer_idle(pacer))
        allowed += fw_flow_room(&pacer->flow, channel->fps);
    if (channel->credit_told && channel->told_allowed == allowed &&
        channel->told_active == (pacer != NULL))
        return;
    channel->credit_told = true;
    channel->told_allowed = allowed;
    channel->told_active = pacer != NULL;
    if (handler->credit)
        handler->credit(handler->user, channel, allowed, channel->told_active);
}

// ---- key frames

// When the next key frame may be asked for; INT64_MAX = nobody needs one now.
static int64_t key_due_ns(const struct fw_channel *channel)
{
    const struct fw_viewer *viewer;
    int64_t due = INT64_MAX;
    TAILQ_FOREACH(viewer, &channel->viewers, link)
    {
        if (viewer->needs_key && fw_viewer_watches(viewer) && fw_viewer_idle(viewer) &&
            viewer->key_after_ns < due)
            due = viewer->key_after_ns;
    }
    if (due == INT64_MAX || !channel->key_asked_ns)
        return due;
    const int64_t apart =
        channel->key_asked_ns +
        (channel->key_on_way ? FW_KEYFRAME_PATIENCE_MS : FW_KEYFRAME_INTERVAL_MS) * ms;
    return due > apart ? due : apart;
}

static void ask_key(struct fw_channel *channel, int64_t now)
{
    const struct fw_server_handler *handler = &channel->server->handler;
    channel->key_asked_ns = now;
    channel->key_on_way = true;
    channel->stats.keyframe_requests++;
    channel->server->totals.keyframe_requests++;
    if (handler->keyframe)
        handler->keyframe(handler->user, channel);
}

// ---- what is due later

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

// When somebody who holds up the others will have done so for too long.
static int64_t pacer_due_ns(const struct fw_channel *channel, int64_t now)
{
    const struct fw_viewer *pacer = channel->pacer;
    if (!pacer || channel->stats.visible < 2 || !fw_flow_oldest_ns(&pacer->flow) ||
        stalls(pacer, now, FW_PACER_PATIENCE_MS * ms))
        return INT64_MAX;
    const int64_t oldest = fw_flow_oldest_ns(&pacer->flow), ack = pacer->flow.last_ack_ns;
    return (oldest > ack ? oldest : ack) + FW_PACER_PATIENCE_MS * ms +
           2 * fw_flow_min_rtt_ns(&pacer->flow);
}

static void arm_timer(struct fw_channel *channel, int64_t now)
{
    int64_t due = earlier(key_due_ns(channel), pacer_due_ns(channel, now));
    due = earlier(due, viewport_due_ns(channel));
    if (channel->beacon_due)
        due = earlier(due, channel->beacon_sent_ns + FW_BEACON_INTERVAL_MS * ms);
    if (due == INT64_MAX) {
        uv_timer_stop(channel->timer);
        return;
    }
    // One more, as the loop's clock counts whole milliseconds.
    const int64_t wait = due > now ? (due - now) / ms + 1 : 1;
    uv_update_time(channel->server->loop);
    uv_timer_start(channel->timer, on_timer, (uint64_t)wait, 0);
}

static void update_once(struct fw_channel *channel, int64_t now)
{
    channel->driver = pick(channel, now, FW_DRIVER_PATIENCE_MS * ms);
    struct fw_viewer *pacer = channel->driver;
    if (pacer && stalls(pacer, now, FW_PACER_PATIENCE_MS * ms))
        pacer = pick(channel, now, FW_PACER_PATIENCE_MS * ms);
    channel->pacer = pacer;
    channel->stats.rtt_ns = channel->driver ? fw_flow_min_rtt_ns(&channel->driver->flow) : 0;
    tell_viewport(channel, now);
    tell_credit(channel);
    if (key_due_ns(channel) <= now)
        ask_key(channel, now);
}

void fw_channel_update(struct fw_channel *channel)
{
    enum { ROUNDS = 4 };
    if (channel->server->closing)
        return;
    // The handler may publish, which comes here again: once more then, from the outer call.
    channel->update_again = true;
    if (channel->updating)
        return;
    channel->updating = true;
    const int64_t now = fw_now_ns();
    for (int i = 0; channel->update_again && i < ROUNDS; i++) {
        channel->update_again = false;
        update_once(channel, now);
    }
    arm_timer(channel, now);
    channel->updating = false;
}

static void on_timer(uv_timer_t *timer)
{
    struct fw_channel *channel = timer->data;
    const int64_t now = fw_now_ns();
    if (channel->beacon_due && now - channel->beacon_sent_ns >= FW_BEACON_INTERVAL_MS * ms)
        send_beacon(channel, NULL, now);
    fw_channel_update(channel);
}

// How the way to those who watch is, for statistics. One that has not answered for a while tells
// nothing of now.
static void sum_viewers(struct fw_channel *channel, int64_t now_ns)
{
    enum { RECENT_MS = 2000 };
    struct fw_stream_totals *totals = &channel->server->totals;
    const struct fw_viewer *viewer;
    TAILQ_FOREACH(viewer, &channel->viewers, link)
    {
        const struct fw_flow *flow = &viewer->flow;
        if (!fw_viewer_watches(viewer) || now_ns - flow->last_ack_ns > RECENT_MS * ms)
            continue;
        fw_bins_add(&totals->rtt, fw_flow_min_rtt_ns(flow), 1);
        fw_bins_add(&totals->jitter, flow->jitter_ns, 1);
    }
}

void fw_channel_tick(struct fw_channel *channel, int64_t now_ns)
{
    // A beacon that is left out for one between two ticks makes the next come that much later than
    // a second: after 1.5 s pages count the age of a still picture from the last one.
    enum { JUST_SENT_MS = 100 };
    if (TAILQ_EMPTY(&channel->viewers))
        return;
    if (now_ns - channel->beacon_sent_ns >= JUST_SENT_MS * ms)
        send_beacon(channel, NULL, now_ns);
    fw_channel_update(channel);
    sum_viewers(channel, now_ns);
    fw_records_tick(channel->records, channel->pacer ? channel->pacer->serial : 0, now_ns);
}

// ---- video

static void record(struct fw_channel *channel, const struct fw_packet *packet)
{
    const struct fw_viewer *pacer = channel->pacer;
    struct fw_record_viewer viewer = { 0 };
    if (!FW_TRACE_ON)
        return;
    if (pacer)
        viewer = (struct fw_record_viewer){
            .serial = pacer->serial,
            .rtt_us = (uint32_t)(fw_flow_min_rtt_ns(&pacer->flow) / FW_NS_PER_US),
            .window = fw_flow_window(&pacer->flow, channel->fps),
            .queue = pacer->flow.count,
        };
    if (pacer && pacer->media)
        fw_link_estimate(lws_get_socket_fd(pacer->media->wsi), &viewer.link_kbps,
                         &viewer.unsent_bytes);
    fw_records_publish(channel->records, packet, &viewer, fw_now_ns());
}

void fw_channel_set_totals(struct fw_channel *channel, struct fw_record_totals *totals)
{
    fw_records_set_totals(channel->records, totals);
}

const struct fw_records *fw_channel_records(const struct fw_channel *channel)
{
    return channel->records;
}

void fw_channel_publish(struct fw_channel *channel, struct fw_packet *packet)
{
    fw_wire_write_video_header(packet->data - fw_wire_video_header_size(packet->key), packet);
    record(channel, packet);
    channel->stats.published++;
    channel->width = packet->width;
    channel->height = packet->height;
    if (packet->key)
        channel->key_on_way = false;
    if (packet->frame_id > channel->beacon.newest_frame) {
        // Until its maker says otherwise the newest may not show all there is.
        channel->beacon.newest_frame = packet->frame_id;
        channel->beacon.animating = packet->animating;
        channel->beacon.current = false;
    }
    struct fw_viewer *viewer, *next;
    for (viewer = TAILQ_FIRST(&channel->viewers); viewer; viewer = next) {
        next = TAILQ_NEXT(viewer, link);
        fw_viewer_offer(viewer, packet);
    }
    fw_channel_update(channel);
}

void fw_channel_reset(struct fw_channel *channel)
{
    struct fw_viewer *viewer;
    TAILQ_FOREACH(viewer, &channel->viewers, link)
    {
        fw_viewer_drop_pending(viewer, FW_REASON_RESTART);
        fw_flow_reset(&viewer->flow);
        viewer->needs_key = true;
        viewer->key_after_ns = 0;
    }
    channel->key_on_way = false;
    channel->key_asked_ns = 0;
    channel->credit_told = false; // the new worker has heard nothing
    channel->told_viewport = (struct fw_viewport){ 0 };
    channel->told_viewport_ns = 0;
    fw_channel_update(channel);
}

void fw_channel_beacon(struct fw_channel *channel, uint64_t newest_frame, bool current,
                       bool animating)
{
    struct fw_wire_beacon *b = &channel->beacon;
    const bool changed =
        b->current != current || b->animating != animating || b->newest_frame != newest_frame;
    b->newest_frame = newest_frame;
    b->current = current;
    b->animating = animating;
    if (!changed || TAILQ_EMPTY(&channel->viewers))
        return;
    const int64_t now = fw_now_ns();
    if (now - channel->beacon_sent_ns >= FW_BEACON_INTERVAL_MS * ms) {
        send_beacon(channel, NULL, now);
        return;
    }
    channel->beacon_due = true;
    arm_timer(channel, now);
}

void fw_channel_get_stats(const struct fw_channel *channel, struct fw_channel_stats *stats)
{
    *stats = channel->stats;
}
