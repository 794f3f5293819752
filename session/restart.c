// SPDX-License-Identifier: MIT
#include "session/restart.h"

#include <string.h>

#include "base/clock.h"

unsigned fw_restart_recent(const struct fw_restart *r, int64_t now_ns)
{
    unsigned n = 0;
    while (n < r->recent && now_ns - r->at_ns[n] < (int64_t)FW_RESTART_WINDOW_S * FW_NS_PER_S)
        n++;
    return n;
}

bool fw_restart_next(struct fw_restart *r, int64_t now_ns, int64_t *delay_ns)
{
    const unsigned recent = fw_restart_recent(r, now_ns);
    if (recent == FW_RESTART_WINDOW_MAX || r->total == FW_RESTART_LIFE_MAX)
        return false;
    *delay_ns = recent ? (INT64_C(250) << (recent - 1)) * FW_NS_PER_MS : 0;
    memmove(r->at_ns + 1, r->at_ns, (FW_RESTART_WINDOW_MAX - 1) * sizeof(r->at_ns[0]));
    r->at_ns[0] = now_ns;
    r->recent = recent + 1;
    r->total++;
    return true;
}
