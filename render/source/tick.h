// SPDX-License-Identifier: MIT
// The beat of an animating source: time cut into 1/fps, without drift, and the argument that stops
// it.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "render/source.h"

static inline int64_t fw_tick_at(int64_t now_ns, int fps)
{
    // In two parts, so that years of uptime do not overflow.
    return now_ns / FW_NS_PER_S * fps + now_ns % FW_NS_PER_S * fps / FW_NS_PER_S;
}

// The first nanosecond of a tick.
static inline int64_t fw_tick_start(int64_t tick, int fps)
{
    return tick / fps * FW_NS_PER_S + (tick % fps * FW_NS_PER_S + fps - 1) / fps;
}

// Argument "animate": "1" (as it stands), "0", or "full" where the source has that (`full` not
// NULL): all of the picture moves. Other arguments are refused with a message.
static inline enum fw_err fw_source_animate_arg(const struct fw_source_params *params,
                                                bool *animate, bool *full)
{
    for (unsigned i = 0; i < params->arg_count; i++) {
        const struct fw_source_arg *arg = &params->args[i];
        if (strcmp(arg->key, "animate") != 0) {
            snprintf(params->message, params->message_size, "There is no argument \"%.64s\".",
                     arg->key);
            return FW_ERR_INVALID;
        }
        const bool all = full && strcmp(arg->value, "full") == 0;
        if (!all && strcmp(arg->value, "0") != 0 && strcmp(arg->value, "1") != 0) {
            snprintf(params->message, params->message_size,
                     "\"animate\" is 0%s 1%s, not \"%.64s\".", full ? "," : " or",
                     full ? " or full" : "", arg->value);
            return FW_ERR_INVALID;
        }
        *animate = arg->value[0] != '0';
        if (full)
            *full = all;
    }
    return FW_OK;
}
