// SPDX-License-Identifier: MIT
// Input on its way to a worker that cannot take it now: bounded, motion coalesces, keys and buttons
// are kept. Pure.
#pragma once

#include <stdbool.h>

#include "base/input.h"

enum { FW_INPUT_QUEUE_MAX = 256 };

struct fw_input_queue {
    struct fw_input_event events[FW_INPUT_QUEUE_MAX]; // oldest first
    unsigned count;
};

// Motion is merged into a motion that waits at the end (and wheel into wheel): newest place and id,
// oldest time of arrival, sum of the relative parts. When full, the oldest motion gives way; when
// there is none, everything is replaced by one FW_INPUT_RELEASE, so that nothing stays held down.
void fw_input_queue_push(struct fw_input_queue *queue, const struct fw_input_event *event);
// Drops the `count` oldest.
void fw_input_queue_pop(struct fw_input_queue *queue, unsigned count);
