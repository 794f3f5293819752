// SPDX-License-Identifier: MIT
// Trace events (JSON): a track for each stage, a slice for each frame on it, and for each input
// that a frame was the first to show an arrow from its arrival by way of the encoder to the screen.
// Inputs that a newer one of the same frame came after stand on a track of their own, each with an
// arrow. Where frames overlap in a stage (several on the network) it has more than one track, as
// slices of one track must not.
#include <stdio.h>

#include "base/clock.h"
#include "stream/export_impl.h"
#include "stream/recent.h"

enum { LANES = 16, TRACK_GPU = 900, TRACK_PARTS, TRACK_LOST = 1000, TRACK_MERGED };

struct tracks {
    int64_t end[FW_STAGE_REST][LANES]; // of the last slice; 0 = the lane is not in use
    int64_t merged_end;
    uint64_t shown_input; // the newest one so far
};

static unsigned track_of(int stage, int lane)
{
    return (unsigned)(stage * LANES + lane + 1);
}

// One more event: what all of them have. The caller closes it.
static void begin(struct fw_text *t, const char *phase, unsigned track)
{
    fw_text_add(t, ",\n{\"ph\":\"");
    fw_text_add(t, phase);
    fw_text_add(t, "\",\"pid\":1,\"tid\":");
    fw_text_u64(t, track);
}

static void at(struct fw_text *t, int64_t ns)
{
    fw_text_add(t, ",\"ts\":");
    fw_text_time(t, ns, FW_NS_PER_US);
}

static void add_number(struct fw_text *t, const char *name, uint64_t value)
{
    fw_text_add(t, ",\"");
    fw_text_add(t, name);
    fw_text_add(t, "\":");
    fw_text_u64(t, value);
}

static int free_lane(const struct tracks *tracks, int stage, int64_t from)
{
    int lane = 0;
    while (lane < LANES - 1 && tracks->end[stage][lane] > from)
        lane++;
    return lane;
}

// A slice without length would take no arrow: it gets a nanosecond.
static int64_t end_of(const struct fw_frame_record *rec, int stage)
{
    const int64_t from = rec->at[stage], to = rec->at[stage + 1];
    return to > from ? to : from + 1;
}

// GPU time of the passes, where they were timed, and what they did.
static void add_passes(struct fw_text *t, const struct fw_frame_record *rec)
{
    static const char *const names[FW_PASS_COUNT] = {
        [FW_PASS_SOURCE] = ",\"gpu_source_us\":",
        [FW_PASS_MERGE] = ",\"gpu_merge_us\":",
        [FW_PASS_CONVERT] = ",\"gpu_convert_us\":",
    };
    for (int i = 0; i < FW_PASS_COUNT; i++) {
        if (!rec->gpu.pass_us[i])
            continue;
        fw_text_add(t, names[i]);
        fw_text_u64(t, rec->gpu.pass_us[i]);
    }
    if (!rec->gpu.vertices && !rec->gpu.fragments)
        return;
    add_number(t, "vertices", rec->gpu.vertices);
    add_number(t, "primitives", rec->gpu.primitives);
    add_number(t, "fragments", rec->gpu.fragments);
}

static void add_slice(struct fw_text *t, int stage, unsigned track, const struct fw_records *r,
                      const struct fw_frame_record *rec)
{
    const int64_t from = rec->at[stage], to = end_of(rec, stage);
    begin(t, "X", track);
    at(t, from);
    fw_text_add(t, ",\"dur\":");
    fw_text_time(t, to - from, FW_NS_PER_US);
    fw_text_add(t, ",\"name\":\"");
    fw_text_add(t, fw_stages[stage].name);
    fw_text_add(t, "\",\"args\":{\"frame\":");
    fw_text_u64(t, rec->frame_id);
    if (stage == FW_STAGE_ENCODE) {
        fw_text_add(t, ",\"bytes\":");
        fw_text_u64(t, rec->bytes);
        fw_text_add(t, rec->key ? ",\"key\":true" : ",\"key\":false");
        fw_text_add(t, ",\"encoder\":");
        fw_text_json(t, fw_records_encoder(r, rec));
        if (rec->qp_plus1)
            add_number(t, "qp", rec->qp_plus1 - UINT64_C(1));
    } else if (stage == FW_STAGE_RENDER) {
        add_number(t, "damage_px", rec->damage_px);
        add_passes(t, rec);
    } else if (stage == FW_STAGE_DELIVER) {
        fw_text_add(t, ",\"input\":");
        fw_text_u64(t, rec->input_id);
    }
    fw_text_add(t, "}}");
}

// An end of an arrow is the slice that encloses its time.
static void add_arrow(struct fw_text *t, const char *phase, unsigned track, int64_t ns,
                      const char *category, uint64_t id)
{
    begin(t, phase, track);
    at(t, ns);
    fw_text_add(t, ",\"cat\":\"");
    fw_text_add(t, category);
    fw_text_add(t, "\",\"name\":\"input\",\"id\":");
    fw_text_u64(t, id);
    fw_text_add(t, *phase == 'f' ? ",\"bp\":\"e\"}" : "}");
}

static int64_t middle(const struct fw_frame_record *rec, int stage)
{
    return rec->at[stage] + (end_of(rec, stage) - rec->at[stage]) / 2;
}

static void add_flow(struct fw_text *t, const char *phase, unsigned track, int stage,
                     const struct fw_frame_record *rec)
{
    add_arrow(t, phase, track, middle(rec, stage), "input", rec->frame_id);
}

// Inputs that the frame shows besides the newest.
static void add_merged(struct fw_text *t, struct tracks *tracks, const struct fw_records *r,
                       const struct fw_frame_record *rec, unsigned present)
{
    uint64_t id = fw_records_inputs_after(tracks->shown_input, rec->input_id);
    for (; id < rec->input_id; id++) {
        const int64_t made = fw_records_input_ns(r, id);
        if (!made || made >= rec->at[FW_POINT_PRESENTED])
            continue;
        // By the client's clock one may seem to come before the one that it follows.
        const int64_t from = made > tracks->merged_end ? made : tracks->merged_end;
        tracks->merged_end = from + 1000;
        begin(t, "X", TRACK_MERGED);
        at(t, from);
        fw_text_add(t, ",\"dur\":1.000,\"name\":\"input\",\"args\":{\"frame\":");
        fw_text_u64(t, rec->frame_id);
        add_number(t, "input", id);
        fw_text_add(t, "}}");
        add_arrow(t, "s", TRACK_MERGED, from, "merged", id);
        add_arrow(t, "f", present, middle(rec, FW_STAGE_PRESENT), "merged", id);
    }
}

static int64_t add_gpu_slice(struct fw_text *t, unsigned track, const char *name, int64_t from,
                             uint32_t us, const struct fw_frame_record *rec)
{
    begin(t, "X", track);
    at(t, from);
    fw_text_add(t, ",\"dur\":");
    fw_text_u64(t, us);
    fw_text_add(t, ",\"name\":\"");
    fw_text_add(t, name);
    fw_text_add(t, "\",\"args\":{\"frame\":");
    fw_text_u64(t, rec->frame_id);
    fw_text_add(t, "}}");
    return from + us * (int64_t)FW_NS_PER_US;
}

// Where the GPU's clock was placed on ours: the passes, and within the source's its parts.
static void add_gpu(struct fw_text *t, const struct fw_frame_record *rec)
{
    static const char *const passes[] = { "source", "merge", "convert" };
    static const char *const parts[] = { "vertex", "raster", "fragment", "output" };
    int64_t from = rec->gpu.begin_ns, part_from = from;
    for (int i = 0; from && i < FW_PASS_COUNT; i++)
        if (rec->gpu.pass_us[i])
            from = add_gpu_slice(t, TRACK_GPU, passes[i], from, rec->gpu.pass_us[i], rec);
    for (int i = 0; part_from && i < FW_PART_COUNT; i++)
        if (rec->gpu.part_us[i])
            part_from =
                add_gpu_slice(t, TRACK_PARTS, parts[i], part_from, rec->gpu.part_us[i], rec);
}

static void add_frame(struct fw_text *t, struct tracks *tracks, const struct fw_records *r,
                      const struct fw_frame_record *rec)
{
    unsigned track[FW_STAGE_REST] = { 0 };
    for (int stage = 0; stage < FW_STAGE_REST; stage++) {
        if (fw_frame_record_stage(rec, (enum fw_stage)stage) < 0)
            continue;
        const int lane = free_lane(tracks, stage, rec->at[stage]);
        tracks->end[stage][lane] = end_of(rec, stage);
        track[stage] = track_of(stage, lane);
        add_slice(t, stage, track[stage], r, rec);
    }
    if (rec->outcome != FW_OUTCOME_PRESENTED || rec->input_id <= tracks->shown_input)
        return;
    if (track[FW_STAGE_PRESENT])
        add_merged(t, tracks, r, rec, track[FW_STAGE_PRESENT]);
    tracks->shown_input = rec->input_id;
    if (!rec->shows_input || !track[FW_STAGE_DELIVER] || !track[FW_STAGE_PRESENT])
        return;
    add_flow(t, "s", track[FW_STAGE_DELIVER], FW_STAGE_DELIVER, rec);
    if (track[FW_STAGE_ENCODE])
        add_flow(t, "t", track[FW_STAGE_ENCODE], FW_STAGE_ENCODE, rec);
    add_flow(t, "f", track[FW_STAGE_PRESENT], FW_STAGE_PRESENT, rec);
}

static void add_lost(struct fw_text *t, const struct fw_frame_record *rec)
{
    begin(t, "i", TRACK_LOST);
    at(t, rec->seen_ns);
    fw_text_add(t, ",\"s\":\"t\",\"name\":");
    fw_text_json(t, fw_reason_names[rec->reason]);
    fw_text_add(t, ",\"args\":{\"frame\":");
    fw_text_u64(t, rec->frame_id);
    fw_text_add(t, ",\"outcome\":");
    fw_text_json(t, fw_outcome_names[rec->outcome]);
    fw_text_add(t, "}}");
}

static void name_track(struct fw_text *t, unsigned track, const char *name)
{
    begin(t, "M", track);
    fw_text_add(t, ",\"name\":\"thread_name\",\"args\":{\"name\":");
    fw_text_json(t, name);
    fw_text_add(t, "}}");
    begin(t, "M", track);
    fw_text_add(t, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":");
    fw_text_u64(t, track);
    fw_text_add(t, "}}");
}

static void name_tracks(struct fw_text *t, const struct tracks *tracks)
{
    for (int stage = 0; stage < FW_STAGE_REST; stage++) {
        for (int lane = 0; lane < LANES; lane++) {
            char name[48];
            // Empty stages are named too: that nothing is known of one is to be seen.
            if (lane && !tracks->end[stage][lane])
                break;
            snprintf(name, sizeof(name), "%s (%d)", fw_stages[stage].name, lane + 1);
            name_track(t, track_of(stage, lane), lane ? name : fw_stages[stage].name);
        }
    }
    name_track(t, TRACK_GPU, "gpu");
    name_track(t, TRACK_PARTS, "gpu source");
    name_track(t, TRACK_LOST, "not shown");
    name_track(t, TRACK_MERGED, "inputs answered with a newer one");
}

void fw_export_perfetto(struct fw_text *t, const struct fw_records *r,
                        const struct fw_export_params *p)
{
    const unsigned first = fw_export_first(r, p);
    struct tracks tracks = { .shown_input = fw_recent_input(r, first) };
    char name[64];
    snprintf(name, sizeof(name), "session %.40s", p->session);
    fw_text_add(t, "{\"displayTimeUnit\":\"ms\",\"otherData\":{");
    fw_export_origin(t, p);
    fw_text_add(t, ",\"gpu_parts\":");
    fw_text_json(t, *p->no_parts ? p->no_parts : "told apart");
    fw_text_add(t, "},\"traceEvents\":[\n"
                   "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":");
    fw_text_json(t, name);
    fw_text_add(t, "}}");
    for (unsigned i = first; i < fw_records_count(r); i++) {
        const struct fw_frame_record *rec = fw_records_at(r, i);
        add_frame(t, &tracks, r, rec);
        add_gpu(t, rec);
        if (rec->reason)
            add_lost(t, rec);
    }
    name_tracks(t, &tracks);
    fw_text_add(t, "\n]}\n");
}
