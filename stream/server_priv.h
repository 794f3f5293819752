// SPDX-License-Identifier: MIT
// Inside of stream/: the structs that server.c, http.c, ws.c, control.c, viewer.c and channel.c
// share. Thread: all of it on the loop thread.
#pragma once

#include <libwebsockets.h>
#include <sys/queue.h>

#include "stream/flow.h"
#include "stream/origin.h"
#include "stream/peer_clock.h"
#include "stream/record.h"
#include "stream/server.h"
#include "stream/totals.h"
#include "stream/wire.h"

enum {
    FW_MAX_CONNECTIONS = 1024,
    FW_MAX_UNGREETED = 128,      // WebSockets that have not said hello yet
    FW_UNGREETED_GRACE_MS = 250, // until one of them may lose its place to a newer one
    FW_WAITING_GRACE_MS = 500,   // the same for a connection without a request
    FW_EVICTED_MAX = 16,         // that are still closing
    FW_BODY_TIMEOUT_MS = 20000,  // all of a request's body
    FW_HELLO_TIMEOUT_MS = 5000,
    FW_CONTROL_SILENCE_MS = 15000,
    FW_CONTROL_QUEUE_MAX = 64 << 10, // bytes that wait for one control connection
    FW_SESSION_ID_MAX = 96,
    FW_MAX_CODECS = 32,
    FW_INPUT_PER_SECOND = 4096,
    FW_KEYFRAME_INTERVAL_MS = 250,
    FW_KEYFRAME_PATIENCE_MS = 1000, // then a key frame on its way is given up
    FW_KEYFRAME_BACKOFF_MS = 2000,  // the most a viewer that keeps missing messages waits
    FW_PACER_PATIENCE_MS = 300,     // a viewer that confirms nothing no longer holds up others
    FW_DRIVER_PATIENCE_MS = 2000,   // … and later no longer decides the size either
    FW_VIEWPORT_INTERVAL_MS = 100,  // between two sizes
    FW_BEACON_INTERVAL_MS = 100,    // between two beacons that tell a change
    FW_STAMPS_INTERVAL_MS = 100,    // stamps that come sooner share a message
    FW_NOTSENT_LOWAT = 128 << 10,   // unsent bytes the kernel takes before it says "full"
};

// Close codes of docs/protocol.md.
enum fw_close_code {
    FW_CLOSE_BAD_MESSAGE = 4400,
    FW_CLOSE_UNAUTHORIZED = 4401,
    FW_CLOSE_NO_SUCH_SESSION = 4404,
    FW_CLOSE_UNSUPPORTED_VERSION = 4406,
    FW_CLOSE_TIMEOUT = 4408,
    FW_CLOSE_CLOSED = 4409,
};

enum fw_conn_role { FW_CONN_NEW, FW_CONN_CONTROL, FW_CONN_MEDIA };

struct fw_out {
    TAILQ_ENTRY(fw_out) link;
    size_t size;
    bool text;
    uint8_t bytes[]; // LWS_PRE, then `size`
};

// One WebSocket. Owned by its lws connection (closed there), listed in the server.
struct fw_conn {
    TAILQ_ENTRY(fw_conn) link;
    struct fw_server *server;
    struct lws *wsi;
    enum fw_conn_role role;
    struct fw_viewer *viewer; // set after hello, NULL again when the viewer is gone
    int64_t opened_ns;
    char session_id[FW_SESSION_ID_MAX + 1];
    char user_agent[256];
    // --- the message being put together
    uint8_t *rx;
    size_t rx_size, rx_room;
    // --- what waits to be sent (control)
    TAILQ_HEAD(, fw_out) out;
    size_t out_bytes;
    // --- closing: after `out` is sent
    int close_code; // 0 = open
    bool close_sent, peer_closed, said_bye;
    char close_reason[64];
};

struct fw_viewer {
    TAILQ_ENTRY(fw_viewer) link; // in its channel, in order of joining
    struct fw_channel *channel;
    struct fw_conn *control; // never NULL while the viewer lives
    struct fw_conn *media;
    char id[33];
    uint32_t serial; // in its channel, from 1 on; for the records
    bool visible, closing;
    struct fw_viewport viewport; // 0x0 = unknown
    int64_t last_rx_ns;          // control
    int64_t last_input_ns;       // 0 = never gave input
    // --- video
    bool needs_key;
    struct fw_packet *pending[FW_FLOW_WINDOW_MAX]; // oldest first
    unsigned pending_count;
    uint64_t stamp_frame; // written but not yet taken by the kernel; 0 = none
    int64_t stamp_handed_ns;
    struct fw_wire_stamp stamps[FW_WIRE_STAMPS_MAX]; // taken, not told yet; oldest first
    unsigned stamp_count;
    int64_t stamps_sent_ns;
    struct fw_flow flow;
    struct fw_peer_clock clock;
    int64_t key_after_ns; // no key frame for this viewer before
    int64_t key_backoff_ns, last_drop_ns;
    // --- what it holds down
    unsigned buttons, touches;
    uint64_t keys[12];
    // --- input budget
    int64_t input_second;
    unsigned input_count;
};

TAILQ_HEAD(fw_viewers, fw_viewer);

struct fw_channel {
    TAILQ_ENTRY(fw_channel) link;
    struct fw_server *server;
    void *user;
    uv_timer_t *timer; // one shot: key frames and beacons that are due later; freed by its close
    struct fw_viewers viewers;
    char *id, *title, *source, *gpu, *encoder;
    int fps;
    int64_t decode_delay_ns;
    char state[16], *state_code, *state_message;
    int width, height; // of the newest packet, 0 = none yet
    uint64_t next_input_id;
    struct fw_viewer *driver, *pacer;
    struct fw_viewport told_viewport;
    int64_t told_viewport_ns;
    uint64_t told_allowed;
    bool told_active, credit_told;
    bool updating, update_again; // no recursion through the handler
    // --- key frames
    bool key_on_way;
    int64_t key_asked_ns;
    // --- beacon
    struct fw_wire_beacon beacon;
    int64_t beacon_sent_ns;
    bool beacon_due;
    struct fw_channel_stats stats;
    struct fw_records *records;
    uint32_t viewer_serial; // the last one given
};

struct fw_server {
    uv_loop_t *loop;
    struct lws_context *lws;
    struct lws_vhost *vhost;
    struct fw_server_handler handler;
    struct fw_log *log;
    struct fw_origin_policy policy;
    char *host;
    char *chart_js; // may be NULL
    char **origins;
    int root_fd, listen_fd, spare_fd, port;
    struct fw_http_works *works;
    uv_poll_t *accept_poll;
    uv_timer_t *tick;
    unsigned wsi_count;                       // connections known to lws
    unsigned closing_turns, after_last_turns; // of the loop, while closing
    bool closing;
    struct fw_stream_totals totals;
    TAILQ_HEAD(, fw_conn) conns;
    TAILQ_HEAD(, fw_channel) channels;
    TAILQ_HEAD(, fw_waiting) waiting;
};

// ---- server.c
bool fw_server_tls(const struct fw_server *server);

// ---- waiting.c: connections without a complete request
void fw_waiting_begin(struct fw_server *server, struct lws *wsi);
void fw_waiting_set(struct fw_server *server, struct lws *wsi, bool waits);
void fw_waiting_end(struct fw_server *server, struct lws *wsi);
// Ends the one that waits for longest. False: none does for long enough.
bool fw_waiting_evict(struct fw_server *server);

// ---- http.c
int fw_http_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                     size_t len);
// Copies a header; "" when absent. False when it does not fit.
bool fw_http_header(struct lws *wsi, enum lws_token_indexes token, char *out, size_t size);

// ---- http_headers.c
extern const struct lws_protocol_vhost_options *fw_http_vhost_headers;
const char *fw_http_reason(int status);      // the code in an error's body
const char *fw_http_method(struct lws *wsi); // "" = one that is not used here

// ---- ws.c
int fw_ws_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                   size_t len);
// Is this upgrade acceptable? 0, else the HTTP status and a sentence to refuse it with.
int fw_ws_check_upgrade(struct fw_server *server, struct lws *wsi, const char **message);
// Sends now when nothing waits, else queues within FW_CONTROL_QUEUE_MAX; over it the connection is
// closed. `data` is copied.
void fw_conn_send(struct fw_conn *conn, const void *data, size_t size, bool text);
// {"type":"error",…}, then close. Deferred: the connection lives on until the loop comes back.
void fw_conn_fail(struct fw_conn *conn, int close_code, const char *code, const char *message);
// Close with a code and no JSON.
void fw_conn_close(struct fw_conn *conn, int close_code, const char *reason);
void fw_ws_tick(struct fw_server *server, int64_t now_ns);

// ---- control.c: messages of a control connection after hello, and hello itself
void fw_control_hello(struct fw_conn *conn, const char *text, size_t size);
void fw_control_text(struct fw_conn *conn, const char *text, size_t size);
void fw_control_binary(struct fw_conn *conn, const uint8_t *data, size_t size);

// ---- viewer.c
struct fw_viewer *fw_viewer_create(struct fw_channel *channel, struct fw_conn *control);
// Unlinks it from channel and connections, releases what it holds. `tell`: call handler.left.
void fw_viewer_destroy(struct fw_viewer *viewer, bool tell);
struct fw_viewer *fw_viewer_find(struct fw_server *server, const char *id);
void fw_viewer_set_media(struct fw_viewer *viewer, struct fw_conn *media); // NULL = gone
void fw_viewer_set_visible(struct fw_viewer *viewer, bool visible);
// Everything it holds down is let go, as one input event.
void fw_viewer_release_input(struct fw_viewer *viewer);
void fw_viewer_offer(struct fw_viewer *viewer, struct fw_packet *packet);
void fw_viewer_media_writable(struct fw_viewer *viewer);
// Tells the stamps that still wait; called at least as often as a beacon is sent.
void fw_viewer_tell_stamps(struct fw_viewer *viewer, int64_t now_ns);
void fw_viewer_drop_pending(struct fw_viewer *viewer, enum fw_reason reason);
// It has missed something or asks by itself: at once the first time, then with growing patience.
void fw_viewer_want_key(struct fw_viewer *viewer);
// Its media socket has taken everything given so far.
bool fw_viewer_idle(const struct fw_viewer *viewer);
// Gets video: visible, joined, staying.
bool fw_viewer_watches(const struct fw_viewer *viewer);

// ---- channel.c
// Recomputes driver, pacer, viewport, credit and key frame requests, and tells what changed.
void fw_channel_update(struct fw_channel *channel);
void fw_channel_tick(struct fw_channel *channel, int64_t now_ns);
void fw_channel_welcome(struct fw_channel *channel, struct fw_viewer *viewer);
void fw_channel_count_viewers(struct fw_channel *channel);
