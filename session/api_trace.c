// SPDX-License-Identifier: MIT
#include "session/api_trace.h"

#include <stdio.h>
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

// "60s" or "60".
static bool read_last(struct query *q, const char *value, size_t length)
{
    enum { DIGITS_MAX = 4 };
    int seconds = 0;
    if (length && value[length - 1] == 's')
        length--;
    if (length < 1 || length > DIGITS_MAX)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (value[i] < '0' || value[i] > '9')
            return false;
        seconds = 10 * seconds + (value[i] - '0');
    }
    q->last_s = seconds;
    return seconds >= LAST_MIN_S && seconds <= LAST_MAX_S;
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

enum fw_err fw_api_trace(const struct fw_session_view *v, const char *query, int64_t now_ns,
                         struct fw_http_response *res, char *message, size_t size)
{
    struct query q;
    enum fw_err err = read_query(&q, query, message, size);
    if (err)
        return err;
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    const struct fw_export_params params = {
        .format = formats[q.format].format,
        .now_ns = now_ns,
        .last_ns = q.last_s * (int64_t)FW_NS_PER_S,
        .watched = v->viewers > 0,
        .wall_ms = wall.tv_sec * INT64_C(1000) + wall.tv_nsec / FW_NS_PER_MS,
        .session = v->id,
        .title = v->title,
        .gpu = v->gpu,
        .encoder = v->encoder,
        .no_parts = v->no_parts,
    };
    err = fw_export(v->records, &params, &res->body, &res->body_size);
    if (err)
        return err;
    res->status = 200;
    res->content_type = formats[q.format].content_type;
    snprintf(res->save_as, sizeof(res->save_as), "framewire-%.10s.%s", v->id,
             formats[q.format].extension);
    return FW_OK;
}
