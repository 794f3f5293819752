// SPDX-License-Identifier: MIT
// Writes the text that Prometheus reads, format 0.0.4 (prometheus.io/docs/instrumenting). Pure.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bins.h"

enum { FW_LABELS_SIZE = 512 };

// Zero-initialised is empty. `text` is malloc'ed and ends in NUL; who made the struct frees it.
struct fw_exposition {
    char *text;
    size_t size, room;
    bool failed; // out of memory: `text` is not whole
    // --- the family being written
    const char *name;
};

// Labels as they are written, without braces: `a="x",b="y"`.
struct fw_labels {
    char text[FW_LABELS_SIZE];
    size_t size;
};
// Adds a pair; `value` may hold anything, what is no UTF-8 becomes "?". A pair that finds no room
// is left out.
void fw_labels_add(struct fw_labels *labels, const char *name, const char *value);
// The same with one pair in one go, for an argument.
const char *fw_label(struct fw_labels *labels, const char *name, const char *value);

// Begins a family: all its samples follow at once. `type` is "counter", "gauge" or "histogram".
void fw_expo_family(struct fw_exposition *e, const char *name, const char *type, const char *help);
// A sample of the family; `labels` "" = none. Not a number = it is not known: nothing is written.
void fw_expo_real(struct fw_exposition *e, const char *labels, double value);
// Below 0 = it is not known: nothing is written.
void fw_expo_whole(struct fw_exposition *e, const char *labels, int64_t value);
void fw_expo_count(struct fw_exposition *e, const char *labels, uint64_t value);
// A histogram in seconds.
void fw_expo_bins(struct fw_exposition *e, const char *labels, const struct fw_bins *bins);
