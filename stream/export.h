// SPDX-License-Identifier: MIT
// The records of a session as a file: CSV, JSON, or trace events that ui.perfetto.dev opens; and,
// small enough to be asked for every second, its figures of late. Pure.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "stream/record.h"

enum fw_export_format { FW_EXPORT_CSV, FW_EXPORT_JSON, FW_EXPORT_PERFETTO, FW_EXPORT_FIGURES };

struct fw_export_params {
    enum fw_export_format format;
    size_t headroom;                             // bytes left free before the text
    int64_t now_ns, last_ns;                     // frames seen from now − last on
    bool watched;                                // somebody looks on now
    int64_t wall_ms;                             // the wall clock at `now_ns`, ms since 1970
    const char *session, *title, *gpu, *encoder; // what is no UTF-8 in them becomes '?'
    const char *faults;   // delays put in on purpose, as --allow-faults takes them; "" = none
    const char *no_parts; // why the GPU does not tell the parts of a pass apart; "" = it does
};

// On FW_OK the caller frees `*text`: the headroom, `*size` bytes and a NUL, at most some 8 MiB
// (FW_RECORDS_KEPT frames). FW_ERR_NOMEM.
enum fw_err fw_export(const struct fw_records *records, const struct fw_export_params *params,
                      char **text, size_t *size);
