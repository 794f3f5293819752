// SPDX-License-Identifier: MIT
// Connections without a complete request. Whoever opens many and says nothing must not lock others
// out: when all places are taken, the one that has been silent for longest gives its place.
#include <stdlib.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "stream/server_priv.h"

struct fw_waiting {
    TAILQ_ENTRY(fw_waiting) link;
    struct lws *wsi;
    int64_t since_ns;
    bool listed;
};

static void list(struct fw_server *server, struct fw_waiting *w, bool waits)
{
    if (w->listed == waits)
        return;
    w->listed = waits;
    if (!waits) {
        TAILQ_REMOVE(&server->waiting, w, link);
        return;
    }
    w->since_ns = fw_now_ns();
    TAILQ_INSERT_TAIL(&server->waiting, w, link); // so the first waits for longest
}

void fw_waiting_begin(struct fw_server *server, struct lws *wsi)
{
    struct fw_waiting *w = calloc(1, sizeof(*w));
    lws_set_opaque_user_data(wsi, w);
    if (!w)
        return; // it is served, and can't be evicted
    w->wsi = wsi;
    list(server, w, true);
}

void fw_waiting_set(struct fw_server *server, struct lws *wsi, bool waits)
{
    struct fw_waiting *w = lws_get_opaque_user_data(wsi);
    if (w)
        list(server, w, waits);
}

void fw_waiting_end(struct fw_server *server, struct lws *wsi)
{
    struct fw_waiting *w = lws_get_opaque_user_data(wsi);
    if (!w)
        return;
    list(server, w, false);
    lws_set_opaque_user_data(wsi, NULL);
    free(w);
}

bool fw_waiting_evict(struct fw_server *server)
{
    struct fw_waiting *w = TAILQ_FIRST(&server->waiting);
    if (!w || fw_now_ns() - w->since_ns < FW_WAITING_GRACE_MS * (int64_t)FW_NS_PER_MS)
        return false;
    list(server, w, false);
    // lws may be half through closing it, and tells only at the end: its timers are not ours to set
    // then. An end of the stream it takes at any time.
    shutdown(lws_get_socket_fd(w->wsi), SHUT_RDWR);
    return true;
}
