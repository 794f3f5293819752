// SPDX-License-Identifier: MIT
#include "session/cli/bench_capacity.h"

static void decide(struct fw_capacity *c)
{
    if (c->broke == 1) {
        c->best = 0;
        c->step = FW_CAPACITY_DONE;
        return;
    }
    const unsigned above = c->broke ? c->broke : c->limit + 1;
    if (c->best + 1 >= above) {
        c->sessions = c->best;
        c->step = FW_CAPACITY_CONFIRM;
        return;
    }
    c->step = FW_CAPACITY_TRY;
    if (c->broke)
        c->sessions = c->best + (c->broke - c->best) / 2;
    else
        c->sessions = c->best ? 2 * c->best : 1;
    if (c->sessions >= above)
        c->sessions = above - 1;
}

void fw_capacity_init(struct fw_capacity *c, unsigned limit)
{
    *c = (struct fw_capacity){ .limit = limit ? limit : 1 };
    decide(c);
}

void fw_capacity_said(struct fw_capacity *c, bool kept, bool possible)
{
    if (c->step == FW_CAPACITY_DONE)
        return;
    const bool confirmed = c->step == FW_CAPACITY_CONFIRM && kept && possible;
    c->confirmations += c->step == FW_CAPACITY_CONFIRM;
    if (confirmed) {
        c->step = FW_CAPACITY_DONE;
        return;
    }
    if (kept && possible) {
        c->best = c->sessions;
    } else {
        c->broke = c->sessions;
        // The longer look says no: one less has been seen to hold only by a shorter one.
        if (c->best >= c->broke)
            c->best = c->broke - 1;
    }
    decide(c);
}
