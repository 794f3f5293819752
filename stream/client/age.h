// SPDX-License-Identifier: MIT
// The age of the picture on screen (docs/protocol.md, "Age of the picture"), for a client. Pure:
// times are those of the client's clock, but for what messages say.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "stream/client/clock.h"
#include "stream/wire.h"

enum { FW_CLIENT_AGE_PENDING = 64 };

// Thread: one. Zero-initialised is "no picture yet".
struct fw_client_age {
    struct fw_client_age_frame {
        uint64_t frame_id;
        int64_t change_ns, begun_ns; // of the server
        bool animating;
    } shown, pending[FW_CLIENT_AGE_PENDING]; // pending: received, not yet on screen, oldest first
    unsigned pending_count;
    bool has_beacon;
    struct fw_wire_beacon beacon;
    int64_t beacon_ns; // when it came
    int64_t
        stale_ns; // server's time at which the newest picture ceased to be all there is; 0 = it is
};

void fw_client_age_received(struct fw_client_age *age, const struct fw_wire_video *video);
// Frames that were never received, or are older than the one on screen, change nothing.
void fw_client_age_presented(struct fw_client_age *age, uint64_t frame_id);
void fw_client_age_beacon(struct fw_client_age *age, const struct fw_wire_beacon *beacon,
                          int64_t now_ns);
// The oldest change of which we know that it is not on screen, on our clock; 0 = of none.
int64_t fw_client_age_change(const struct fw_client_age *age, const struct fw_client_clock *clock);
// ns; -1 = no picture or no clock yet. What has changed since the newest word of the server is not
// known yet: stream/age.h tells it afterwards, from the times of changes.
int64_t fw_client_age_now(const struct fw_client_age *age, const struct fw_client_clock *clock,
                          int64_t now_ns);
