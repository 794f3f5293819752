// SPDX-License-Identifier: MIT
#include "session/exposition.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- labels

// Bytes of the UTF-8 sequence at `s`, 0 = it is none: one that is too long for what it says, half
// of a pair, or beyond the last character. Prometheus throws away all of a text that has one.
static size_t sequence(const char *s)
{
    const unsigned char c = (unsigned char)*s, next = c ? (unsigned char)s[1] : 0;
    if ((c == 0xe0 && next < 0xa0) || (c == 0xed && next >= 0xa0) || (c == 0xf0 && next < 0x90) ||
        (c == 0xf4 && next >= 0x90))
        return 0;
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

// Room for one more line. False: it has failed.
static bool reserve(struct fw_exposition *e)
{
    enum { LINE_MAX_BYTES = 2048, FIRST = 64 << 10 };
    if (e->failed || e->room - e->size >= LINE_MAX_BYTES)
        return !e->failed;
    const size_t room = e->room ? 2 * e->room : FIRST;
    char *grown = realloc(e->text, room);
    e->failed = !grown;
    if (grown) {
        e->text = grown;
        e->room = room;
    }
    return !e->failed;
}

static void append(struct fw_exposition *e, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void append(struct fw_exposition *e, const char *format, ...)
{
    if (!reserve(e))
        return;
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

// Most of the text are these lines: they are put together by hand, which is four times as fast as
// printf, and the loop waits for it.
static char *add_bucket(char *at, const char *head, size_t head_size, const char *le,
                        uint64_t value)
{
    char digits[24], *d = digits + sizeof(digits);
    memcpy(at, head, head_size);
    at = stpcpy(at + head_size, le);
    at = stpcpy(at, "\"} ");
    do {
        *--d = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    at = mempcpy(at, d, (size_t)(digits + sizeof(digits) - d));
    *at++ = '\n';
    *at = '\0';
    return at;
}

// Edges in seconds, as text.
static const char *edge_text(int bin)
{
    static char text[FW_BINS][16]; // Thread: made on the loop thread, for good
    if (!text[bin][0])
        snprintf(text[bin], sizeof(text[bin]), "%g", fw_bin_edges_us[bin] / 1e6);
    return text[bin];
}

void fw_expo_bins(struct fw_exposition *e, const char *labels, const struct fw_bins *b)
{
    char head[2 * FW_LABELS_SIZE];
    const int size =
        snprintf(head, sizeof(head), "%s_bucket{%s%sle=\"", e->name, labels, *labels ? "," : "");
    uint64_t sum = 0;
    if (size < 0 || (size_t)size >= sizeof(head)) {
        e->failed = true;
        return;
    }
    for (int i = 0; i <= FW_BINS && reserve(e); i++) {
        sum += b->bin[i];
        const char *le = i < FW_BINS ? edge_text(i) : "+Inf";
        const char *end = add_bucket(e->text + e->size, head, (size_t)size, le, sum);
        e->size = (size_t)(end - e->text);
    }
    begin(e, "_sum", labels);
    append(e, "%.12g\n", (double)b->sum_us / 1e6);
    begin(e, "_count", labels);
    append(e, "%" PRIu64 "\n", b->count);
}
