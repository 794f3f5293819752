// SPDX-License-Identifier: MIT
#include "stream/recent.h"

#include <string.h>

#include "base/clock.h"
#include "stream/age.h"

static const int64_t mark_ns = 5 * (int64_t)FW_NS_PER_S;
// By then a change is known here, and what the client showed.
static const int64_t settled_ns = FW_NS_PER_S;

// ---- a few numbers

static void mark(struct fw_mark *m, const struct fw_record_sums *sums, int64_t now_ns)
{
    m->at_ns = now_ns;
    m->presented = sums->outcome[FW_OUTCOME_PRESENTED];
    m->lost = sums->outcome[FW_OUTCOME_DROPPED] + sums->outcome[FW_OUTCOME_SKIPPED];
    m->bytes = sums->bytes;
    m->age = sums->age;
    m->total = sums->total;
    m->input_to_presented = sums->input_to_presented;
}

// What was added to `now` since it stood at `then`. The maximum is that of all.
static void since(struct fw_histogram *out, const struct fw_histogram *now,
                  const struct fw_histogram *then)
{
    out->count = now->count - then->count;
    out->sum_us = now->sum_us - then->sum_us;
    out->max_us = now->max_us;
    for (unsigned i = 0; i < FW_HISTOGRAM_POW * FW_HISTOGRAM_SUB; i++)
        out->bucket[i] = now->bucket[i] - then->bucket[i];
}

void fw_lately_read(struct fw_marks *marks, const struct fw_record_sums *sums, int64_t now_ns,
                    int64_t uptime_ns, struct fw_lately *lately)
{
    if (!marks->newer.at_ns) {
        mark(&marks->newer, sums, now_ns);
    } else if (now_ns - marks->newer.at_ns >= mark_ns) {
        marks->older = marks->newer;
        mark(&marks->newer, sums, now_ns);
    }
    const struct fw_mark *from = &marks->older;
    const int64_t ns = from->at_ns ? now_ns - from->at_ns : uptime_ns;
    lately->seconds = (double)(ns > FW_NS_PER_S ? ns : FW_NS_PER_S) / FW_NS_PER_S;
    lately->presented = sums->outcome[FW_OUTCOME_PRESENTED] - from->presented;
    lately->lost =
        sums->outcome[FW_OUTCOME_DROPPED] + sums->outcome[FW_OUTCOME_SKIPPED] - from->lost;
    lately->bytes = sums->bytes - from->bytes;
    since(&lately->age, &sums->age, &from->age);
    since(&lately->total, &sums->total, &from->total);
    since(&lately->input_to_presented, &sums->input_to_presented, &from->input_to_presented);
}

// ---- everything

unsigned fw_recent_first(const struct fw_records *r, int64_t from_ns)
{
    unsigned first = fw_records_count(r);
    while (first > 0 && fw_records_at(r, first - 1)->seen_ns >= from_ns)
        first--;
    return first;
}

static void add_known(struct fw_histogram *h, int64_t ns)
{
    if (ns >= 0)
        fw_histogram_add(h, ns);
}

static void add(struct fw_record_sums *sums, const struct fw_frame_record *rec)
{
    sums->frames++;
    sums->keys += rec->key;
    sums->bytes += rec->bytes;
    sums->outcome[rec->outcome]++;
    sums->reason[rec->reason]++;
    for (int i = 0; i < FW_STAGE_COUNT; i++)
        add_known(&sums->stage[i], fw_frame_record_stage(rec, (enum fw_stage)i));
    add_known(&sums->total, fw_frame_record_total(rec));
}

// Every input, also those that one picture answers together.
static void add_inputs(struct fw_record_sums *sums, const struct fw_records *r,
                       const struct fw_frame_record *rec, uint64_t *shown)
{
    if (rec->outcome != FW_OUTCOME_PRESENTED || rec->input_id <= *shown)
        return;
    const int64_t at = rec->at[FW_POINT_PRESENTED];
    for (uint64_t id = fw_records_inputs_after(*shown, rec->input_id); id <= rec->input_id; id++) {
        const int64_t made = fw_records_input_ns(r, id);
        if (at && made)
            add_known(&sums->input_to_presented, at - made);
    }
    *shown = rec->input_id;
}

uint64_t fw_recent_input(const struct fw_records *r, unsigned first)
{
    while (first-- > 0)
        if (fw_records_at(r, first)->outcome == FW_OUTCOME_PRESENTED)
            return fw_records_at(r, first)->input_id;
    // What the oldest record shows may have been shown before.
    return fw_records_count(r) && fw_records_at(r, 0)->frame_id > 1 ? fw_records_at(r, 0)->input_id
                                                                    : 0;
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

struct screen {
    struct fw_age age;
    uint32_t viewer;
    int64_t oldest; // change that is not shown yet, 0 = none
};

static void look(struct screen *s, const struct fw_frame_record *rec, const struct fw_age_out *out)
{
    if (rec->change_ns && !rec->again && (!s->oldest || rec->change_ns < s->oldest))
        s->oldest = rec->change_ns;
    if (rec->outcome != FW_OUTCOME_PRESENTED)
        return;
    if (rec->viewer != s->viewer)
        fw_age_reset(&s->age);
    s->viewer = rec->viewer;
    if (rec->at[FW_POINT_PRESENTED]) {
        fw_age_until(&s->age, s->oldest, rec->at[FW_POINT_PRESENTED], out);
        fw_age_shown(&s->age, moving_since(rec), rec->at[FW_POINT_PRESENTED]);
    }
    s->oldest = 0;
}

void fw_recent_read(const struct fw_records *r, int64_t from_ns, int64_t now_ns, bool watched,
                    struct fw_record_sums *sums)
{
    memset(sums, 0, sizeof(*sums));
    const unsigned first = fw_recent_first(r, from_ns);
    const struct fw_frame_record *shown = shown_before(r, first);
    const struct fw_age_out out = { .histogram = &sums->age };
    struct screen screen = { .viewer = shown ? shown->viewer : 0 };
    uint64_t input = fw_recent_input(r, first);
    if (shown) {
        const int64_t at = shown->at[FW_POINT_PRESENTED];
        fw_age_shown(&screen.age, moving_since(shown), at > from_ns ? at : from_ns);
    }
    for (unsigned i = first; i < fw_records_count(r); i++) {
        add(sums, fw_records_at(r, i));
        add_inputs(sums, r, fw_records_at(r, i), &input);
        look(&screen, fw_records_at(r, i), &out);
    }
    if (watched)
        fw_age_until(&screen.age, screen.oldest, now_ns - settled_ns, &out);
}
