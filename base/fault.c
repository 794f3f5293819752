// SPDX-License-Identifier: MIT
#include "base/fault.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

static const char *const names[FW_FAULT_COUNT] = {
    [FW_FAULT_RENDER] = "render", [FW_FAULT_CONVERT] = "convert", [FW_FAULT_ENCODE] = "encode",
    [FW_FAULT_FRONT] = "front",   [FW_FAULT_DECODE] = "decode",
};

static int find(const char *word, size_t length)
{
    for (int i = 0; i < FW_FAULT_COUNT; i++) {
        if (strlen(names[i]) == length && memcmp(names[i], word, length) == 0) {
            return i;
        }
    }
    return -1;
}

// "20ms" or "1.5ms", nothing else: a bare number would be guessed at.
static bool read_delay(const char *text, size_t length, int64_t *out)
{
    char copy[16], *end;
    if (length >= sizeof(copy) || length < 3 || text[0] < '0' || text[0] > '9') {
        return false;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (copy[1] == 'x' || copy[1] == 'X') { // strtod takes more than we say
        return false;
    }
    const double ms = strtod(copy, &end);
    if (strcmp(end, "ms") != 0 || !(ms >= 0 && ms <= FW_FAULT_MAX_MS)) {
        return false;
    }
    *out = (int64_t)(ms * FW_NS_PER_MS + 0.5);
    return true;
}

static enum fw_err parse_one(struct fw_faults *faults, unsigned *seen, const char *word,
                             size_t length, char *message, size_t size)
{
    const char *colon = memchr(word, ':', length);
    const int which = find(word, colon ? (size_t)(colon - word) : length);
    const int shown = length < 40 ? (int)length : 40;
    if (which < 0) {
        snprintf(message, size,
                 "'%.*s' names no stage; give render, convert, encode, front or decode, "
                 "as in encode:20ms",
                 shown, word);
        return FW_ERR_INVALID;
    }
    if (*seen & 1U << which) {
        snprintf(message, size, "'%s' is given twice", names[which]);
        return FW_ERR_INVALID;
    }
    *seen |= 1U << which;
    if (!colon ||
        !read_delay(colon + 1, (size_t)(word + length - colon - 1), &faults->delay_ns[which])) {
        snprintf(message, size, "'%.*s' has no delay; give 0ms to %dms, as in %s:20ms", shown, word,
                 FW_FAULT_MAX_MS, names[which]);
        return FW_ERR_INVALID;
    }
    return FW_OK;
}

enum fw_err fw_faults_parse(struct fw_faults *faults, const char *text, char *message, size_t size)
{
    unsigned seen = 0;
    *faults = (struct fw_faults){ 0 };
    while (text && *text) {
        const size_t length = strcspn(text, ",");
        const enum fw_err err = parse_one(faults, &seen, text, length, message, size);
        if (err) {
            *faults = (struct fw_faults){ 0 };
            return err;
        }
        text += length + (text[length] == ',');
    }
    return FW_OK;
}

char *fw_faults_print(const struct fw_faults *faults, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < FW_FAULT_COUNT; i++) {
        if (faults->delay_ns[i] && used < size) {
            used += (size_t)snprintf(out + used, size - used, "%s%s:%gms", used ? "," : "",
                                     names[i], (double)faults->delay_ns[i] / FW_NS_PER_MS);
        }
    }
    return out;
}

void fw_fault_wait(int64_t delay_ns)
{
    struct timespec left = { .tv_sec = delay_ns / FW_NS_PER_S, .tv_nsec = delay_ns % FW_NS_PER_S };
    while (delay_ns > 0 && nanosleep(&left, &left) != 0) { // a signal came
    }
}
