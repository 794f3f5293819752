// SPDX-License-Identifier: MIT
// Which resource a load has run into, told from what was seen. Pure.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "session/cli/bench_run.h"

struct fw_bench_evidence {
    const char *refusal;                  // the server would not start more; NULL = it did
    bool our_limit;                       // the search ended at `most` sessions
    unsigned most;                        // that it was to try
    bool same_machine;                    // client and server share it
    const struct fw_bench_result *broken; // the run that broke the promise; NULL = none did
    const struct fw_bench_result *before; // the largest that kept it; NULL = none did
};

enum fw_bench_limit {
    FW_LIMIT_ADMISSION,
    FW_LIMIT_OURS, // no limit of the server was found
    FW_LIMIT_CLIENT,
    FW_LIMIT_GPU,
    FW_LIMIT_ENCODER,
    FW_LIMIT_GPU_MEMORY,
    FW_LIMIT_CPU,
    FW_LIMIT_MEMORY,
    FW_LIMIT_NETWORK,
    FW_LIMIT_STAGE, // none that shows: the stage that grew most is named
};
extern const char *const fw_bench_limit_names[];

// `words` says it to a person, with the figures it rests on.
enum fw_bench_limit fw_bench_find_limit(const struct fw_bench_evidence *evidence, char *words,
                                        size_t size);
