// SPDX-License-Identifier: MIT
#include "session/api_session.h"

#include <time.h>

#include "base/clock.h"
#include "stream/export.h"
#include "stream/recent.h"

enum { ONE_LAST_S = 10 };

json_t *fw_json_text(const char *s)
{
    json_t *json = json_string(s ? s : ""); // NULL when a worker sent something that is not UTF-8
    return json ? json : json_string("?");
}

json_t *fw_session_json(const struct fw_session_view *v)
{
    char created[32];
    struct tm tm;
    gmtime_r(&v->created, &tm);
    strftime(created, sizeof(created), "%Y-%m-%dT%H:%M:%SZ", &tm);
    json_t *args = json_object();
    for (unsigned i = 0; i < v->arg_count; i++)
        json_object_set_new(args, v->args[i].key, fw_json_text(v->args[i].value));
    json_t *j = json_pack(
        "{s:s, s:s, s:o, s:s, s:o, s:i, s:i, s:i, s:i, s:I, s:I, s:i, s:s, s:o, s:o}", "id", v->id,
        "source", v->source, "title", fw_json_text(v->title), "state", v->state, "args", args,
        "width", v->width, "height", v->height, "fps", v->fps, "viewers", (int)v->viewers, "frames",
        (json_int_t)v->frames, "bytes", (json_int_t)v->bytes, "restarts", (int)v->restarts,
        "created", created, "gpu", fw_json_text(v->gpu), "encoder", fw_json_text(v->encoder));
    json_object_set_new(j, "rttMs",
                        v->rtt_ns > 0 ? json_real((double)v->rtt_ns / 1e6) : json_null());
    json_object_set_new(j, "workerPid", v->pid > 0 ? json_integer(v->pid) : json_null());
    if (v->code && *v->code)
        json_object_set_new(j, "error",
                            json_pack("{s:o, s:o}", "code", fw_json_text(v->code), "message",
                                      fw_json_text(v->message)));
    return j;
}

// To a hundredth; null when nothing was measured.
static json_t *ms_of(const struct fw_histogram *h, double q)
{
    return h->count ? json_real((double)(fw_histogram_quantile(h, q) / 10) / 100) : json_null();
}

static json_t *quantiles(const struct fw_histogram *h)
{
    return json_pack("{s:o, s:o}", "p50", ms_of(h, 0.5), "p99", ms_of(h, 0.99));
}

json_t *fw_figures_json(const struct fw_session_view *v, int64_t now_ns)
{
    static struct fw_lately lately; // large, and there is one thread
    const int64_t up = (int64_t)(time(NULL) - v->created), uptime_s = up > 0 ? up : 0;
    fw_lately_read(v->marks, fw_records_sums(v->records), now_ns, uptime_s * (int64_t)FW_NS_PER_S,
                   &lately);
    return json_pack("{s:f, s:I, s:f, s:f, s:I, s:o, s:o, s:o}", "lastS", lately.seconds, "uptimeS",
                     (json_int_t)uptime_s, "fps", (double)lately.presented / lately.seconds, "kbps",
                     (double)lately.bytes * 8 / 1000 / lately.seconds, "dropped",
                     (json_int_t)lately.lost, "ageMs", quantiles(&lately.age), "inputMs",
                     quantiles(&lately.input_to_presented), "frameMs", quantiles(&lately.total));
}

enum fw_err fw_api_figures(const struct fw_session_view *v, int64_t now_ns,
                           struct fw_http_response *res)
{
    const struct fw_export_params params = {
        .format = FW_EXPORT_FIGURES,
        .now_ns = now_ns,
        .last_ns = ONE_LAST_S * (int64_t)FW_NS_PER_S,
        .watched = v->viewers > 0,
        .session = v->id,
    };
    const enum fw_err err = fw_export(v->records, &params, &res->body, &res->body_size);
    if (err)
        return err;
    res->status = 200;
    res->content_type = "application/json";
    return FW_OK;
}
