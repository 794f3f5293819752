// SPDX-License-Identifier: MIT
// The last seconds of a session in numbers, for those who look on. Pure: time is an argument.
#pragma once

#include "stream/record.h"

// ---- a few numbers, cheap enough for a list of hundreds every second

// How the sums stood. 16 KiB.
struct fw_mark {
    int64_t at_ns; // 0: as the session began
    uint64_t presented, lost, bytes;
    struct fw_histogram age, total, input_to_presented;
};

// The two times at which somebody looked that are apart far enough. Zero-initialised: nobody did.
struct fw_marks {
    struct fw_mark older, newer;
};

// What has come since the older mark.
struct fw_lately {
    double seconds;                  // 5 to 10 while somebody looks on; longer at first
    uint64_t presented, lost, bytes; // frames shown, frames dropped or skipped, bytes published
    struct fw_histogram age, total, input_to_presented;
};

// `uptime_ns` of the session. Moves the marks on.
void fw_lately_read(struct fw_marks *marks, const struct fw_record_sums *sums, int64_t now_ns,
                    int64_t uptime_ns, struct fw_lately *lately);

// ---- everything, of one session

// Sums of the frames seen from `from_ns` on, and of all inputs that they were the first to show.
// `watched`: somebody looks on, so what was shown last ages, or is current, until now. `*sums` is
// 100 KiB and overwritten. A millisecond of work for ten seconds.
void fw_recent_read(const struct fw_records *records, int64_t from_ns, int64_t now_ns, bool watched,
                    struct fw_record_sums *sums);
// The first record seen at `from_ns` or later; fw_records_count when there is none.
unsigned fw_recent_first(const struct fw_records *records, int64_t from_ns);
// The newest input that was on the screen before record `first`.
uint64_t fw_recent_input(const struct fw_records *records, unsigned first);
