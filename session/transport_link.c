// SPDX-License-Identifier: MIT
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "session/transport.h"

struct link_transport {
    struct fw_transport base;
    int fd;
    struct fw_ring ring;
    atomic_bool unannounced; // the ring has a packet the front was not told of
};

static struct link_transport *self(struct fw_transport *transport)
{
    return (struct link_transport *)transport;
}

static int link_poll_fd(struct fw_transport *transport)
{
    return self(transport)->fd;
}

static enum fw_err link_recv(struct fw_transport *transport, void *buf, size_t *size)
{
    const enum fw_err err = fw_link_recv(self(transport)->fd, buf, size);
    return err ? err : fw_link_check(buf, *size);
}

// With a full socket the front has messages to read anyway, and the next beacon tries again.
static void announce(struct link_transport *t)
{
    struct fw_link_header h;
    atomic_store(&t->unannounced, fw_link_send(t->fd, &h, FW_LINK_PACKET, sizeof(h)) != FW_OK);
}

static enum fw_err link_send(struct fw_transport *transport, void *message, uint16_t type,
                             size_t size)
{
    struct link_transport *t = self(transport);
    if (atomic_load(&t->unannounced)) {
        announce(t);
    }
    return fw_link_send(t->fd, message, type, size);
}

static enum fw_err link_packet(struct fw_transport *transport, struct fw_packet *packet)
{
    struct link_transport *t = self(transport);
    struct fw_link_packet head = {
        .frame_id = packet->frame_id,
        .input_id = packet->input_id,
        .width = packet->width,
        .height = packet->height,
        .coded_width = packet->coded_width,
        .coded_height = packet->coded_height,
        .key = packet->key,
        .animating = packet->animating,
        .times = packet->times,
        .facts = packet->facts,
        .size = packet->size,
    };
    memcpy(head.codec, packet->codec, sizeof(head.codec));
    memcpy(head.skipped, packet->skipped, sizeof(head.skipped));
    head.codec[sizeof(head.codec) - 1] = 0;
    head.times.ring_ns = fw_trace_now_ns();
    const enum fw_err err =
        fw_ring_write(&t->ring, &head, sizeof(head), packet->data, packet->size);
    if (!err) {
        announce(t);
    }
    return err;
}

static void link_destroy(struct fw_transport *transport)
{
    struct link_transport *t = self(transport);
    fw_ring_finish(&t->ring);
    close(t->fd);
    free(t);
}

static const struct fw_transport_impl link_impl = {
    .poll_fd = link_poll_fd,
    .recv = link_recv,
    .send = link_send,
    .packet = link_packet,
    .destroy = link_destroy,
};

enum fw_err fw_transport_link_create(struct fw_transport **transport, int link_fd, int ring_fd)
{
    struct link_transport *t = calloc(1, sizeof(*t));
    if (!t) {
        return FW_ERR_NOMEM;
    }
    const enum fw_err err = fw_ring_open(&t->ring, ring_fd);
    if (err) {
        free(t);
        return err;
    }
    t->base.impl = &link_impl;
    t->fd = link_fd;
    *transport = &t->base;
    return FW_OK;
}

void fw_transport_destroy(struct fw_transport **transport)
{
    if (transport && *transport) {
        (*transport)->impl->destroy(*transport);
        *transport = NULL;
    }
}
