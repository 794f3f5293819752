// SPDX-License-Identifier: MIT
#include "tests/net/shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum { QUEUE_DEFAULT = 1 << 20 };

static int64_t wire_ns(const struct shape *s, size_t bytes)
{
    return s->params.bits_per_second
               ? (int64_t)((double)bytes * 8e9 / (double)s->params.bits_per_second + 0.5)
               : 0;
}

bool shape_admit(struct shape *s, size_t bytes, int64_t now_ns, int64_t *due_ns)
{
    const size_t queue = s->params.queue_bytes ? s->params.queue_bytes : QUEUE_DEFAULT;
    const int64_t begin_ns = s->busy_ns > now_ns ? s->busy_ns : now_ns;
    if (begin_ns - now_ns > wire_ns(s, queue)) {
        s->lost++;
        return false;
    }
    s->busy_ns = begin_ns + wire_ns(s, bytes);
    const int64_t due = s->busy_ns + s->params.delay_ns;
    s->due_ns = due > s->due_ns ? due : s->due_ns;
    *due_ns = s->due_ns;
    return true;
}

struct unit {
    const char *name;
    double factor;
};

// "20ms" by a table that ends without a name: the value times its unit's factor, -1 = not so.
static double read_value(const char *text, size_t length, const struct unit *units, double most)
{
    char copy[24], *end;
    if (length >= sizeof(copy) || length == 0 || text[0] < '0' || text[0] > '9')
        return -1;
    memcpy(copy, text, length);
    copy[length] = '\0';
    const double value = strtod(copy, &end);
    for (; units->name; units++)
        if (strcmp(end, units->name) == 0)
            return value * units->factor <= most ? value * units->factor : -1;
    return -1;
}

static bool parse_word(struct shape_params *p, const char *word, size_t length)
{
    static const struct unit times[] = { { "ms", 1e6 }, { "us", 1e3 }, { "s", 1e9 }, { NULL, 0 } };
    static const struct unit rates[] = { { "mbit", 1e6 }, { "kbit", 1e3 }, { NULL, 0 } };
    static const struct unit sizes[] = { { "kB", 1e3 }, { "B", 1 }, { NULL, 0 } };
    double value = -1;
    if (length > 6 && memcmp(word, "delay=", 6) == 0) {
        value = read_value(word + 6, length - 6, times, 10e9);
        p->delay_ns = (int64_t)(value + 0.5);
    } else if (length == 6 && memcmp(word, "rate=0", 6) == 0) { // no limit
        p->bits_per_second = 0;
        return true;
    } else if (length > 5 && memcmp(word, "rate=", 5) == 0) {
        value = read_value(word + 5, length - 5, rates, 100e9);
        p->bits_per_second = value > 0 ? (uint64_t)(value + 0.5) : 0;
    } else if (length > 6 && memcmp(word, "queue=", 6) == 0) {
        value = read_value(word + 6, length - 6, sizes, 1e9);
        p->queue_bytes = value > 0 ? (size_t)(value + 0.5) : 0;
    }
    return value >= 0;
}

bool shape_parse(struct shape_params *params, const char *text, char *message, size_t size)
{
    struct shape_params changed = *params;
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        const size_t length = strcspn(text, " ");
        if (!parse_word(&changed, text, length)) {
            snprintf(message, size, "'%.*s' is none of delay=20ms, rate=8mbit, queue=64kB",
                     length < 40 ? (int)length : 40, text);
            return false;
        }
        text += length;
    }
    *params = changed;
    return true;
}
