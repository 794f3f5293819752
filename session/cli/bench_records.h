// SPDX-License-Identifier: MIT
// Reads the records of frames as the server exports them (CSV, api_trace.h), part after part, and
// sums them up. Columns are found by name, so that a server may add some. Pure.
// Thread: one.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "session/cli/bench_figures.h"

// How far reading has come. Zero-initialised is the beginning.
struct fw_bench_reading {
    uint64_t last_id; // newest frame read
    bool inside;      // it lay in the window
};

struct fw_bench_window {
    int64_t from_ns, to_ns; // of the server's clock: frames begun in between count
    bool last; // nothing more will be read: frames still under way are taken as they are
};

// Adds the rows of `csv` that are new and in the window to `figures`. The text is changed. What is
// still under way is left for the next time, with all that follows. FW_ERR_FORMAT when it is no
// such export.
enum fw_err fw_bench_records_add(struct fw_bench_reading *reading, char *csv,
                                 const struct fw_bench_window *window,
                                 struct fw_bench_figures *figures);
