// SPDX-License-Identifier: MIT
#include "session/api_figures.h"

#include "base/clock.h"
#include "stream/export.h"
#include "stream/recent.h"

enum { LIST_LAST_S = 5, ONE_LAST_S = 10 };

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
    static struct fw_recent recent; // large, and there is one thread
    fw_recent_read(v->records,
                   &(struct fw_recent_params){ .now_ns = now_ns,
                                               .last_ns = LIST_LAST_S * (int64_t)FW_NS_PER_S,
                                               .watched = v->viewers > 0,
                                               .brief = true },
                   &recent);
    const struct fw_record_sums *sums = &recent.sums;
    const int64_t up = (int64_t)(time(NULL) - v->created), uptime_s = up > 0 ? up : 0;
    const double seconds = uptime_s < 1             ? 1
                           : uptime_s < LIST_LAST_S ? (double)uptime_s
                                                    : LIST_LAST_S;
    const uint64_t shown = sums->outcome[FW_OUTCOME_PRESENTED];
    return json_pack(
        "{s:i, s:I, s:f, s:f, s:I, s:o, s:o, s:o}", "lastS", LIST_LAST_S, "uptimeS",
        (json_int_t)uptime_s, "fps", (double)shown / seconds, "kbps",
        (double)sums->bytes * 8 / 1000 / seconds, "dropped",
        (json_int_t)(sums->outcome[FW_OUTCOME_DROPPED] + sums->outcome[FW_OUTCOME_SKIPPED]),
        "ageMs", quantiles(&sums->age), "inputMs", quantiles(&sums->input_to_presented), "frameMs",
        quantiles(&sums->total));
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
