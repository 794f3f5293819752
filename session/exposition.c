// SPDX-License-Identifier: MIT
#include "session/exposition.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- labels

// Bytes of the UTF-8 sequence at `s`, 0 = it is none.
static size_t sequence(const char *s)
{
    const unsigned char c = (unsigned char)*s;
    const size_t n = c < 0x80                ? 1
                     : c >= 0xc2 && c < 0xe0 ? 2
                     : c >= 0xe0 && c < 0xf0 ? 3
                     : c >= 0xf0 && c < 0xf5 ? 4
                                             : 0;
    for (size_t i = 1; i < n; i++)
        if (((unsigned char)s[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

void fw_labels_add(struct fw_labels *l, const char *name, const char *value)
{
    char *const start = l->text + l->size, *const end = l->text + sizeof(l->text) - 8;
    char *at = start;
    const size_t name_size = strlen(name);
    if ((size_t)(end - at) < name_size + 4)
        return;
    if (l->size)
        *at++ = ',';
    memcpy(at, name, name_size);
    at += name_size;
    *at++ = '=';
    *at++ = '"';
    while (*value) {
        const size_t n = sequence(value);
        if (at >= end) { // all of it or none
            *start = '\0';
            return;
        }
        if (*value == '\n') {
            memcpy(at, "\\n", 2);
            at += 2;
        } else if (n) {
            if (*value == '"' || *value == '\\')
                *at++ = '\\';
            memcpy(at, value, n);
            at += n;
        } else {
            *at++ = '?';
        }
        value += n ? n : 1;
    }
    *at++ = '"';
    *at = '\0';
    l->size = (size_t)(at - l->text);
}

const char *fw_label(struct fw_labels *l, const char *name, const char *value)
{
    *l = (struct fw_labels){ .size = 0 };
    fw_labels_add(l, name, value);
    return l->text;
}

// ---- lines

static void append(struct fw_exposition *e, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void append(struct fw_exposition *e, const char *format, ...)
{
    enum { LINE_MAX_BYTES = 1024, FIRST = 64 << 10 };
    if (e->failed)
        return;
    if (e->room - e->size < LINE_MAX_BYTES) {
        const size_t room = e->room ? 2 * e->room : FIRST;
        char *grown = realloc(e->text, room);
        if (!grown) {
            e->failed = true;
            return;
        }
        e->text = grown;
        e->room = room;
    }
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(e->text + e->size, e->room - e->size, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= e->room - e->size)
        e->failed = true;
    else
        e->size += (size_t)n;
}

void fw_expo_family(struct fw_exposition *e, const char *name, const char *type, const char *help)
{
    e->name = name;
    append(e, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

// "{a="x"}" or nothing.
static void begin(struct fw_exposition *e, const char *suffix, const char *labels)
{
    if (*labels)
        append(e, "%s%s{%s} ", e->name, suffix, labels);
    else
        append(e, "%s%s ", e->name, suffix);
}

void fw_expo_real(struct fw_exposition *e, const char *labels, double value)
{
    if (isnan(value))
        return;
    begin(e, "", labels);
    append(e, "%.12g\n", value);
}

void fw_expo_whole(struct fw_exposition *e, const char *labels, int64_t value)
{
    if (value >= 0)
        fw_expo_count(e, labels, (uint64_t)value);
}

void fw_expo_count(struct fw_exposition *e, const char *labels, uint64_t value)
{
    begin(e, "", labels);
    append(e, "%" PRIu64 "\n", value);
}

void fw_expo_bins(struct fw_exposition *e, const char *labels, const struct fw_bins *b)
{
    const char *comma = *labels ? "," : "";
    uint64_t sum = 0;
    for (int i = 0; i < FW_BINS; i++) {
        sum += b->bin[i];
        append(e, "%s_bucket{%s%sle=\"%g\"} %" PRIu64 "\n", e->name, labels, comma,
               fw_bin_edges_us[i] / 1e6, sum);
    }
    append(e, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", e->name, labels, comma, b->count);
    begin(e, "_sum", labels);
    append(e, "%.12g\n", (double)b->sum_us / 1e6);
    begin(e, "_count", labels);
    append(e, "%" PRIu64 "\n", b->count);
}
