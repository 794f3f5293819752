// SPDX-License-Identifier: MIT
#include "session/link.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/frame.h"

enum { MIN_BITRATE = 100, MAX_BITRATE = 100000, MAX_FPS = 240 };

enum fw_err fw_link_send(int fd, void *message, uint16_t type, size_t size)
{
    if (size < sizeof(struct fw_link_header) || size > FW_LINK_MAX_BYTES) {
        return FW_ERR_INVALID;
    }
    struct fw_link_header *h = message;
    *h = (struct fw_link_header){ type, FW_LINK_VERSION, (uint32_t)size };
    for (;;) {
        const ssize_t n = send(fd, message, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n == (ssize_t)size) {
            return FW_OK;
        }
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS)) {
            return FW_ERR_AGAIN;
        }
        if (n < 0 && (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN)) {
            return FW_ERR_CLOSED;
        }
        return FW_ERR_IO;
    }
}

enum fw_err fw_link_recv(int fd, void *buf, size_t *size)
{
    ssize_t n;
    bool reset = false;
    for (;;) {
        n = recv(fd, buf, FW_LINK_MAX_BYTES, MSG_DONTWAIT | MSG_TRUNC);
        // A peer that ended with messages unread resets the socket: that is told once, and before
        // the messages it had sent itself, which still lie here.
        if (n >= 0 || (errno != EINTR && (errno != ECONNRESET || reset))) {
            break;
        }
        reset |= errno == ECONNRESET;
    }
    if (n < 0) {
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return FW_ERR_AGAIN;
        }
        return errno == ECONNRESET || errno == ENOTCONN ? FW_ERR_CLOSED : FW_ERR_IO;
    }
    if (n == 0) {
        return FW_ERR_CLOSED;
    }
    struct fw_link_header h;
    if ((size_t)n < sizeof(h) || (size_t)n > FW_LINK_MAX_BYTES) {
        return FW_ERR_FORMAT;
    }
    memcpy(&h, buf, sizeof(h));
    if (h.version != FW_LINK_VERSION || h.size != (size_t)n) {
        return FW_ERR_FORMAT;
    }
    *size = (size_t)n;
    return FW_OK;
}

static bool terminated(const char *s, size_t room)
{
    return memchr(s, 0, room) != NULL;
}

static bool in_range(int32_t v, int32_t low, int32_t high)
{
    return v >= low && v <= high;
}

static bool size_ok(int32_t width, int32_t height)
{
    return in_range(width, FW_FRAME_MIN_SIZE, FW_FRAME_MAX_WIDTH) &&
           in_range(height, FW_FRAME_MIN_SIZE, FW_FRAME_MAX_HEIGHT);
}

#define TERMINATED(array) terminated((array), sizeof(array))

static bool check_start(const void *buf)
{
    const struct fw_link_start *m = buf;
    if (!size_ok(m->width, m->height) || !in_range(m->fps, 1, MAX_FPS) ||
        !(m->bitrate_kbps == 0 || in_range(m->bitrate_kbps, MIN_BITRATE, MAX_BITRATE)) ||
        !TERMINATED(m->source) || !m->source[0] || !TERMINATED(m->encoder) ||
        !TERMINATED(m->device) || m->arg_count > FW_LINK_MAX_ARGS ||
        m->view.size > FW_LINK_MAX_VIEW) {
        return false;
    }
    for (uint32_t i = 0; i < m->arg_count; i++) {
        if (!TERMINATED(m->args[i].key) || !m->args[i].key[0] || !TERMINATED(m->args[i].value)) {
            return false;
        }
    }
    return true;
}

static bool check_input(const void *buf, size_t size)
{
    const struct fw_link_input *m = buf;
    const size_t head = offsetof(struct fw_link_input, events);
    if (size < head || m->count < 1 || m->count > FW_LINK_MAX_EVENTS ||
        size != head + m->count * sizeof(m->events[0])) {
        return false;
    }
    for (uint32_t i = 0; i < m->count; i++) {
        const struct fw_input_event *e = &m->events[i];
        if (e->kind < FW_INPUT_MOTION || e->kind > FW_INPUT_RELEASE || !isfinite(e->x) ||
            !isfinite(e->y) || !isfinite(e->dx) || !isfinite(e->dy)) {
            return false;
        }
    }
    return true;
}

static bool check_resize(const void *buf)
{
    const struct fw_link_resize *m = buf;
    return size_ok(m->width, m->height);
}

static bool check_credit(const void *buf)
{
    const struct fw_link_credit *m = buf;
    return m->active <= 1;
}

static bool check_rate(const void *buf)
{
    const struct fw_link_rate *m = buf;
    return in_range(m->bitrate_kbps, MIN_BITRATE, MAX_BITRATE) &&
           in_range(m->frame_bytes, 0, FW_PACKET_MAX_BYTES);
}

static bool check_fault(const void *buf)
{
    const struct fw_link_fault *m = buf;
    for (int i = 0; i < FW_FAULT_COUNT; i++) {
        if (m->faults.delay_ns[i] < 0 ||
            m->faults.delay_ns[i] > FW_FAULT_MAX_MS * (int64_t)FW_NS_PER_MS) {
            return false;
        }
    }
    return true;
}

// More than any device has: sums of such figures could overflow.
static bool memory_ok(const struct fw_link_memory *m)
{
    const uint64_t most = UINT64_C(1) << 48;
    for (int i = 0; i < FW_GPU_USE_COUNT; i++) {
        if (m->bytes[i] > most) {
            return false;
        }
    }
    return m->budget_bytes <= most && m->budget_used_bytes <= most && m->heap_bytes <= most;
}

static bool check_warm(const void *buf)
{
    const struct fw_link_warm *m = buf;
    return TERMINATED(m->gpu) && m->is_cpu <= 1 && memory_ok(&m->memory);
}

static bool check_ready(const void *buf)
{
    const struct fw_link_ready *m = buf;
    return TERMINATED(m->gpu) && TERMINATED(m->encoder) && TERMINATED(m->convert) &&
           TERMINATED(m->target) && TERMINATED(m->title) && TERMINATED(m->describe) &&
           TERMINATED(m->no_parts) && size_ok(m->width, m->height) && in_range(m->fps, 1, MAX_FPS);
}

static bool check_beacon(const void *buf)
{
    const struct fw_link_beacon *m = buf;
    return m->current <= 1 && m->animating <= 1 && m->cpu_ns >= 0 && memory_ok(&m->memory);
}

static bool check_failed(const void *buf)
{
    const struct fw_link_failed *m = buf;
    return m->err > FW_OK && m->err < FW_ERR_COUNT && m->permanent <= 1 && TERMINATED(m->message);
}

static bool check_progress(const void *buf)
{
    const struct fw_link_progress *m = buf;
    return in_range(m->percent, 0, 100) && TERMINATED(m->what);
}

static bool check_view(const void *buf)
{
    const struct fw_link_view *m = buf;
    return m->view.size <= FW_LINK_MAX_VIEW;
}

static bool check_nothing(const void *buf)
{
    (void)buf;
    return true;
}

// Every message of fixed length; input alone has a length of its own.
static const struct {
    uint16_t type;
    size_t size;
    bool (*check)(const void *buf);
} fixed[] = {
    { FW_LINK_START, sizeof(struct fw_link_start), check_start },
    { FW_LINK_RESIZE, sizeof(struct fw_link_resize), check_resize },
    { FW_LINK_CREDIT, sizeof(struct fw_link_credit), check_credit },
    { FW_LINK_KEYFRAME, sizeof(struct fw_link_header), check_nothing },
    { FW_LINK_RATE, sizeof(struct fw_link_rate), check_rate },
    { FW_LINK_STOP, sizeof(struct fw_link_header), check_nothing },
    { FW_LINK_FAULT, sizeof(struct fw_link_fault), check_fault },
    { FW_LINK_WARM, sizeof(struct fw_link_warm), check_warm },
    { FW_LINK_READY, sizeof(struct fw_link_ready), check_ready },
    { FW_LINK_PACKET, sizeof(struct fw_link_header), check_nothing },
    { FW_LINK_BEACON, sizeof(struct fw_link_beacon), check_beacon },
    { FW_LINK_FAILED, sizeof(struct fw_link_failed), check_failed },
    { FW_LINK_PROGRESS, sizeof(struct fw_link_progress), check_progress },
    { FW_LINK_VIEW, sizeof(struct fw_link_view), check_view },
};

enum fw_err fw_link_check(const void *buf, size_t size)
{
    if (size < sizeof(struct fw_link_header)) {
        return FW_ERR_FORMAT;
    }
    const struct fw_link_header *h = buf;
    if (h->version != FW_LINK_VERSION || h->size != size) {
        return FW_ERR_FORMAT;
    }
    if (h->type == FW_LINK_INPUT) {
        return check_input(buf, size) ? FW_OK : FW_ERR_FORMAT;
    }
    for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
        if (fixed[i].type == h->type) {
            return size == fixed[i].size && fixed[i].check(buf) ? FW_OK : FW_ERR_FORMAT;
        }
    }
    return FW_ERR_UNSUPPORTED;
}

static int32_t even_up(int32_t v)
{
    return (v + 1) & ~1;
}

// "avc1.42e01f": letters, digits and dots; it goes into pages, files and logs as it is.
static bool name_ok(const char *name)
{
    for (; *name; name++) {
        const char c = *name;
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '.' || c == '-' || c == '_')) {
            return false;
        }
    }
    return true;
}

static bool times_ok(const struct fw_frame_times *t)
{
    const int64_t all[] = { t->input_rx_ns,  t->delivered_ns, t->change_ns,    t->begun_ns,
                            t->submitted_ns, t->rendered_ns,  t->converted_ns, t->enc_begin_ns,
                            t->enc_end_ns,   t->ring_ns,      t->picked_ns };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (all[i] < 0) {
            return false;
        }
    }
    return true;
}

static bool facts_ok(const struct fw_frame_facts *f, int64_t pixels)
{
    enum { QP_MAX = 51 };
    if (f->gpu.begin_ns < 0 || f->qp_plus1 > QP_MAX + 1 || f->damage_px > pixels ||
        !TERMINATED(f->encoder)) {
        return false;
    }
    return name_ok(f->encoder);
}

static bool skipped_ok(const uint8_t *reasons)
{
    for (size_t i = 0; i < FW_PACKET_SKIPPED; i++) {
        if (reasons[i] > FW_REASON_RING_FULL) {
            return false;
        }
    }
    return true;
}

enum fw_err fw_link_check_packet(const struct fw_link_packet *p, size_t record_size)
{
    if (record_size < sizeof(*p) || p->size > FW_PACKET_MAX_BYTES ||
        p->size != record_size - sizeof(*p)) {
        return FW_ERR_FORMAT;
    }
    if (p->frame_id == 0 || p->key > 1 || p->animating > 1 || !size_ok(p->width, p->height) ||
        p->coded_width != even_up(p->width) || p->coded_height != even_up(p->height)) {
        return FW_ERR_FORMAT;
    }
    return TERMINATED(p->codec) && name_ok(p->codec) && (!p->key || p->codec[0]) &&
                   times_ok(&p->times) && facts_ok(&p->facts, (int64_t)p->width * p->height) &&
                   skipped_ok(p->skipped)
               ? FW_OK
               : FW_ERR_FORMAT;
}
