// SPDX-License-Identifier: MIT
#include "session/cli/bench_figures.h"

void fw_bench_figures_merge(struct fw_bench_figures *to, const struct fw_bench_figures *from)
{
    to->seconds += from->seconds;
    for (int i = 0; i < FW_STAGE_COUNT; i++)
        fw_histogram_merge(&to->stage[i], &from->stage[i]);
    fw_histogram_merge(&to->total, &from->total);
    for (int i = 0; i < FW_OUTCOME_COUNT; i++)
        to->outcome[i] += from->outcome[i];
    for (int i = 0; i < FW_REASON_COUNT; i++)
        to->reason[i] += from->reason[i];
    to->keys += from->keys;
    to->bytes += from->bytes;
    to->sums_checked += from->sums_checked;
    to->sums_wrong += from->sums_wrong;
    to->records_missing += from->records_missing;
    fw_histogram_merge(&to->aoi, &from->aoi);
    fw_histogram_merge(&to->input, &from->input);
    fw_histogram_merge(&to->late, &from->late);
    to->presented += from->presented;
    to->dropped += from->dropped;
    to->received_bytes += from->received_bytes;
    to->inputs += from->inputs;
    to->inputs_open += from->inputs_open;
    to->ids_checked += from->ids_checked;
    to->ids_wrong += from->ids_wrong;
    to->decode_errors += from->decode_errors;
    if (from->ids_wrong) {
        to->worst_id_header = from->worst_id_header;
        to->worst_id_painted = from->worst_id_painted;
    }
}

double fw_bench_drops(const struct fw_bench_figures *f)
{
    const uint64_t lost = f->outcome[FW_OUTCOME_DROPPED] + f->outcome[FW_OUTCOME_SKIPPED];
    const uint64_t all = lost + f->outcome[FW_OUTCOME_PRESENTED];
    return all ? (double)lost / (double)all : 0;
}
