// SPDX-License-Identifier: MIT
// x264 that breaks on demand, for tests of what stands around an encoder. What to break is named
// after the encoder ("fault:open:2,frame:50") or in FW_FAULT_ENCODER:
//   open:N       the Nth open of this encoder fails
//   frame:N      the Nth frame (from 1) fails
//   delay:N      the Nth frame is kept back, as an encoder with a pipeline does
//   hang:N[:MS]  the Nth frame takes MS longer (default 60000)
//   allkeys      each frame is a key frame, asked for or not
//   nokey        requested key frames are ignored
//   norate       the rate can't change while open, as with VA-API
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "encode/encoder_impl.h"

enum { HANG_DEFAULT_MS = 60000 };

struct fault_plan {
    unsigned long open, frame, delay, hang, hang_ms;
    bool all_keys, no_key, no_rate;
};

struct fault_encoder {
    struct fault_plan plan;
    void *inner;
    uint64_t frames;
};

static bool parse_word(struct fault_plan *plan, const char *word)
{
    plan->hang_ms = plan->hang_ms ? plan->hang_ms : HANG_DEFAULT_MS;
    if (strcmp(word, "allkeys") == 0) {
        plan->all_keys = true;
    } else if (strcmp(word, "nokey") == 0) {
        plan->no_key = true;
    } else if (strcmp(word, "norate") == 0) {
        plan->no_rate = true;
    } else {
        return sscanf(word, "open:%lu", &plan->open) == 1 ||
               sscanf(word, "frame:%lu", &plan->frame) == 1 ||
               sscanf(word, "delay:%lu", &plan->delay) == 1 ||
               sscanf(word, "hang:%lu:%lu", &plan->hang, &plan->hang_ms) >= 1;
    }
    return true;
}

static enum fw_err parse_plan(struct fault_plan *plan, const char *text, char *message,
                              size_t message_size)
{
    char copy[256];
    *plan = (struct fault_plan){ 0 };
    snprintf(copy, sizeof(copy), "%s", text ? text : "");
    char *rest = copy;
    for (char *word = strsep(&rest, ","); word; word = strsep(&rest, ",")) {
        if (*word && !parse_word(plan, word)) {
            snprintf(message, message_size, "no such fault: %s", word);
            return FW_ERR_INVALID;
        }
    }
    return FW_OK;
}

static enum fw_err fault_open(void **state, const struct fw_encoder_config *config, char *message,
                              size_t message_size)
{
    struct fault_encoder *fault = calloc(1, sizeof(*fault));
    if (!fault) {
        return FW_ERR_NOMEM;
    }
    const char *text = config->options ? config->options : getenv("FW_FAULT_ENCODER");
    enum fw_err err = parse_plan(&fault->plan, text, message, message_size);
    if (!err && fault->plan.open == config->open_index) {
        snprintf(message, message_size, "open %u fails on demand", config->open_index);
        err = FW_ERR_UNSUPPORTED;
    }
    fault->frames = config->frame_index;
    if (!err) {
        err = fw_encoder_x264.open(&fault->inner, config, message, message_size);
    }
    if (err) {
        free(fault);
        return err;
    }
    *state = fault;
    return FW_OK;
}

static enum fw_err fault_encode(void *state, struct fw_frame *frame, bool key,
                                struct fw_packet **packet, char *message, size_t message_size)
{
    struct fault_encoder *fault = state;
    const struct fault_plan *plan = &fault->plan;
    const uint64_t n = ++fault->frames;
    if (n == plan->frame || n == plan->delay) {
        snprintf(message, message_size,
                 n == plan->frame ? "frame %llu fails on demand"
                                  : "frame %llu is held back on demand",
                 (unsigned long long)n);
        return n == plan->frame ? FW_ERR_INTERNAL : FW_ERR_UNSUPPORTED;
    }
    if (n == plan->hang) {
        const struct timespec pause = { .tv_sec = (time_t)(plan->hang_ms / 1000),
                                        .tv_nsec = (long)(plan->hang_ms % 1000) * 1000000 };
        nanosleep(&pause, NULL);
    }
    return fw_encoder_x264.encode(fault->inner, frame, plan->all_keys || (key && !plan->no_key),
                                  packet, message, message_size);
}

static enum fw_err fault_set_rate(void *state, int bitrate_kbps, int frame_bytes)
{
    struct fault_encoder *fault = state;
    return fault->plan.no_rate ? FW_ERR_UNSUPPORTED
                               : fw_encoder_x264.set_rate(fault->inner, bitrate_kbps, frame_bytes);
}

static void fault_close(void **state)
{
    struct fault_encoder *fault = *state;
    fw_encoder_x264.close(&fault->inner);
    free(fault);
    *state = NULL;
}

const struct fw_encoder_backend fw_encoder_fault = {
    .name = "fault",
    .open = fault_open,
    .encode = fault_encode,
    .set_rate = fault_set_rate,
    .close = fault_close,
};
