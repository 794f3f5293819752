// SPDX-License-Identifier: MIT
#include "session/manager_impl.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum {
    MESSAGES_PER_TURN = 256,
    PACKETS_PER_TURN = 64,
    // Far above 240 frames, their announcements and a few beacons: beyond it a worker is mad, and
    // the front has better things to do than to listen.
    SAID_PER_SECOND = 4096,
    BYTES_PER_SECOND = 256 << 20,
    FRAME_ID_STEP_MAX = 1 << 20, // more than any pause can skip
};

static void nonsense(struct child *c, const char *what)
{
    struct session *s = c->session;
    fw_log(c->manager->p.log, FW_LOG_ERROR, "manager", "worker %d sent nonsense (%s): killed",
           (int)c->pid, what);
    if (c->state == CHILD_BOOTING)
        fw_manager_boot_failed(c->manager);
    fw_child_kill(c);
    if (s)
        fw_session_lost(s, FW_LOST_RULES, "its worker broke the rules of the link");
    fw_manager_schedule(c->manager);
}

// One more message or packet. False: too many, the child was killed.
static bool within_budget(struct child *c, size_t bytes, int64_t now)
{
    if (now - c->budget_ns >= FW_NS_PER_S) {
        c->budget_ns = now;
        c->said = 0;
        c->said_bytes = 0;
    }
    c->said_bytes += bytes;
    if (++c->said <= SAID_PER_SECOND && c->said_bytes <= BYTES_PER_SECOND)
        return true;
    nonsense(c, "more than a front can listen to");
    return false;
}

static struct fw_packet *packet_from(const struct fw_link_packet *head, int64_t now)
{
    struct fw_packet *p = fw_packet_alloc(head->size);
    if (!p)
        return NULL;
    p->frame_id = head->frame_id;
    p->input_id = head->input_id;
    p->width = head->width;
    p->height = head->height;
    p->coded_width = head->coded_width;
    p->coded_height = head->coded_height;
    p->key = head->key;
    p->animating = head->animating;
    memcpy(p->codec, head->codec, sizeof(p->codec));
    p->times = head->times;
    fw_frame_times_clean(&p->times, now);
    p->facts = head->facts;
    if (p->facts.gpu.begin_ns > now)
        p->facts.gpu.begin_ns = 0;
    memcpy(p->skipped, head->skipped, sizeof(p->skipped));
    return p;
}

static void publish(struct child *c, const struct fw_link_packet *head, struct fw_packet *packet)
{
    struct session *s = c->session;
    s->last_frame = head->frame_id;
    s->published++;
    s->bytes += head->size;
    c->written++;
    fw_channel_publish(s->channel, packet);
}

bool fw_child_drain(struct child *c)
{
    size_t size;
    for (int i = 0; i < PACKETS_PER_TURN && c->session; i++) {
        enum fw_err err = fw_ring_peek(&c->ring, &size);
        if (err == FW_ERR_AGAIN)
            return true;
        struct fw_link_packet head; // copied, then checked, never read again
        if (!err && size < sizeof(head))
            err = FW_ERR_FORMAT;
        if (!err) {
            fw_ring_copy(&c->ring, 0, &head, sizeof(head));
            err = fw_link_check_packet(&head, size);
        }
        const uint64_t last = c->session->last_frame;
        if (!err && (head.frame_id <= last || head.frame_id - last > FRAME_ID_STEP_MAX))
            err = FW_ERR_FORMAT;
        if (err) {
            nonsense(c, "ring");
            return false;
        }
        const int64_t now = fw_now_ns();
        if (!within_budget(c, size, now))
            return false;
        struct fw_packet *packet = packet_from(&head, now);
        if (packet) {
            fw_ring_copy(&c->ring, sizeof(head), packet->data, head.size);
            fw_ring_pop(&c->ring, size);
            fw_fault_wait(c->session->faults.delay_ns[FW_FAULT_FRONT]);
            publish(c, &head, packet);
            fw_packet_unref(&packet);
        } else { // out of memory: this picture is lost, a whole one is asked for
            fw_ring_pop(&c->ring, size);
            c->written++;
            c->keyframe_due = true;
            fw_child_flush(c);
        }
    }
    return true;
}

static void on_warm(struct child *c, const struct fw_link_warm *msg)
{
    struct fw_manager *m = c->manager;
    if (c->state != CHILD_BOOTING) {
        nonsense(c, "warm twice");
        return;
    }
    c->state = CHILD_WARM;
    c->memory = msg->memory;
    m->spawn_fails = 0;
    m->spawn_after_ns = 0;
    if (!m->gpu_known) {
        m->gpu_known = true;
        m->gpu_is_cpu = msg->is_cpu;
        memcpy(m->gpu, msg->gpu, sizeof(m->gpu));
        if (m->p.warm_first)
            m->p.warm_first(m->p.user, m->gpu, m->gpu_is_cpu);
    }
    fw_manager_schedule(m);
}

static void on_ready(struct child *c, const struct fw_link_ready *msg)
{
    struct session *s = c->session;
    if (!s || (c->state != CHILD_STARTED && c->state != CHILD_READY)) {
        nonsense(c, "ready without start");
        return;
    }
    memcpy(s->gpu, msg->gpu, sizeof(s->gpu));
    memcpy(s->encoder, msg->encoder, sizeof(s->encoder));
    memcpy(s->no_parts, msg->no_parts, sizeof(s->no_parts));
    memcpy(c->manager->encoder_in_use, msg->encoder, sizeof(c->manager->encoder_in_use));
    fw_session_announce(s);
    fw_channel_set_totals(s->channel,
                          fw_metrics_frames(&c->manager->metrics, s->source, s->encoder, s->gpu));
    if (c->state == CHILD_READY) // said again when the encoder has fallen back
        return;
    c->state = CHILD_READY;
    if (!s->ran)
        fw_bins_add(&c->manager->metrics.start, fw_now_ns() - s->created_ns, 1);
    s->ran = true;
    fw_session_set_state(s, SESSION_RUNNING, "", "");
    fw_child_flush(c);
    fw_manager_schedule(c->manager); // the pool may be filled again now
}

static void on_beacon(struct child *c, const struct fw_link_beacon *msg)
{
    c->beacon = *msg;
    c->memory = msg->memory;
    if (c->session && fw_child_drain(c) && c->session)
        fw_channel_beacon(c->session->channel, msg->newest_frame, msg->current, msg->animating);
}

static void on_failed(struct child *c, const struct fw_link_failed *msg)
{
    struct fw_manager *m = c->manager;
    struct session *s = c->session;
    const char *code = msg->err < FW_ERR_COUNT ? fw_err_name((enum fw_err)msg->err) : "internal";
    const bool boot = c->state == CHILD_BOOTING;
    fw_log(m->p.log, boot || msg->permanent ? FW_LOG_ERROR : FW_LOG_WARN, "manager",
           "worker %d: %s (%s)", (int)c->pid, msg->message, code);
    fw_child_stop(c); // it ends by itself; the watchdog sees to it
    if (s && msg->permanent)
        fw_session_fail(s, code, msg->message);
    else if (s)
        fw_session_lost(s, FW_LOST_FAILED, msg->message);
    if (boot) {
        fw_manager_boot_failed(m);
        if (msg->permanent && !m->gpu_known && m->p.hopeless)
            m->p.hopeless(m->p.user, msg->message);
    }
    fw_manager_schedule(m);
}

static void on_progress(struct child *c, const struct fw_link_progress *msg)
{
    if (!c->session)
        return;
    json_t *what = json_string(msg->what); // NULL when it is not UTF-8
    json_t *json = json_pack("{s:s, s:i, s:o}", "type", "progress", "percent", (int)msg->percent,
                             "what", what ? what : json_string(""));
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    if (text)
        fw_channel_send_json(c->session->channel, text);
    free(text);
    json_decref(json);
}

static void on_view(struct child *c, const struct fw_link_view *msg)
{
    if (c->session)
        c->session->view = msg->view;
}

static void dispatch(struct child *c, const void *buf)
{
    switch (((const struct fw_link_header *)buf)->type) {
    case FW_LINK_WARM: on_warm(c, buf); break;
    case FW_LINK_READY: on_ready(c, buf); break;
    case FW_LINK_PACKET: fw_child_drain(c); break;
    case FW_LINK_BEACON: on_beacon(c, buf); break;
    case FW_LINK_FAILED: on_failed(c, buf); break;
    case FW_LINK_PROGRESS: on_progress(c, buf); break;
    case FW_LINK_VIEW: on_view(c, buf); break;
    default: nonsense(c, "a message that is the front's"); break;
    }
}

void fw_child_readable(struct child *c)
{
    struct fw_manager *m = c->manager;
    for (int i = 0; i < MESSAGES_PER_TURN && c->fd >= 0 && !c->hung_up; i++) {
        size_t size;
        const enum fw_err err = fw_link_recv(c->fd, m->buffer, &size);
        if (err == FW_ERR_AGAIN)
            return;
        if (err == FW_ERR_CLOSED) {
            fw_child_hung_up(c);
            return;
        }
        if (err || fw_link_check(m->buffer, size) != FW_OK) {
            if (c->state != CHILD_STOPPING)
                nonsense(c, "message");
            else
                fw_child_kill(c);
            return;
        }
        c->heard_ns = fw_now_ns();
        if (c->session)
            fw_session_set_slow(c->session, false);
        if (c->state != CHILD_STOPPING && !within_budget(c, size, c->heard_ns))
            return;
        if (c->state != CHILD_STOPPING) // what an ending worker still says is read and dropped
            dispatch(c, m->buffer);
    }
}
