// SPDX-License-Identifier: MIT
// The control connection: hello and its refusals, framing, input, clock, beacons, ends.
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

static struct host host;

static const char hello[] =
    "{\"type\":\"hello\",\"version\":1,\"channel\":\"control\",\"viewport\":{\"width\":1280,"
    "\"height\":720},\"devicePixelRatio\":1.5,\"visible\":true,\"codecs\":[\"avc1.42e01f\",7]}";

static struct fw_client *open_client(const char *path)
{
    const struct fw_client_params p = host_client(&host, path);
    struct fw_client *c;
    assert_int_equal(fw_client_open(&c, &p, NULL), FW_OK);
    return c;
}

static struct fw_client *open_control(void)
{
    struct fw_client *c = open_client("/s/s1/ws");
    struct fw_client_message m;
    assert_int_equal(fw_client_send_text(c, hello), FW_OK);
    assert_int_equal(fw_client_receive(c, 2000, &m), FW_OK);
    assert_non_null(strstr((const char *)m.data, "\"welcome\""));
    return c;
}

// The next binary message of this type.
static bool next_of(struct fw_client *c, int type, int timeout_ms, struct fw_client_message *m)
{
    const int64_t until = fw_now_ns() + (int64_t)timeout_ms * FW_NS_PER_MS;
    while (fw_now_ns() < until) {
        if (!fw_client_receive(c, 50, m) && m->opcode == FW_CLIENT_BINARY && m->data[0] == type)
            return true;
    }
    return false;
}

static void test_welcome(void **state)
{
    (void)state;
    struct fw_client *c = open_client("/s/s1/ws");
    struct fw_client_message m;
    fw_client_send_text(c, hello);
    assert_int_equal(fw_client_receive(c, 2000, &m), FW_OK);
    const char *text = (const char *)m.data;
    assert_non_null(strstr(text, "\"session\":{\"id\":\"s1\",\"title\":\"Test\","
                                 "\"source\":\"testcard\",\"state\":\"starting\",\"fps\":60}"));
    assert_non_null(strstr(text, "\"encoder\":\"fake\""));
    assert_non_null(strstr(text, "\"serverNs\":\""));
    const char *viewer = strstr(text, "\"viewer\":\"");
    assert_non_null(viewer);
    assert_int_equal(strspn(viewer + 10, "0123456789abcdef"), 32);
    assert_int_equal(fw_client_receive(c, 2000, &m), FW_OK);
    assert_non_null(strstr((const char *)m.data, "\"type\":\"state\""));
    assert_int_equal(host.hello.width, 1280);
    assert_true(host.hello.device_pixel_ratio == 1.5);
    assert_int_equal(host.codec_count, 1); // the 7 is no codec
    host_state(&host, "restarting", "device_lost", "the \"GPU\" went away");
    for (int i = 0; i < 5; i++) {
        assert_int_equal(fw_client_receive(c, 2000, &m), FW_OK);
        if (m.opcode == FW_CLIENT_TEXT)
            break;
    }
    assert_string_equal((const char *)m.data,
                        "{\"type\":\"state\",\"state\":\"restarting\",\"code\":\"device_lost\","
                        "\"message\":\"the \\\"GPU\\\" went away\"}");
    host_state(&host, "starting", "", "");
    fw_client_close(&c);
}

static void test_bad_hello(void **state)
{
    (void)state;
    static const struct {
        const char *path, *text, *code;
        int close_code;
    } cases[] = {
        { "/s/s1/ws", "", NULL, 0 }, // an empty message is none; see the timeout
        { "/s/s1/ws", "hello", "bad_message", 4400 },
        { "/s/s1/ws", "[]", "bad_message", 4400 },
        { "/s/s1/ws", "{\"type\":\"bye\"}", "bad_message", 4400 },
        { "/s/s1/ws", "{\"type\":\"viewport\",\"width\":800,\"height\":600}", "bad_message", 4400 },
        { "/s/s1/ws", "{\"type\":\"hello\"}", "bad_message", 4400 },
        { "/s/s1/ws", "{\"type\":\"hello\",\"version\":\"1\",\"channel\":\"control\"}",
          "bad_message", 4400 },
        { "/s/s1/ws", "{\"type\":\"hello\",\"version\":2,\"channel\":\"control\"}",
          "unsupported_version", 4406 },
        { "/s/s1/ws", "{\"type\":\"hello\",\"version\":1,\"channel\":\"x\"}", "bad_message", 4400 },
        { "/s/s1/ws",
          "{\"type\":\"hello\",\"version\":1,\"channel\":\"control\","
          "\"token\":\"wrong\"}",
          "unauthorized", 4401 },
        { "/s/none/ws", "{\"type\":\"hello\",\"version\":1,\"channel\":\"control\"}",
          "no_such_session", 4404 },
        { "/s/s1/ws", "{\"type\":\"hello\",\"version\":1,\"channel\":\"media\"}", "unauthorized",
          4401 },
        { "/s/s1/ws",
          "{\"type\":\"hello\",\"version\":1,\"channel\":\"media\",\"viewer\":"
          "\"00000000000000000000000000000000\"}",
          "unauthorized", 4401 },
    };
    char error[1024], want[64];
    for (size_t i = 1; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fw_client *c = open_client(cases[i].path);
        fw_client_send_text(c, cases[i].text);
        const int code = host_wait_close(c, 2000, error, sizeof(error));
        if (code != cases[i].close_code)
            fail_msg("%s: %d, not %d", cases[i].text, code, cases[i].close_code);
        snprintf(want, sizeof(want), "\"code\":\"%s\"", cases[i].code);
        assert_non_null(strstr(error, want));
        fw_client_close(&c);
    }
    // Binary before hello, and a viewer of one session in another.
    struct fw_client *c = open_client("/s/s1/ws");
    fw_client_send(c, FW_CLIENT_BINARY, "\x22\0\x10\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    assert_int_equal(host_wait_close(c, 2000, error, sizeof(error)), 4400);
    fw_client_close(&c);
    struct fw_client_viewer v;
    const struct fw_client_params p = host_client(&host, "/s/s1/ws");
    assert_int_equal(fw_client_join(&v, &p, NULL, 640, 480), FW_OK);
    char text[200];
    snprintf(text, sizeof(text),
             "{\"type\":\"hello\",\"version\":1,\"channel\":\"media\",\"viewer\":\"%s\"}", v.id);
    c = open_client("/s/other/ws");
    fw_client_send_text(c, text);
    assert_int_equal(host_wait_close(c, 2000, error, sizeof(error)), 4401);
    fw_client_close(&c);
    fw_client_leave(&v);
}

static void test_hello_timeout(void **state)
{
    (void)state;
    char error[1024];
    struct fw_client *c = open_client("/s/s1/ws");
    const int64_t start = fw_now_ns();
    assert_int_equal(host_wait_close(c, 8000, error, sizeof(error)), 4408);
    assert_in_range(fw_now_ns() - start, 4500 * (int64_t)FW_NS_PER_MS,
                    7000 * (int64_t)FW_NS_PER_MS);
    fw_client_close(&c);
}

// A hello in one-byte fragments with pings in between is one hello.
static void test_fragments(void **state)
{
    (void)state;
    struct fw_client *c = open_client("/s/s1/ws");
    struct fw_client_message m;
    const size_t size = strlen(hello);
    unsigned pongs = 0;
    for (size_t i = 0; i < size; i++) {
        const uint8_t first = (uint8_t)((i + 1 == size ? 0x80 : 0) | (i ? 0 : FW_CLIENT_TEXT));
        assert_int_equal(fw_client_send_frame(c, first, hello + i, 1), FW_OK);
        if (i % 40 == 20) {
            fw_client_send(c, FW_CLIENT_PING, "beat", 4);
            assert_int_equal(fw_client_receive(c, 2000, &m), FW_OK);
            assert_int_equal(m.opcode, FW_CLIENT_PONG);
            assert_memory_equal(m.data, "beat", 4);
            pongs++;
        }
    }
    assert_true(pongs > 2);
    assert_int_equal(fw_client_receive(c, 2000, &m), FW_OK);
    assert_non_null(strstr((const char *)m.data, "\"welcome\""));
    fw_client_close(&c);
}

static void test_framing_rules(void **state)
{
    (void)state;
    char error[1024];
    static uint8_t big[70000];
    static const struct {
        uint8_t first[2];
        int frames, close_code;
    } cases[] = {
        { { 0x80 }, 1, 1002 },                              // continuation without a start
        { { 0x01, 0x81 }, 2, 1002 },                        // a new message inside one
        { { 0x83 }, 1, 1002 },                              // reserved opcode
        { { 0x8b }, 1, 1002 },       { { 0xc1 }, 1, 1002 }, // RSV1 without an extension
        { { 0x09 }, 1, 1002 },                              // a control frame in fragments
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fw_client *c = open_control();
        for (int k = 0; k < cases[i].frames; k++)
            fw_client_send_frame(c, cases[i].first[k], "{}", 2);
        const int code = host_wait_close(c, 2000, error, sizeof(error));
        if (code != cases[i].close_code)
            fail_msg("first byte %02x: %d, not %d", cases[i].first[0], code, cases[i].close_code);
        fw_client_close(&c);
    }
    memset(big, ' ', sizeof(big));
    struct fw_client *c = open_control(); // in one frame
    fw_client_send(c, FW_CLIENT_TEXT, big, sizeof(big));
    assert_int_equal(host_wait_close(c, 2000, error, sizeof(error)), 1009);
    fw_client_close(&c);
    c = open_control(); // in many that sum up
    for (int i = 0; i < 7; i++)
        fw_client_send_frame(c, i ? 0 : FW_CLIENT_TEXT, big, 10000);
    assert_int_equal(host_wait_close(c, 2000, error, sizeof(error)), 1009);
    fw_client_close(&c);
    c = open_client("/s/s1/ws"); // before hello as well
    fw_client_send(c, FW_CLIENT_BINARY, big, sizeof(big));
    assert_int_equal(host_wait_close(c, 2000, error, sizeof(error)), 1009);
    fw_client_close(&c);
    c = open_control(); // 64 KiB are allowed: not JSON, so 4400 and not 1009
    fw_client_send(c, FW_CLIENT_TEXT, big, 65536);
    assert_int_equal(host_wait_close(c, 2000, error, sizeof(error)), 4400);
    fw_client_close(&c);
}

static void test_binary_rules(void **state)
{
    (void)state;
    char error[1024];
    uint8_t bytes[64] = { 0 };
    struct fw_client_message m;
    struct fw_client *c = open_control();
    fw_client_send(c, FW_CLIENT_BINARY, "\x7f\0\x08\0\x02\0\0\0xy", 10); // unknown: skipped
    fw_client_send_text(c, "{\"type\":\"of-tomorrow\"}");
    fw_client_send(c, FW_CLIENT_BINARY, bytes,
                   fw_wire_write_ping(bytes, &(struct fw_wire_ping){ .client_us = 77 }));
    struct fw_wire_pong pong;
    assert_true(next_of(c, FW_WIRE_PONG, 2000, &m));
    assert_int_equal(fw_wire_parse_pong(m.data, m.size, &pong), FW_OK);
    assert_int_equal(pong.client_us, 77);
    assert_true(pong.tx_ns >= pong.rx_ns && pong.rx_ns <= fw_now_ns());
    fw_client_send(c, FW_CLIENT_BINARY, bytes, 15); // lengths that do not fit
    assert_int_equal(host_wait_close(c, 2000, error, sizeof(error)), 1002);
    fw_client_close(&c);
    // Binary on media.
    struct fw_client_viewer v;
    const struct fw_client_params p = host_client(&host, "/s/s1/ws");
    assert_int_equal(fw_client_join(&v, &p, NULL, 640, 480), FW_OK);
    fw_client_send(v.media, FW_CLIENT_BINARY, bytes,
                   fw_wire_write_ping(bytes, &(struct fw_wire_ping){ .client_us = 1 }));
    assert_int_equal(host_wait_close(v.media, 2000, error, sizeof(error)), 4400);
    fw_client_leave(&v);
}

static void send_input(struct fw_client *c, const struct fw_wire_input *in, unsigned count)
{
    uint8_t bytes[FW_WIRE_BATCH_HEADER + FW_WIRE_BATCH_MAX * FW_WIRE_INPUT_SIZE];
    assert_int_equal(
        fw_client_send(c, FW_CLIENT_BINARY, bytes, fw_wire_write_input(bytes, in, count)), FW_OK);
}

static void test_input(void **state)
{
    (void)state;
    struct fw_client_message m;
    struct fw_wire_input_stamp stamp;
    host_publish(&host, 100, true); // 641x479: what positions are clamped to
    struct fw_client *c = open_control();
    const unsigned base = host.event_count;
    const struct fw_wire_input in[] = {
        { .kind = FW_INPUT_MOTION, .x = 10.5f, .y = -3, .seq = 100 },
        { .kind = FW_INPUT_MOTION, .x = 9999, .y = 9999, .seq = 101 },
        { .kind = 99, .seq = 102 }, // skipped, yet its id is used up
        { .kind = FW_INPUT_KEY, .state = 1, .code = 30, .mods = FW_MOD_SHIFT, .seq = 103 },
    };
    const int64_t before = fw_now_ns();
    send_input(c, in, 4);
    assert_true(host_wait(&host, &host.event_count, base + 3, 2000));
    const struct fw_input_event *e = host.events + base;
    assert_true(e[0].x == 10.5f && e[0].y == 0);
    assert_true(e[1].x == 641 && e[1].y == 479);
    assert_int_equal(e[2].kind, FW_INPUT_KEY);
    assert_int_equal(e[2].code, 30);
    assert_int_equal(e[2].mods, FW_MOD_SHIFT);
    assert_int_equal(e[1].id, e[0].id + 1);
    assert_int_equal(e[2].id, e[0].id + 3);
    assert_true(e[0].rx_ns >= before && e[0].rx_ns <= fw_now_ns());
    assert_true(next_of(c, FW_WIRE_INPUT_STAMP, 2000, &m));
    assert_int_equal(fw_wire_parse_input_stamp(m.data, m.size, &stamp), FW_OK);
    assert_int_equal(stamp.seq, 103);
    assert_int_equal(stamp.input_id, e[2].id);
    assert_int_equal(stamp.rx_ns, e[2].rx_ns);
    // Hidden with a key down: it is let go. Once.
    fw_client_send_text(c, "{\"type\":\"visibility\",\"visible\":false}");
    assert_true(host_wait(&host, &host.event_count, base + 4, 2000));
    assert_int_equal(host.events[base + 3].kind, FW_INPUT_RELEASE);
    assert_true(host.events[base + 3].id > e[2].id);
    fw_client_send_text(c, "{\"type\":\"visibility\",\"visible\":true}");
    fw_client_send_text(c, "{\"type\":\"visibility\",\"visible\":false}");
    // Gone with a button down.
    const struct fw_wire_input down = { .kind = FW_INPUT_BUTTON, .state = 1, .seq = 104 };
    send_input(c, &down, 1);
    assert_true(host_wait(&host, &host.event_count, base + 5, 2000));
    fw_client_close(&c);
    assert_true(host_wait(&host, &host.event_count, base + 6, 2000));
    assert_int_equal(host.events[base + 4].kind, FW_INPUT_BUTTON);
    assert_int_equal(host.events[base + 5].kind, FW_INPUT_RELEASE);
}

static void test_input_flood(void **state)
{
    (void)state;
    char error[1024];
    struct fw_wire_input in[FW_WIRE_BATCH_MAX];
    struct fw_client *c = open_control();
    for (int i = 0; i < FW_WIRE_BATCH_MAX; i++)
        in[i] = (struct fw_wire_input){ .kind = FW_INPUT_MOTION, .seq = (uint64_t)i };
    for (int i = 0; i < 300; i++) {
        uint8_t bytes[FW_WIRE_BATCH_HEADER + FW_WIRE_BATCH_MAX * FW_WIRE_INPUT_SIZE];
        if (fw_client_send(c, FW_CLIENT_BINARY, bytes,
                           fw_wire_write_input(bytes, in, FW_WIRE_BATCH_MAX)))
            break;
    }
    assert_int_equal(host_wait_close(c, 3000, error, sizeof(error)), 4400);
    assert_non_null(strstr(error, "4096"));
    fw_client_close(&c);
}

static void test_viewports(void **state)
{
    (void)state;
    struct fw_client_viewer a, b;
    const struct fw_client_params p = host_client(&host, "/s/s1/ws");
    unsigned calls = host.viewports;
    assert_int_equal(fw_client_join(&a, &p, NULL, 1007, 601), FW_OK);
    assert_true(host_wait(&host, &host.viewports, calls + 1, 2000));
    assert_int_equal(host.viewport.width, 1007);
    assert_int_equal(host.viewport.height, 601);
    static const char *const absurd[] = {
        "{\"type\":\"viewport\",\"width\":0,\"height\":0}",
        "{\"type\":\"viewport\",\"width\":0,\"height\":720}",
        "{\"type\":\"viewport\",\"width\":15,\"height\":720}",
        "{\"type\":\"viewport\",\"width\":3841,\"height\":720}",
        "{\"type\":\"viewport\",\"width\":1e300,\"height\":720}",
        "{\"type\":\"viewport\",\"width\":\"800\",\"height\":720}",
        "{\"type\":\"viewport\",\"width\":-800,\"height\":720}",
        "{\"type\":\"viewport\"}",
    };
    for (size_t i = 0; i < sizeof(absurd) / sizeof(absurd[0]); i++)
        fw_client_send_text(a.control, absurd[i]);
    fw_client_send_text(a.control, "{\"type\":\"viewport\",\"width\":641,\"height\":479}");
    assert_true(host_wait(&host, &host.viewports, calls + 2, 2000));
    assert_int_equal(host.viewport.width, 641);
    // A storm of sizes is told by and by, and the last of them in the end.
    calls = host.viewports;
    for (int i = 1; i <= 40; i++) {
        char text[80];
        snprintf(text, sizeof(text), "{\"type\":\"viewport\",\"width\":%d,\"height\":400}",
                 600 + i);
        fw_client_send_text(a.control, text);
        usleep(5000);
    }
    for (int i = 0; i < 200 && host.viewport.width != 640; i++)
        usleep(10000);
    assert_int_equal(host.viewport.width, 640);
    assert_in_range(host.viewports - calls, 1, 20);
    // A second viewer does not decide, until it gives input.
    calls = host.viewports;
    const unsigned joined = host.joined;
    assert_int_equal(fw_client_join(&b, &p, NULL, 320, 200), FW_OK);
    assert_true(host_wait(&host, &host.joined, joined + 1, 2000));
    usleep(100000);
    assert_int_equal(host.viewports, calls);
    const struct fw_wire_input move = { .kind = FW_INPUT_MOTION, .seq = 1 };
    send_input(b.control, &move, 1);
    assert_true(host_wait(&host, &host.viewports, calls + 1, 2000));
    assert_int_equal(host.viewport.width, 320);
    // It leaves: the first one's size again.
    fw_client_leave(&b);
    assert_true(host_wait(&host, &host.viewports, calls + 2, 2000));
    assert_int_equal(host.viewport.width, 640);
    fw_client_leave(&a);
}

static void test_beacon(void **state)
{
    (void)state;
    struct fw_client_message m;
    struct fw_wire_beacon b;
    struct fw_client *c = open_control();
    while (next_of(c, FW_WIRE_BEACON, 300, &m))
        ; // the one of the welcome
    host_beacon(&host, 5000, true, false);
    assert_true(next_of(c, FW_WIRE_BEACON, 5000, &m));
    assert_int_equal(fw_wire_parse_beacon(m.data, m.size, &b), FW_OK);
    assert_true(b.current && !b.animating && b.newest_frame == 5000);
    // Changes in a flood are told at most ten times a second, the last one always.
    int64_t start = fw_now_ns();
    unsigned count = 0;
    for (uint64_t id = 5001; id <= 5200; id++)
        host_beacon(&host, id, id == 5200, true);
    do {
        assert_true(next_of(c, FW_WIRE_BEACON, 5000, &m));
        fw_wire_parse_beacon(m.data, m.size, &b);
        count++;
    } while (b.newest_frame != 5200);
    assert_true(b.current && b.animating);
    assert_in_range(count, 1, 2 + (fw_now_ns() - start) / (FW_NS_PER_S / 10));
    // And once a second when nothing happens, also after one between two of those.
    start = fw_now_ns();
    assert_true(next_of(c, FW_WIRE_BEACON, 5000, &m));
    assert_true(next_of(c, FW_WIRE_BEACON, 5000, &m));
    assert_true(fw_now_ns() - start >= FW_NS_PER_S / 2); // not more often
    host_beacon(&host, 5201, true, false);
    do {
        assert_true(next_of(c, FW_WIRE_BEACON, 5000, &m));
        fw_wire_parse_beacon(m.data, m.size, &b);
    } while (b.newest_frame != 5201);
    assert_true(next_of(c, FW_WIRE_BEACON, 5000, &m));
    fw_client_close(&c);
}

static void test_bye_and_end(void **state)
{
    (void)state;
    char error[1024];
    struct fw_client *c = open_control();
    const unsigned left = host.left;
    fw_client_send_text(c, "{\"type\":\"bye\"}");
    assert_int_equal(host_wait_close(c, 2000, error, sizeof(error)), 1000);
    fw_client_close(&c);
    assert_true(host_wait(&host, &host.left, left + 1, 2000));
    // The session ends under its viewers.
    c = open_control();
    host_end_channel(&host, "failed", "out of \"luck\"");
    assert_int_equal(host_wait_close(c, 2000, error, sizeof(error)), 4409);
    assert_non_null(strstr(error, "\"code\":\"failed\""));
    assert_non_null(strstr(error, "out of \\\"luck\\\""));
    fw_client_close(&c);
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
        cmocka_unit_test(test_welcome),       cmocka_unit_test(test_bad_hello),
        cmocka_unit_test(test_hello_timeout), cmocka_unit_test(test_fragments),
        cmocka_unit_test(test_framing_rules), cmocka_unit_test(test_binary_rules),
        cmocka_unit_test(test_input),         cmocka_unit_test(test_input_flood),
        cmocka_unit_test(test_viewports),     cmocka_unit_test(test_beacon),
        cmocka_unit_test(test_bye_and_end),
    };
    const int plain = cmocka_run_group_tests_name("ws", tests, start_plain, stop);
    const int tls = cmocka_run_group_tests_name("wss", tests, start_tls, stop);
    return plain + tls ? 1 : 0;
}
