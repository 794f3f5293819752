// SPDX-License-Identifier: MIT
#include "stream/client/age.h"

#include <string.h>

#include "base/clock.h"

enum { BEACON_LATE_MS = 1500 };

void fw_client_age_received(struct fw_client_age *age, const struct fw_wire_video *video)
{
    if (age->pending_count == FW_CLIENT_AGE_PENDING) {
        age->pending_count--;
        memmove(age->pending, age->pending + 1, age->pending_count * sizeof(age->pending[0]));
    }
    age->pending[age->pending_count++] = (struct fw_client_age_frame){
        .frame_id = video->frame_id,
        .change_ns = video->change_ns,
        .begun_ns = video->begun_ns,
        .animating = video->animating,
    };
}

void fw_client_age_presented(struct fw_client_age *age, uint64_t frame_id)
{
    unsigned gone = 0;
    while (gone < age->pending_count && age->pending[gone].frame_id <= frame_id) {
        if (age->pending[gone].frame_id == frame_id)
            age->shown = age->pending[gone];
        gone++;
    }
    age->pending_count -= gone;
    memmove(age->pending, age->pending + gone, age->pending_count * sizeof(age->pending[0]));
}

void fw_client_age_beacon(struct fw_client_age *age, const struct fw_wire_beacon *beacon,
                          int64_t now_ns)
{
    const bool newer = !age->has_beacon || beacon->newest_frame != age->beacon.newest_frame;
    if (beacon->current)
        age->stale_ns = 0;
    else if (!age->stale_ns || newer)
        age->stale_ns = beacon->server_ns;
    age->has_beacon = true;
    age->beacon = *beacon;
    age->beacon_ns = now_ns;
}

static int64_t since(const struct fw_client_clock *clock, int64_t server_ns, int64_t now_ns)
{
    const int64_t passed = now_ns - fw_client_clock_local(clock, server_ns);
    return passed > 0 ? passed : 0;
}

int64_t fw_client_age_change(const struct fw_client_age *age, const struct fw_client_clock *clock)
{
    return age->pending_count ? fw_client_clock_local(clock, age->pending[0].change_ns) : 0;
}

int64_t fw_client_age_now(const struct fw_client_age *age, const struct fw_client_clock *clock,
                          int64_t now_ns)
{
    if (!age->shown.frame_id || !fw_client_clock_known(clock))
        return -1;
    const struct fw_client_age_frame *shown = &age->shown;
    const struct fw_client_age_frame *next = age->pending_count ? &age->pending[0] : NULL;
    if (!age->has_beacon || shown->animating || age->beacon.animating)
        return since(clock, shown->begun_ns, now_ns);
    if (next)
        return since(clock, next->change_ns, now_ns);
    if (shown->frame_id >= age->beacon.newest_frame && age->beacon.current) {
        const int64_t silent = now_ns - age->beacon_ns;
        return silent > BEACON_LATE_MS * (int64_t)FW_NS_PER_MS ? silent : 0;
    }
    // A picture that was begun after the server said so shows what had changed by then.
    const int64_t stale = age->stale_ns ? age->stale_ns : age->beacon.server_ns;
    return since(clock, stale > shown->begun_ns ? stale : shown->begun_ns, now_ns);
}
