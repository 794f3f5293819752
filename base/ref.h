// SPDX-License-Identifier: MIT
// An atomic reference count, embedded in frames and packets.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

struct fw_ref {
    atomic_int count;
};

static inline void fw_ref_init(struct fw_ref *ref)
{
    atomic_init(&ref->count, 1);
}

static inline void fw_ref_inc(struct fw_ref *ref)
{
    atomic_fetch_add_explicit(&ref->count, 1, memory_order_relaxed);
}

// True when this was the last reference: the caller frees the object.
static inline bool fw_ref_dec(struct fw_ref *ref)
{
    return atomic_fetch_sub_explicit(&ref->count, 1, memory_order_acq_rel) == 1;
}
