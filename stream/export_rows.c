// SPDX-License-Identifier: MIT
// CSV and JSON: the same columns. What is not known is an empty cell, or null.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "stream/export_impl.h"
#include "stream/recent.h"

static const char *const before[] = {
    "frame_id",    "outcome",  "reason",    "key",       "animating",
    "again",       "width_px", "height_px", "bytes",     "input_id",
    "shows_input", "start_ns", "input_ns",  "change_ns", "begun_ns",
};
static const char *const after[] = {
    "total_us",
    "input_to_presented_us",
    "gpu_source_us",
    "gpu_merge_us",
    "gpu_convert_us",
    "rtt_us",
    "window_frames",
    "unconfirmed_frames",
    "viewer",
    "clock",
    "clock_error_us",
    "encoder",
    "qp",
    "damage_px",
    "link_kbps",
    "unsent_bytes",
    "gpu_begin_ns",
    "gpu_vertex_us",
    "gpu_raster_us",
    "gpu_fragment_us",
    "gpu_output_us",
    "vertices",
    "primitives",
    "fragments",
};
static const char *const clock_names[] = {
    [FW_PEER_CLOCK_NONE] = "none",
    [FW_PEER_CLOCK_FLOOR] = "floor",
    [FW_PEER_CLOCK_BOUNDS] = "bounds",
    [FW_PEER_CLOCK_ESTIMATE] = "estimate",
};

enum {
    BEFORE = sizeof(before) / sizeof(before[0]),
    AFTER = sizeof(after) / sizeof(after[0]),
    COLUMNS = BEFORE + FW_STAGE_COUNT + AFTER,
    LEAD_MAX = 40,
};

struct row {
    struct fw_text *text;
    bool json;
    unsigned column; // the next one
    // What stands before a cell: a comma, and in JSON its name.
    char lead[COLUMNS][LEAD_MAX];
    size_t lead_size[COLUMNS];
};

// The name of a column; `room` has LEAD_MAX bytes.
static const char *name_of(int column, char *room)
{
    if (column < BEFORE)
        return before[column];
    if (column >= BEFORE + FW_STAGE_COUNT)
        return after[column - BEFORE - FW_STAGE_COUNT];
    snprintf(room, LEAD_MAX, "%s_us", fw_stages[column - BEFORE].name);
    return room;
}

static void make_leads(struct row *row)
{
    char room[LEAD_MAX];
    for (int i = 0; i < COLUMNS; i++) {
        const char *comma = i ? "," : "";
        const int size =
            row->json ? snprintf(row->lead[i], LEAD_MAX, "%s\"%s\":", comma, name_of(i, room))
                      : snprintf(row->lead[i], LEAD_MAX, "%s", comma);
        row->lead_size[i] = (size_t)size;
    }
}

// ---- cells

static void next(struct row *row)
{
    fw_text_bytes(row->text, row->lead[row->column], row->lead_size[row->column]);
    row->column++;
}

static void unknown(struct row *row)
{
    if (row->json)
        fw_text_add(row->text, "null");
}

static void word(struct row *row, const char *text)
{
    next(row);
    if (row->json)
        fw_text_add(row->text, "\"");
    fw_text_add(row->text, text);
    if (row->json)
        fw_text_add(row->text, "\"");
}

static void number(struct row *row, uint64_t value)
{
    next(row);
    fw_text_u64(row->text, value);
}

// 0 = unknown.
static void known(struct row *row, uint64_t value)
{
    next(row);
    if (value)
        fw_text_u64(row->text, value);
    else
        unknown(row);
}

// 0 = unknown, else one less.
static void less_one(struct row *row, uint64_t value)
{
    next(row);
    if (value)
        fw_text_u64(row->text, value - 1);
    else
        unknown(row);
}

static void flag(struct row *row, bool value)
{
    next(row);
    fw_text_add(row->text, row->json ? (value ? "true" : "false") : (value ? "1" : "0"));
}

// -1 = unknown.
static void span(struct row *row, int64_t ns)
{
    next(row);
    if (ns >= 0)
        fw_text_time(row->text, ns, FW_NS_PER_US);
    else
        unknown(row);
}

static int64_t input_to_presented(const struct fw_frame_record *rec)
{
    return rec->shows_input ? fw_frame_record_total(rec) : -1;
}

static void add_gpu(struct row *row, const struct fw_gpu_facts *gpu)
{
    uint64_t parts = 0;
    for (int i = 0; i < FW_PART_COUNT; i++)
        parts += gpu->part_us[i];
    known(row, (uint64_t)gpu->begin_ns);
    for (int i = 0; i < FW_PART_COUNT; i++) // one of them may well be 0
        less_one(row, parts ? gpu->part_us[i] + UINT64_C(1) : 0);
    known(row, gpu->vertices);
    known(row, gpu->primitives);
    known(row, gpu->fragments);
}

// In the order of the column names.
static void add_row(struct row *row, const struct fw_records *r, const struct fw_frame_record *rec)
{
    const bool answered =
        rec->at[FW_POINT_RECEIVED] || rec->at[FW_POINT_DECODED] || rec->at[FW_POINT_PRESENTED];
    row->column = 0;
    number(row, rec->frame_id);
    word(row, fw_outcome_names[rec->outcome]);
    word(row, fw_reason_names[rec->reason]);
    flag(row, rec->key);
    flag(row, rec->animating);
    flag(row, rec->again);
    known(row, rec->width);
    known(row, rec->height);
    known(row, rec->bytes);
    known(row, rec->input_id);
    flag(row, rec->shows_input);
    known(row, (uint64_t)fw_frame_record_start(rec));
    known(row, (uint64_t)rec->at[FW_POINT_INPUT]);
    known(row, (uint64_t)rec->change_ns);
    known(row, (uint64_t)rec->at[FW_POINT_BEGUN]);
    for (int i = 0; i < FW_STAGE_COUNT; i++)
        span(row, fw_frame_record_stage(rec, (enum fw_stage)i));
    span(row, fw_frame_record_total(rec));
    span(row, input_to_presented(rec));
    for (int i = 0; i < FW_PASS_COUNT; i++)
        known(row, rec->gpu.pass_us[i]);
    known(row, rec->rtt_us);
    known(row, rec->window);
    number(row, rec->queue);
    known(row, rec->viewer);
    word(row, answered ? clock_names[rec->clock] : "none");
    known(row, rec->clock_error_us);
    word(row, fw_records_encoder(r, rec));
    less_one(row, rec->qp_plus1);
    number(row, rec->damage_px);
    known(row, rec->link_kbps);
    number(row, rec->unsent_bytes);
    add_gpu(row, &rec->gpu);
}

void fw_export_csv(struct fw_text *t, const struct fw_records *r, const struct fw_export_params *p)
{
    struct row row = { .text = t };
    char room[LEAD_MAX];
    make_leads(&row);
    for (int i = 0; i < COLUMNS; i++) {
        fw_text_add(t, i ? "," : "");
        fw_text_add(t, name_of(i, room));
    }
    fw_text_add(t, "\r\n");
    for (unsigned i = fw_export_first(r, p); i < fw_records_count(r); i++) {
        add_row(&row, r, fw_records_at(r, i));
        fw_text_add(t, "\r\n");
    }
}

// ---- what JSON has besides

static void add_quantiles(struct fw_text *t, const char *name, const struct fw_histogram *h)
{
    static const struct {
        const char *name;
        double q;
    } wanted[] = { { "p50_ms", 0.5 }, { "p95_ms", 0.95 }, { "p99_ms", 0.99 } };
    fw_text_json(t, name);
    fw_text_add(t, ":{\"count\":");
    fw_text_u64(t, h->count);
    for (int i = 0; i < 3; i++) {
        fw_text_add(t, ",");
        fw_text_json(t, wanted[i].name);
        fw_text_add(t, ":");
        fw_text_time(t, (int64_t)fw_histogram_quantile(h, wanted[i].q) * FW_NS_PER_US,
                     FW_NS_PER_MS);
    }
    fw_text_add(t, ",\"max_ms\":");
    fw_text_time(t, (int64_t)h->max_us * FW_NS_PER_US, FW_NS_PER_MS);
    fw_text_add(t, "}");
}

static void add_counts(struct fw_text *t, const char *name, const char *const *names,
                       const uint64_t *counts, unsigned count)
{
    bool first = true;
    fw_text_json(t, name);
    fw_text_add(t, ":{");
    for (unsigned i = 0; i < count; i++) {
        if (!counts[i] || !names[i][0])
            continue;
        fw_text_add(t, first ? "" : ",");
        fw_text_json(t, names[i]);
        fw_text_add(t, ":");
        fw_text_u64(t, counts[i]);
        first = false;
    }
    fw_text_add(t, "}");
}

void fw_export_sums(struct fw_text *t, const char *name, const struct fw_record_sums *sums)
{
    fw_text_json(t, name);
    fw_text_add(t, ":{\"frames\":");
    fw_text_u64(t, sums->frames);
    fw_text_add(t, ",\"keys\":");
    fw_text_u64(t, sums->keys);
    fw_text_add(t, ",\"bytes\":");
    fw_text_u64(t, sums->bytes);
    fw_text_add(t, ",");
    add_counts(t, "outcomes", fw_outcome_names, sums->outcome, FW_OUTCOME_COUNT);
    fw_text_add(t, ",");
    add_counts(t, "reasons", fw_reason_names, sums->reason, FW_REASON_COUNT);
    fw_text_add(t, ",\"stages\":{");
    for (int i = 0; i < FW_STAGE_COUNT; i++) {
        fw_text_add(t, i ? "," : "");
        add_quantiles(t, fw_stages[i].name, &sums->stage[i]);
    }
    fw_text_add(t, "},");
    add_quantiles(t, "total", &sums->total);
    fw_text_add(t, ",");
    add_quantiles(t, "input_to_presented", &sums->input_to_presented);
    fw_text_add(t, ",");
    add_quantiles(t, "age", &sums->age);
    fw_text_add(t, "}");
}

void fw_export_origin(struct fw_text *t, const struct fw_export_params *p)
{
    fw_text_add(t, "\"title\":");
    fw_text_json(t, p->title);
    fw_text_add(t, ",\"gpu\":");
    fw_text_json(t, p->gpu);
    fw_text_add(t, ",\"encoder\":");
    fw_text_json(t, p->encoder);
    fw_text_add(t, ",\"faults\":");
    fw_text_json(t, p->faults);
}

// How far back the file really reaches: a ring of records holds few seconds of many frames.
static int64_t covered_ns(const struct fw_records *r, const struct fw_export_params *p)
{
    if (fw_records_count(r) < FW_RECORDS_KEPT)
        return p->last_ns;
    const int64_t kept = p->now_ns - fw_records_at(r, 0)->seen_ns;
    return kept < p->last_ns ? kept : p->last_ns;
}

static void add_about(struct fw_text *t, const struct fw_records *r,
                      const struct fw_export_params *p)
{
    char wall[32];
    const time_t seconds = (time_t)(p->wall_ms / 1000);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    strftime(wall, sizeof(wall), "%Y-%m-%dT%H:%M:%SZ", &tm);
    fw_text_add(t, "\"session\":");
    fw_text_json(t, p->session);
    fw_text_add(t, ",");
    fw_export_origin(t, p);
    fw_text_add(t, ",\"gpu_parts\":");
    fw_text_add(t, *p->no_parts ? "false" : "true");
    fw_text_add(t, ",\"no_gpu_parts\":");
    fw_text_json(t, p->no_parts);
    fw_text_add(t, ",\"now_ns\":");
    fw_text_u64(t, (uint64_t)p->now_ns);
    fw_text_add(t, ",\"now\":");
    fw_text_json(t, wall);
    fw_text_add(t, ",\"last_s\":");
    fw_text_u64(t, (uint64_t)(p->last_ns / FW_NS_PER_S));
    fw_text_add(t, ",\"covered_s\":");
    fw_text_time(t, covered_ns(r, p), FW_NS_PER_S);
}

void fw_export_stages(struct fw_text *t)
{
    fw_text_add(t, "\"stages\":[");
    for (int i = 0; i < FW_STAGE_COUNT; i++) {
        fw_text_add(t, i ? ",{\"name\":" : "{\"name\":");
        fw_text_json(t, fw_stages[i].name);
        fw_text_add(t, ",\"ends\":");
        fw_text_json(t, fw_stages[i].ends);
        fw_text_add(t, "}");
    }
    fw_text_add(t, "]");
}

void fw_export_json(struct fw_text *t, const struct fw_records *r, const struct fw_export_params *p)
{
    const unsigned first = fw_export_first(r, p);
    struct fw_record_sums *sums = malloc(sizeof(*sums));
    if (!sums) {
        t->failed = true;
        return;
    }
    fw_recent_read(r, p->now_ns - p->last_ns, p->now_ns, p->watched, sums);
    fw_text_add(t, "{");
    add_about(t, r, p);
    fw_text_add(t, ",");
    fw_export_stages(t);
    fw_text_add(t, ",");
    fw_export_sums(t, "summary", sums);
    fw_text_add(t, ",");
    fw_export_sums(t, "since_start", fw_records_sums(r));
    free(sums);
    struct row row = { .text = t, .json = true };
    make_leads(&row);
    fw_text_add(t, ",\"frames\":[");
    for (unsigned i = first; i < fw_records_count(r); i++) {
        fw_text_add(t, i > first ? ",\n{" : "\n{");
        add_row(&row, r, fw_records_at(r, i));
        fw_text_add(t, "}");
    }
    fw_text_add(t, "]}\n");
}
