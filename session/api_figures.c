// SPDX-License-Identifier: MIT
#include "session/api_figures.h"

#include "base/clock.h"
#include "stream/export.h"
#include "stream/recent.h"

enum { ONE_LAST_S = 10 };

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
