// SPDX-License-Identifier: MIT
#include "session/cli/bench_records.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum { COLUMNS_MAX = 160 };

enum column { FRAME_ID, OUTCOME, REASON, KEY, BYTES, BEGUN, TOTAL, FIRST_STAGE };
enum { COLUMNS = FIRST_STAGE + FW_STAGE_COUNT };

static const char *const names[FIRST_STAGE] = {
    [FRAME_ID] = "frame_id", [OUTCOME] = "outcome", [REASON] = "reason",  [KEY] = "key",
    [BYTES] = "bytes",       [BEGUN] = "begun_ns",  [TOTAL] = "total_us",
};

// Sums of stages are of whole nanoseconds, written in us with three digits.
static const double SUM_ERROR_US = 0.5;

// Cuts the line at `*text` into cells and moves on to the next one. The number of cells, 0 at the
// end.
static unsigned cut_line(char **text, char *cell[COLUMNS_MAX])
{
    char *line = *text;
    if (!*line)
        return 0;
    char *end = strchr(line, '\n');
    *text = end ? end + 1 : line + strlen(line);
    if (end)
        *end = '\0';
    line[strcspn(line, "\r")] = '\0';
    unsigned count = 0;
    for (char *p = line; count < COLUMNS_MAX;) {
        cell[count++] = p;
        p = strchr(p, ',');
        if (!p)
            break;
        *p++ = '\0';
    }
    return count;
}

static bool find_columns(char *const *cell, unsigned count, int at[COLUMNS])
{
    for (int c = 0; c < COLUMNS; c++) {
        char name[48];
        if (c < FIRST_STAGE)
            snprintf(name, sizeof(name), "%s", names[c]);
        else
            snprintf(name, sizeof(name), "%s_us", fw_stages[c - FIRST_STAGE].name);
        at[c] = -1;
        for (unsigned i = 0; i < count; i++)
            if (strcmp(cell[i], name) == 0)
                at[c] = (int)i;
        if (at[c] < 0)
            return false;
    }
    return true;
}

static int index_of(const char *word, const char *const *list, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(list[i], word) == 0)
            return i;
    return -1;
}

static void add_presented(char *const *cell, const int at[COLUMNS], struct fw_bench_figures *f)
{
    double sum = 0;
    const char *total = cell[at[TOTAL]];
    for (int i = 0; i < FW_STAGE_COUNT; i++) {
        const char *text = cell[at[FIRST_STAGE + i]];
        if (!*text)
            continue;
        const double us = strtod(text, NULL);
        sum += us;
        fw_histogram_add(&f->stage[i], (int64_t)(us * FW_NS_PER_US));
    }
    if (!*total)
        return;
    const double us = strtod(total, NULL);
    fw_histogram_add(&f->total, (int64_t)(us * FW_NS_PER_US));
    f->sums_checked++;
    f->sums_wrong += fabs(sum - us) > SUM_ERROR_US;
}

static void add_row(char *const *cell, const int at[COLUMNS], struct fw_bench_figures *f)
{
    const int outcome = index_of(cell[at[OUTCOME]], fw_outcome_names, FW_OUTCOME_COUNT);
    const int reason = index_of(cell[at[REASON]], fw_reason_names, FW_REASON_COUNT);
    if (outcome >= 0)
        f->outcome[outcome]++;
    if (reason > FW_REASON_NONE)
        f->reason[reason]++;
    f->keys += strcmp(cell[at[KEY]], "1") == 0;
    f->bytes += strtoull(cell[at[BYTES]], NULL, 10);
    if (outcome == FW_OUTCOME_PRESENTED)
        add_presented(cell, at, f);
}

enum fw_err fw_bench_records_add(struct fw_bench_reading *reading, char *csv,
                                 const struct fw_bench_window *window,
                                 struct fw_bench_figures *figures)
{
    char *cell[COLUMNS_MAX];
    int at[COLUMNS];
    const unsigned columns = cut_line(&csv, cell);
    if (!columns || !find_columns(cell, columns, at))
        return FW_ERR_FORMAT;
    while (cut_line(&csv, cell) == columns) {
        const uint64_t id = strtoull(cell[at[FRAME_ID]], NULL, 10);
        if (id <= reading->last_id)
            continue;
        const bool open = strcmp(cell[at[OUTCOME]], fw_outcome_names[FW_OUTCOME_OPEN]) == 0;
        if (open && !window->last)
            break;
        // A frame that never was begun belongs to where those around it do.
        const int64_t begun = strtoll(cell[at[BEGUN]], NULL, 10);
        const bool was_inside = reading->inside;
        if (begun)
            reading->inside = begun >= window->from_ns && begun < window->to_ns;
        if (was_inside && reading->inside && id > reading->last_id + 1)
            figures->records_missing += id - reading->last_id - 1;
        reading->last_id = id;
        if (reading->inside)
            add_row(cell, at, figures);
    }
    return FW_OK;
}
