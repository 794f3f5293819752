// SPDX-License-Identifier: MIT
// A viewer that decodes nothing: it acknowledges what it gets, sends input, and measures.
//   bench_client HOST PORT PATH TOKEN throughput SECONDS [drag]
//     takes frames as fast as they come; "drag" moves the mouse 250 times a second. Prints `begin`
//     when it starts to count and one line of JSON at the end.
//   bench_client HOST PORT PATH TOKEN latency COUNT
//     moves the mouse at random gaps of 150-250 ms; input → last byte taken by the kernel, from
//     the server's own stamps, cross-checked by the clock of this side. Prints one line of JSON.
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "stream/client/client.h"
#include "stream/wire.h"

enum { VIDEO = 0x01, INPUT = 0x20, INPUT_STAMP = 0x33 };
enum { MOTION = 1, BUTTON = 2, WARM_FRAMES = 60, KEPT = 256, MAX_COUNT = 2000 };
// A server that has given a worker away starts the next spare one: its start is over by then.
enum { WARM_MS = 2500, DRAG_MS = 4 };

// What is known of one frame; the slot is frame_id % KEPT.
struct seen {
    uint64_t id, input_id;
    int64_t begun, encoded, handed, accepted, received;
    uint32_t render_us, encode_us;
};

struct client {
    struct fw_client_viewer page;
    struct seen seen[KEPT];
    uint64_t seq;                   // of the newest input sent
    uint64_t stamped_seq, input_id; // the newest input stamp
    int64_t input_rx;
    uint64_t frames, bytes, newest;
    bool drag;
    int64_t drag_ns; // moved last
};

static uint64_t get64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v)); // both sides are little-endian here
    return v;
}

static uint32_t get32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static bool send_input(struct client *c, uint8_t kind, uint8_t state)
{
    uint8_t m[16 + 40] = { INPUT, 0, 16, 0, 40, 0, 0, 0, 1 };
    uint8_t *e = m + 16;
    const float x = 600 + (float)(c->seq % 80), y = 360, dx = c->seq % 80 ? 1 : -79;
    const uint64_t now_us = (uint64_t)fw_now_ns() / FW_NS_PER_US;
    c->seq++;
    e[0] = kind;
    e[1] = state;
    memcpy(e + 8, &x, 4);
    memcpy(e + 12, &y, 4);
    memcpy(e + 16, &dx, 4);
    memcpy(e + 24, &c->seq, 8);
    memcpy(e + 32, &now_us, 8);
    return !fw_client_send(c->page.control, FW_CLIENT_BINARY, m, sizeof(m));
}

static void on_video(struct client *c, const uint8_t *m, size_t size)
{
    if (size < 64 || m[0] != VIDEO)
        return;
    const uint64_t id = get64(m + 8);
    fw_client_ack(&c->page, id);
    struct seen *s = &c->seen[id % KEPT];
    if (s->id != id)
        *s = (struct seen){ .id = id };
    s->input_id = get64(m + 16);
    s->begun = (int64_t)get64(m + 32);
    s->encoded = (int64_t)get64(m + 40);
    s->render_us = get32(m + 56);
    s->encode_us = get32(m + 60);
    s->received = fw_now_ns();
    c->newest = id;
    c->frames++;
    c->bytes += size;
}

static void on_control(struct client *c, bool binary, const uint8_t *m, size_t size)
{
    if (!binary) {
        if (strstr((const char *)m, "\"type\":\"error\""))
            fprintf(stderr, "bench: %s\n", (const char *)m);
    } else if (m[0] == FW_WIRE_STAMP) {
        struct fw_wire_stamp stamps[FW_WIRE_STAMPS_MAX];
        unsigned count = 0;
        if (fw_wire_parse_stamps(m, size, stamps, &count))
            return;
        for (unsigned i = 0; i < count; i++) {
            struct seen *s = &c->seen[stamps[i].frame_id % KEPT];
            if (s->id != stamps[i].frame_id)
                *s = (struct seen){ .id = stamps[i].frame_id };
            s->handed = stamps[i].handed_ns;
            s->accepted = stamps[i].accepted_ns;
        }
    } else if (m[0] == INPUT_STAMP && size >= 32) {
        c->stamped_seq = get64(m + 8);
        c->input_id = get64(m + 16);
        c->input_rx = (int64_t)get64(m + 24);
    }
}

// Everything that has come on one connection. False: it ended.
static bool drain(struct client *c, struct fw_client *from)
{
    struct fw_client_message m;
    for (;;) {
        const enum fw_err err = fw_client_receive(from, 0, &m);
        if (err || m.opcode == FW_CLIENT_CLOSE)
            return err == FW_ERR_AGAIN;
        if (from == c->page.media && m.opcode == FW_CLIENT_BINARY)
            on_video(c, m.data, m.size);
        else if (from == c->page.control)
            on_control(c, m.opcode == FW_CLIENT_BINARY, m.data, m.size);
    }
}

// One round of waiting and reading. False: a connection ended.
static bool turn(struct client *c, int timeout_ms)
{
    struct pollfd fds[2] = {
        { .fd = fw_client_fd(c->page.control), .events = POLLIN },
        { .fd = fw_client_fd(c->page.media), .events = POLLIN },
    };
    if (c->drag && fw_now_ns() - c->drag_ns >= DRAG_MS * (int64_t)FW_NS_PER_MS) {
        c->drag_ns = fw_now_ns();
        send_input(c, MOTION, 0);
    }
    if (poll(fds, 2, c->drag ? DRAG_MS : timeout_ms) <= 0)
        return true;
    return (!fds[0].revents || drain(c, c->page.control)) &&
           (!fds[1].revents || drain(c, c->page.media));
}

static int throughput(struct client *c, double seconds, bool drag)
{
    const int64_t warm = fw_now_ns() + WARM_MS * (int64_t)FW_NS_PER_MS;
    int64_t limit = fw_now_ns() + 30LL * FW_NS_PER_S;
    send_input(c, BUTTON, 1);
    c->drag = drag;
    send_input(c, MOTION, 0);
    while (c->frames < WARM_FRAMES || fw_now_ns() < warm)
        if (fw_now_ns() > limit || !turn(c, 1000))
            return 1;
    printf("begin\n");
    fflush(stdout);
    const int64_t begin = fw_now_ns();
    const uint64_t frames = c->frames, bytes = c->bytes;
    limit = begin + (int64_t)(seconds * FW_NS_PER_S);
    while (fw_now_ns() < limit)
        if (!turn(c, 100))
            return 1;
    const double took = (double)(fw_now_ns() - begin) / FW_NS_PER_S;
    const uint64_t n = c->frames - frames;
    printf("{\"frames\":%lu,\"seconds\":%.4f,\"fps\":%.2f,\"bytesPerFrame\":%.0f}\n", n, took,
           (double)n / took, n ? (double)(c->bytes - bytes) / (double)n : 0.0);
    return 0;
}

// ---- latency -----------------------------------------------------------------------------------

enum span { TOTAL, TO_BEGIN, RENDER, TO_ENCODER, ENCODE, TO_SOCKET, TO_KERNEL, ROUND_TRIP, SPANS };
static const char *const span_names[SPANS] = { "total",  "toBegin",  "render",   "toEncoder",
                                               "encode", "toSocket", "toKernel", "roundTrip" };
static int64_t spans[SPANS][MAX_COUNT];

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

// The first frame that shows the newest input and whose stamps are all there; NULL: not yet.
static const struct seen *answer(const struct client *c)
{
    const struct seen *best = NULL;
    for (int i = 0; i < KEPT; i++) {
        const struct seen *s = &c->seen[i];
        if (s->id && s->received && s->input_id >= c->input_id && (!best || s->id < best->id))
            best = s;
    }
    return best && best->accepted ? best : NULL;
}

static int latency(struct client *c, int count)
{
    int got = 0, lost = 0;
    const int64_t warm = fw_now_ns() + WARM_MS * (int64_t)FW_NS_PER_MS;
    send_input(c, BUTTON, 1);
    while (fw_now_ns() < warm)
        if (!turn(c, 100))
            return 1;
    for (int i = 0; i < count; i++) {
        const int64_t next = fw_now_ns() + (150 + random() % 100) * (int64_t)FW_NS_PER_MS;
        while (fw_now_ns() < next)
            if (!turn(c, (int)((next - fw_now_ns()) / FW_NS_PER_MS) + 1))
                return 1;
        const int64_t sent = fw_now_ns();
        send_input(c, MOTION, 0);
        const struct seen *s = NULL;
        while (!s && fw_now_ns() < sent + FW_NS_PER_S) {
            if (!turn(c, 20))
                return 1;
            s = c->stamped_seq == c->seq ? answer(c) : NULL;
        }
        if (!s) {
            lost++;
            continue;
        }
        spans[TOTAL][got] = s->accepted - c->input_rx;
        spans[TO_BEGIN][got] = s->begun - c->input_rx;
        spans[RENDER][got] = s->render_us * (int64_t)FW_NS_PER_US;
        spans[ENCODE][got] = s->encode_us * (int64_t)FW_NS_PER_US;
        spans[TO_ENCODER][got] =
            s->encoded - s->begun - (s->render_us + s->encode_us) * (int64_t)FW_NS_PER_US;
        spans[TO_SOCKET][got] = s->handed - s->encoded;
        spans[TO_KERNEL][got] = s->accepted - s->handed;
        spans[ROUND_TRIP][got] = s->received - sent;
        got++;
    }
    printf("{\"inputs\":%d,\"lost\":%d", got, lost);
    for (int k = 0; k < SPANS && got; k++) {
        qsort(spans[k], (size_t)got, sizeof(spans[k][0]), compare);
        printf(",\"%s\":{\"p50Ms\":%.4f,\"p99Ms\":%.4f}", span_names[k],
               (double)spans[k][(got - 1) / 2] / FW_NS_PER_MS,
               (double)spans[k][(int)(0.99 * (got - 1) + 0.5)] / FW_NS_PER_MS);
    }
    printf("}\n");
    return got == 0;
}

int main(int argc, char **argv)
{
    static struct client c;
    if (argc < 7) {
        fprintf(stderr, "bench_client HOST PORT PATH TOKEN throughput SECONDS [drag]\n"
                        "bench_client HOST PORT PATH TOKEN latency COUNT\n");
        return 2;
    }
    int rc = 1;
    const struct fw_client_params params = {
        .host = argv[1],
        .port = atoi(argv[2]),
        .path = argv[3],
    };
    if (!fw_client_join(&c.page, &params, argv[4], 1280, 720)) {
        if (strcmp(argv[5], "latency") == 0)
            rc = latency(&c, atoi(argv[6]) < MAX_COUNT ? atoi(argv[6]) : MAX_COUNT);
        else
            rc = throughput(&c, atof(argv[6]), argc > 7);
    }
    if (rc)
        fprintf(stderr, "bench: the session ended early\n");
    fw_client_leave(&c.page);
    return rc;
}
