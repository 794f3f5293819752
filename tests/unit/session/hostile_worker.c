// SPDX-License-Identifier: MIT
#include "tests/unit/session/hostile_worker.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ring.h"
#include "session/link.h"

// As base/ring.c lays it out: two indices on cache lines of their own, records from the next page.
enum { RECORDS_AT = 4096 };

struct worker {
    struct fw_ring ring; // the orderly way to it
    _Atomic uint64_t *head;
    uint8_t *records;
    uint64_t frame_id;
    struct fw_link_blob view; // of START
};

static void end(void)
{
    _exit(EXIT_FAILURE);
}

// What does not fit waits: a flood is as fast as the front takes it.
static void send_raw(const void *data, size_t size)
{
    if (send(FW_LINK_FD, data, size, MSG_NOSIGNAL) < 0)
        end();
}

static void send_typed(void *message, uint16_t type, size_t size)
{
    struct fw_link_header *h = message;
    *h = (struct fw_link_header){ type, FW_LINK_VERSION, (uint32_t)size };
    send_raw(message, size);
}

static void send_ready(const char *encoder)
{
    struct fw_link_ready m = { .width = 64, .height = 48, .fps = 60 };
    snprintf(m.gpu, sizeof(m.gpu), "none");
    snprintf(m.encoder, sizeof(m.encoder), "%s", encoder);
    send_typed(&m, FW_LINK_READY, sizeof(m));
}

static void announce(void)
{
    struct fw_link_header m;
    send_typed(&m, FW_LINK_PACKET, sizeof(m));
}

static void beacon(const struct worker *w)
{
    struct fw_link_beacon m = { .newest_frame = w->frame_id };
    send_typed(&m, FW_LINK_BEACON, sizeof(m));
}

static struct fw_link_packet packet(struct worker *w, uint64_t size)
{
    return (struct fw_link_packet){ .frame_id = ++w->frame_id,
                                    .width = 64,
                                    .height = 48,
                                    .coded_width = 64,
                                    .coded_height = 48,
                                    .key = 1,
                                    .codec = "avc1.42e01f",
                                    .times = { .begun_ns = 1, .enc_end_ns = 2 },
                                    .size = size };
}

static void put(struct worker *w, const struct fw_link_packet *head, const void *body, size_t size)
{
    while (fw_ring_write(&w->ring, head, sizeof(*head), body, size) == FW_ERR_AGAIN)
        usleep(200);
    announce();
}

static void put_good(struct worker *w, size_t size)
{
    static uint8_t body[6 << 20];
    const struct fw_link_packet head = packet(w, size);
    put(w, &head, body, size);
}

// ---- parts

static bool told_to_stop(void)
{
    static _Alignas(16) uint8_t buf[FW_LINK_MAX_BYTES];
    size_t size;
    enum fw_err err;
    while (!(err = fw_link_recv(FW_LINK_FD, buf, &size)))
        if (((const struct fw_link_header *)(const void *)buf)->type == FW_LINK_STOP)
            return true;
    return err != FW_ERR_AGAIN;
}

static void good(struct worker *w)
{
    while (!told_to_stop()) {
        put_good(w, 5000);
        beacon(w);
        usleep(20000);
    }
    _exit(EXIT_SUCCESS);
}

static void short_message(struct worker *w)
{
    (void)w;
    send_raw("abc", 3);
}

static void empty_message(struct worker *w)
{
    (void)w;
    send_raw("", 0);
}

static void wrong_length(struct worker *w)
{
    struct fw_link_header m = { FW_LINK_PACKET, FW_LINK_VERSION, sizeof(m) + 1 };
    (void)w;
    send_raw(&m, sizeof(m));
}

static void body_too_short(struct worker *w)
{
    struct fw_link_header m;
    (void)w;
    send_typed(&m, FW_LINK_READY, sizeof(m));
}

static void huge_message(struct worker *w)
{
    static uint8_t m[FW_LINK_MAX_BYTES + 8];
    (void)w;
    send_typed(m, FW_LINK_READY, sizeof(m));
}

static void unknown_type(struct worker *w)
{
    struct fw_link_header m;
    (void)w;
    send_typed(&m, 99, sizeof(m));
}

static void type_of_the_front(struct worker *w)
{
    struct fw_link_header m;
    (void)w;
    send_typed(&m, FW_LINK_KEYFRAME, sizeof(m));
}

static void warm_twice(struct worker *w)
{
    struct fw_link_warm m = { 0 };
    (void)w;
    send_typed(&m, FW_LINK_WARM, sizeof(m));
}

static void endless_string(struct worker *w)
{
    struct fw_link_failed m = { .err = FW_ERR_IO };
    (void)w;
    memset(m.message, 'x', sizeof(m.message));
    send_typed(&m, FW_LINK_FAILED, sizeof(m));
}

static void head_too_far(struct worker *w)
{
    atomic_store(w->head, UINT64_C(1) << 40);
    announce();
}

static void head_backwards(struct worker *w)
{
    put_good(w, 5000);
    usleep(50000);
    atomic_store(w->head, 8);
    announce();
}

// A record of `length` bytes, as its own first word says, of which `there` are.
static void lie_in_ring(struct worker *w, uint64_t length, uint64_t there)
{
    memcpy(w->records, &length, sizeof(length));
    atomic_store(w->head, there);
    announce();
}

static void record_endless(struct worker *w)
{
    lie_in_ring(w, UINT64_MAX, 4096);
}

static void record_wraps(struct worker *w)
{
    lie_in_ring(w, UINT64_MAX - 14, 4096);
}

static void record_half_written(struct worker *w)
{
    lie_in_ring(w, 8192, 4096);
}

static void record_too_small(struct worker *w)
{
    lie_in_ring(w, 4, 16);
}

static void record_less_than_a_length(struct worker *w)
{
    lie_in_ring(w, 0, 4);
}

static void payload_size_lies(struct worker *w)
{
    struct fw_link_packet head = packet(w, 5000);
    put(w, &head, head.codec, sizeof(head.codec));
}

static void payload_size_huge(struct worker *w)
{
    struct fw_link_packet head = packet(w, UINT64_MAX - sizeof(head) + 1);
    put(w, &head, NULL, 0);
}

static void picture_of_no_size(struct worker *w)
{
    struct fw_link_packet head = packet(w, 0);
    head.width = head.coded_width = -64;
    put(w, &head, NULL, 0);
}

static void codec_with_quotes(struct worker *w)
{
    struct fw_link_packet head = packet(w, 0);
    snprintf(head.codec, sizeof(head.codec), "\",\"a\":\"");
    put(w, &head, NULL, 0);
}

static void frame_twice(struct worker *w)
{
    put_good(w, 100);
    w->frame_id--;
    put_good(w, 100);
}

static void last_frame_of_all(struct worker *w)
{
    w->frame_id = UINT64_MAX - 1; // there is none after it for the next worker
    put_good(w, 100);
}

static void times_of_another_age(struct worker *w)
{
    struct fw_link_packet head = packet(w, 0);
    head.times.begun_ns = INT64_MIN;
    put(w, &head, NULL, 0);
}

static void flood_of_progress(struct worker *w)
{
    struct fw_link_progress m = { .percent = 1, .what = "\xff\xfe" };
    (void)w;
    for (;;)
        send_typed(&m, FW_LINK_PROGRESS, sizeof(m));
}

static void flood_of_ready(struct worker *w)
{
    (void)w;
    for (;;)
        send_ready("x264");
}

static void flood_of_announcements(struct worker *w)
{
    (void)w;
    for (;;)
        announce();
}

static void flood_of_packets(struct worker *w)
{
    for (;;)
        put_good(w, 1);
}

static void flood_of_bytes(struct worker *w)
{
    for (;;)
        put_good(w, 6 << 20);
}

static void *scribble(void *arg)
{
    struct worker *w = arg;
    uint32_t random = 1;
    for (;;) {
        // The first records and the index, again and again: true and false by turns.
        random = random * 1103515245u + 12345u;
        const uint64_t length = random & 0x100 ? sizeof(struct fw_link_packet) + 64 : random;
        memcpy(w->records + (random >> 20) % 4096, &random, sizeof(random));
        memcpy(w->records, &length, sizeof(length));
        atomic_store(w->head, random & 0x200 ? 4096 : random);
    }
    return NULL;
}

static void changes_while_read(struct worker *w)
{
    pthread_t thread;
    struct fw_link_packet head = packet(w, 64);
    memcpy(w->records + 8, &head, sizeof(head));
    pthread_create(&thread, NULL, scribble, w);
    for (;;)
        announce();
}

static void ends(struct worker *w)
{
    (void)w;
    _exit(3);
}

// Out of the group that the front would kill, with its link closed.
static void hangs_up_and_stays(struct worker *w)
{
    (void)w;
    setpgid(0, getpgid(getppid()));
    close(FW_LINK_FD);
    for (;;)
        pause();
}

static void view_too_long(struct worker *w)
{
    struct fw_link_view m = { .view.size = FW_LINK_MAX_VIEW + 1 };
    (void)w;
    send_typed(&m, FW_LINK_VIEW, sizeof(m));
}

// Not against the rules: leaves word for the next one, which says that it got it.
static void leaves_a_view(struct worker *w)
{
    struct fw_link_view m = { .view = { .size = 5, .bytes = "here" } };
    if (memcmp(&w->view, &m.view, sizeof(m.view)) == 0) {
        send_ready("view");
        good(w);
    }
    send_typed(&m, FW_LINK_VIEW, sizeof(m));
    _exit(3);
}

// Not against the rules: as if it were stopped for a while.
static void falls_silent(struct worker *w)
{
    put_good(w, 5000);
    for (int i = 0; i < 60; i++) { // 4.2 s, with no longer than a blink between looks at the link
        usleep(70000);
        if (told_to_stop())
            _exit(EXIT_SUCCESS);
    }
    good(w);
}

// Not against the rules: another encoder than the one that was asked for.
static void falls_back(struct worker *w)
{
    send_ready("x264");
    good(w);
}

static const struct {
    const char *name;
    void (*play)(struct worker *w);
} parts[] = {
    { "good", good },
    { "short", short_message },
    { "empty", empty_message },
    { "wrong length", wrong_length },
    { "body too short", body_too_short },
    { "huge", huge_message },
    { "unknown type", unknown_type },
    { "type of the front", type_of_the_front },
    { "warm twice", warm_twice },
    { "endless string", endless_string },
    { "head too far", head_too_far },
    { "head backwards", head_backwards },
    { "record endless", record_endless },
    { "record wraps", record_wraps },
    { "record half written", record_half_written },
    { "record too small", record_too_small },
    { "record less than a length", record_less_than_a_length },
    { "payload size lies", payload_size_lies },
    { "payload size huge", payload_size_huge },
    { "picture of no size", picture_of_no_size },
    { "codec with quotes", codec_with_quotes },
    { "frame twice", frame_twice },
    { "last frame of all", last_frame_of_all },
    { "times of another age", times_of_another_age },
    { "flood of progress", flood_of_progress },
    { "flood of ready", flood_of_ready },
    { "flood of announcements", flood_of_announcements },
    { "flood of packets", flood_of_packets },
    { "flood of bytes", flood_of_bytes },
    { "view too long", view_too_long },
    { "leaves a view", leaves_a_view },
    { "changes while read", changes_while_read },
    { "ends", ends },
    { "hangs up and stays", hangs_up_and_stays },
    { "falls silent", falls_silent },
    { "falls back", falls_back },
};

// ---- the way there

static void wait_start(struct worker *w, char *name, size_t size)
{
    static _Alignas(16) uint8_t buf[FW_LINK_MAX_BYTES];
    size_t got;
    for (;;) {
        poll(&(struct pollfd){ .fd = FW_LINK_FD, .events = POLLIN }, 1, -1);
        const enum fw_err err = fw_link_recv(FW_LINK_FD, buf, &got);
        if (err == FW_ERR_AGAIN)
            continue;
        const struct fw_link_start *start = (const void *)buf;
        if (err || start->h.type != FW_LINK_START)
            end();
        w->frame_id = start->first_frame_id - 1;
        w->view = start->view;
        snprintf(name, size, "%.60s", start->args[0].value);
        return;
    }
}

int hostile_worker_main(void)
{
    struct worker w = { 0 };
    struct fw_link_warm warm = { .gpu = "none" };
    char name[64];
    alarm(30); // a front that lets it live is found out; it does not stay for ever
    if (fw_ring_open(&w.ring, FW_RING_FD) != FW_OK)
        return EXIT_FAILURE;
    w.head = (void *)w.ring.map;
    w.records = w.ring.map + RECORDS_AT;
    send_typed(&warm, FW_LINK_WARM, sizeof(warm));
    wait_start(&w, name, sizeof(name));
    if (strcmp(name, "crashes while it opens") == 0)
        raise(SIGABRT);
    send_ready("nvenc");
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (strcmp(parts[i].name, name) == 0)
            parts[i].play(&w);
    // Those who have said their piece wait for what the front makes of it.
    for (char byte; recv(FW_LINK_FD, &byte, 1, 0) > 0;)
        ;
    return EXIT_SUCCESS;
}
