// SPDX-License-Identifier: MIT
// One who watches a session: what the page does with its two WebSockets, for clients in C (bench
// and view). It says hello, keeps the clock, acknowledges, sends input and knows the age of the
// picture. Reading never blocks, so that one loop serves many; opening and a connection that does
// not take our few bytes block with a time limit.
//
//   fw_watch_open(&w, &params, &error);
//   loop: poll fw_watch_fds(), then fw_watch_turn(w); handlers are called from there
//   fw_watch_close(&w);           // to come back after an end: close, wait a little, open again
//
// Thread: one at a time for each watch. Handlers must not close it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "stream/client/clock.h"
#include "stream/client/inputs.h"
#include "stream/client/remote.h"
#include "stream/wire.h"

struct fw_watch;

// What the server says of the session.
struct fw_watch_info {
    char viewer[40];
    char title[128], source[64], gpu[128], encoder[64];
    int fps;
    char state[24];              // "starting", "running", "restarting", "failed", "closing"
    char code[48], message[256]; // of the state or of the newest error; "" = none
    int percent;                 // of the source's loading, -1 = not said
};

// All optional but video. `now_ns`: when it was read from the socket, on this machine's clock.
struct fw_watch_handler {
    // Say what became of it with fw_watch_ack(), RECEIVED first. `video` is valid for the call.
    void (*video)(void *user, const struct fw_wire_video *video, size_t bytes, int64_t now_ns);
    void (*beacon)(void *user, const struct fw_wire_beacon *beacon, int64_t now_ns);
    void (*stamp)(void *user, const struct fw_wire_stamp *stamp, int64_t now_ns);
    // A picture that shows input `seq` is on screen since `seen_ns`; it was due at `since_ns`.
    void (*input_seen)(void *user, uint64_t seq, int64_t since_ns, int64_t seen_ns);
    void (*info)(void *user, const struct fw_watch_info *info);
    // The media connection is new: the next picture is a key frame.
    void (*media_open)(void *user);
};

struct fw_watch_params {
    const struct fw_remote *remote; // must outlive the watch
    const char *id;                 // of the session
    const char *token;              // of the session, else the operator's; NULL = none
    int width, height;              // of the viewport, device pixels
    double pixel_ratio;             // device pixels per logical one, 0 = 1
    bool hidden;
    struct fw_watch_handler handler;
    void *user;
};

// Both connections, joined. On failure `error` says why, with the server's code ("unauthorized",
// "no_such_session", …) where it gave one.
enum fw_err fw_watch_open(struct fw_watch **watch, const struct fw_watch_params *params,
                          struct fw_remote_error *error);
// Says bye where that is still possible.
void fw_watch_close(struct fw_watch **watch);

// To be polled for reading: control, media (-1 = being opened again).
void fw_watch_fds(const struct fw_watch *watch, int fds[2]);
// Reads all that has come, calls the handlers, sends what is due. Call it when a socket is
// readable, and once a second besides. FW_ERR_CLOSED: it is over, fw_watch_info() says why.
enum fw_err fw_watch_turn(struct fw_watch *watch);

const struct fw_watch_info *fw_watch_info(const struct fw_watch *watch);
const struct fw_client_clock *fw_watch_clock(const struct fw_watch *watch);
// ns; -1 = no picture or no clock yet.
int64_t fw_watch_age(const struct fw_watch *watch, int64_t now_ns);

// The oldest change of which we know that it is not on screen, on our clock; 0 = of none.
int64_t fw_watch_change(const struct fw_watch *watch);

// `at_ns`: when it happened. Sent at the end of the turn, or by fw_watch_flush(); "decoded" goes
// with what is said of the frame next. PRESENTED also counts for age and inputs.
void fw_watch_ack(struct fw_watch *watch, uint64_t frame_id, enum fw_wire_ack_what what,
                  int64_t at_ns);
enum fw_err fw_watch_flush(struct fw_watch *watch);

enum { FW_WATCH_NOT_FOLLOWED = -1 };
// Sends 1 to FW_WIRE_BATCH_MAX events; their seq and time are filled in here. `due_ns`: when they
// should have happened, which is what latency counts from; 0 = now; FW_WATCH_NOT_FOLLOWED: nobody
// waits for a picture that shows them.
enum fw_err fw_watch_input(struct fw_watch *watch, struct fw_wire_input *events, unsigned count,
                           int64_t due_ns);
// Inputs sent that no picture has shown so far.
unsigned fw_watch_inputs_open(const struct fw_watch *watch);
enum fw_err fw_watch_viewport(struct fw_watch *watch, int width, int height);
enum fw_err fw_watch_visible(struct fw_watch *watch, bool visible);
enum fw_err fw_watch_want_key(struct fw_watch *watch, const char *reason);
