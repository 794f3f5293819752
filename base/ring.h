// SPDX-License-Identifier: MIT
// A single-producer single-consumer ring of records in shared memory: packets from a worker to the
// front. The consumer trusts nothing in it: indices and lengths are read once, checked, and the
// bytes are copied out before they are looked at.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { FW_RING_DEFAULT_BYTES = 16 << 20 };

// Thread: one producer thread and one consumer thread, in one process or two.
struct fw_ring {
    uint8_t *map; // header page, then `capacity` bytes
    size_t map_size;
    size_t capacity; // power of two
    uint64_t pos;    // this side's own index; never read back from shared memory
    int fd;          // the memfd, owned; -1 when closed
};

// Consumer side: makes the memfd, sized and sealed (SHRINK, GROW, SEAL) so that the other side
// can't make us fault. `capacity` is rounded up to a power of two, 0 = default.
enum fw_err fw_ring_create(struct fw_ring *ring, size_t capacity);
// Producer side: maps `fd` (owned by the ring on FW_OK; on error the caller still owns it).
enum fw_err fw_ring_open(struct fw_ring *ring, int fd);
void fw_ring_finish(struct fw_ring *ring);

// Producer: writes one record of two parts (head, body). FW_ERR_AGAIN when there is no room now,
// FW_ERR_TOO_LARGE when it could never fit.
enum fw_err fw_ring_write(struct fw_ring *ring, const void *head, size_t head_size,
                          const void *body, size_t body_size);
// Consumer: size of the oldest record. FW_ERR_AGAIN when empty, FW_ERR_FORMAT when the producer
// wrote nonsense (the ring is then unusable: end the worker).
enum fw_err fw_ring_peek(struct fw_ring *ring, size_t *size);
// Consumer: copies `size` bytes of the oldest record, starting at `offset`, into `out`.
// The caller has checked offset + size <= the size that peek gave.
void fw_ring_copy(struct fw_ring *ring, size_t offset, void *out, size_t size);
// Consumer: drops the oldest record; `size` as peek gave it.
void fw_ring_pop(struct fw_ring *ring, size_t size);
