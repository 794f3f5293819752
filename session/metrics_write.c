// SPDX-License-Identifier: MIT
// The names. docs/metrics.md says the same to people; tests/serve/metrics.mjs compares them.
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "session/metrics.h"

typedef struct fw_exposition expo;

static void counter(expo *e, const char *name, const char *help)
{
    fw_expo_family(e, name, "counter", help);
}

static void gauge(expo *e, const char *name, const char *help)
{
    fw_expo_family(e, name, "gauge", help);
}

static void histogram(expo *e, const char *name, const char *help)
{
    fw_expo_family(e, name, "histogram", help);
}

// ---- the node

static void write_node(const struct fw_metrics *m, const struct fw_metrics_now *now, expo *e)
{
    struct fw_labels l;
    gauge(e, "framewire_build_info", "What is running; always 1.");
    fw_expo_count(e, fw_label(&l, "version", FW_VERSION), 1);
    gauge(e, "framewire_node_info", "The GPU that draws and the encoder of the newest session; 1.");
    fw_label(&l, "gpu", now->gpu);
    fw_labels_add(&l, "encoder", now->encoder);
    fw_expo_count(e, l.text, 1);
    gauge(e, "framewire_ready", "1: a new session would start now.");
    fw_expo_count(e, "", now->ready);
    gauge(e, "framewire_scrape_seconds", "How long making the last answer to a scrape took.");
    fw_expo_real(e, "", (double)m->scrape_ns / 1e9);
}

static void write_sessions(const struct fw_metrics *m, const struct fw_metrics_now *now, expo *e)
{
    struct fw_labels l;
    gauge(e, "framewire_sessions", "Sessions by state.");
    fw_expo_count(e, fw_label(&l, "state", "starting"), now->starting);
    fw_expo_count(e, fw_label(&l, "state", "running"), now->running);
    fw_expo_count(e, fw_label(&l, "state", "restarting"), now->restarting);
    fw_expo_count(e, fw_label(&l, "state", "failed"), now->failed);
    gauge(e, "framewire_sessions_max", "Seats there are.");
    fw_expo_count(e, "", now->max_sessions);
    counter(e, "framewire_sessions_started_total", "Sessions that were made.");
    fw_expo_count(e, "", m->sessions);
    counter(e, "framewire_sessions_ended_total", "Sessions that are no more, for any reason.");
    fw_expo_count(e, "", m->sessions_ended);
    counter(e, "framewire_sessions_failed_total", "Sessions that were given up, by error code.");
    for (unsigned i = FW_OK + 1; i < FW_FAIL_CODES; i++)
        fw_expo_count(e, fw_label(&l, "code", fw_metrics_fail_code(i)), m->failed[i]);
    histogram(e, "framewire_session_start_seconds",
              "From the request for a session until it runs.");
    fw_expo_bins(e, "", &m->start);
    gauge(e, "framewire_queue_length", "Sessions that wait, by what they wait for.");
    fw_expo_count(e, fw_label(&l, "queue", "worker"), now->waiting);
    histogram(e, "framewire_queue_wait_seconds", "How long sessions waited, by what for.");
    fw_expo_bins(e, fw_label(&l, "queue", "worker"), &m->worker_wait);
}

static void write_refusals(const struct fw_metrics *m, const struct fw_metrics_now *now, expo *e)
{
    static const char *const no_session[] = { "max_sessions", "draining" };
    struct fw_labels l;
    counter(e, "framewire_refusals_total", "Who was sent away, and why.");
    for (int i = 0; i < FW_NO_SESSION_COUNT; i++) {
        fw_label(&l, "what", "session");
        fw_labels_add(&l, "reason", no_session[i]);
        fw_expo_count(e, l.text, m->refused[i]);
    }
    for (int i = 0; i < FW_REFUSAL_COUNT; i++) {
        fw_label(&l, "what", fw_refusals[i].what);
        fw_labels_add(&l, "reason", fw_refusals[i].reason);
        fw_expo_count(e, l.text, now->stream->refused[i]);
    }
}

static void write_workers(const struct fw_metrics *m, const struct fw_metrics_now *now, expo *e)
{
    static const char *const lost[FW_LOST_COUNT] = { "crashed", "hung", "broke_rules", "failed" };
    struct fw_labels l;
    gauge(e, "framewire_workers", "Worker processes by state.");
    fw_expo_count(e, fw_label(&l, "state", "booting"), now->booting);
    fw_expo_count(e, fw_label(&l, "state", "warm"), now->warm);
    fw_expo_count(e, fw_label(&l, "state", "busy"), now->busy);
    fw_expo_count(e, fw_label(&l, "state", "stopping"), now->stopping);
    counter(e, "framewire_workers_started_total", "Worker processes that were started.");
    fw_expo_count(e, "", m->workers);
    counter(e, "framewire_workers_lost_total", "Workers that a session lost, and why.");
    for (int i = 0; i < FW_LOST_COUNT; i++)
        fw_expo_count(e, fw_label(&l, "reason", lost[i]), m->lost[i]);
    counter(e, "framewire_worker_restarts_total", "Sessions that were given another worker.");
    fw_expo_count(e, "", m->restarts);
    counter(e, "framewire_worker_boot_failures_total", "Workers that never got ready.");
    fw_expo_count(e, "", m->boots_failed);
    counter(e, "framewire_worker_cpu_seconds_total",
            "Processor time of all workers that ever ran.");
    fw_expo_real(e, "", m->cpu_seconds);
    gauge(e, "framewire_worker_resident_bytes",
          "Memory of all workers there are, shared parts too.");
    fw_expo_whole(e, "", now->machine->workers.resident_bytes);
}

// ---- frames

static void add_set(struct fw_labels *l, const struct fw_metrics_set *set)
{
    fw_labels_add(l, "source", set->source);
    fw_labels_add(l, "encoder", set->encoder);
    fw_labels_add(l, "gpu", set->gpu);
}

static const char *of_set(struct fw_labels *l, const struct fw_metrics_set *set)
{
    *l = (struct fw_labels){ .size = 0 };
    add_set(l, set);
    return l->text;
}

static enum fw_outcome outcome_of(enum fw_reason reason)
{
    return reason == FW_REASON_NONE      ? FW_OUTCOME_PRESENTED
           : reason <= FW_REASON_NOBODY  ? FW_OUTCOME_SKIPPED
           : reason == FW_REASON_NO_WORD ? FW_OUTCOME_UNCONFIRMED
                                         : FW_OUTCOME_DROPPED;
}

static void write_stages(const struct fw_metrics *m, expo *e)
{
    struct fw_labels l;
    histogram(e, "framewire_stage_seconds",
              "How long frames took for each stage of their way; the stages tile the total.");
    for (unsigned i = 0; i < m->set_count; i++)
        for (int stage = 0; stage < FW_STAGE_COUNT; stage++) {
            fw_label(&l, "stage", fw_stages[stage].name);
            add_set(&l, &m->set[i]);
            fw_expo_bins(e, l.text, &m->set[i].frames.stage[stage]);
        }
    histogram(e, "framewire_frame_seconds",
              "From the input that a frame shows first, or from its beginning, to the screen.");
    for (unsigned i = 0; i < m->set_count; i++)
        fw_expo_bins(e, of_set(&l, &m->set[i]), &m->set[i].frames.total);
    histogram(e, "framewire_input_to_photon_seconds",
              "From an input's making to the screen, on the client's clock; every input counts.");
    for (unsigned i = 0; i < m->set_count; i++)
        fw_expo_bins(e, of_set(&l, &m->set[i]), &m->set[i].frames.input_to_photon);
    histogram(e, "framewire_age_seconds",
              "Age of the picture on the screen: one value for each millisecond watched.");
    for (unsigned i = 0; i < m->set_count; i++)
        fw_expo_bins(e, of_set(&l, &m->set[i]), &m->set[i].frames.age);
}

static void write_frames(const struct fw_metrics *m, const struct fw_metrics_now *now, expo *e)
{
    struct fw_labels l;
    write_stages(m, e);
    gauge(e, "framewire_age_now_seconds", "Age of the oldest picture that somebody looks at now.");
    fw_expo_real(e, "", now->age_ns < 0 ? NAN : (double)now->age_ns / 1e9);
    counter(e, "framewire_frames_total", "What became of frames, and why they were not shown.");
    for (unsigned i = 0; i < m->set_count; i++)
        for (int reason = 0; reason < FW_REASON_COUNT; reason++) {
            fw_label(&l, "outcome", fw_outcome_names[outcome_of((enum fw_reason)reason)]);
            fw_labels_add(&l, "reason", fw_reason_names[reason]);
            add_set(&l, &m->set[i]);
            fw_expo_count(e, l.text, m->set[i].frames.reason[reason]);
        }
    counter(e, "framewire_key_frames_total", "Key frames that were encoded.");
    for (unsigned i = 0; i < m->set_count; i++)
        fw_expo_count(e, of_set(&l, &m->set[i]), m->set[i].frames.keys);
    counter(e, "framewire_encoded_bytes_total", "Bytes that encoders made.");
    for (unsigned i = 0; i < m->set_count; i++)
        fw_expo_count(e, of_set(&l, &m->set[i]), m->set[i].frames.bytes);
    counter(e, "framewire_key_frame_requests_total", "Key frames that workers were asked for.");
    fw_expo_count(e, "", now->stream->keyframe_requests);
}

// ---- viewers and requests

static void write_viewers(const struct fw_metrics_now *now, expo *e)
{
    struct fw_labels l;
    const struct fw_stream_totals *t = now->stream;
    gauge(e, "framewire_viewers", "Pages that are connected, by whether they are looked at.");
    fw_expo_count(e, fw_label(&l, "visible", "yes"), now->visible);
    fw_expo_count(e, fw_label(&l, "visible", "no"), now->viewers - now->visible);
    counter(e, "framewire_viewers_joined_total", "Viewers that were let in.");
    fw_expo_count(e, "", t->viewers);
    histogram(e, "framewire_viewer_rtt_seconds",
              "Smallest round trip of late: one value for each second of a watching viewer.");
    fw_expo_bins(e, "", &t->rtt);
    histogram(e, "framewire_viewer_jitter_seconds",
              "Mean change between round trips: one value for each second of a watching viewer.");
    fw_expo_bins(e, "", &t->jitter);
    counter(e, "framewire_egress_bytes_total", "Bytes handed to viewers' connections.");
    fw_expo_count(e, fw_label(&l, "connection", "media"), t->media_bytes);
    fw_expo_count(e, fw_label(&l, "connection", "control"), t->control_bytes);
    counter(e, "framewire_media_messages_total", "Frames handed to viewers, one count for each.");
    fw_expo_count(e, "", t->media_messages);
    counter(e, "framewire_input_events_total", "Events taken from viewers.");
    fw_expo_count(e, "", t->input_events);
}

static void write_http(const struct fw_metrics_now *now, expo *e)
{
    struct fw_labels l;
    const struct fw_stream_totals *t = now->stream;
    gauge(e, "framewire_connections", "Connections there are.");
    fw_expo_count(e, "", now->connections);
    counter(e, "framewire_connections_accepted_total", "Connections that were accepted.");
    fw_expo_count(e, "", t->connections);
    counter(e, "framewire_http_requests_total", "Requests by route and status; 0 = any other.");
    for (unsigned i = 0; i < t->http_count; i++)
        for (int s = 0; s < FW_HTTP_STATUSES; s++) {
            char status[8];
            if (!t->http[i].status[s])
                continue;
            snprintf(status, sizeof(status), "%d", fw_http_statuses[s]);
            fw_label(&l, "route", t->http[i].route);
            fw_labels_add(&l, "status", status);
            fw_expo_count(e, l.text, t->http[i].status[s]);
        }
    histogram(e, "framewire_http_request_seconds",
              "From the whole request to the answer's last byte handed to the socket, by route.");
    for (unsigned i = 0; i < t->http_count; i++)
        if (t->http[i].seconds.count) // none for WebSockets, which last
            fw_expo_bins(e, fw_label(&l, "route", t->http[i].route), &t->http[i].seconds);
}

void fw_metrics_write(const struct fw_metrics *m, const struct fw_metrics_now *now, expo *e)
{
    write_node(m, now, e);
    write_sessions(m, now, e);
    write_refusals(m, now, e);
    write_workers(m, now, e);
    write_frames(m, now, e);
    write_viewers(now, e);
    write_http(now, e);
    fw_metrics_write_machine(now, e);
}
