// SPDX-License-Identifier: MIT
// The worker's end of the way to the front: commands come in, messages and packets go out.
// transport_link.c: the socket and the ring. transport_loopback.c: queues, for tests.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/packet.h"
#include "base/ring.h"
#include "session/link.h"

struct fw_transport;

struct fw_transport_impl {
    // Thread: session thread. Readable when `recv` has something.
    int (*poll_fd)(struct fw_transport *transport);
    // Thread: session thread. One checked command into `buf` (FW_LINK_MAX_BYTES, aligned).
    // FW_ERR_AGAIN when there is none, FW_ERR_CLOSED, FW_ERR_FORMAT for a broken one.
    enum fw_err (*recv)(struct fw_transport *transport, void *buf, size_t *size);
    // Thread: any. As fw_link_send.
    enum fw_err (*send)(struct fw_transport *transport, void *message, uint16_t type, size_t size);
    // Thread: encode thread. The caller keeps its reference. FW_ERR_AGAIN: the front has stalled,
    // the packet was not written.
    enum fw_err (*packet)(struct fw_transport *transport, struct fw_packet *packet);
    void (*destroy)(struct fw_transport *transport);
};

struct fw_transport {
    const struct fw_transport_impl *impl; // each transport embeds this as its first member
};

// Accepts NULL and nulls the pointer.
void fw_transport_destroy(struct fw_transport **transport);

// Over fds. On FW_OK it owns both, else the caller still does.
enum fw_err fw_transport_link_create(struct fw_transport **transport, int link_fd, int ring_fd);

// ---- loopback: the other end is called by a test in the same process

enum { FW_LOOPBACK_QUEUE = 64 };

struct fw_loopback_event {
    struct fw_packet *packet; // a reference for the caller; NULL: it is a message
    size_t size;
    _Alignas(8) uint8_t message[sizeof(struct fw_link_ready)]; // the largest a worker sends
};

enum fw_err fw_transport_loopback_create(struct fw_transport **transport);
// The front's side. Thread: one other than the session's. Fills in the header.
enum fw_err fw_loopback_command(struct fw_transport *transport, void *message, uint16_t type,
                                size_t size);
// Waits for the next message or packet, in order. FW_ERR_TIMEOUT after `timeout_ms`.
enum fw_err fw_loopback_next(struct fw_transport *transport, int timeout_ms,
                             struct fw_loopback_event *event);
// How many packets may wait unread before the worker sees a full ring. Default: 64.
void fw_loopback_limit(struct fw_transport *transport, unsigned packets);
// As when the front dies.
void fw_loopback_hang_up(struct fw_transport *transport);
