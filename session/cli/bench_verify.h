// SPDX-License-Identifier: MIT
// The go-live check: what was looked at, and what came of it. Inside of bench.
// Thread: one.
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "session/cli/bench_find.h"
#include "session/cli/bench_plan.h"
#include "session/cli/bench_run.h"

enum fw_verify_part {
    FW_VERIFY_FUNCTION,
    FW_VERIFY_PERFORMANCE,
    FW_VERIFY_RESOURCES,
    FW_VERIFY_STABILITY,
    FW_VERIFY_PARTS
};
extern const char *const fw_verify_part_names[FW_VERIFY_PARTS];

enum fw_verdict {
    FW_PASS,
    FW_WARN, // fine so far, worth a look
    FW_FAIL,
    FW_UNKNOWN, // could not be told here; `note` says why
    FW_VERDICTS
};
extern const char *const fw_verdict_names[FW_VERDICTS];

enum { FW_CHECKS_MAX = 96, FW_SOAK_POINTS_MAX = 720 };

struct fw_check {
    enum fw_verify_part part;
    enum fw_verdict verdict;
    char name[64];
    char found[160];
    char wanted[120]; // "" = nothing certain
    char note[280];   // what it means or what to do, "" = nothing
};

// A sample of a soak. Below 0 = unknown.
struct fw_soak_point {
    double at_s;
    double memory_mb, gpu_memory_mb, temperature_c;
};

struct fw_verify {
    struct fw_bench *bench;
    struct fw_plan *plan;
    time_t when;
    struct fw_check check[FW_CHECKS_MAX];
    unsigned count;
    bool interrupted;
    // --- for the report
    struct fw_bench_result performance; // of the performance part
    bool has_performance;
    struct fw_bench_capacity capacity;
    bool has_capacity;
    struct fw_soak_point soak[FW_SOAK_POINTS_MAX];
    unsigned soak_count;
};

// Adds a check; the texts are printf-like in the three that follow it.
struct fw_check *fw_verify_add(struct fw_verify *v, enum fw_verify_part part,
                               enum fw_verdict verdict, const char *name);
void fw_check_found(struct fw_check *check, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void fw_check_wanted(struct fw_check *check, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void fw_check_note(struct fw_check *check, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
enum fw_verdict fw_verify_verdict(const struct fw_verify *v); // the worst; UNKNOWN counts as a pass

// The parts.
void fw_verify_function(struct fw_verify *v);
void fw_verify_performance(struct fw_verify *v);
void fw_verify_resources(struct fw_verify *v); // what was seen while performance ran
void fw_verify_stability(struct fw_verify *v);

// MB per hour through the points from `from_s` on, by least squares; `pick` gives the value of a
// point, below 0 = unknown. False with fewer than 3 points.
bool fw_soak_slope(const struct fw_soak_point *points, unsigned count, double from_s,
                   double (*pick)(const struct fw_soak_point *), double *per_hour);

json_t *fw_verify_json(const struct fw_verify *v);
void fw_verify_html(FILE *out, const struct fw_verify *v);
