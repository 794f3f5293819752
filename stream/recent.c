// SPDX-License-Identifier: MIT
#include "stream/recent.h"

#include <string.h>

#include "base/clock.h"
#include "stream/age.h"

// By then a change is known here, and what the client showed.
static const int64_t settled_ns = FW_NS_PER_S;

unsigned fw_recent_first(const struct fw_records *r, int64_t from_ns)
{
    unsigned first = fw_records_count(r);
    while (first > 0 && fw_records_at(r, first - 1)->seen_ns >= from_ns)
        first--;
    return first;
}

static void add_known(struct fw_histogram *h, struct fw_bins *bins, int64_t ns)
{
    if (ns < 0)
        return;
    fw_histogram_add(h, ns);
    fw_bins_add(bins, ns, 1);
}

static void add(struct fw_recent *recent, const struct fw_frame_record *rec, bool brief)
{
    struct fw_record_sums *sums = &recent->sums;
    sums->frames++;
    sums->keys += rec->key;
    sums->bytes += rec->bytes;
    sums->outcome[rec->outcome]++;
    sums->reason[rec->reason]++;
    for (int i = 0; i < FW_STAGE_COUNT && !brief; i++)
        add_known(&sums->stage[i], &recent->stage[i], fw_frame_record_stage(rec, (enum fw_stage)i));
    const int64_t total = fw_frame_record_total(rec);
    add_known(&sums->total, &recent->total, total);
    if (rec->shows_input)
        add_known(&sums->input_to_presented, &recent->input_to_presented, total);
}

static int64_t moving_since(const struct fw_frame_record *rec)
{
    return rec->animating ? rec->at[FW_POINT_BEGUN] : 0;
}

// What was on the screen when the time begins. NULL: nothing, or nobody knows since when.
static const struct fw_frame_record *shown_before(const struct fw_records *r, unsigned first)
{
    while (first-- > 0) {
        const struct fw_frame_record *rec = fw_records_at(r, first);
        if (rec->outcome == FW_OUTCOME_PRESENTED)
            return rec->at[FW_POINT_PRESENTED] ? rec : NULL;
    }
    return NULL;
}

// The records once more, as their screen saw them.
static void read_age(const struct fw_records *r, unsigned first, bool watched,
                     struct fw_recent *recent)
{
    const struct fw_age_out out = { &recent->sums.age, &recent->age };
    const struct fw_frame_record *shown = shown_before(r, first);
    struct fw_age age = { .told_ns = 0 };
    uint32_t viewer = shown ? shown->viewer : 0;
    int64_t oldest = 0;
    if (shown)
        fw_age_shown(&age, moving_since(shown),
                     shown->at[FW_POINT_PRESENTED] > recent->from_ns ? shown->at[FW_POINT_PRESENTED]
                                                                     : recent->from_ns);
    for (unsigned i = first; i < fw_records_count(r); i++) {
        const struct fw_frame_record *rec = fw_records_at(r, i);
        if (rec->change_ns && !rec->again && (!oldest || rec->change_ns < oldest))
            oldest = rec->change_ns;
        if (rec->outcome != FW_OUTCOME_PRESENTED)
            continue;
        if (rec->viewer != viewer)
            fw_age_reset(&age);
        viewer = rec->viewer;
        if (rec->at[FW_POINT_PRESENTED]) {
            fw_age_until(&age, oldest, rec->at[FW_POINT_PRESENTED], &out);
            fw_age_shown(&age, moving_since(rec), rec->at[FW_POINT_PRESENTED]);
        }
        oldest = 0;
    }
    if (watched)
        fw_age_until(&age, oldest, recent->until_ns - settled_ns, &out);
}

void fw_recent_read(const struct fw_records *r, const struct fw_recent_params *p,
                    struct fw_recent *recent)
{
    memset(recent, 0, sizeof(*recent));
    recent->from_ns = p->now_ns - p->last_ns;
    recent->until_ns = p->now_ns;
    const unsigned first = fw_recent_first(r, recent->from_ns);
    for (unsigned i = first; i < fw_records_count(r); i++)
        add(recent, fw_records_at(r, i), p->brief);
    read_age(r, first, p->watched, recent);
}
