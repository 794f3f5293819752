// SPDX-License-Identifier: MIT
#include "stream/totals.h"

#include <string.h>

const struct fw_refusal_info fw_refusals[FW_REFUSAL_COUNT] = {
    [FW_REFUSAL_CONNECTIONS] = { "connection", "too_many" },
    [FW_REFUSAL_FILES] = { "connection", "no_descriptors" },
    [FW_REFUSAL_UNGREETED] = { "connection", "too_many_ungreeted" },
    [FW_REFUSAL_ORIGIN] = { "request", "origin" },
    [FW_REFUSAL_UNAUTHORIZED] = { "request", "unauthorized" },
    [FW_REFUSAL_FORBIDDEN] = { "request", "forbidden" },
    [FW_REFUSAL_VIEWER_UNAUTHORIZED] = { "viewer", "unauthorized" },
    [FW_REFUSAL_VIEWER_NO_SESSION] = { "viewer", "no_such_session" },
    [FW_REFUSAL_VIEWER_VERSION] = { "viewer", "unsupported_version" },
};

const int fw_http_statuses[FW_HTTP_STATUSES] = { 101, 200, 201, 204, 304, 400, 401, 403, 404,
                                                 405, 411, 413, 415, 426, 500, 501, 503, 0 };

struct fw_http_totals *fw_totals_route(struct fw_stream_totals *t, const char *route)
{
    const char *name = route ? route : "other";
    unsigned i = 0;
    while (i < t->http_count && strcmp(t->http[i].route, name) != 0)
        i++;
    if (i == FW_HTTP_ROUTES)
        return &t->http[i - 1];
    if (i == t->http_count) {
        t->http_count++;
        t->http[i].route = i < FW_HTTP_ROUTES - 1 ? name : "more";
    }
    return &t->http[i];
}

void fw_totals_status(struct fw_http_totals *http, int status)
{
    unsigned i = 0;
    while (i < FW_HTTP_STATUSES - 1 && fw_http_statuses[i] != status)
        i++;
    http->status[i]++;
}
