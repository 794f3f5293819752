// SPDX-License-Identifier: MIT
// What a page asks for every second: the last seconds summed up, where values lie, and the newest
// frames as rows of numbers, at most FRAMES_MAX.
#include <stdlib.h>

#include "base/clock.h"
#include "stream/export_impl.h"
#include "stream/recent.h"

enum { FRAMES_MAX = 240 };

// As many as in base/bins.h: a step of the histogram counts where its upper edge does.
static void add_bins(struct fw_text *t, const char *name, const struct fw_histogram *h)
{
    struct fw_bins bins = { .count = 0 };
    for (unsigned i = 0; i < FW_HISTOGRAM_POW * FW_HISTOGRAM_SUB; i++)
        if (h->bucket[i])
            fw_bins_add(&bins, (int64_t)fw_histogram_edge(i) * FW_NS_PER_US, h->bucket[i]);
    fw_text_json(t, name);
    fw_text_add(t, ":[");
    for (int i = 0; i <= FW_BINS; i++) {
        fw_text_add(t, i ? "," : "");
        fw_text_u64(t, bins.bin[i]);
    }
    fw_text_add(t, "]");
}

static void add_all_bins(struct fw_text *t, const struct fw_record_sums *sums)
{
    fw_text_add(t, ",\"bins\":{\"edges_us\":[");
    for (int i = 0; i < FW_BINS; i++) {
        fw_text_add(t, i ? "," : "");
        fw_text_u64(t, fw_bin_edges_us[i]);
    }
    fw_text_add(t, "],\"stages\":{");
    for (int i = 0; i < FW_STAGE_COUNT; i++) {
        fw_text_add(t, i ? "," : "");
        add_bins(t, fw_stages[i].name, &sums->stage[i]);
    }
    fw_text_add(t, "},");
    add_bins(t, "total", &sums->total);
    fw_text_add(t, ",");
    add_bins(t, "input_to_presented", &sums->input_to_presented);
    fw_text_add(t, ",");
    add_bins(t, "age", &sums->age);
    fw_text_add(t, "}");
}

// Whole microseconds; null where -1 says that it is not known.
static void add_us(struct fw_text *t, int64_t ns)
{
    fw_text_add(t, ",");
    if (ns < 0)
        fw_text_add(t, "null");
    else
        fw_text_u64(t, (uint64_t)(ns / FW_NS_PER_US));
}

static void add_frame(struct fw_text *t, const struct fw_frame_record *rec, int64_t now_ns)
{
    fw_text_add(t, "[");
    fw_text_u64(t, rec->frame_id);
    fw_text_add(t, ",");
    fw_text_u64(t, (uint64_t)((now_ns - rec->seen_ns) / FW_NS_PER_MS));
    fw_text_add(t, ",");
    fw_text_json(t, fw_outcome_names[rec->outcome]);
    fw_text_add(t, ",");
    fw_text_json(t, fw_reason_names[rec->reason]);
    fw_text_add(t, rec->key ? ",1," : ",0,");
    fw_text_u64(t, rec->bytes);
    add_us(t, fw_frame_record_total(rec));
    for (int i = 0; i < FW_STAGE_COUNT; i++)
        add_us(t, fw_frame_record_stage(rec, (enum fw_stage)i));
    fw_text_add(t, "]");
}

void fw_export_figures(struct fw_text *t, const struct fw_records *r,
                       const struct fw_export_params *p)
{
    struct fw_record_sums *sums = malloc(sizeof(*sums));
    if (!sums) {
        t->failed = true;
        return;
    }
    fw_recent_read(r, p->now_ns - p->last_ns, p->now_ns, p->watched, sums);
    fw_text_add(t, "{\"session\":");
    fw_text_json(t, p->session);
    fw_text_add(t, ",\"last_s\":");
    fw_text_u64(t, (uint64_t)(p->last_ns / FW_NS_PER_S));
    fw_text_add(t, ",");
    fw_export_stages(t);
    fw_text_add(t, ",");
    fw_export_sums(t, "recent", sums);
    fw_text_add(t, ",");
    fw_export_sums(t, "since_start", fw_records_sums(r));
    add_all_bins(t, sums);
    free(sums);
    fw_text_add(t, ",\"columns\":[\"frame_id\",\"ago_ms\",\"outcome\",\"reason\",\"key\",\"bytes\","
                   "\"total_us\"");
    for (int i = 0; i < FW_STAGE_COUNT; i++) {
        fw_text_add(t, ",\"");
        fw_text_add(t, fw_stages[i].name);
        fw_text_add(t, "_us\"");
    }
    fw_text_add(t, "],\"frames\":[");
    const unsigned count = fw_records_count(r);
    unsigned first = fw_recent_first(r, p->now_ns - p->last_ns);
    if (count - first > FRAMES_MAX)
        first = count - FRAMES_MAX;
    for (unsigned i = first; i < count; i++) {
        fw_text_add(t, i > first ? ",\n" : "\n");
        add_frame(t, fw_records_at(r, i), p->now_ns);
    }
    fw_text_add(t, "]}\n");
}
