// SPDX-License-Identifier: MIT
// A manager without processes: it only remembers. `user` of the operations is a struct fake.
#pragma once

#include "session/api.h"
#include "session/metrics.h"

enum { FAKE_ROOM = 4 };

struct fake {
    struct {
        char id[FW_SESSION_ID_SIZE];
        struct fw_access access;
        struct fw_session_request request;
        bool used;
    } session[FAKE_ROOM];
    unsigned made;
    bool draining;
    bool no_worker;                // that a fault could strike
    struct fw_fault_request fault; // the last one
    unsigned faults;
    const struct fw_machine *machine; // NULL = nothing is known
    struct fw_metrics *metrics;       // sums; NULL = /metrics is empty
    const struct fw_metrics_now *now; // … and how things are
    struct fw_records *records;       // of all sessions; NULL = they have none
    struct fw_marks marks;
};

extern const struct fw_api_ops fake_ops;
