// SPDX-License-Identifier: MIT
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "session/transport.h"

struct item {
    struct item *next;
    struct fw_packet *packet;
    size_t size;
    _Alignas(8) uint8_t bytes[];
};

struct queue {
    struct item *first, **last;
    unsigned count;
};

struct loopback {
    struct fw_transport base;
    int wake_fd; // readable: commands wait
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    // --- protected by lock
    struct queue commands, events;
    unsigned packets, packet_limit;
    bool hung_up;
};

static struct loopback *self(struct fw_transport *transport)
{
    return (struct loopback *)transport;
}

static struct item *make_item(const void *bytes, size_t size, struct fw_packet *packet)
{
    struct item *item = calloc(1, sizeof(*item) + size);
    if (item) {
        item->size = size;
        item->packet = packet ? fw_packet_ref(packet) : NULL;
        if (size) {
            memcpy(item->bytes, bytes, size);
        }
    }
    return item;
}

static void push(struct queue *queue, struct item *item)
{
    *queue->last = item;
    queue->last = &item->next;
    queue->count++;
}

static struct item *pop(struct queue *queue)
{
    struct item *item = queue->first;
    if (item) {
        queue->first = item->next;
        queue->count--;
        if (!queue->first) {
            queue->last = &queue->first;
        }
    }
    return item;
}

static int loopback_poll_fd(struct fw_transport *transport)
{
    return self(transport)->wake_fd;
}

static enum fw_err loopback_recv(struct fw_transport *transport, void *buf, size_t *size)
{
    struct loopback *t = self(transport);
    pthread_mutex_lock(&t->lock);
    struct item *item = pop(&t->commands);
    const bool closed = t->hung_up;
    if (!item && !closed) {
        uint64_t n;
        const ssize_t got = read(t->wake_fd, &n, sizeof(n)); // EAGAIN is fine: it was clear
        (void)got;
    }
    pthread_mutex_unlock(&t->lock);
    if (!item) {
        return closed ? FW_ERR_CLOSED : FW_ERR_AGAIN;
    }
    memcpy(buf, item->bytes, item->size);
    *size = item->size;
    free(item);
    return fw_link_check(buf, *size);
}

static enum fw_err emit(struct loopback *t, struct item *item)
{
    if (!item) {
        return FW_ERR_NOMEM;
    }
    enum fw_err err = FW_OK;
    pthread_mutex_lock(&t->lock);
    if (t->hung_up) {
        err = FW_ERR_CLOSED;
    } else if (item->packet ? t->packets >= t->packet_limit
                            : t->events.count - t->packets >= FW_LOOPBACK_QUEUE) {
        err = FW_ERR_AGAIN;
    } else {
        push(&t->events, item);
        t->packets += item->packet != NULL;
        pthread_cond_signal(&t->arrived);
    }
    pthread_mutex_unlock(&t->lock);
    if (err) {
        fw_packet_unref(&item->packet);
        free(item);
    }
    return err;
}

static enum fw_err loopback_send(struct fw_transport *transport, void *message, uint16_t type,
                                 size_t size)
{
    struct fw_link_header *h = message;
    *h = (struct fw_link_header){ type, FW_LINK_VERSION, (uint32_t)size };
    if (size > sizeof(((struct fw_loopback_event *)0)->message)) {
        return FW_ERR_TOO_LARGE;
    }
    return emit(self(transport), make_item(message, size, NULL));
}

static enum fw_err loopback_packet(struct fw_transport *transport, struct fw_packet *packet)
{
    packet->times.ring_ns = fw_now_ns();
    return emit(self(transport), make_item(NULL, 0, packet));
}

static void drop_all(struct queue *queue)
{
    for (struct item *item; (item = pop(queue));) {
        fw_packet_unref(&item->packet);
        free(item);
    }
}

static void loopback_destroy(struct fw_transport *transport)
{
    struct loopback *t = self(transport);
    drop_all(&t->commands);
    drop_all(&t->events);
    pthread_cond_destroy(&t->arrived);
    pthread_mutex_destroy(&t->lock);
    close(t->wake_fd);
    free(t);
}

static const struct fw_transport_impl loopback_impl = {
    .poll_fd = loopback_poll_fd,
    .recv = loopback_recv,
    .send = loopback_send,
    .packet = loopback_packet,
    .destroy = loopback_destroy,
};

enum fw_err fw_transport_loopback_create(struct fw_transport **transport)
{
    struct loopback *t = calloc(1, sizeof(*t));
    if (!t) {
        return FW_ERR_NOMEM;
    }
    t->base.impl = &loopback_impl;
    t->packet_limit = FW_LOOPBACK_QUEUE;
    t->commands.last = &t->commands.first;
    t->events.last = &t->events.first;
    t->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (t->wake_fd < 0) {
        free(t);
        return FW_ERR_IO;
    }
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->arrived, &attr);
    pthread_condattr_destroy(&attr);
    *transport = &t->base;
    return FW_OK;
}

static void wake(struct loopback *t)
{
    const uint64_t one = 1;
    const ssize_t n = write(t->wake_fd, &one, sizeof(one)); // fails only when already readable
    (void)n;
}

enum fw_err fw_loopback_command(struct fw_transport *transport, void *message, uint16_t type,
                                size_t size)
{
    struct loopback *t = self(transport);
    struct fw_link_header *h = message;
    *h = (struct fw_link_header){ type, FW_LINK_VERSION, (uint32_t)size };
    struct item *item = size <= FW_LINK_MAX_BYTES ? make_item(message, size, NULL) : NULL;
    if (!item) {
        return FW_ERR_NOMEM;
    }
    pthread_mutex_lock(&t->lock);
    const bool full = t->commands.count >= FW_LOOPBACK_QUEUE;
    if (!full) {
        push(&t->commands, item);
        wake(t);
    }
    pthread_mutex_unlock(&t->lock);
    if (full) {
        free(item);
    }
    return full ? FW_ERR_AGAIN : FW_OK;
}

enum fw_err fw_loopback_next(struct fw_transport *transport, int timeout_ms,
                             struct fw_loopback_event *event)
{
    struct loopback *t = self(transport);
    const int64_t end = fw_now_ns() + (int64_t)timeout_ms * FW_NS_PER_MS;
    const struct timespec until = { .tv_sec = end / FW_NS_PER_S, .tv_nsec = end % FW_NS_PER_S };
    pthread_mutex_lock(&t->lock);
    while (!t->events.first && pthread_cond_timedwait(&t->arrived, &t->lock, &until) != ETIMEDOUT) {
    }
    struct item *item = pop(&t->events);
    if (item && item->packet) {
        t->packets--;
    }
    pthread_mutex_unlock(&t->lock);
    if (!item) {
        return FW_ERR_TIMEOUT;
    }
    event->packet = item->packet; // the reference moves
    event->size = item->size;
    memcpy(event->message, item->bytes, item->size);
    free(item);
    return FW_OK;
}

void fw_loopback_limit(struct fw_transport *transport, unsigned packets)
{
    struct loopback *t = self(transport);
    pthread_mutex_lock(&t->lock);
    t->packet_limit = packets;
    pthread_mutex_unlock(&t->lock);
}

void fw_loopback_hang_up(struct fw_transport *transport)
{
    struct loopback *t = self(transport);
    pthread_mutex_lock(&t->lock);
    t->hung_up = true;
    wake(t);
    pthread_mutex_unlock(&t->lock);
}
