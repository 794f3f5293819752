// SPDX-License-Identifier: MIT
// Shared by export*.c alone: text that grows, and the writers of each format.
#pragma once

#include <stdbool.h>
#include <string.h>

#include "stream/export.h"

// Zero-initialised is empty. Once out of memory it takes nothing any more.
struct fw_text {
    char *data;
    size_t size, room;
    bool failed;
};

void fw_text_bytes(struct fw_text *t, const char *bytes, size_t size);
// Here, so that the length of a literal is known.
static inline void fw_text_add(struct fw_text *t, const char *text)
{
    fw_text_bytes(t, text, strlen(text));
}
void fw_text_u64(struct fw_text *t, uint64_t value);
// `ns` as units of `per` ns with three decimals: 1000 = µs, 1000000 = ms.
void fw_text_time(struct fw_text *t, int64_t ns, int64_t per);
// In quotes, escaped; bytes that are no ASCII are '?' unless they are sound UTF-8.
void fw_text_json(struct fw_text *t, const char *text);

// The first record of the time asked for.
unsigned fw_export_first(const struct fw_records *records, const struct fw_export_params *params);

// "title":…,"gpu":…,"encoder":…,"faults":…
void fw_export_origin(struct fw_text *t, const struct fw_export_params *p);
// "stages":[{"name":…,"ends":…},…]
void fw_export_stages(struct fw_text *t);
// "name":{…}
void fw_export_sums(struct fw_text *t, const char *name, const struct fw_record_sums *sums);

void fw_export_csv(struct fw_text *t, const struct fw_records *r, const struct fw_export_params *p);
void fw_export_json(struct fw_text *t, const struct fw_records *r,
                    const struct fw_export_params *p);
void fw_export_perfetto(struct fw_text *t, const struct fw_records *r,
                        const struct fw_export_params *p);
void fw_export_figures(struct fw_text *t, const struct fw_records *r,
                       const struct fw_export_params *p);
