// SPDX-License-Identifier: MIT
#include "session/api_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "stream/export.h"

enum { LAST_MIN_S = 1, LAST_MAX_S = 600, LAST_DEFAULT_S = 60 };

static const struct {
    const char *name, *extension, *content_type;
    enum fw_export_format format;
} formats[] = {
    { "csv", "csv", "text/csv; charset=utf-8; header=present", FW_EXPORT_CSV },
    { "json", "json", "application/json", FW_EXPORT_JSON },
    { "perfetto", "perfetto.json", "application/json", FW_EXPORT_PERFETTO },
};
enum { FORMATS = sizeof(formats) / sizeof(formats[0]), FORMAT_DEFAULT = 1 };

struct query {
    int format; // index
    int last_s;
};

// Is `text` the word of `length` bytes?
static bool is_word(const char *text, const char *word, size_t length)
{
    return strlen(text) == length && memcmp(text, word, length) == 0;
}

static bool read_format(struct query *q, const char *value, size_t length)
{
    for (int i = 0; i < FORMATS; i++) {
        if (!is_word(formats[i].name, value, length))
            continue;
        q->format = i;
        return true;
    }
    return false;
}

// "60s", "60" or "5m".
static bool read_last(struct query *q, const char *value, size_t length)
{
    enum { DIGITS_MAX = 4 };
    int seconds = 0;
    const bool minutes = length && value[length - 1] == 'm';
    if (minutes || (length && value[length - 1] == 's'))
        length--;
    if (length < 1 || length > DIGITS_MAX)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (value[i] < '0' || value[i] > '9')
            return false;
        seconds = 10 * seconds + (value[i] - '0');
    }
    q->last_s = minutes ? 60 * seconds : seconds;
    return q->last_s >= LAST_MIN_S && q->last_s <= LAST_MAX_S;
}

static enum fw_err read_query(struct query *q, const char *text, char *message, size_t size)
{
    *q = (struct query){ .format = FORMAT_DEFAULT, .last_s = LAST_DEFAULT_S };
    for (const char *next; *text; text = next) {
        const size_t length = strcspn(text, "&");
        const char *equals = memchr(text, '=', length);
        const size_t name = equals ? (size_t)(equals - text) : length;
        const char *value = equals ? equals + 1 : text + length;
        const size_t value_length = (size_t)(text + length - value);
        next = text + length + (text[length] == '&');
        if (is_word("format", text, name)) {
            snprintf(message, size, "format: must be csv, json or perfetto");
            if (!read_format(q, value, value_length))
                return FW_ERR_INVALID;
        } else if (is_word("last", text, name)) {
            snprintf(message, size, "last: must be from %ds to %ds", LAST_MIN_S, LAST_MAX_S);
            if (!read_last(q, value, value_length))
                return FW_ERR_INVALID;
        } else if (length) {
            snprintf(message, size, "%.*s: unknown field", name < 40 ? (int)name : 40, text);
            return FW_ERR_INVALID;
        }
    }
    return FW_OK;
}

// A full export takes some ms, the copy of what it reads a tenth of one: so it is written on a
// thread, from a copy.
struct work {
    struct fw_http_work base;
    struct fw_records *records;
    struct fw_export_params params;
    int format; // index
    char session[FW_SESSION_ID_SIZE], title[128], gpu[256], encoder[32], no_parts[96], faults[128];
};

static void run(struct fw_http_work *base, struct fw_http_response *res)
{
    struct work *w = (struct work *)base;
    if (fw_export(w->records, &w->params, &res->body, &res->body_size)) {
        res->status = 500;
        return;
    }
    res->body += FW_HTTP_HEADROOM;
    res->headroom = true;
    res->status = 200;
    res->content_type = formats[w->format].content_type;
    snprintf(res->save_as, sizeof(res->save_as), "framewire-%.10s.%s", w->session,
             formats[w->format].extension);
}

static void free_work(struct fw_http_work *base)
{
    struct work *w = (struct work *)base;
    fw_records_destroy(&w->records);
    free(w);
}

// A copy that lives as long as the work does.
static const char *keep(char *room, size_t size, const char *text)
{
    snprintf(room, size, "%s", text);
    return room;
}

static void fill_in(struct work *w, const struct fw_session_view *v, const struct query *q,
                    int64_t now_ns)
{
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    w->format = q->format;
    w->params = (struct fw_export_params){
        .format = formats[q->format].format,
        .headroom = FW_HTTP_HEADROOM,
        .now_ns = now_ns,
        .last_ns = q->last_s * (int64_t)FW_NS_PER_S,
        .watched = v->viewers > 0,
        .wall_ms = wall.tv_sec * INT64_C(1000) + wall.tv_nsec / FW_NS_PER_MS,
        .session = keep(w->session, sizeof(w->session), v->id),
        .title = keep(w->title, sizeof(w->title), v->title),
        .gpu = keep(w->gpu, sizeof(w->gpu), v->gpu),
        .encoder = keep(w->encoder, sizeof(w->encoder), v->encoder),
        .faults = fw_faults_print(v->faults, w->faults, sizeof(w->faults)),
        .no_parts = keep(w->no_parts, sizeof(w->no_parts), v->no_parts),
    };
}

enum fw_err fw_api_trace(const struct fw_session_view *v, const char *query, int64_t now_ns,
                         struct fw_http_response *res, char *message, size_t size)
{
    struct query q;
    const enum fw_err err = read_query(&q, query, message, size);
    if (err)
        return err;
    struct work *w = calloc(1, sizeof(*w));
    if (!w)
        return FW_ERR_NOMEM;
    w->base = (struct fw_http_work){ .run = run, .free = free_work };
    w->records = fw_records_copy(v->records);
    if (!w->records) {
        free(w);
        return FW_ERR_NOMEM;
    }
    fill_in(w, v, &q, now_ns);
    res->work = &w->base;
    return FW_OK;
}
