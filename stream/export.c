// SPDX-License-Identifier: MIT
#include "stream/export.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "stream/export_impl.h"
#include "stream/recent.h"

// ---- text

static char *room_for(struct fw_text *t, size_t size)
{
    if (t->failed)
        return NULL;
    if (t->size + size > t->room) {
        const size_t room = t->room ? 2 * t->room + size : (64 << 10) + size;
        char *data = realloc(t->data, room);
        if (!data) {
            t->failed = true;
            return NULL;
        }
        t->data = data;
        t->room = room;
    }
    return t->data + t->size;
}

void fw_text_bytes(struct fw_text *t, const char *bytes, size_t size)
{
    char *out = room_for(t, size);
    if (!out)
        return;
    memcpy(out, bytes, size);
    t->size += size;
}

// A hundred thousand numbers stand in a large export, and the front has other things to do.
void fw_text_u64(struct fw_text *t, uint64_t value)
{
    char digits[20];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    fw_text_bytes(t, digits + at, sizeof(digits) - at);
}

void fw_text_time(struct fw_text *t, int64_t ns, int64_t per)
{
    const int64_t thousandths = ns / (per / 1000);
    const unsigned f = (unsigned)(thousandths % 1000);
    const char decimals[4] = { '.', (char)('0' + f / 100), (char)('0' + f / 10 % 10),
                               (char)('0' + f % 10) };
    fw_text_u64(t, (uint64_t)(thousandths / 1000));
    fw_text_bytes(t, decimals, sizeof(decimals));
}

// Bytes of the sound UTF-8 character at `p`, 0 = none is there.
static size_t character(const unsigned char *p)
{
    static const unsigned least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
    const size_t size = *p < 0x80             ? 1
                        : (*p & 0xe0) == 0xc0 ? 2
                        : (*p & 0xf0) == 0xe0 ? 3
                        : (*p & 0xf8) == 0xf0 ? 4
                                              : 0;
    if (size < 2)
        return size;
    unsigned code = *p & (0x7f >> size);
    for (size_t i = 1; i < size; i++) {
        if ((p[i] & 0xc0) != 0x80) // the NUL as well
            return 0;
        code = code << 6 | (p[i] & 0x3f);
    }
    const bool bad = code < least[size] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000);
    return bad ? 0 : size;
}

void fw_text_json(struct fw_text *t, const char *text)
{
    const unsigned char *p = (const unsigned char *)(text ? text : "");
    fw_text_add(t, "\"");
    while (*p) {
        const size_t size = character(p);
        if (*p == '"' || *p == '\\')
            fw_text_bytes(t, "\\", 1);
        if (!size || *p < 0x20)
            fw_text_bytes(t, "?", 1);
        else
            fw_text_bytes(t, (const char *)p, size);
        p += size ? size : 1;
    }
    fw_text_add(t, "\"");
}

// ----

unsigned fw_export_first(const struct fw_records *r, const struct fw_export_params *p)
{
    return fw_recent_first(r, p->now_ns - p->last_ns);
}

enum fw_err fw_export(const struct fw_records *r, const struct fw_export_params *p, char **text,
                      size_t *size)
{
    struct fw_text t = { 0 };
    for (size_t i = 0; i < p->headroom; i++)
        fw_text_bytes(&t, "", 1);
    switch (p->format) {
    case FW_EXPORT_CSV: fw_export_csv(&t, r, p); break;
    case FW_EXPORT_JSON: fw_export_json(&t, r, p); break;
    case FW_EXPORT_PERFETTO: fw_export_perfetto(&t, r, p); break;
    case FW_EXPORT_FIGURES: fw_export_figures(&t, r, p); break;
    }
    fw_text_bytes(&t, "", 1);
    if (t.failed) {
        free(t.data);
        return FW_ERR_NOMEM;
    }
    *text = t.data;
    *size = t.size - 1 - p->headroom;
    return FW_OK;
}
