// SPDX-License-Identifier: MIT
// A server on a thread of its own with a handler that knows a few sessions and publishes made-up
// packets on demand. The tests talk to it over real sockets.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <uv.h>

#include "stream/client/client.h"
#include "stream/record.h"
#include "stream/server.h"

enum { HOST_EVENTS_MAX = 8192 };

struct host_order; // one call to be made on the loop

struct host {
    pthread_t thread;
    uv_loop_t loop;
    uv_async_t wake;
    struct fw_server *server;
    struct fw_channel *channel; // of session "s1"
    int port;
    bool tls;
    bool server_first;                    // host_stop: the server ends before its channel
    char dir[64];                         // temporary: web files and the certificate
    char cert[4200];                      // "" = plain
    atomic_bool hold;                     // work waits until it is false again
    atomic_uint works_begun, works_freed; // of answers made on threads
    pthread_mutex_t lock;
    pthread_cond_t done;
    // --- protected by lock
    struct host_order *order;
    struct fw_input_event events[HOST_EVENTS_MAX];
    unsigned event_count;
    struct fw_viewport viewport;
    unsigned viewports, joined, left, keyframes, credits;
    uint64_t allowed, frame_id;
    bool active;
    struct fw_hello hello; // numbers only
    unsigned codec_count;
};

// Fails the process when the server can't start.
void host_start(struct host *host, bool tls, const char *bind, const char *const *origins,
                unsigned origin_count);
void host_stop(struct host *host);
// Publishes a packet of `size` bytes; its payload is `frame_id` in every 8 bytes. Returns its id.
uint64_t host_publish(struct host *host, size_t size, bool key);
void host_reset(struct host *host);
void host_beacon(struct host *host, uint64_t newest, bool current, bool animating);
void host_state(struct host *host, const char *state, const char *code, const char *message);
// What the server would do at a tick `ahead_ns` from now.
void host_tick(struct host *host, int64_t ahead_ns);
void host_stats(struct host *host, struct fw_channel_stats *stats);
// The record of a frame; false when there is none.
bool host_record(struct host *host, uint64_t frame_id, struct fw_frame_record *record);
void host_end_channel(struct host *host, const char *code, const char *message);
// A client's parameters for this host and session.
struct fw_client_params host_client(const struct host *host, const char *path);
// Waits until `*value` (under the lock) is at least `least`; false after `timeout_ms`.
bool host_wait(struct host *host, const unsigned *value, unsigned least, int timeout_ms);
// Reads on until the close frame and gives its code; 0 when none comes, below 0 when the connection
// breaks. `error` gets the last error message, "" when none came.
int host_wait_close(struct fw_client *c, int timeout_ms, char *error, size_t size);
