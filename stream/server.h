// SPDX-License-Identifier: MIT
// For the session manager: HTTP and WebSocket on one port, viewers, and channels that fan one
// session's packets out to its viewers. The stream side knows no sessions: it asks its handler.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/err.h"
#include "base/input.h"
#include "base/log.h"
#include "base/packet.h"
#include "stream/totals.h"

struct fw_server;
struct fw_channel; // a session as the stream sees it: a set of viewers
struct fw_viewer;  // one page: a control connection and, once joined, a media connection

// ---- HTTP
// ----------------------------------------------------------------------------------------

enum { FW_HTTP_BODY_MAX = 64 << 10, FW_HTTP_HEADROOM = 32 };

// Valid during the call only. Strings are NUL-terminated and never NULL ("" when absent).
struct fw_http_request {
    const char *method; // "GET", "POST", "DELETE", "PUT", "HEAD"
    const char *path;   // decoded once, normalised, starts with '/'
    const char *query;  // raw, without '?'
    const char *bearer; // from "Authorization: Bearer …"
    const char *content_type;
    const char *body;
    size_t body_size;
};

struct fw_http_response;

// A body that takes longer to make than the loop has time for.
struct fw_http_work {
    // On a thread of its own; fills in the response, `work` aside. What it reads is its own.
    void (*run)(struct fw_http_work *work, struct fw_http_response *res);
    // On the loop thread, once, whether the answer could be sent or not.
    void (*free)(struct fw_http_work *work);
};

struct fw_http_response {
    int status;               // 0 = "not mine": the server answers 404
    const char *content_type; // static string; NULL = application/json
    char *body;               // malloc'ed, freed by the server; NULL = empty
    size_t body_size;
    bool headroom; // `body` lies FW_HTTP_HEADROOM bytes into its allocation: not copied
    struct fw_http_work
        *work;          // instead of all else: the answer comes from there; NULL = this is it
    int retry_after_s;  // 0 = no header
    const char *allow;  // static string, for 405; NULL = no header
    char location[160]; // for 201; "" = no header
    char save_as[96];   // file name for Content-Disposition, plain characters; "" = no header
    const char *route;  // static name of the address for statistics, "/s/{id}"; NULL = none known
    const char *file;   // instead of body: a name below the static root, e.g. "session.html"
};

// ---- what the manager implements
// -----------------------------------------------------------------

struct fw_hello {
    const char *session_id; // from the path /s/{id}/ws
    const char *token;      // "" when absent
    int width, height;      // first viewport in device pixels, 0 = unknown
    bool visible;
    double device_pixel_ratio;
    const char *const *codecs; // those the page really decoded, e.g. "avc1.42e01f"
    unsigned codec_count;
    const char *user_agent;
};

struct fw_viewport {
    int width, height; // device pixels, already checked: 16x16 to 3840x2160
};

// Thread: all on the loop thread. None may block or destroy the server; closing the viewer in
// question is allowed only through fw_viewer_close, which defers. A channel may be destroyed in
// `http`, `hello`, `left` and `input`, not in `viewport`, `keyframe`, `credit` and `joined`.
struct fw_server_handler {
    void *user;
    // Any request below /api/, /s/ (page) and those that match no static file.
    void (*http)(void *user, const struct fw_http_request *req, struct fw_http_response *res);
    // A control connection introduces itself. On FW_OK `*channel` is where it belongs; else it is
    // closed with {"error":{code,message}} made from the error (FW_ERR_DENIED → "unauthorized",
    // FW_ERR_NOT_FOUND → "no_such_session") and `message` (never NULL on return).
    enum fw_err (*hello)(void *user, const struct fw_hello *hello, struct fw_channel **channel,
                         const char **message);
    void (*joined)(void *user, struct fw_channel *channel, struct fw_viewer *viewer);
    void (*left)(void *user, struct fw_channel *channel, struct fw_viewer *viewer);
    // `events` carry session-wide ids and rx_ns given by the server; kinds, ranges and counts
    // checked.
    void (*input)(void *user, struct fw_channel *channel, struct fw_viewer *viewer,
                  const struct fw_input_event *events, unsigned count);
    // The viewer that drives the channel (last to give input; else the first visible) changed its
    // viewport, or another viewer became the driver.
    void (*viewport)(void *user, struct fw_channel *channel, const struct fw_viewport *viewport);
    // Somebody needs an IDR (joined, decoder error, packet dropped). Coalesced and rate-limited
    // here: at most one per 250 ms and none while one is on its way.
    void (*keyframe)(void *user, struct fw_channel *channel);
    // How many packets the channel may have published in all, so that nothing queues: published so
    // far + what the driver's window still takes. Called when it changes. `active` is false when no
    // viewer is visible and joined: stop rendering.
    void (*credit)(void *user, struct fw_channel *channel, uint64_t allowed, bool active);
};

struct fw_server_params {
    uv_loop_t *loop;  // owned by the caller, run by the caller
    const char *host; // "127.0.0.1", "::1", "0.0.0.0"
    int port;         // 0 = any free one, see fw_server_port
    const char *static_dir;
    const char *chart_js; // what /vendor/chart.js gives, need not be there; NULL = nothing
    const char *tls_cert, *tls_key; // PEM files; both or neither
    const char *const *origins;     // --public-origin: more allowed origins ("https://x.example")
    unsigned origin_count;
    const struct fw_server_handler *handler; // copied
    struct fw_log *log;
};

// Listens at once. FW_ERR_IO with errno set when the address is taken or not allowed.
enum fw_err fw_server_create(struct fw_server **server, const struct fw_server_params *params);
// Closes all connections and frees everything; the loop must still be run afterwards until its
// handles are gone (some ten turns). Channels are destroyed before, or at once after it in the same
// turn.
void fw_server_destroy(struct fw_server **server);
int fw_server_port(const struct fw_server *server);
const struct fw_stream_totals *fw_server_totals(const struct fw_server *server);
// Connections there are now, waiting ones included.
unsigned fw_server_connections(const struct fw_server *server);

// ---- channels
// ------------------------------------------------------------------------------------

struct fw_channel_info {
    const char *id, *title, *source, *gpu, *encoder; // copied; for the welcome message
    int fps;
    int64_t decode_delay_ns; // under --allow-faults: pages decode that much more slowly
};

enum fw_err fw_channel_create(struct fw_channel **channel, struct fw_server *server, void *user);
// Closes its viewers with `code` and `message` (codes of docs/protocol.md).
void fw_channel_destroy(struct fw_channel **channel, const char *code, const char *message);
void *fw_channel_user(const struct fw_channel *channel);
// Replaces what later welcomes say (and tells viewers who are there).
void fw_channel_set_info(struct fw_channel *channel, const struct fw_channel_info *info);
// {"type":"state",…} to all viewers and to each later joiner. state: "starting", "running",
// "restarting", "failed", "closing"; `code` and `message` may be "".
void fw_channel_set_state(struct fw_channel *channel, const char *state, const char *code,
                          const char *message);
// Fans out. Takes its own references. Viewers that can't take it now miss it and wait for the next
// IDR.
void fw_channel_publish(struct fw_channel *channel, struct fw_packet *packet);
// The worker was replaced: all viewers wait for an IDR, windows are emptied.
void fw_channel_reset(struct fw_channel *channel);
// Feeds the beacon (sent once a second and on change): the newest frame and whether it is current.
void fw_channel_beacon(struct fw_channel *channel, uint64_t newest_frame, bool current,
                       bool animating);

struct fw_channel_stats {
    unsigned viewers, visible;
    uint64_t published, sent_packets, sent_bytes, dropped, keyframe_requests;
    int64_t rtt_ns;          // of the driver, smallest lately; 0 = unknown
    int64_t absent_since_ns; // when the last viewer left; 0 = somebody is there
    bool left_well;          // it closed its connection; false: the connection broke
};
void fw_channel_get_stats(const struct fw_channel *channel, struct fw_channel_stats *stats);
struct fw_record_totals;
// Where its frames are summed up beyond its end, see stream/record.h; outlives the channel.
void fw_channel_set_totals(struct fw_channel *channel, struct fw_record_totals *totals);
struct fw_records;
// Of its frames, see stream/record.h; lives as long as the channel.
const struct fw_records *fw_channel_records(const struct fw_channel *channel);
// JSON text to one or all viewers (kept below 64 KiB).
void fw_channel_send_json(struct fw_channel *channel, const char *text);
void fw_viewer_close(struct fw_viewer *viewer, const char *code, const char *message);
