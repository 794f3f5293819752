// SPDX-License-Identifier: MIT
// What the stream side has done since it started, over all sessions, viewers and requests: only
// ever more of it. Pure.
#pragma once

#include <stdint.h>

#include "base/bins.h"

// Who was sent away, and why.
enum fw_refusal {
    FW_REFUSAL_CONNECTIONS,         // more connections than are served at a time
    FW_REFUSAL_FILES,               // no file descriptor left
    FW_REFUSAL_UNGREETED,           // more WebSockets that have not said hello than are waited for
    FW_REFUSAL_ORIGIN,              // a Host or Origin that is not allowed
    FW_REFUSAL_UNAUTHORIZED,        // a request without a valid token
    FW_REFUSAL_FORBIDDEN,           // … whose token does not allow it
    FW_REFUSAL_VIEWER_UNAUTHORIZED, // a viewer without a valid token
    FW_REFUSAL_VIEWER_NO_SESSION,   // … of a session that is not, or not theirs
    FW_REFUSAL_VIEWER_VERSION,      // … that speaks another version of the protocol
    FW_REFUSAL_COUNT
};
struct fw_refusal_info {
    const char *what, *reason; // words, for labels
};
extern const struct fw_refusal_info fw_refusals[FW_REFUSAL_COUNT];

enum { FW_HTTP_ROUTES = 24, FW_HTTP_STATUSES = 18 };
// The last, 0, stands for all others.
extern const int fw_http_statuses[FW_HTTP_STATUSES];

struct fw_http_totals {
    const char *route; // static
    struct fw_bins seconds;
    uint64_t status[FW_HTTP_STATUSES];
};

// Thread: the loop thread. Zero-initialised is empty.
struct fw_stream_totals {
    struct fw_http_totals http[FW_HTTP_ROUTES]; // the last is for routes that find no room
    unsigned http_count;
    uint64_t refused[FW_REFUSAL_COUNT];
    uint64_t connections;                 // accepted
    uint64_t viewers;                     // that were let in
    uint64_t media_messages, media_bytes; // handed to viewers, headers included
    uint64_t control_bytes;               // to viewers
    uint64_t input_events;                // taken from viewers
    uint64_t keyframe_requests;           // to workers, after coalescing
    struct fw_bins rtt, jitter;           // one value for each watching viewer and second
};

// The route is one of a few static names. NULL: of none that is known.
struct fw_http_totals *fw_totals_route(struct fw_stream_totals *totals, const char *route);
void fw_totals_status(struct fw_http_totals *http, int status);
