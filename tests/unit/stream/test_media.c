// SPDX-License-Identifier: MIT
// Video over real sockets, ws and wss: order, drops, key frames, stalled viewers, credit.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "fake_host.h"
#include "stream/wire.h"

enum { IDR = 200 * 1000, DELTA = 15 * 1000 };

static struct host host;

// Freed memory is given back at once, so that the resident size means something.
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "quarantine_size_mb=1";
}

// The next video message of this viewer; checks every byte of it.
static bool next_video(struct fw_client_viewer *v, int timeout_ms, struct fw_wire_video *video)
{
    struct fw_client_message m;
    const enum fw_err err = fw_client_receive(v->media, timeout_ms, &m);
    if (err == FW_ERR_AGAIN)
        return false;
    assert_int_equal(err, FW_OK);
    assert_int_equal(m.opcode, FW_CLIENT_BINARY);
    assert_int_equal(fw_wire_parse_video(m.data, m.size, video), FW_OK);
    for (size_t i = 0; i + 8 <= video->payload_size; i += 8)
        assert_memory_equal(video->payload + i, &video->frame_id, 8);
    return true;
}

static void join(struct fw_client_viewer *v, int receive_buffer)
{
    struct fw_client_params p = host_client(&host, "/s/s1/ws");
    p.receive_buffer = receive_buffer;
    const unsigned joined = host.joined;
    assert_int_equal(fw_client_join(v, &p, NULL, 800, 600), FW_OK);
    assert_true(host_wait(&host, &host.joined, joined + 1, 2000));
}

static struct fw_channel_stats stats(void)
{
    struct fw_channel_stats s;
    host_stats(&host, &s);
    return s;
}

static void wait_visible(unsigned count)
{
    for (int i = 0; i < 400 && stats().visible != count; i++)
        usleep(5000);
    assert_int_equal(stats().visible, count);
}

static void test_order_and_bytes(void **state)
{
    (void)state;
    struct fw_client_viewer v;
    struct fw_wire_video video;
    join(&v, 0);
    wait_visible(1);
    assert_true(host_wait(&host, &host.keyframes, 1, 1000));
    // Before its first key frame a viewer gets nothing.
    host_publish(&host, DELTA, false);
    const uint64_t key = host_publish(&host, IDR, true);
    assert_true(next_video(&v, 2000, &video));
    assert_true(video.key);
    assert_int_equal(video.frame_id, key);
    assert_int_equal(video.payload_size, IDR);
    assert_string_equal(video.codec, "avc1.42e01f");
    assert_int_equal(video.width, 641);
    assert_int_equal(video.coded_width, 642);
    assert_int_equal(video.render_us, 1000);
    assert_int_equal(video.encode_us, 1500);
    fw_client_ack(&v, video.frame_id);
    for (int i = 1; i <= 100; i++) {
        const uint64_t id = host_publish(&host, i % 25 ? DELTA : IDR, i % 25 == 0);
        assert_true(next_video(&v, 2000, &video));
        assert_int_equal(video.frame_id, id);
        fw_client_ack(&v, id);
    }
    assert_int_equal(stats().sent_packets, 101);
    fw_client_leave(&v);
    wait_visible(0);
}

static void test_stamps(void **state)
{
    (void)state;
    struct fw_client_viewer v;
    struct fw_wire_video video;
    struct fw_client_message m;
    struct fw_wire_stamp stamp;
    join(&v, 0);
    wait_visible(1);
    const int64_t before = fw_now_ns();
    const uint64_t id = host_publish(&host, IDR, true);
    assert_true(next_video(&v, 2000, &video));
    for (;;) {
        assert_int_equal(fw_client_receive(v.control, 2000, &m), FW_OK);
        if (m.opcode == FW_CLIENT_BINARY && !fw_wire_parse_stamp(m.data, m.size, &stamp))
            break;
    }
    assert_int_equal(stamp.frame_id, id);
    assert_true(stamp.handed_ns >= before && stamp.accepted_ns >= stamp.handed_ns);
    assert_true(stamp.accepted_ns <= fw_now_ns());
    fw_client_leave(&v);
    wait_visible(0);
}

// Window: W = 2 on a short path; nothing more is allowed until the driver confirms.
static void test_credit(void **state)
{
    (void)state;
    struct fw_client_viewer v;
    struct fw_wire_video video;
    join(&v, 0);
    wait_visible(1);
    const uint64_t base = stats().published;
    assert_true(host.active);
    assert_int_equal(host.allowed, base + 2);
    const uint64_t id = host_publish(&host, DELTA, true);
    assert_int_equal(host.allowed, base + 2);
    host_publish(&host, DELTA, false);
    assert_int_equal(host.allowed, base + 2);
    assert_true(next_video(&v, 2000, &video));
    unsigned credits = host.credits;
    fw_client_ack(&v, id);
    assert_true(host_wait(&host, &host.credits, credits + 1, 2000));
    assert_int_equal(host.allowed, base + 3);
    // Hidden: nothing is wanted any more.
    credits = host.credits;
    fw_client_send_text(v.control, "{\"type\":\"visibility\",\"visible\":false}");
    assert_true(host_wait(&host, &host.credits, credits + 1, 2000));
    assert_false(host.active);
    const unsigned keys = host.keyframes;
    fw_client_send_text(v.control, "{\"type\":\"visibility\",\"visible\":true}");
    assert_true(host_wait(&host, &host.keyframes, keys + 1, 2000));
    assert_true(host.active);
    fw_client_leave(&v);
    wait_visible(0);
    assert_false(host.active);
}

// A flood of requests becomes a few; and none while one is on its way.
static void test_keyframe_requests(void **state)
{
    (void)state;
    struct fw_client_viewer v;
    join(&v, 0);
    wait_visible(1);
    assert_true(host_wait(&host, &host.keyframes, 1, 1000));
    host_publish(&host, DELTA, true);
    usleep(300000);
    const unsigned before = host.keyframes;
    const int64_t start = fw_now_ns();
    while (fw_now_ns() - start < FW_NS_PER_S) {
        for (int i = 0; i < 20; i++)
            fw_client_send_text(v.control, "{\"type\":\"keyframe\",\"reason\":\"decoder-error\"}");
        usleep(20000);
    }
    assert_in_range(host.keyframes - before, 1, 2);
    // Answered each time, it still gets fewer and fewer.
    const unsigned asked = host.keyframes;
    unsigned answered = asked;
    while (fw_now_ns() - start < 3 * (int64_t)FW_NS_PER_S) {
        fw_client_send_text(v.control, "{\"type\":\"keyframe\",\"reason\":\"decoder-error\"}");
        usleep(20000);
        if (host.keyframes != answered)
            host_publish(&host, DELTA, true);
        answered = host.keyframes;
    }
    assert_in_range(host.keyframes - asked, 1, 5);
    fw_client_leave(&v);
    wait_visible(0);
}

static long rss_kib(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%*d %ld", &pages) != 1)
        abort();
    fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

// One viewer stops reading. The other misses nothing, memory stays flat, and the stopped one
// comes back on a key frame.
static void test_stalled_viewer(void **state)
{
    (void)state;
    struct fw_client_viewer dead, live;
    struct fw_wire_video video;
    join(&dead, 16 << 10);
    join(&live, 0);
    wait_visible(2);
    uint64_t id = host_publish(&host, IDR, true);
    assert_true(next_video(&live, 2000, &video));
    fw_client_ack(&live, id);
    long rss = 0;
    const uint64_t dropped = stats().dropped;
    for (int i = 0; i < 400; i++) {
        // Somebody must be allowed to go on, at the latest after the pacer's patience.
        bool allowed = false;
        for (int wait = 0; wait < 200 && !allowed; wait++) {
            pthread_mutex_lock(&host.lock);
            allowed = host.allowed > id;
            pthread_mutex_unlock(&host.lock);
            if (!allowed)
                usleep(5000);
        }
        assert_true(allowed);
        const bool key = i % 40 == 39;
        id = host_publish(&host, key ? IDR : 4 * DELTA, key);
        assert_true(next_video(&live, 2000, &video));
        assert_int_equal(video.frame_id, id);
        fw_client_ack(&live, id);
        if (i == 100)
            rss = rss_kib();
    }
    assert_true(stats().dropped > dropped + 100);
    // 300 frames of 60 kB and more went past it.
    assert_true(rss_kib() - rss < 4096);
    // It reads again: what was under way, complete; then a jump, onto a key frame.
    uint64_t last = 0;
    bool jumped = false;
    unsigned seen = 0;
    for (int i = 0; i < 100 && !jumped; i++) {
        while (next_video(&dead, 20, &video)) {
            seen++;
            assert_true(video.frame_id > last);
            if (last && video.frame_id != last + 1) {
                assert_true(video.key);
                jumped = true;
            }
            last = video.frame_id;
            fw_client_ack(&dead, last);
        }
        host_publish(&host, IDR / 4, true);
        while (next_video(&live, 20, &video))
            fw_client_ack(&live, video.frame_id);
    }
    assert_true(jumped);
    assert_true(seen < 60);
    fw_client_leave(&dead);
    fw_client_leave(&live);
    wait_visible(0);
}

// The largest packet there is goes out as one message.
static void test_largest(void **state)
{
    (void)state;
    struct fw_client_viewer v;
    struct fw_wire_video video;
    join(&v, 0);
    wait_visible(1);
    for (int i = 0; i < 2; i++) {
        const uint64_t id = host_publish(&host, FW_PACKET_MAX_BYTES, true);
        assert_true(next_video(&v, 10000, &video));
        assert_int_equal(video.frame_id, id);
        assert_int_equal(video.payload_size, FW_PACKET_MAX_BYTES);
        fw_client_ack(&v, id);
    }
    fw_client_leave(&v);
    wait_visible(0);
}

static bool may_publish(int timeout_ms)
{
    for (int i = 0; i <= timeout_ms; i += 2) {
        pthread_mutex_lock(&host.lock);
        const bool allowed = host.active && host.allowed > host.frame_id;
        pthread_mutex_unlock(&host.lock);
        if (allowed)
            return true;
        usleep(2000);
    }
    return false;
}

// A lone viewer on a thin path: it slows the session down, and misses nothing.
static void test_slow_driver(void **state)
{
    (void)state;
    struct fw_client_viewer v;
    struct fw_wire_video video;
    join(&v, 8 << 10);
    wait_visible(1);
    const uint64_t dropped = stats().dropped;
    uint64_t expected = 0;
    for (int i = 0; i < 30; i++) {
        assert_true(may_publish(3000));
        const uint64_t first = host_publish(&host, IDR, i == 0);
        if (!expected)
            expected = first;
        while (may_publish(0)) // all that the window takes
            host_publish(&host, IDR, false);
        usleep(10000);
        // As a page does: one is read and confirmed, the rest waits in the kernel.
        assert_true(next_video(&v, 3000, &video));
        assert_int_equal(video.frame_id, expected);
        expected++;
        fw_client_ack(&v, video.frame_id);
    }
    assert_int_equal(stats().dropped, dropped);
    fw_client_leave(&v);
    wait_visible(0);
}

static void test_replace_and_reset(void **state)
{
    (void)state;
    struct fw_client_viewer v;
    struct fw_wire_video video;
    struct fw_client_message m;
    struct fw_client *second;
    char text[200];
    join(&v, 0);
    wait_visible(1);
    host_publish(&host, DELTA, true);
    assert_true(next_video(&v, 2000, &video));
    // A worker's replacement: deltas of the new stream are held back until its key frame.
    host_reset(&host);
    host_publish(&host, DELTA, false);
    uint64_t id = host_publish(&host, DELTA, true);
    assert_true(next_video(&v, 2000, &video));
    assert_int_equal(video.frame_id, id);
    // A second media connection takes over; the first is told.
    const struct fw_client_params p = host_client(&host, "/s/s1/ws");
    assert_int_equal(fw_client_open(&second, &p, NULL), FW_OK);
    snprintf(text, sizeof(text),
             "{\"type\":\"hello\",\"version\":1,\"channel\":\"media\",\"viewer\":\"%s\"}", v.id);
    fw_client_send_text(second, text);
    assert_int_equal(fw_client_receive(v.media, 2000, &m), FW_OK);
    assert_int_equal(m.opcode, FW_CLIENT_CLOSE);
    assert_int_equal(m.close_code, 4409);
    fw_client_close(&v.media);
    v.media = second;
    id = host_publish(&host, DELTA, true);
    assert_true(next_video(&v, 2000, &video));
    assert_int_equal(video.frame_id, id);
    // The viewer dies with its control connection, and its media with it.
    fw_client_close(&v.control);
    assert_int_equal(fw_client_receive(v.media, 2000, &m), FW_OK);
    assert_int_equal(m.opcode, FW_CLIENT_CLOSE);
    fw_client_leave(&v);
    wait_visible(0);
}

// 30 cycles of joining and vanishing at any moment leave nothing behind.
static void test_reconnects(void **state)
{
    (void)state;
    for (int i = 0; i < 30; i++) {
        struct fw_client_viewer v;
        join(&v, 0);
        if (i % 3)
            host_publish(&host, IDR, true);
        usleep((useconds_t)(i % 4) * 2000);
        fw_client_leave(&v);
    }
    wait_visible(0);
    assert_true(host_wait(&host, &host.left, host.joined, 2000));
    assert_int_equal(stats().viewers, 0);
    assert_true(stats().absent_since_ns > 0);
}

// The server ends with viewers connected, in either order.
static void test_end_with_viewers(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct fw_client_viewer v[3];
        host_start(&host, i & 1, "127.0.0.1", NULL, 0);
        host.server_first = i & 2;
        for (int k = 0; k < 3; k++)
            join(&v[k], 0);
        wait_visible(3);
        host_publish(&host, IDR, true);
        host_stop(&host);
        for (int k = 0; k < 3; k++)
            fw_client_leave(&v[k]);
    }
}

static int start_plain(void **state)
{
    (void)state;
    host_start(&host, false, "127.0.0.1", NULL, 0);
    return 0;
}

static int start_tls(void **state)
{
    (void)state;
    host_start(&host, true, "127.0.0.1", NULL, 0);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    host_stop(&host);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_and_bytes), cmocka_unit_test(test_stamps),
        cmocka_unit_test(test_credit),          cmocka_unit_test(test_keyframe_requests),
        cmocka_unit_test(test_stalled_viewer),  cmocka_unit_test(test_largest),
        cmocka_unit_test(test_slow_driver),     cmocka_unit_test(test_replace_and_reset),
        cmocka_unit_test(test_reconnects),
    };
    const struct CMUnitTest ends[] = { cmocka_unit_test(test_end_with_viewers) };
    const int end = cmocka_run_group_tests_name("end", ends, NULL, NULL);
    const int plain = cmocka_run_group_tests_name("ws", tests, start_plain, stop);
    const int tls = cmocka_run_group_tests_name("wss", tests, start_tls, stop);
    return end + plain + tls ? 1 : 0;
}
