// SPDX-License-Identifier: MIT
#include "session/metrics.h"

#include <stdio.h>
#include <string.h>

const char *fw_metrics_fail_code(unsigned index)
{
    static const char *const more[] = { "crash_loop", "no_worker", "other" };
    return index < FW_ERR_COUNT ? fw_err_name((enum fw_err)index) : more[index - FW_ERR_COUNT];
}

void fw_metrics_failed(struct fw_metrics *m, const char *code)
{
    unsigned i = 0;
    while (i < FW_FAIL_CODES - 1 && strcmp(fw_metrics_fail_code(i), code) != 0)
        i++;
    m->failed[i]++;
}

struct fw_record_totals *fw_metrics_frames(struct fw_metrics *m, const char *source,
                                           const char *encoder, const char *gpu)
{
    for (unsigned i = 0; i < m->set_count; i++)
        if (strcmp(m->set[i].source, source) == 0 && strcmp(m->set[i].encoder, encoder) == 0 &&
            strcmp(m->set[i].gpu, gpu) == 0)
            return &m->set[i].frames;
    if (m->set_count == FW_METRICS_SETS)
        return &m->set[FW_METRICS_SETS - 1].frames;
    struct fw_metrics_set *set = &m->set[m->set_count++];
    const bool last = m->set_count == FW_METRICS_SETS;
    snprintf(set->source, sizeof(set->source), "%s", last ? "other" : source);
    snprintf(set->encoder, sizeof(set->encoder), "%s", last ? "other" : encoder);
    snprintf(set->gpu, sizeof(set->gpu), "%s", last ? "other" : gpu);
    return &set->frames;
}
