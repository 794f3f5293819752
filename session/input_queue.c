// SPDX-License-Identifier: MIT
#include "session/input_queue.h"

#include <string.h>

static bool is_flowing(const struct fw_input_event *e)
{
    return e->kind == FW_INPUT_MOTION || e->kind == FW_INPUT_WHEEL ||
           (e->kind == FW_INPUT_TOUCH && e->state == FW_TOUCH_MOVE);
}

static bool merge(struct fw_input_event *last, const struct fw_input_event *e)
{
    if (!is_flowing(e) || last->kind != e->kind || last->mods != e->mods || last->code != e->code ||
        last->state != e->state)
        return false;
    last->id = e->id; // rx_ns stays: the delay shown is that of the oldest
    last->x = e->x;
    last->y = e->y;
    last->dx += e->dx;
    last->dy += e->dy;
    return true;
}

static bool drop_flowing(struct fw_input_queue *q)
{
    for (unsigned i = 0; i < q->count; i++) {
        if (!is_flowing(&q->events[i]))
            continue;
        q->count--;
        memmove(&q->events[i], &q->events[i + 1], (q->count - i) * sizeof(q->events[0]));
        return true;
    }
    return false;
}

void fw_input_queue_push(struct fw_input_queue *q, const struct fw_input_event *event)
{
    if (q->count && merge(&q->events[q->count - 1], event))
        return;
    if (q->count == FW_INPUT_QUEUE_MAX && !drop_flowing(q)) {
        q->events[0] = (struct fw_input_event){ .id = event->id,
                                                .rx_ns = event->rx_ns,
                                                .kind = FW_INPUT_RELEASE };
        q->count = 1;
        return;
    }
    q->events[q->count++] = *event;
}

void fw_input_queue_pop(struct fw_input_queue *q, unsigned count)
{
    q->count -= count;
    memmove(q->events, q->events + count, q->count * sizeof(q->events[0]));
}
