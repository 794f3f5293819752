// SPDX-License-Identifier: MIT
// A promise in words of one line: "aoi_p99<=50ms, fps>=55". Pure.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "session/cli/bench_figures.h"

enum { FW_SLO_TERMS = 8 };

enum fw_slo_metric {
    FW_SLO_AOI,   // age of the picture, ms
    FW_SLO_INPUT, // input to photon, ms
    FW_SLO_TOTAL, // a frame's whole way, ms
    FW_SLO_STAGE, // one stage of it, ms
    FW_SLO_FPS,   // pictures per second
    FW_SLO_DROPS, // frames not shown, %
};

struct fw_slo_term {
    enum fw_slo_metric metric;
    enum fw_stage stage;
    double quantile; // 0-1, 1 = max
    bool at_least;   // else at most
    double limit;    // ms, pictures per second, or %
    char text[80];   // "AoI P99 ≤ 50 ms"
};

struct fw_slo {
    struct fw_slo_term term[FW_SLO_TERMS];
    unsigned count;
};

// Terms of METRIC[_QUANTILE] OP VALUE[UNIT], with "," between. Metrics: aoi, i2p, total and every
// stage, with _p50, _p95, _p99, _p999 or _max; fps and drops without. OP: <= or >=. FW_ERR_INVALID
// with a sentence that says what is wrong and what could be written.
enum fw_err fw_slo_parse(struct fw_slo *slo, const char *text, char *message, size_t size);
// What was measured, in the unit of the limit; below 0 = nothing was.
double fw_slo_value(const struct fw_slo_term *term, const struct fw_bench_figures *figures);
// A term for which nothing was measured is not kept.
bool fw_slo_kept(const struct fw_slo_term *term, const struct fw_bench_figures *figures);
// Does any term need input to be sent?
bool fw_slo_needs_input(const struct fw_slo *slo);
// All terms, "AoI P99 ≤ 50 ms and 55 fps or more".
void fw_slo_words(const struct fw_slo *slo, char *out, size_t size);
