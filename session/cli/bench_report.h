// SPDX-License-Identifier: MIT
// What a measurement says, as JSON for programs and as a table for people.
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "session/cli/bench_run.h"

// All of it, with raw histograms. The caller's; NULL when out of memory.
json_t *fw_bench_report_json(const struct fw_bench *bench, const struct fw_bench_result *result);
// {"count","p50_ms","p95_ms","p99_ms","p999_ms","max_ms","mean_ms"}
json_t *fw_bench_span_json(const struct fw_histogram *h);
void fw_bench_report_table(FILE *out, const struct fw_bench *bench,
                           const struct fw_bench_result *result);
// "-" is standard output. FW_ERR_IO after saying so on standard error.
enum fw_err fw_bench_write_json(const char *path, const json_t *json);

// Ratios of two reports (as read from their files), new to base. FW_ERR_FORMAT with a sentence when
// one of them is no such report.
enum fw_err fw_bench_compare(FILE *out, const json_t *base, const json_t *now, char *message,
                             size_t size);
// Reads a report. NULL with a sentence.
json_t *fw_bench_read_report(const char *path, char *message, size_t size);
