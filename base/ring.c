// SPDX-License-Identifier: MIT
#include "base/ring.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER_BYTES = 4096, RECORD_HEAD = 8 };

// Each side writes one index only; they lie on separate cache lines.
struct ring_header {
    _Alignas(64) _Atomic uint64_t head; // bytes written by the producer
    _Alignas(64) _Atomic uint64_t tail; // bytes taken by the consumer
};

static struct ring_header *header(struct fw_ring *ring)
{
    return (struct ring_header *)ring->map;
}

// Records are padded to 8 bytes, so that the length word never wraps.
static size_t padded(size_t size)
{
    return (RECORD_HEAD + size + 7) & ~(size_t)7;
}

static enum fw_err map_fd(struct fw_ring *ring, int fd, size_t capacity)
{
    ring->map_size = HEADER_BYTES + capacity;
    ring->map = mmap(NULL, ring->map_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (ring->map == MAP_FAILED) {
        ring->map = NULL;
        return FW_ERR_NOMEM;
    }
    ring->capacity = capacity;
    ring->fd = fd;
    ring->pos = 0;
    return FW_OK;
}

enum fw_err fw_ring_create(struct fw_ring *ring, size_t capacity)
{
    *ring = (struct fw_ring){ .fd = -1 };
    const size_t want = capacity ? capacity : FW_RING_DEFAULT_BYTES;
    size_t cap = 4096;
    while (cap < want) {
        cap <<= 1;
    }
    const int fd = memfd_create("framewire-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) {
        return FW_ERR_IO;
    }
    if (ftruncate(fd, (off_t)(HEADER_BYTES + cap)) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0 ||
        map_fd(ring, fd, cap) != FW_OK) {
        close(fd);
        return FW_ERR_IO;
    }
    return FW_OK;
}

enum fw_err fw_ring_open(struct fw_ring *ring, int fd)
{
    *ring = (struct fw_ring){ .fd = -1 };
    struct stat st;
    if (fstat(fd, &st) < 0) {
        return FW_ERR_IO;
    }
    const size_t cap = st.st_size > HEADER_BYTES ? (size_t)st.st_size - HEADER_BYTES : 0;
    if (cap < 4096 || (cap & (cap - 1))) {
        return FW_ERR_FORMAT;
    }
    const enum fw_err err = map_fd(ring, fd, cap);
    if (!err) {
        ring->pos = atomic_load_explicit(&header(ring)->head, memory_order_relaxed);
    }
    return err;
}

void fw_ring_finish(struct fw_ring *ring)
{
    if (ring->map) {
        munmap(ring->map, ring->map_size);
    }
    if (ring->fd >= 0) {
        close(ring->fd);
    }
    *ring = (struct fw_ring){ .fd = -1 };
}

static void copy_in(struct fw_ring *ring, uint64_t pos, const void *src, size_t size)
{
    uint8_t *base = ring->map + HEADER_BYTES;
    const size_t at = (size_t)(pos & (ring->capacity - 1));
    const size_t first = size < ring->capacity - at ? size : ring->capacity - at;
    if (first) {
        memcpy(base + at, src, first);
    }
    if (size > first) {
        memcpy(base, (const uint8_t *)src + first, size - first);
    }
}

static void copy_out(struct fw_ring *ring, uint64_t pos, void *dst, size_t size)
{
    const uint8_t *base = ring->map + HEADER_BYTES;
    const size_t at = (size_t)(pos & (ring->capacity - 1));
    const size_t first = size < ring->capacity - at ? size : ring->capacity - at;
    if (first) {
        memcpy(dst, base + at, first);
    }
    if (size > first) {
        memcpy((uint8_t *)dst + first, base, size - first);
    }
}

enum fw_err fw_ring_write(struct fw_ring *ring, const void *head, size_t head_size,
                          const void *body, size_t body_size)
{
    const size_t size = head_size + body_size;
    if (size > ring->capacity / 2) {
        return FW_ERR_TOO_LARGE;
    }
    const uint64_t tail = atomic_load_explicit(&header(ring)->tail, memory_order_acquire);
    const uint64_t used = ring->pos - tail;
    if (used > ring->capacity || ring->capacity - used < padded(size)) {
        return FW_ERR_AGAIN;
    }
    const uint64_t length = size;
    copy_in(ring, ring->pos, &length, sizeof(length));
    copy_in(ring, ring->pos + RECORD_HEAD, head, head_size);
    copy_in(ring, ring->pos + RECORD_HEAD + head_size, body, body_size);
    ring->pos += padded(size);
    atomic_store_explicit(&header(ring)->head, ring->pos, memory_order_release);
    return FW_OK;
}

enum fw_err fw_ring_peek(struct fw_ring *ring, size_t *size)
{
    const uint64_t head = atomic_load_explicit(&header(ring)->head, memory_order_acquire);
    const uint64_t used = head - ring->pos;
    if (used == 0) {
        return FW_ERR_AGAIN;
    }
    uint64_t length;
    if (used > ring->capacity || used < RECORD_HEAD) {
        return FW_ERR_FORMAT;
    }
    copy_out(ring, ring->pos, &length, sizeof(length));
    if (length > ring->capacity / 2 || padded((size_t)length) > used) {
        return FW_ERR_FORMAT;
    }
    *size = (size_t)length;
    return FW_OK;
}

void fw_ring_copy(struct fw_ring *ring, size_t offset, void *out, size_t size)
{
    copy_out(ring, ring->pos + RECORD_HEAD + offset, out, size);
}

void fw_ring_pop(struct fw_ring *ring, size_t size)
{
    ring->pos += padded(size);
    atomic_store_explicit(&header(ring)->tail, ring->pos, memory_order_release);
}
