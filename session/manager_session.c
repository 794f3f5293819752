// SPDX-License-Identifier: MIT
#include "session/manager_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

static const char *const state_names[] = { "starting", "running", "restarting", "failed" };

const char *fw_session_state_name(const struct session *s)
{
    return state_names[s->state];
}

void fw_session_set_state(struct session *s, enum session_state state, const char *code,
                          const char *message)
{
    s->state = state;
    s->slow = false;
    snprintf(s->code, sizeof(s->code), "%s", code);
    snprintf(s->message, sizeof(s->message), "%s", message);
    fw_channel_set_state(s->channel, state_names[state], s->code, s->message);
}

void fw_session_set_slow(struct session *s, bool slow)
{
    if (s->slow == slow || s->state != SESSION_RUNNING)
        return;
    fw_log(s->manager->p.log, FW_LOG_WARN, "manager", "session %.10s: its worker is %s", s->id,
           slow ? "not heard any more" : "heard again");
    fw_session_set_state(s, SESSION_RUNNING, slow ? "slow" : "",
                         slow ? "The renderer has not answered for a few seconds." : "");
    s->slow = slow;
}

void fw_session_announce(struct session *s)
{
    const struct fw_channel_info info = { .id = s->id,
                                          .title = s->title,
                                          .source = s->source,
                                          .gpu = s->gpu,
                                          .encoder = s->encoder,
                                          .fps = s->fps,
                                          .decode_delay_ns = s->faults.delay_ns[FW_FAULT_DECODE] };
    fw_channel_set_info(s->channel, &info);
}

void fw_session_fail(struct session *s, const char *code, const char *message)
{
    struct child *c = s->child;
    s->child = NULL;
    if (c)
        fw_child_stop(c);
    fw_metrics_failed(&s->manager->metrics, code);
    fw_log(s->manager->p.log, FW_LOG_WARN, "manager", "session %.10s failed: %s", s->id, message);
    fw_session_set_state(s, SESSION_FAILED, code, message);
}

static bool is_hardware(const char *encoder)
{
    return strcmp(encoder, "nvenc") == 0 || strcmp(encoder, "vaapi") == 0;
}

void fw_session_lost(struct session *s, enum fw_lost how, const char *reason)
{
    struct fw_manager *m = s->manager;
    const int64_t now = fw_now_ns();
    int64_t delay = 0;
    s->child = NULL;
    if (m->stopping || s->state == SESSION_FAILED)
        return;
    m->metrics.lost[how]++;
    snprintf(s->lost_reason, sizeof(s->lost_reason), "%s", reason);
    fw_channel_reset(s->channel);
    if (!fw_restart_next(&s->restart, now, &delay)) {
        char message[640];
        snprintf(message, sizeof(message), "it failed again and again (%u times); the last: %s",
                 s->restart.total + 1, reason);
        fw_session_fail(s, "crash_loop", message);
        return;
    }
    m->metrics.restarts++;
    s->due_ns = now + delay;
    // The driver under a hardware encoder is a usual suspect: the last tries do without it.
    if (fw_restart_recent(&s->restart, now) >= 3 && is_hardware(s->encoder))
        snprintf(s->encoder, sizeof(s->encoder), "x264");
    fw_log(m->p.log, FW_LOG_INFO, "manager", "session %.10s: new worker in %d ms (%s)", s->id,
           (int)(delay / FW_NS_PER_MS), reason);
    fw_session_set_state(s, SESSION_RESTARTING, "worker_lost", reason);
    fw_manager_schedule(m);
}

void fw_session_assign(struct session *s, struct child *c)
{
    if (!s->encoder[0])
        snprintf(s->encoder, sizeof(s->encoder), "%s", s->manager->encoder);
    if (fw_child_start(c, s) != FW_OK) {
        fw_child_kill(c);
        return; // still waits; the next one will do
    }
    const int64_t from = s->due_ns > s->created_ns ? s->due_ns : s->created_ns;
    fw_bins_add(&s->manager->metrics.worker_wait, fw_now_ns() - from, 1);
    c->session = s;
    s->child = c;
    fw_log(s->manager->p.log, FW_LOG_DEBUG, "manager", "session %.10s: worker %d", s->id,
           (int)c->pid);
    fw_child_flush(c);
}

void fw_session_end(struct session *s, const char *code, const char *message)
{
    struct fw_manager *m = s->manager;
    struct session **at = &m->sessions;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    m->metrics.sessions_ended++;
    if (s->child)
        fw_child_stop(s->child);
    s->child = NULL;
    fw_log(m->p.log, FW_LOG_INFO, "manager", "session %.10s ended: %s", s->id, message);
    if (s->channel) {
        fw_channel_set_state(s->channel, "closing", code, message);
        fw_channel_destroy(&s->channel, code, message);
    }
    explicit_bzero(&s->access, sizeof(s->access));
    free(s);
}
