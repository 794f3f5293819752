// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "session/pipeline_impl.h"

enum { RETRY_MS = 5, RETRIES = 200 }; // a second in all

static const int64_t beacon_every_ns = FW_NS_PER_S;
// A change of `current` is told sooner, but not once per frame.
static const int64_t beacon_edge_ns = 100 * (int64_t)FW_NS_PER_MS;
// The view, while the picture moves; and once hands and picture have come to rest.
static const int64_t view_every_ns = 500 * (int64_t)FW_NS_PER_MS;
static const int64_t view_rest_ns = 100 * (int64_t)FW_NS_PER_MS;

static enum fw_err send_now(struct fw_pipeline *p, void *message, uint16_t type, size_t size)
{
    return p->params.transport->impl->send(p->params.transport, message, type, size);
}

// For the few messages that must arrive: a full socket is waited for, bounded.
static void send_surely(struct fw_pipeline *p, void *message, uint16_t type, size_t size)
{
    const struct timespec pause = { .tv_nsec = RETRY_MS * FW_NS_PER_MS };
    for (int i = 0; i < RETRIES; i++) {
        if (send_now(p, message, type, size) != FW_ERR_AGAIN) {
            return;
        }
        nanosleep(&pause, NULL);
    }
    fw_log(p->params.log, FW_LOG_ERROR, "session", "the front does not read its messages");
}

static struct fw_link_memory memory_of(const struct fw_render_info *info)
{
    struct fw_link_memory m = { .budget_bytes = info->budget_bytes,
                                .budget_used_bytes = info->budget_used_bytes,
                                .heap_bytes = info->heap_bytes };
    memcpy(m.bytes, info->used_bytes, sizeof(m.bytes));
    return m;
}

void fw_pipeline_send_warm(struct fw_pipeline *p)
{
    struct fw_render_info info;
    fw_render_get_info(p->render, &info);
    struct fw_link_warm m = { .is_cpu = info.is_cpu, .memory = memory_of(&info) };
    snprintf(m.gpu, sizeof(m.gpu), "%s", info.gpu);
    send_surely(p, &m, FW_LINK_WARM, sizeof(m));
}

void fw_pipeline_send_ready(struct fw_pipeline *p)
{
    struct fw_render_info info;
    fw_render_get_info(p->render, &info);
    struct fw_link_ready m = { .width = p->width, .height = p->height, .fps = p->fps };
    snprintf(m.gpu, sizeof(m.gpu), "%s", info.gpu);
    snprintf(m.convert, sizeof(m.convert), "%s", info.convert);
    snprintf(m.target, sizeof(m.target), "%s", info.target);
    snprintf(m.no_parts, sizeof(m.no_parts), "%s", info.no_parts);
    snprintf(m.title, sizeof(m.title), "%s", p->title);
    snprintf(m.encoder, sizeof(m.encoder), "%s", p->encoder);
    const char *describe = fw_render_describe(p->render);
    // Half a JSON object is worse than none.
    snprintf(m.describe, sizeof(m.describe), "%s",
             describe && strlen(describe) < sizeof(m.describe) ? describe : "{}");
    send_surely(p, &m, FW_LINK_READY, sizeof(m));
}

void fw_pipeline_send_progress(void *pipeline, int percent, const char *what)
{
    struct fw_pipeline *p = pipeline;
    struct fw_link_progress m = {
        .percent = percent < 0     ? 0
                   : percent > 100 ? 100
                                   : percent,
    };
    snprintf(m.what, sizeof(m.what), "%s", what ? what : "");
    send_now(p, &m, FW_LINK_PROGRESS, sizeof(m)); // one more or less does not matter
}

static int64_t cpu_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (int64_t)ts.tv_sec * FW_NS_PER_S + ts.tv_nsec;
}

static void send_beacon(struct fw_pipeline *p, bool current, bool animating)
{
    struct fw_render_info info;
    fw_render_get_info(p->render, &info);
    struct fw_link_beacon m = {
        .newest_frame = p->status.newest_written,
        .current = current,
        .animating = animating,
        .frames = p->status.written,
        .encoded_bytes = p->status.bytes,
        .skipped = p->status.skipped,
        .cpu_ns = cpu_ns(),
        .memory = memory_of(&info),
    };
    send_now(p, &m, FW_LINK_BEACON, sizeof(m));
}

int64_t fw_pipeline_beacon(struct fw_pipeline *p, int64_t now_ns, bool wants, bool animating)
{
    const bool current = !wants && p->status.pending == 0 && p->status.written > 0;
    // A picture that came and was current again between two beacons is told as well: the front
    // takes it for one that may not be all there is until then.
    const bool news =
        current != p->beacon_current || (current && p->beacon_frame != p->status.newest_written);
    const bool edge = !animating && news;
    const int64_t due = p->beacon_ns + (edge ? beacon_edge_ns : beacon_every_ns);
    if (now_ns < due) {
        return due;
    }
    send_beacon(p, current, animating);
    p->beacon_ns = now_ns;
    p->beacon_current = current;
    p->beacon_frame = p->status.newest_written;
    return now_ns + beacon_every_ns;
}

int64_t fw_pipeline_view(struct fw_pipeline *p, int64_t now_ns, bool wants, bool animating)
{
    struct fw_link_view m = { 0 };
    m.view.size = (uint32_t)fw_render_save(p->render, m.view.bytes, sizeof(m.view.bytes));
    if (memcmp(&m.view, &p->view, sizeof(m.view)) == 0) {
        return INT64_MAX;
    }
    int64_t due = p->view_ns + view_every_ns;
    if (!wants && !animating) {
        const int64_t half = p->view_ns + view_every_ns / 2; // keys that are held move it too
        const int64_t rest = p->input_rx_ns + view_rest_ns;
        due = rest > half ? rest : half;
    }
    if (now_ns < due) {
        return due;
    }
    p->view_ns = now_ns;
    if (send_now(p, &m, FW_LINK_VIEW, sizeof(m)) == FW_OK) { // else later
        p->view = m.view;
    }
    return INT64_MAX; // the beacon comes here again
}

enum fw_err fw_pipeline_fail(struct fw_pipeline *p, enum fw_err err, bool permanent,
                             const char *message)
{
    if (p->failed || err == FW_ERR_CLOSED) {
        return err;
    }
    p->failed = true;
    fw_log(p->params.log, FW_LOG_ERROR, "session", "%s (%s)", message, fw_err_name(err));
    struct fw_link_failed m = { .err = err, .permanent = permanent };
    snprintf(m.message, sizeof(m.message), "%s", message);
    send_surely(p, &m, FW_LINK_FAILED, sizeof(m));
    return err;
}
