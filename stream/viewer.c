// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "stream/secret.h"
#include "stream/server_priv.h"

struct fw_viewer *fw_viewer_create(struct fw_channel *channel, struct fw_conn *control)
{
    struct fw_viewer *viewer = calloc(1, sizeof(*viewer));
    if (!viewer)
        return NULL;
    if (fw_random_hex(viewer->id, FW_ID_BYTES)) {
        free(viewer);
        return NULL;
    }
    viewer->channel = channel;
    viewer->serial = ++channel->viewer_serial;
    viewer->control = control;
    viewer->last_rx_ns = fw_now_ns();
    viewer->needs_key = true;
    control->viewer = viewer;
    TAILQ_INSERT_TAIL(&channel->viewers, viewer, link);
    return viewer;
}

static void record_drop(const struct fw_viewer *viewer, const struct fw_packet *packet,
                        enum fw_reason reason)
{
    fw_records_drop(viewer->channel->records, viewer->serial, packet->frame_id, reason);
}

void fw_viewer_drop_pending(struct fw_viewer *viewer, enum fw_reason reason)
{
    for (unsigned i = 0; i < viewer->pending_count; i++) {
        record_drop(viewer, viewer->pending[i], reason);
        fw_packet_unref(&viewer->pending[i]);
    }
    viewer->pending_count = 0;
}

void fw_viewer_destroy(struct fw_viewer *viewer, bool tell)
{
    struct fw_channel *channel = viewer->channel;
    struct fw_server *server = channel->server;
    if (tell)
        fw_viewer_release_input(viewer);
    viewer->closing = true;
    channel->stats.left_well = viewer->control->peer_closed || viewer->control->said_bye;
    TAILQ_REMOVE(&channel->viewers, viewer, link);
    viewer->control->viewer = NULL;
    if (viewer->media) {
        viewer->media->viewer = NULL;
        fw_conn_close(viewer->media, LWS_CLOSE_STATUS_NORMAL, "control is gone");
        viewer->media = NULL;
    }
    fw_viewer_drop_pending(viewer, FW_REASON_GONE);
    fw_records_left(channel->records, viewer->serial);
    if (channel->driver == viewer)
        channel->driver = NULL;
    if (channel->pacer == viewer)
        channel->pacer = NULL;
    if (tell) {
        fw_channel_count_viewers(channel);
        if (server->handler.left)
            server->handler.left(server->handler.user, channel, viewer);
        // The handler may have ended the channel: look it up before it is touched again.
        struct fw_channel *c;
        TAILQ_FOREACH(c, &server->channels, link)
        {
            if (c == channel) {
                fw_channel_update(channel);
                break;
            }
        }
    }
    free(viewer);
}

struct fw_viewer *fw_viewer_find(struct fw_server *server, const char *id)
{
    struct fw_viewer *found = NULL;
    struct fw_conn *conn;
    // All are compared, each in constant time: the id is what lets a media connection in.
    TAILQ_FOREACH(conn, &server->conns, link)
    {
        if (conn->role == FW_CONN_CONTROL && conn->viewer && fw_secret_equal(id, conn->viewer->id))
            found = conn->viewer;
    }
    return found;
}

bool fw_viewer_watches(const struct fw_viewer *viewer)
{
    return viewer->visible && viewer->media && !viewer->closing;
}

bool fw_viewer_idle(const struct fw_viewer *viewer)
{
    return !viewer->pending_count && (!viewer->media || !lws_partial_buffered(viewer->media->wsi));
}

void fw_viewer_set_media(struct fw_viewer *viewer, struct fw_conn *media)
{
    struct fw_conn *old = viewer->media;
    viewer->media = media;
    if (old && media) {
        old->viewer = NULL;
        fw_conn_close(old, FW_CLOSE_CLOSED, "replaced");
    }
    if (media)
        media->viewer = viewer;
    fw_viewer_drop_pending(viewer, FW_REASON_GONE);
    fw_records_left(viewer->channel->records, viewer->serial);
    fw_flow_reset(&viewer->flow);
    viewer->stamp_frame = 0;
    viewer->needs_key = true;
    viewer->key_after_ns = 0;
    fw_channel_count_viewers(viewer->channel);
    fw_channel_update(viewer->channel);
}

void fw_viewer_set_visible(struct fw_viewer *viewer, bool visible)
{
    if (viewer->visible == visible)
        return;
    viewer->visible = visible;
    if (visible) {
        fw_flow_reset(&viewer->flow); // a hidden page may not confirm what it dropped
        viewer->needs_key = true;
        viewer->key_after_ns = 0;
    } else {
        fw_viewer_drop_pending(viewer, FW_REASON_HIDDEN);
        fw_viewer_release_input(viewer);
    }
    fw_channel_count_viewers(viewer->channel);
    fw_channel_update(viewer->channel);
}

void fw_viewer_release_input(struct fw_viewer *viewer)
{
    struct fw_channel *channel = viewer->channel;
    const struct fw_server_handler *handler = &channel->server->handler;
    bool held = viewer->buttons || viewer->touches;
    for (size_t i = 0; i < sizeof(viewer->keys) / sizeof(viewer->keys[0]); i++)
        held |= viewer->keys[i] != 0;
    if (!held)
        return;
    viewer->buttons = viewer->touches = 0;
    memset(viewer->keys, 0, sizeof(viewer->keys));
    const struct fw_input_event release = {
        .id = ++channel->next_input_id,
        .rx_ns = fw_now_ns(),
        .kind = FW_INPUT_RELEASE,
    };
    fw_records_input(channel->records, release.id, 1, release.rx_ns);
    if (handler->input)
        handler->input(handler->user, channel, viewer, &release, 1);
}

// ---- video

void fw_viewer_tell_stamps(struct fw_viewer *viewer, int64_t now_ns)
{
    uint8_t out[FW_WIRE_SMALL_MAX];
    if (!viewer->stamp_count)
        return;
    const size_t size = fw_wire_write_stamps(out, viewer->stamps, viewer->stamp_count);
    viewer->stamp_count = 0;
    viewer->stamps_sent_ns = now_ns;
    fw_conn_send(viewer->control, out, size, false);
}

// A message per frame would cost as much as the frame itself: they are told by the handful.
static void add_stamp(struct fw_viewer *viewer, int64_t accepted_ns)
{
    const uint64_t frame_id = viewer->stamp_frame;
    viewer->stamp_frame = 0;
    if (!FW_TRACE_ON)
        return;
    viewer->stamps[viewer->stamp_count++] = (struct fw_wire_stamp){
        .frame_id = frame_id,
        .handed_ns = viewer->stamp_handed_ns,
        .accepted_ns = accepted_ns,
    };
    fw_records_sent(viewer->channel->records, viewer->serial, frame_id, FW_POINT_ACCEPTED,
                    accepted_ns);
    if (viewer->stamp_count == FW_WIRE_STAMPS_MAX ||
        accepted_ns - viewer->stamps_sent_ns >= FW_STAMPS_INTERVAL_MS * (int64_t)FW_NS_PER_MS)
        fw_viewer_tell_stamps(viewer, accepted_ns);
}

// The wire header lies in the packet's headroom already (fw_channel_publish).
static void send_packet(struct fw_viewer *viewer, struct fw_packet *packet)
{
    struct lws *wsi = viewer->media->wsi;
    struct fw_channel_stats *stats = &viewer->channel->stats;
    const size_t header = fw_wire_video_header_size(packet->key);
    const size_t size = header + packet->size;
    const int64_t handed = fw_now_ns();
    viewer->stamp_frame = packet->frame_id;
    viewer->stamp_handed_ns = handed;
    fw_flow_sent(&viewer->flow, packet->frame_id, handed);
    fw_records_sent(viewer->channel->records, viewer->serial, packet->frame_id, FW_POINT_HANDED,
                    handed);
    if (lws_write(wsi, packet->data - header, size, LWS_WRITE_BINARY) < 0) {
        viewer->stamp_frame = 0;
        viewer->media->close_code = LWS_CLOSE_STATUS_NORMAL;
        lws_set_timeout(wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
        return;
    }
    stats->sent_packets++;
    stats->sent_bytes += size;
    viewer->channel->server->totals.media_messages++;
    viewer->channel->server->totals.media_bytes += size;
    if (!lws_partial_buffered(wsi))
        add_stamp(viewer, fw_trace_now_ns());
}

void fw_viewer_want_key(struct fw_viewer *viewer)
{
    enum { CALM_S = 4 };
    const int64_t now = fw_now_ns();
    if (!viewer->needs_key) {
        // Each time in a row doubles the wait, so that a slow viewer, or one that asks all the
        // time, does not fill everybody's stream with key frames.
        const int64_t most = (int64_t)FW_KEYFRAME_BACKOFF_MS * FW_NS_PER_MS;
        if (now - viewer->last_drop_ns > (int64_t)CALM_S * FW_NS_PER_S)
            viewer->key_backoff_ns = 0;
        viewer->key_after_ns = now + viewer->key_backoff_ns;
        viewer->key_backoff_ns = viewer->key_backoff_ns
                                     ? 2 * viewer->key_backoff_ns
                                     : (int64_t)FW_KEYFRAME_INTERVAL_MS * FW_NS_PER_MS;
        if (viewer->key_backoff_ns > most)
            viewer->key_backoff_ns = most;
    }
    viewer->last_drop_ns = now;
    viewer->needs_key = true;
}

static void missed(struct fw_viewer *viewer, const struct fw_packet *packet, enum fw_reason reason)
{
    record_drop(viewer, packet, reason);
    viewer->channel->stats.dropped++;
}

static bool can_write(const struct fw_viewer *viewer)
{
    const struct fw_conn *media = viewer->media;
    return !media->close_code && !media->peer_closed && !viewer->stamp_frame &&
           !lws_partial_buffered(media->wsi) && !lws_send_pipe_choked(media->wsi);
}

void fw_viewer_offer(struct fw_viewer *viewer, struct fw_packet *packet)
{
    if (!fw_viewer_watches(viewer) || viewer->media->close_code) {
        record_drop(viewer, packet, viewer->visible ? FW_REASON_GONE : FW_REASON_HIDDEN);
        return;
    }
    if (viewer->needs_key && !packet->key) {
        missed(viewer, packet, FW_REASON_NEEDS_KEY);
        return;
    }
    if (packet->key) {
        fw_viewer_drop_pending(
            viewer, FW_REASON_NEWER_KEY); // the newest key frame stands for all before it
        viewer->needs_key = false;
    }
    if (!viewer->pending_count && can_write(viewer)) {
        send_packet(viewer, packet);
        return;
    }
    // References only. The pacer's are bounded by its window; they were asked for. Another viewer
    // has one.
    const unsigned limit = viewer == viewer->channel->pacer ? FW_FLOW_WINDOW_MAX : 1;
    if (viewer->pending_count >= limit) {
        fw_viewer_want_key(viewer);
        missed(viewer, packet, FW_REASON_BUSY);
        return;
    }
    viewer->pending[viewer->pending_count++] = fw_packet_ref(packet);
    lws_callback_on_writable(viewer->media->wsi);
}

void fw_viewer_media_writable(struct fw_viewer *viewer)
{
    struct lws *wsi = viewer->media->wsi;
    if (lws_partial_buffered(wsi))
        return; // lws calls again
    if (viewer->stamp_frame)
        add_stamp(viewer, fw_trace_now_ns());
    while (viewer->pending_count && fw_viewer_watches(viewer) && can_write(viewer)) {
        struct fw_packet *packet = viewer->pending[0];
        viewer->pending_count--;
        memmove(viewer->pending, viewer->pending + 1,
                viewer->pending_count * sizeof(viewer->pending[0]));
        send_packet(viewer, packet);
        fw_packet_unref(&packet);
    }
    if (viewer->pending_count)
        lws_callback_on_writable(wsi);
    fw_channel_update(viewer->channel);
}

void fw_viewer_close(struct fw_viewer *viewer, const char *code, const char *message)
{
    static const struct {
        const char *code;
        int close_code;
    } codes[] = {
        { "unauthorized", FW_CLOSE_UNAUTHORIZED },
        { "no_such_session", FW_CLOSE_NO_SUCH_SESSION },
        { "unsupported_version", FW_CLOSE_UNSUPPORTED_VERSION },
        { "timeout", FW_CLOSE_TIMEOUT },
        { "bad_message", FW_CLOSE_BAD_MESSAGE },
    };
    int close_code = FW_CLOSE_CLOSED;
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        if (!strcmp(code, codes[i].code))
            close_code = codes[i].close_code;
    }
    fw_conn_fail(viewer->control, close_code, code, message);
}
