// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "stream/server_priv.h"

// ---- upgrade

// "/s/{id}/ws" → id. Ids are letters, digits, '-' and '_'.
static bool session_of(const char *path, char *id)
{
    if (strncmp(path, "/s/", 3))
        return false;
    path += 3;
    const size_t size = strspn(path, "0123456789abcdefghijklmnopqrstuvwxyz"
                                     "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_");
    if (!size || size > FW_SESSION_ID_MAX || strcmp(path + size, "/ws"))
        return false;
    memcpy(id, path, size);
    id[size] = '\0';
    return true;
}

static bool read_session(struct lws *wsi, char *id)
{
    char path[FW_SESSION_ID_MAX + 16];
    return lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI) &&
           fw_http_header(wsi, WSI_TOKEN_GET_URI, path, sizeof(path)) && session_of(path, id);
}

static bool offers_protocol(struct lws *wsi)
{
    char list[128], *save = NULL;
    if (!fw_http_header(wsi, WSI_TOKEN_PROTOCOL, list, sizeof(list)))
        return false;
    for (char *name = strtok_r(list, ", ", &save); name; name = strtok_r(NULL, ", ", &save)) {
        if (!strcmp(name, "framewire.v1"))
            return true;
    }
    return false;
}

static void drop_out(struct fw_conn *conn)
{
    struct fw_out *out;
    while ((out = TAILQ_FIRST(&conn->out))) {
        TAILQ_REMOVE(&conn->out, out, link);
        free(out);
    }
    conn->out_bytes = 0;
}

// Ends it without another word, once the loop turns.
static void kill_conn(struct fw_conn *conn)
{
    conn->close_code = LWS_CLOSE_STATUS_NORMAL; // nothing more is written
    if (conn->viewer && conn->role == FW_CONN_CONTROL)
        conn->viewer->closing = true;
    drop_out(conn);
    lws_set_timeout(conn->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
}

// Whoever opens many and greets with none must not keep others out: the oldest goes then.
static bool room_for_ungreeted(struct fw_server *server)
{
    unsigned ungreeted = 0;
    struct fw_conn *conn, *oldest = NULL;
    TAILQ_FOREACH(conn, &server->conns, link)
    {
        if (conn->role != FW_CONN_NEW || conn->close_code)
            continue;
        ungreeted++;
        oldest = oldest ? oldest : conn;
    }
    if (ungreeted < FW_MAX_UNGREETED)
        return true;
    if (fw_now_ns() - oldest->opened_ns < FW_UNGREETED_GRACE_MS * (int64_t)FW_NS_PER_MS)
        return false;
    kill_conn(oldest);
    return true;
}

int fw_ws_check_upgrade(struct fw_server *server, struct lws *wsi, const char **message)
{
    char id[FW_SESSION_ID_MAX + 1], text[80];
    if (!read_session(wsi, id)) {
        *message = "There is no WebSocket here.";
        return 404;
    }
    if (!fw_http_header(wsi, WSI_TOKEN_VERSION, text, sizeof(text)) || strcmp(text, "13")) {
        *message = "WebSocket version 13 is needed.";
        return 426;
    }
    if (!fw_http_header(wsi, WSI_TOKEN_KEY, text, sizeof(text)) || strlen(text) != 24) {
        *message = "The Sec-WebSocket-Key is not sound.";
        return 400;
    }
    if (!offers_protocol(wsi)) {
        *message = "The sub-protocol framewire.v1 is needed.";
        return 400;
    }
    if (server->closing || !room_for_ungreeted(server)) {
        server->totals.refused[FW_REFUSAL_UNGREETED]++;
        *message = "Too many connections that have not said hello.";
        return 503;
    }
    return 0;
}

// ---- sending

static bool write_now(struct fw_conn *conn, uint8_t *bytes, size_t size, bool text)
{
    conn->server->totals.control_bytes += size;
    if (lws_write(conn->wsi, bytes, size, text ? LWS_WRITE_TEXT : LWS_WRITE_BINARY) >= 0)
        return true;
    kill_conn(conn);
    return false;
}

static bool enqueue(struct fw_conn *conn, const void *data, size_t size, bool text)
{
    struct fw_out *out = malloc(sizeof(*out) + LWS_PRE + size);
    if (!out)
        return false;
    memcpy(out->bytes + LWS_PRE, data, size);
    out->size = size;
    out->text = text;
    TAILQ_INSERT_TAIL(&conn->out, out, link);
    conn->out_bytes += size + sizeof(*out);
    lws_callback_on_writable(conn->wsi);
    return true;
}

void fw_conn_send(struct fw_conn *conn, const void *data, size_t size, bool text)
{
    if (conn->close_code || conn->peer_closed)
        return;
    if (TAILQ_EMPTY(&conn->out) && size <= FW_WIRE_SMALL_MAX && !lws_partial_buffered(conn->wsi)) {
        uint8_t bytes[LWS_PRE + FW_WIRE_SMALL_MAX];
        memcpy(bytes + LWS_PRE, data, size);
        write_now(conn, bytes + LWS_PRE, size, text);
        return;
    }
    if (conn->out_bytes + size > FW_CONTROL_QUEUE_MAX || !enqueue(conn, data, size, text)) {
        fw_log(conn->server->log, FW_LOG_DEBUG, "stream", "a viewer takes no messages, dropped");
        kill_conn(conn); // it would not read the close frame either
    }
}

void fw_conn_close(struct fw_conn *conn, int close_code, const char *reason)
{
    enum { PATIENCE_S = 3 };
    if (conn->close_code)
        return;
    conn->close_code = close_code;
    snprintf(conn->close_reason, sizeof(conn->close_reason), "%s", reason);
    if (conn->viewer && conn->role == FW_CONN_CONTROL)
        conn->viewer->closing = true;
    lws_set_timeout(conn->wsi, PENDING_TIMEOUT_USER_OK, PATIENCE_S);
    lws_callback_on_writable(conn->wsi);
}

// JSON strings need escapes; the messages are ours or the handler's.
static size_t escape(const char *in, char *out, size_t room)
{
    size_t n = 0;
    for (; *in && n + 7 < room; in++) {
        const unsigned char c = (unsigned char)*in;
        if (c == '"' || c == '\\')
            out[n++] = '\\';
        if (c < 0x20)
            n += (size_t)snprintf(out + n, room - n, "\\u%04x", c);
        else
            out[n++] = (char)c;
    }
    out[n] = '\0';
    return n;
}

void fw_conn_fail(struct fw_conn *conn, int close_code, const char *code, const char *message)
{
    char safe_code[128], safe_message[1024], text[1300];
    if (conn->close_code)
        return;
    escape(code, safe_code, sizeof(safe_code));
    escape(message ? message : "", safe_message, sizeof(safe_message));
    const int n = snprintf(text, sizeof(text),
                           "{\"type\":\"error\",\"error\":{\"code\":\"%s\",\"message\":\"%s\"}}",
                           safe_code, safe_message);
    enqueue(conn, text, (size_t)n, true);
    fw_conn_close(conn, close_code, code);
}

// The close frame is written here rather than by lws: returning -1 with a reason set makes a debug
// build of lws 4.1 on libuv (Debian's) close twice, which loses the frame. The peer answers with
// its own, or the timeout ends it.
static void send_close(struct fw_conn *conn, int code, const char *reason)
{
    enum { REASON_MAX = 123 };
    uint8_t bytes[LWS_PRE + 4 + REASON_MAX], *frame = bytes + LWS_PRE;
    const size_t given = strlen(reason), size = given < REASON_MAX ? given : REASON_MAX;
    if (conn->close_sent)
        return;
    conn->close_sent = true;
    frame[0] = 0x88; // FIN, close
    frame[1] = (uint8_t)(2 + size);
    frame[2] = (uint8_t)(code >> 8);
    frame[3] = (uint8_t)code;
    memcpy(frame + 4, reason, size);
    lws_write(conn->wsi, frame, 4 + size, LWS_WRITE_HTTP); // as it is, unframed
}

// What waits goes out, as far as the socket takes it; then the close frame, if one is due.
static int on_writable(struct fw_conn *conn)
{
    struct fw_out *out;
    while ((out = TAILQ_FIRST(&conn->out))) {
        if (lws_partial_buffered(conn->wsi)) {
            lws_callback_on_writable(conn->wsi);
            return 0;
        }
        TAILQ_REMOVE(&conn->out, out, link);
        conn->out_bytes -= out->size + sizeof(*out);
        conn->server->totals.control_bytes += out->size;
        const int n = lws_write(conn->wsi, out->bytes + LWS_PRE, out->size,
                                out->text ? LWS_WRITE_TEXT : LWS_WRITE_BINARY);
        free(out);
        if (n < 0)
            return -1;
    }
    if (conn->close_code) {
        if (lws_partial_buffered(conn->wsi)) {
            lws_callback_on_writable(conn->wsi);
            return 0;
        }
        send_close(conn, conn->close_code, conn->close_reason);
        return 0;
    }
    if (conn->role == FW_CONN_MEDIA && conn->viewer)
        fw_viewer_media_writable(conn->viewer);
    return 0;
}

// ---- receiving

static void on_message(struct fw_conn *conn, bool binary)
{
    static const char bad[] = "bad_message";
    switch (conn->role) {
    case FW_CONN_NEW:
        if (binary)
            fw_conn_fail(conn, FW_CLOSE_BAD_MESSAGE, bad, "Say hello first.");
        else
            fw_control_hello(conn, (const char *)conn->rx, conn->rx_size);
        return;
    case FW_CONN_CONTROL:
        if (!conn->viewer)
            return;
        conn->viewer->last_rx_ns = fw_now_ns();
        if (binary)
            fw_control_binary(conn, conn->rx, conn->rx_size);
        else
            fw_control_text(conn, (const char *)conn->rx, conn->rx_size);
        return;
    case FW_CONN_MEDIA:
        fw_conn_fail(conn, FW_CLOSE_BAD_MESSAGE, bad, "The media connection is one-way.");
        return;
    }
}

static int on_receive(struct fw_conn *conn, const void *data, size_t size)
{
    if (conn->close_code)
        return 0; // on its way out: whatever still comes is not looked at
    if (lws_is_first_fragment(conn->wsi))
        conn->rx_size = 0;
    const size_t need = conn->rx_size + size;
    if (need > FW_WIRE_CONTROL_MAX ||
        lws_remaining_packet_payload(conn->wsi) > FW_WIRE_CONTROL_MAX - need) {
        fw_conn_close(conn, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE, "over 64 KiB");
        return 0;
    }
    if (need + 1 > conn->rx_room) {
        const size_t room = need + 1 < 1024 ? 1024 : 2 * need + 1;
        uint8_t *grown = realloc(conn->rx, room);
        if (!grown)
            return -1;
        conn->rx = grown;
        conn->rx_room = room;
    }
    memcpy(conn->rx + conn->rx_size, data, size);
    conn->rx_size = need;
    conn->rx[need] = 0;
    if (!lws_is_final_fragment(conn->wsi) || lws_remaining_packet_payload(conn->wsi))
        return 0;
    on_message(conn, lws_frame_is_binary(conn->wsi));
    conn->rx_size = 0;
    if (conn->rx_room > 8192) { // a rare large message does not keep its memory
        free(conn->rx);
        conn->rx = NULL;
        conn->rx_room = 0;
    }
    return 0;
}

// ---- life

static void on_established(struct fw_conn *conn, struct lws *wsi)
{
    struct fw_server *server = lws_context_user(lws_get_context(wsi));
    memset(conn, 0, sizeof(*conn));
    conn->server = server;
    conn->wsi = wsi;
    conn->opened_ns = fw_now_ns();
    TAILQ_INIT(&conn->out);
    read_session(wsi, conn->session_id);
    fw_http_header(wsi, WSI_TOKEN_HTTP_USER_AGENT, conn->user_agent, sizeof(conn->user_agent));
    TAILQ_INSERT_TAIL(&server->conns, conn, link);
    fw_waiting_set(server, wsi, false);
}

static void on_closed(struct fw_conn *conn)
{
    if (!conn->server)
        return; // never established
    TAILQ_REMOVE(&conn->server->conns, conn, link);
    struct fw_viewer *viewer = conn->viewer;
    if (viewer && conn->role == FW_CONN_CONTROL)
        fw_viewer_destroy(viewer, true);
    else if (viewer && viewer->media == conn)
        fw_viewer_set_media(viewer, NULL);
    drop_out(conn);
    free(conn->rx);
    memset(conn, 0, sizeof(*conn));
}

int fw_ws_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                   size_t len)
{
    struct fw_conn *conn = user;
    switch (reason) {
    case LWS_CALLBACK_ESTABLISHED: on_established(conn, wsi); return 0;
    case LWS_CALLBACK_RECEIVE: return on_receive(conn, in, len);
    case LWS_CALLBACK_SERVER_WRITEABLE: return on_writable(conn);
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
        conn->peer_closed = true;
        return conn->close_sent ? -1 : 0; // both have said it
    case LWS_CALLBACK_WS_SERVER_DROP_PROTOCOL:
        // lws gives up on a connection that broke the rules of framing; see send_close.
        if (conn && conn->server && !conn->close_code && !conn->peer_closed &&
            !conn->server->closing && !lws_partial_buffered(wsi))
            send_close(conn, LWS_CLOSE_STATUS_PROTOCOL_ERR, "");
        return 0;
    case LWS_CALLBACK_CLOSED: on_closed(conn); return 0;
    default: return 0;
    }
}

void fw_ws_tick(struct fw_server *server, int64_t now_ns)
{
    struct fw_conn *conn;
    TAILQ_FOREACH(conn, &server->conns, link)
    {
        if (conn->close_code)
            continue;
        if (conn->role == FW_CONN_NEW) {
            if (now_ns - conn->opened_ns > (int64_t)FW_HELLO_TIMEOUT_MS * FW_NS_PER_MS)
                fw_conn_fail(conn, FW_CLOSE_TIMEOUT, "timeout", "No hello came.");
        } else if (conn->role == FW_CONN_CONTROL && conn->viewer) {
            if (now_ns - conn->viewer->last_rx_ns > (int64_t)FW_CONTROL_SILENCE_MS * FW_NS_PER_MS)
                fw_conn_fail(conn, FW_CLOSE_TIMEOUT, "timeout", "Nothing heard for 15 s.");
        }
    }
}
