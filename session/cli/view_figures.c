// SPDX-License-Identifier: MIT
#include "session/cli/view_figures.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "stream/client/age.h"

enum { FRAMES_KEPT = 128, RECENT = 512, RATE_KEPT = 512, AGE_S = 10 };

const char *const fw_view_stage_names[FW_VIEW_STAGE_COUNT] = {
    "render", "convert", "wait", "encode", "send", "network", "decode", "present",
};

// One frame under way; the slot is frame_id % FRAMES_KEPT.
struct way {
    uint64_t id;
    struct fw_wire_video video;                    // its payload is gone
    int64_t handed_ns, accepted_ns;                // of the server
    int64_t received_ns, decoded_ns, presented_ns; // of this side
};

struct recent {
    float ms[RECENT];
    unsigned count, next;
};

// Events of the last second.
struct rate {
    int64_t at[RATE_KEPT];
    size_t bytes[RATE_KEPT];
    unsigned next;
};

struct fw_view_figures {
    pthread_mutex_t lock;
    struct fw_view_reading now; // the counters of it
    struct fw_client_age age;
    struct fw_client_clock clock;
    int64_t aged_ns, swapped_ns; // until when the age is told; since when `recent_age[0]` is filled
    struct fw_histogram recent_age[2]; // these seconds, and those before
    struct way ways[FRAMES_KEPT];
    struct rate shown, traffic;
    struct recent total, input, stage[FW_VIEW_STAGE_COUNT];
    struct fw_view_ways graph[FW_VIEW_GRAPH];
    unsigned graph_next;
    struct fw_histogram all_total, all_input, all_age, all_stage[FW_VIEW_STAGE_COUNT];
};

struct fw_view_figures *fw_view_figures_create(void)
{
    struct fw_view_figures *f = calloc(1, sizeof(*f));
    if (f)
        pthread_mutex_init(&f->lock, NULL);
    return f;
}

void fw_view_figures_destroy(struct fw_view_figures **figures)
{
    if (*figures)
        pthread_mutex_destroy(&(*figures)->lock);
    free(*figures);
    *figures = NULL;
}

// ---- small sums

static void keep(struct recent *r, struct fw_histogram *all, int64_t ns)
{
    r->ms[r->next] = (float)ns / FW_NS_PER_MS;
    r->next = (r->next + 1) % RECENT;
    if (r->count < RECENT)
        r->count++;
    fw_histogram_add(all, ns);
}

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static struct fw_view_percentiles percentiles(const struct recent *r)
{
    float sorted[RECENT];
    if (!r->count)
        return (struct fw_view_percentiles){ -1, -1, -1 };
    memcpy(sorted, r->ms, r->count * sizeof(sorted[0]));
    qsort(sorted, r->count, sizeof(sorted[0]), by_value);
    return (struct fw_view_percentiles){
        .p50 = sorted[(r->count - 1) / 2],
        .p95 = sorted[(r->count - 1) * 95 / 100],
        .p99 = sorted[(r->count - 1) * 99 / 100],
    };
}

static void count(struct rate *r, int64_t now_ns, size_t bytes)
{
    r->at[r->next % RATE_KEPT] = now_ns;
    r->bytes[r->next % RATE_KEPT] = bytes;
    r->next++;
}

static unsigned last_second(const struct rate *r, int64_t now_ns, size_t *bytes)
{
    unsigned n = 0;
    *bytes = 0;
    for (; n < RATE_KEPT && n < r->next; n++) {
        const unsigned i = (r->next - 1 - n) % RATE_KEPT;
        if (now_ns - r->at[i] >= FW_NS_PER_S)
            break;
        *bytes += r->bytes[i];
    }
    return n;
}

// The age of the picture until now, a value for each millisecond: before anything changes it.
static void age_until(struct fw_view_figures *f, int64_t now_ns)
{
    const int64_t oldest = now_ns - 2 * (int64_t)FW_NS_PER_S; // nobody looked for long
    if (f->aged_ns < oldest)
        f->aged_ns = oldest;
    if (now_ns - f->swapped_ns >= AGE_S * (int64_t)FW_NS_PER_S) {
        f->recent_age[1] = f->recent_age[0];
        memset(&f->recent_age[0], 0, sizeof(f->recent_age[0]));
        f->swapped_ns = now_ns;
    }
    for (; f->aged_ns < now_ns; f->aged_ns += FW_NS_PER_MS) {
        const int64_t age = fw_client_age_now(&f->age, &f->clock, f->aged_ns);
        if (age < 0)
            continue;
        fw_histogram_add(&f->recent_age[0], age);
        fw_histogram_add(&f->all_age, age);
    }
}

static double quantile_ms(const struct fw_histogram *h, double q)
{
    return h->count ? (double)fw_histogram_quantile(h, q) / 1000 : -1;
}

// ---- a frame's way

static struct way *find(struct fw_view_figures *f, uint64_t id)
{
    struct way *w = &f->ways[id % FRAMES_KEPT];
    return w->id == id ? w : NULL;
}

// Its points in order, on the server's clock; none goes back behind the one before or past the end.
static void finish(struct fw_view_figures *f, struct way *w)
{
    const int64_t offset = f->clock.best.offset_ns;
    const struct fw_wire_video *v = &w->video;
    const int64_t end = w->presented_ns + offset, received = w->received_ns + offset;
    const int64_t accepted =
        w->accepted_ns && w->accepted_ns < received ? w->accepted_ns : received;
    int64_t at[FW_VIEW_STAGE_COUNT + 1] = {
        v->begun_ns,
        v->begun_ns + (v->render_us - v->convert_us) * (int64_t)FW_NS_PER_US,
        v->begun_ns + v->render_us * (int64_t)FW_NS_PER_US,
        v->encoded_ns - v->encode_us * (int64_t)FW_NS_PER_US,
        v->encoded_ns,
        accepted,
        received,
        w->decoded_ns + offset,
        end,
    };
    struct fw_view_ways *column = &f->graph[f->graph_next++ % FW_VIEW_GRAPH];
    for (int i = 0; i < FW_VIEW_STAGE_COUNT; i++) {
        if (at[i + 1] > end)
            at[i + 1] = end;
        if (at[i + 1] < at[i])
            at[i + 1] = at[i];
        column->ms[i] = (float)(at[i + 1] - at[i]) / FW_NS_PER_MS;
        keep(&f->stage[i], &f->all_stage[i], at[i + 1] - at[i]);
    }
    keep(&f->total, &f->all_total, end > at[0] ? end - at[0] : 0);
    w->id = 0;
}

void fw_view_figures_received(struct fw_view_figures *f, const struct fw_wire_video *video,
                              size_t bytes, int64_t now_ns)
{
    pthread_mutex_lock(&f->lock);
    struct way *w = &f->ways[video->frame_id % FRAMES_KEPT];
    *w = (struct way){ .id = video->frame_id, .video = *video, .received_ns = now_ns };
    w->video.payload = NULL;
    f->now.received++;
    if (video->codec[0])
        snprintf(f->now.codec, sizeof(f->now.codec), "%s", video->codec);
    count(&f->traffic, now_ns, bytes);
    age_until(f, now_ns);
    fw_client_age_received(&f->age, video);
    pthread_mutex_unlock(&f->lock);
}

void fw_view_figures_decoded(struct fw_view_figures *f, uint64_t frame_id, int64_t now_ns)
{
    pthread_mutex_lock(&f->lock);
    struct way *w = find(f, frame_id);
    f->now.decoded++;
    if (w)
        w->decoded_ns = now_ns;
    pthread_mutex_unlock(&f->lock);
}

void fw_view_figures_presented(struct fw_view_figures *f, uint64_t frame_id, int64_t now_ns)
{
    pthread_mutex_lock(&f->lock);
    struct way *w = find(f, frame_id);
    f->now.presented++;
    f->now.last_frame = frame_id;
    count(&f->shown, now_ns, 0);
    age_until(f, now_ns);
    fw_client_age_presented(&f->age, frame_id);
    if (w) {
        w->presented_ns = now_ns;
        f->now.last_input = w->video.input_id;
        f->now.width = w->video.width;
        f->now.height = w->video.height;
        if (w->accepted_ns && fw_client_clock_known(&f->clock))
            finish(f, w);
    }
    pthread_mutex_unlock(&f->lock);
}

void fw_view_figures_stamp(struct fw_view_figures *f, const struct fw_wire_stamp *stamp)
{
    pthread_mutex_lock(&f->lock);
    struct way *w = find(f, stamp->frame_id);
    if (w) {
        w->handed_ns = stamp->handed_ns;
        w->accepted_ns = stamp->accepted_ns;
        if (w->presented_ns && fw_client_clock_known(&f->clock))
            finish(f, w);
    }
    pthread_mutex_unlock(&f->lock);
}

void fw_view_figures_dropped(struct fw_view_figures *f)
{
    pthread_mutex_lock(&f->lock);
    f->now.dropped++;
    pthread_mutex_unlock(&f->lock);
}

void fw_view_figures_key_request(struct fw_view_figures *f)
{
    pthread_mutex_lock(&f->lock);
    f->now.key_requests++;
    pthread_mutex_unlock(&f->lock);
}

void fw_view_figures_decoder_error(struct fw_view_figures *f)
{
    pthread_mutex_lock(&f->lock);
    f->now.decoder_errors++;
    pthread_mutex_unlock(&f->lock);
}

void fw_view_figures_beacon(struct fw_view_figures *f, const struct fw_wire_beacon *beacon,
                            int64_t now_ns)
{
    pthread_mutex_lock(&f->lock);
    age_until(f, now_ns);
    fw_client_age_beacon(&f->age, beacon, now_ns);
    pthread_mutex_unlock(&f->lock);
}

void fw_view_figures_clock(struct fw_view_figures *f, const struct fw_client_clock *clock)
{
    pthread_mutex_lock(&f->lock);
    f->clock = *clock;
    pthread_mutex_unlock(&f->lock);
}

void fw_view_figures_input(struct fw_view_figures *f, int64_t since_ns, int64_t seen_ns)
{
    pthread_mutex_lock(&f->lock);
    keep(&f->input, &f->all_input, seen_ns > since_ns ? seen_ns - since_ns : 0);
    pthread_mutex_unlock(&f->lock);
}

void fw_view_figures_reconnect(struct fw_view_figures *f)
{
    pthread_mutex_lock(&f->lock);
    memset(f->ways, 0, sizeof(f->ways));
    memset(&f->age, 0, sizeof(f->age));
    memset(&f->clock, 0, sizeof(f->clock));
    pthread_mutex_unlock(&f->lock);
}

// ---- reading

void fw_view_figures_read(struct fw_view_figures *f, int64_t now_ns, struct fw_view_reading *out)
{
    size_t bytes;
    pthread_mutex_lock(&f->lock);
    *out = f->now;
    out->fps = last_second(&f->shown, now_ns, &bytes);
    last_second(&f->traffic, now_ns, &bytes);
    out->kbps = (double)bytes * 8 / 1000;
    const bool known = fw_client_clock_known(&f->clock);
    const int64_t age = fw_client_age_now(&f->age, &f->clock, now_ns);
    int64_t offset_ns;
    uint32_t error_us;
    const bool bounded = fw_client_clock_estimate(&f->clock, now_ns, &offset_ns, &error_us);
    out->clock_error_ms = bounded ? (double)error_us / 1000 : -1;
    age_until(f, now_ns);
    struct fw_histogram lately = f->recent_age[0];
    fw_histogram_merge(&lately, &f->recent_age[1]);
    out->age = (struct fw_view_percentiles){ .p50 = quantile_ms(&lately, 0.5),
                                             .p95 = quantile_ms(&lately, 0.95),
                                             .p99 = quantile_ms(&lately, 0.99) };
    out->rtt_ms = known ? (double)f->clock.rtt_ns / FW_NS_PER_MS : -1;
    out->age_ms = age < 0 ? -1 : (double)age / FW_NS_PER_MS;
    out->total = percentiles(&f->total);
    out->input = percentiles(&f->input);
    for (int i = 0; i < FW_VIEW_STAGE_COUNT; i++)
        out->stage_ms[i] = percentiles(&f->stage[i]).p50;
    out->graph_count = f->graph_next < FW_VIEW_GRAPH ? f->graph_next : FW_VIEW_GRAPH;
    for (unsigned i = 0; i < out->graph_count; i++)
        out->graph[i] = f->graph[(f->graph_next - out->graph_count + i) % FW_VIEW_GRAPH];
    pthread_mutex_unlock(&f->lock);
}

static void write_histogram(FILE *out, const char *name, const struct fw_histogram *h)
{
    fprintf(out, "\"%s\":{\"count\":%lu", name, h->count);
    if (h->count)
        fprintf(out, ",\"p50_ms\":%.3f,\"p95_ms\":%.3f,\"p99_ms\":%.3f,\"max_ms\":%.3f",
                (double)fw_histogram_quantile(h, 0.5) / 1000,
                (double)fw_histogram_quantile(h, 0.95) / 1000,
                (double)fw_histogram_quantile(h, 0.99) / 1000, (double)h->max_us / 1000);
    fputc('}', out);
}

void fw_view_figures_write(struct fw_view_figures *f, FILE *out, double seconds)
{
    pthread_mutex_lock(&f->lock);
    const struct fw_view_reading *n = &f->now;
    fprintf(
        out,
        "{\"seconds\":%.3f,\"received\":%lu,\"decoded\":%lu,\"presented\":%lu,\"dropped\":%lu,"
        "\"keyframe_requests\":%lu,\"decoder_errors\":%lu,\"last_frame\":%lu,\"last_input\":%lu,"
        "\"width\":%d,\"height\":%d,\"fps\":%.2f,",
        seconds, n->received, n->decoded, n->presented, n->dropped, n->key_requests,
        n->decoder_errors, n->last_frame, n->last_input, n->width, n->height,
        seconds > 0 ? (double)n->presented / seconds : 0);
    write_histogram(out, "aoi_ms", &f->all_age);
    fputc(',', out);
    write_histogram(out, "total_ms", &f->all_total);
    fputc(',', out);
    write_histogram(out, "input_to_photon_ms", &f->all_input);
    fputs(",\"stages\":{", out);
    for (int i = 0; i < FW_VIEW_STAGE_COUNT; i++) {
        fputs(i ? "," : "", out);
        write_histogram(out, fw_view_stage_names[i], &f->all_stage[i]);
    }
    fputs("}}\n", out);
    pthread_mutex_unlock(&f->lock);
}
