// SPDX-License-Identifier: MIT
// The last seconds of a session in numbers, from its records: for those who look on. Pure.
#pragma once

#include "stream/record.h"

struct fw_recent {
    int64_t from_ns, until_ns;  // of the server's clock
    struct fw_record_sums sums; // of inputs only those that were the newest of a frame
    struct fw_bins stage[FW_STAGE_COUNT], total, input_to_presented, age; // the same in bins
};

struct fw_recent_params {
    int64_t now_ns, last_ns; // frames seen from now − last on
    bool watched; // somebody looks on: the picture that was shown last ages, or is current, still
    bool brief;   // totals and age only, no stages
};
// `*recent` is some 110 KiB and overwritten.
void fw_recent_read(const struct fw_records *records, const struct fw_recent_params *params,
                    struct fw_recent *recent);
// The first record seen at `from_ns` or later; fw_records_count when there is none.
unsigned fw_recent_first(const struct fw_records *records, int64_t from_ns);
