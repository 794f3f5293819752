// SPDX-License-Identifier: MIT
// Bits of an H.264 RBSP: a reader and a writer that can't leave their buffers. Errors stick, so a
// parser checks once at its end.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fw_bit_reader {
    const uint8_t *data;
    size_t bits; // readable bits
    size_t pos;
    bool bad; // read past the end, or an Exp-Golomb code that is too long
};

struct fw_bit_writer {
    uint8_t *data;
    size_t capacity; // bytes
    size_t pos;      // bits written
    bool bad;        // ran out of room, or a value has no code
};

// `n`: 0-32.
static inline uint32_t fw_bits_get(struct fw_bit_reader *r, unsigned n)
{
    if (r->bad || n > r->bits - r->pos) {
        r->bad = true;
        return 0;
    }
    uint64_t v = 0;
    for (unsigned i = 0; i < n; i++, r->pos++) {
        v = v << 1 | (r->data[r->pos >> 3] >> (7 - (r->pos & 7)) & 1);
    }
    return (uint32_t)v;
}

// ue(v) of the standard: 0 to 2^32 - 2.
static inline uint32_t fw_bits_get_ue(struct fw_bit_reader *r)
{
    unsigned zeros = 0;
    while (!r->bad && fw_bits_get(r, 1) == 0) {
        if (++zeros > 31) {
            r->bad = true;
        }
    }
    return r->bad ? 0 : (uint32_t)((UINT64_C(1) << zeros) - 1 + fw_bits_get(r, zeros));
}

// se(v): 1, -1, 2, -2, …
static inline int32_t fw_bits_get_se(struct fw_bit_reader *r)
{
    const uint32_t k = fw_bits_get_ue(r);
    return k & 1 ? (int32_t)(k / 2 + 1) : -(int32_t)(k / 2);
}

static inline void fw_bits_put(struct fw_bit_writer *w, unsigned n, uint32_t value)
{
    if (w->bad || w->pos + n > w->capacity * 8) {
        w->bad = true;
        return;
    }
    for (unsigned i = n; i-- > 0; w->pos++) {
        const uint8_t mask = (uint8_t)(0x80 >> (w->pos & 7));
        uint8_t *byte = &w->data[w->pos >> 3];
        *byte = (w->pos & 7) == 0 ? 0 : *byte; // a fresh byte; the buffer comes uninitialised
        *byte = (uint8_t)(value >> i & 1 ? *byte | mask : *byte & ~mask);
    }
}

static inline void fw_bits_put_ue(struct fw_bit_writer *w, uint32_t value)
{
    if (value == UINT32_MAX) {
        w->bad = true;
        return;
    }
    unsigned length = 0;
    for (uint32_t v = value + 1; v > 1; v >>= 1) {
        length++;
    }
    fw_bits_put(w, length, 0);
    fw_bits_put(w, 1, 1);
    fw_bits_put(w, length, value + 1 - (UINT32_C(1) << length));
}

static inline void fw_bits_put_se(struct fw_bit_writer *w, int32_t value)
{
    // The smallest int32 has no code of its own; the reader never gives it.
    if (value == INT32_MIN) {
        w->bad = true;
        return;
    }
    fw_bits_put_ue(w, value > 0 ? (uint32_t)value * 2 - 1 : (uint32_t)-value * 2);
}

// rbsp_trailing_bits(): the stop bit and zeros up to a byte.
static inline void fw_bits_put_trailing(struct fw_bit_writer *w)
{
    fw_bits_put(w, 1, 1);
    while (!w->bad && w->pos & 7) {
        fw_bits_put(w, 1, 0);
    }
}
