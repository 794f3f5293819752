// SPDX-License-Identifier: MIT
// What one record says, whoever kept it.
#include "stream/record.h"

int64_t fw_frame_record_start(const struct fw_frame_record *rec)
{
    return rec->shows_input ? rec->at[FW_POINT_INPUT] : rec->at[FW_POINT_BEGUN];
}

int64_t fw_frame_record_total(const struct fw_frame_record *rec)
{
    const int64_t start = fw_frame_record_start(rec), end = rec->at[FW_POINT_PRESENTED];
    return start && end >= start && rec->outcome == FW_OUTCOME_PRESENTED ? end - start : -1;
}

static int64_t known_stage(const struct fw_frame_record *rec, enum fw_stage stage)
{
    const int64_t from = rec->at[stage], to = rec->at[stage + 1];
    if (!from || !to || (!rec->shows_input && stage < (enum fw_stage)FW_POINT_BEGUN))
        return -1;
    return to - from;
}

int64_t fw_frame_record_stage(const struct fw_frame_record *rec, enum fw_stage stage)
{
    if (stage != FW_STAGE_REST)
        return known_stage(rec, stage);
    int64_t rest = fw_frame_record_total(rec);
    if (rest < 0)
        return -1;
    for (int i = 0; i < FW_STAGE_REST; i++) {
        const int64_t ns = known_stage(rec, (enum fw_stage)i);
        rest -= ns > 0 ? ns : 0;
    }
    return rest;
}
