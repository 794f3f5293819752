// SPDX-License-Identifier: MIT
#include "stream/record.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "stream/age.h"

static_assert(sizeof(struct fw_frame_record) <= 264, "the size stated in the header");

// A page's clock ticks in steps of up to a millisecond.
static const int64_t grain_ns = FW_NS_PER_MS;

enum { ENCODERS_MAX = 8 };

struct fw_records {
    struct fw_frame_record kept[FW_RECORDS_KEPT]; // number n at n % FW_RECORDS_KEPT
    uint64_t count;                               // made so far
    uint64_t newest_id;
    struct {
        uint64_t id;
        int64_t rx_ns, made_ns;  // made_ns: by the client's word; at most rx_ns
    } inputs[FW_RECORDS_INPUTS]; // by id
    char encoders[ENCODERS_MAX][FW_ENCODER_NAME_SIZE]; // [0] is ""
    uint64_t newest_input;                             // that arrived
    uint64_t shown_input;                              // newest that was presented
    struct fw_record_sums sums;
    struct fw_record_totals *totals, own; // where else it is summed up; `own`: nowhere else
    struct fw_age age;
    uint32_t age_viewer; // whose screen that is
};

struct fw_records *fw_records_create(void)
{
    struct fw_records *r = calloc(1, sizeof(*r));
    if (r)
        r->totals = &r->own;
    return r;
}

void fw_records_destroy(struct fw_records **records)
{
    free(*records);
    *records = NULL;
}

struct fw_records *fw_records_copy(const struct fw_records *records)
{
    struct fw_records *r = malloc(sizeof(*r));
    if (!r)
        return NULL;
    memcpy(r, records, sizeof(*r));
    r->totals = &r->own;
    return r;
}

void fw_records_set_totals(struct fw_records *r, struct fw_record_totals *totals)
{
    r->totals = totals ? totals : &r->own;
}

// ---- one record

// Stamps never fall: moves it to where it does not contradict the others. The first one stands.
static bool place(struct fw_frame_record *rec, enum fw_point point, int64_t ns)
{
    int64_t low = 0, high = INT64_MAX;
    for (int i = 0; i < (int)point; i++)
        low = rec->at[i] > low ? rec->at[i] : low;
    for (int i = FW_POINT_COUNT - 1; i > (int)point; i--)
        high = rec->at[i] ? rec->at[i] : high;
    if (ns <= 0 || rec->at[point])
        return false;
    rec->at[point] = ns < low ? low : ns > high ? high : ns;
    return true;
}

// ---- the ring

static struct fw_frame_record *number(struct fw_records *r, uint64_t n)
{
    return &r->kept[n % FW_RECORDS_KEPT];
}

// Among those that may still be under way, newest first: it is nearly always one of the newest.
static struct fw_frame_record *find(struct fw_records *r, uint32_t viewer, uint64_t frame_id)
{
    for (uint64_t back = 1; back <= FW_RECORDS_OPEN && back <= r->count; back++) {
        struct fw_frame_record *rec = number(r, r->count - back);
        if (rec->frame_id == frame_id)
            return viewer && rec->viewer == viewer ? rec : NULL;
        if (rec->frame_id < frame_id)
            return NULL;
    }
    return NULL;
}

int64_t fw_records_input_ns(const struct fw_records *r, uint64_t id)
{
    const uint64_t slot = id % FW_RECORDS_INPUTS;
    return r->inputs[slot].id == id ? r->inputs[slot].made_ns : 0;
}

uint64_t fw_records_inputs_after(uint64_t shown, uint64_t newest)
{
    return newest > shown + FW_RECORDS_INPUTS ? newest - FW_RECORDS_INPUTS + 1 : shown + 1;
}

static void sum_inputs(struct fw_records *r, const struct fw_frame_record *rec)
{
    uint64_t id = fw_records_inputs_after(r->shown_input, rec->input_id);
    for (; id <= rec->input_id; id++) {
        const int64_t made = fw_records_input_ns(r, id), ns = rec->at[FW_POINT_PRESENTED] - made;
        if (!made || ns < 0)
            continue;
        fw_histogram_add(&r->sums.input_to_presented, ns);
        fw_bins_add(&r->totals->input_to_photon, ns, 1);
    }
}

// ---- age of the picture

// The oldest change of those not shown yet, from the newest back to `last`, 0 = none. What was
// drawn again has not changed.
static int64_t oldest_change(const struct fw_records *r, const struct fw_frame_record *last)
{
    int64_t oldest = 0;
    for (uint64_t back = 1; back <= FW_RECORDS_OPEN && back <= r->count; back++) {
        const struct fw_frame_record *rec = &r->kept[(r->count - back) % FW_RECORDS_KEPT];
        if (last && rec->frame_id > last->frame_id)
            continue;
        if (rec != last && rec->outcome == FW_OUTCOME_PRESENTED)
            break;
        if (rec->change_ns && !rec->again && (!oldest || rec->change_ns < oldest))
            oldest = rec->change_ns;
    }
    return oldest;
}

static void age_until(struct fw_records *r, int64_t change_ns, int64_t until_ns)
{
    const struct fw_age_out out = { &r->sums.age, &r->totals->age };
    fw_age_until(&r->age, change_ns, until_ns, &out);
}

static void age_shown(struct fw_records *r, const struct fw_frame_record *rec)
{
    const int64_t at = rec->at[FW_POINT_PRESENTED];
    if (rec->viewer != r->age_viewer)
        fw_age_reset(&r->age);
    r->age_viewer = rec->viewer;
    if (!at)
        return; // nobody knows when
    age_until(r, oldest_change(r, rec), at);
    fw_age_shown(&r->age, rec->animating ? rec->at[FW_POINT_BEGUN] : 0, at);
}

void fw_records_tick(struct fw_records *r, uint32_t viewer, int64_t now_ns)
{
    // By then the front knows of a change, and the client has said what it showed.
    const int64_t until = now_ns - FW_NS_PER_S;
    if (viewer != r->age_viewer)
        fw_age_reset(&r->age);
    r->age_viewer = viewer;
    age_until(r, oldest_change(r, NULL), until);
}

int64_t fw_records_age(const struct fw_records *r, int64_t now_ns)
{
    return fw_age_at(&r->age, oldest_change(r, NULL), now_ns);
}

static void finish(struct fw_records *r, struct fw_frame_record *rec, enum fw_outcome outcome,
                   enum fw_reason reason)
{
    rec->outcome = (uint8_t)outcome;
    rec->reason = (uint8_t)reason;
    // A frame before it may have carried the input too, and was not shown.
    rec->shows_input = rec->at[FW_POINT_INPUT] && rec->input_id > r->shown_input;
    for (int i = 0; i < FW_STAGE_COUNT; i++) {
        const int64_t ns = fw_frame_record_stage(rec, (enum fw_stage)i);
        if (ns >= 0) {
            fw_histogram_add(&r->sums.stage[i], ns);
            fw_bins_add(&r->totals->stage[i], ns, 1);
        }
    }
    r->sums.outcome[outcome]++;
    r->sums.reason[reason]++;
    r->totals->reason[reason]++;
    if (outcome != FW_OUTCOME_PRESENTED)
        return;
    const int64_t total = fw_frame_record_total(rec);
    if (total >= 0) {
        fw_histogram_add(&r->sums.total, total);
        fw_bins_add(&r->totals->total, total, 1);
    }
    age_shown(r, rec);
    if (rec->input_id > r->shown_input) {
        sum_inputs(r, rec);
        r->shown_input = rec->input_id;
    }
}

static struct fw_frame_record *add(struct fw_records *r, uint64_t frame_id, int64_t now_ns)
{
    if (r->count >= FW_RECORDS_OPEN) {
        struct fw_frame_record *old = number(r, r->count - FW_RECORDS_OPEN);
        if (old->outcome == FW_OUTCOME_OPEN)
            finish(r, old, FW_OUTCOME_UNCONFIRMED, FW_REASON_NO_WORD);
    }
    struct fw_frame_record *rec = number(r, r->count++);
    *rec = (struct fw_frame_record){ .frame_id = frame_id, .seen_ns = now_ns };
    r->newest_id = frame_id;
    r->sums.frames++;
    r->totals->frames++;
    return rec;
}

// Ids between the newest and this one: the worker says why there is no packet, else it is unknown.
static void add_skipped(struct fw_records *r, const struct fw_packet *packet, int64_t now_ns)
{
    uint64_t gap = packet->frame_id - r->newest_id - 1;
    if (gap > FW_PACKET_SKIPPED)
        gap = FW_PACKET_SKIPPED;
    for (; gap > 0; gap--) {
        const uint8_t said = packet->skipped[gap - 1];
        const enum fw_reason reason =
            said && said <= FW_REASON_RING_FULL ? (enum fw_reason)said : FW_REASON_UNKNOWN;
        finish(r, add(r, packet->frame_id - gap, now_ns), FW_OUTCOME_SKIPPED, reason);
    }
}

// ---- feeding

void fw_records_input(struct fw_records *r, uint64_t newest_id, unsigned count, int64_t rx_ns)
{
    r->newest_input = newest_id > r->newest_input ? newest_id : r->newest_input;
    for (uint64_t id = newest_id; id && count; id--, count--) {
        r->inputs[id % FW_RECORDS_INPUTS].id = id;
        r->inputs[id % FW_RECORDS_INPUTS].rx_ns = rx_ns;
        r->inputs[id % FW_RECORDS_INPUTS].made_ns = rx_ns;
    }
}

void fw_records_input_made(struct fw_records *r, uint64_t id, int64_t made_ns)
{
    enum { WAY_MAX_S = 10 }; // longer is a clock that is wrong
    const uint64_t slot = id % FW_RECORDS_INPUTS;
    const int64_t rx = r->inputs[slot].rx_ns;
    if (r->inputs[slot].id == id && made_ns < rx && rx - made_ns < WAY_MAX_S * (int64_t)FW_NS_PER_S)
        r->inputs[slot].made_ns = made_ns;
}

// The front's own time of the input's arrival is taken before the worker's word.
static void take_points(const struct fw_records *r, struct fw_frame_record *rec,
                        const struct fw_packet *packet, int64_t now_ns)
{
    int64_t at[FW_POINT_COUNT], last = 0;
    fw_frame_times_points(&packet->times, at);
    // An input that never came is the worker's invention.
    rec->input_id = packet->input_id <= r->newest_input ? packet->input_id : 0;
    const uint64_t slot = rec->input_id % FW_RECORDS_INPUTS;
    if (!rec->input_id)
        at[FW_POINT_INPUT] = at[FW_POINT_DELIVERED] = 0;
    else if (r->inputs[slot].id == rec->input_id)
        at[FW_POINT_INPUT] = r->inputs[slot].rx_ns;
    for (int i = 0; i < FW_POINT_COUNT; i++) {
        if (at[i] >= last && at[i] <= now_ns) {
            rec->at[i] = at[i];
            last = at[i] ? at[i] : last;
        }
    }
}

// Its index, made up at first sight; 0 when there is no name or no more room.
static uint8_t find_encoder(struct fw_records *r, const char *name)
{
    for (int i = 0; i < ENCODERS_MAX; i++) {
        if (i && !r->encoders[i][0])
            memcpy(r->encoders[i], name, strlen(name) + 1);
        if (strcmp(r->encoders[i], name) == 0)
            return (uint8_t)i;
    }
    return 0;
}

static uint8_t to_u8(unsigned value)
{
    return value < UINT8_MAX ? (uint8_t)value : UINT8_MAX;
}

void fw_records_publish(struct fw_records *r, const struct fw_packet *packet,
                        const struct fw_record_viewer *viewer, int64_t now_ns)
{
    if (packet->frame_id <= r->newest_id)
        return;
    if (r->count)
        add_skipped(r, packet, now_ns);
    struct fw_frame_record *rec = add(r, packet->frame_id, now_ns);
    take_points(r, rec, packet, now_ns);
    rec->change_ns = packet->times.change_ns;
    rec->bytes = (uint32_t)packet->size;
    rec->gpu = packet->facts.gpu;
    rec->damage_px = packet->facts.damage_px;
    rec->qp_plus1 = packet->facts.qp_plus1;
    rec->encoder = find_encoder(r, packet->facts.encoder);
    rec->viewer = viewer->serial;
    rec->rtt_us = viewer->rtt_us;
    rec->link_kbps = viewer->link_kbps;
    rec->unsent_bytes = viewer->unsent_bytes;
    rec->window = to_u8(viewer->window);
    rec->queue = to_u8(viewer->queue);
    rec->width = (uint16_t)packet->width;
    rec->height = (uint16_t)packet->height;
    rec->key = packet->key;
    rec->animating = packet->animating;
    // session/encode_stage.c gives a picture that is encoded again no time for drawing.
    rec->again = rec->at[FW_POINT_BEGUN] && rec->at[FW_POINT_CONVERTED] == rec->at[FW_POINT_BEGUN];
    rec->shows_input = rec->at[FW_POINT_INPUT] && rec->input_id > r->shown_input;
    r->sums.keys += packet->key;
    r->sums.bytes += packet->size;
    r->totals->keys += packet->key;
    r->totals->bytes += packet->size;
    if (!viewer->serial)
        finish(r, rec, FW_OUTCOME_SKIPPED, FW_REASON_NOBODY);
}

void fw_records_sent(struct fw_records *r, uint32_t viewer, uint64_t frame_id, enum fw_point point,
                     int64_t ns)
{
    struct fw_frame_record *rec = find(r, viewer, frame_id);
    // That the kernel has taken all may be noticed later than the client's answer.
    if (rec && (point == FW_POINT_HANDED || point == FW_POINT_ACCEPTED))
        place(rec, point, ns);
}

void fw_records_drop(struct fw_records *r, uint32_t viewer, uint64_t frame_id,
                     enum fw_reason reason)
{
    struct fw_frame_record *rec = find(r, viewer, frame_id);
    if (rec && rec->outcome == FW_OUTCOME_OPEN)
        finish(r, rec, FW_OUTCOME_DROPPED, reason);
}

void fw_records_left(struct fw_records *r, uint32_t viewer)
{
    for (uint64_t back = 1; back <= FW_RECORDS_OPEN && back <= r->count; back++) {
        struct fw_frame_record *rec = number(r, r->count - back);
        if (rec->viewer == viewer && rec->outcome == FW_OUTCOME_OPEN)
            finish(r, rec, FW_OUTCOME_DROPPED, FW_REASON_GONE);
    }
}

void fw_records_ack(struct fw_records *r, uint32_t viewer, const struct fw_record_ack *ack,
                    int64_t now_ns)
{
    struct fw_frame_record *rec = find(r, viewer, ack->frame_id);
    // Nobody can have got what was not handed out.
    if (!rec || !rec->at[FW_POINT_HANDED])
        return;
    if (ack->dropped) {
        if (rec->outcome == FW_OUTCOME_OPEN)
            finish(r, rec, FW_OUTCOME_DROPPED, FW_REASON_CLIENT);
        return;
    }
    if (ack->point < FW_POINT_RECEIVED || ack->point > FW_POINT_PRESENTED)
        return;
    // That the kernel has taken all is noticed when the loop turns, on a busy machine long after.
    // Where the client had it by then the kernel had taken it long before.
    if (ack->ns >= rec->at[FW_POINT_HANDED] && ack->ns < rec->at[FW_POINT_ACCEPTED])
        rec->at[FW_POINT_ACCEPTED] = rec->at[FW_POINT_HANDED];
    const int64_t slack = ack->error_us * (int64_t)FW_NS_PER_US + grain_ns;
    const bool possible = ack->ns >= rec->at[FW_POINT_HANDED] - slack && ack->ns <= now_ns + slack;
    if (possible && place(rec, ack->point, ack->ns < now_ns ? ack->ns : now_ns)) {
        rec->clock = (uint8_t)ack->clock;
        rec->clock_error_us = ack->error_us;
    }
    if (ack->point == FW_POINT_PRESENTED && rec->outcome == FW_OUTCOME_OPEN)
        finish(r, rec, FW_OUTCOME_PRESENTED, FW_REASON_NONE);
}

// ---- reading

unsigned fw_records_count(const struct fw_records *r)
{
    return r->count < FW_RECORDS_KEPT ? (unsigned)r->count : FW_RECORDS_KEPT;
}

const struct fw_frame_record *fw_records_at(const struct fw_records *r, unsigned index)
{
    return &r->kept[(r->count - fw_records_count(r) + index) % FW_RECORDS_KEPT];
}

const char *fw_records_encoder(const struct fw_records *r, const struct fw_frame_record *rec)
{
    return r->encoders[rec->encoder];
}

const struct fw_record_sums *fw_records_sums(const struct fw_records *r)
{
    return &r->sums;
}
