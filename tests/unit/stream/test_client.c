// SPDX-License-Identifier: MIT
// What our own clients know without a socket: clock, age, inputs, addresses.
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
#include "stream/client/age.h"
#include "stream/client/clock.h"
#include "stream/client/inputs.h"
#include "stream/client/target.h"
#include "stream/client/text.h"

#define MS ((int64_t)FW_NS_PER_MS)

enum { OFFSET_S = 5000 }; // server − client in these tests

static int64_t magnitude(int64_t value)
{
    return value < 0 ? -value : value;
}

// One exchange: `there` and `back` are the two ways.
static void exchange(struct fw_client_clock *c, int64_t sent, int64_t there, int64_t back,
                     int64_t offset)
{
    const struct fw_wire_pong pong = {
        .client_us = (uint64_t)(sent / FW_NS_PER_US),
        .rx_ns = sent + there + offset,
        .tx_ns = sent + there + offset + MS / 10,
    };
    fw_client_clock_add(c, &pong, sent + there + MS / 10 + back);
}

static void test_clock(void **state)
{
    (void)state;
    struct fw_client_clock c = { .count = 0 };
    int64_t offset;
    uint32_t error;
    const int64_t truth = OFFSET_S * (int64_t)FW_NS_PER_S;
    assert_false(fw_client_clock_estimate(&c, MS, &offset, &error));
    // Thirty milliseconds more on one way than on the other, then a quick exchange: that one wins.
    exchange(&c, 1000 * MS, 31 * MS, MS, truth);
    assert_true(fw_client_clock_estimate(&c, 1040 * MS, &offset, &error));
    assert_true(magnitude(offset - truth) <= (int64_t)error * FW_NS_PER_US);
    assert_true(magnitude(offset - truth - 15 * MS) < MS);
    exchange(&c, 1100 * MS, MS, 2 * MS, truth);
    exchange(&c, 1200 * MS, 40 * MS, 10 * MS, truth);
    assert_true(fw_client_clock_estimate(&c, 1300 * MS, &offset, &error));
    assert_true(magnitude(offset - truth) <= MS);
    assert_in_range(error, 500, 2000);
    assert_int_equal(fw_client_clock_min_rtt(&c), 3 * MS);
    // A pong for a ping that was never sent.
    const struct fw_client_clock before = c;
    fw_client_clock_add(&c, &(struct fw_wire_pong){ .client_us = UINT64_MAX }, 1400 * MS);
    fw_client_clock_add(&c, &(struct fw_wire_pong){ .client_us = 9000000, .rx_ns = 2, .tx_ns = 1 },
                        9001 * MS);
    assert_memory_equal(&before, &c, sizeof(c));
}

// Clocks 50 ppm apart for ten minutes, behind a way that wavers by 30 ms on one side: the true
// offset stays within the bound that is told.
static void test_clock_drifts(void **state)
{
    (void)state;
    struct fw_client_clock c = { .count = 0 };
    for (int64_t i = 0; i < 300; i++) {
        const int64_t now = (1 + 2 * i) * FW_NS_PER_S, truth = OFFSET_S * 1000 * MS + now / 20000;
        exchange(&c, now, MS + (i * 7 % 31) * MS, MS, truth);
        int64_t offset;
        uint32_t error;
        assert_true(fw_client_clock_estimate(&c, now + 40 * MS, &offset, &error));
        assert_true(magnitude(offset - truth) <= (int64_t)error * FW_NS_PER_US + MS / 50);
        assert_true(i < 31 || error < 8000);
    }
}

// ---- age

static struct fw_client_clock settled(void)
{
    struct fw_client_clock c = { .count = 0 };
    exchange(&c, 10 * MS, MS, MS, OFFSET_S * 1000 * MS);
    return c;
}

static int64_t server(int64_t ms)
{
    return (OFFSET_S * 1000 + ms) * MS;
}

static void beacon(struct fw_client_age *a, uint64_t newest, bool current, bool animating,
                   int64_t ms)
{
    const struct fw_wire_beacon b = {
        .newest_frame = newest,
        .current = current,
        .animating = animating,
        .server_ns = server(ms),
    };
    fw_client_age_beacon(a, &b, ms * MS);
}

static void test_age(void **state)
{
    (void)state;
    const struct fw_client_clock c = settled();
    struct fw_client_age a = { .pending_count = 0 };
    struct fw_wire_video v = { .frame_id = 1, .begun_ns = server(90), .change_ns = server(80) };
    assert_int_equal(fw_client_age_now(&a, &c, 100 * MS), -1);
    fw_client_age_received(&a, &v);
    fw_client_age_presented(&a, 1);
    beacon(&a, 1, true, false, 110);
    assert_int_equal(fw_client_age_now(&a, &c, 500 * MS), 0);          // idle is not old
    assert_int_equal(fw_client_age_now(&a, &c, 1710 * MS), 1600 * MS); // no beacon for too long
    // Something changed: old since the server said so, then since the change that is on its way.
    beacon(&a, 1, false, false, 1200);
    assert_int_equal(fw_client_age_now(&a, &c, 1230 * MS), 30 * MS);
    v = (struct fw_wire_video){ .frame_id = 2,
                                .begun_ns = server(1205),
                                .change_ns = server(1195) };
    fw_client_age_received(&a, &v);
    assert_int_equal(fw_client_age_now(&a, &c, 1230 * MS), 35 * MS);
    fw_client_age_presented(&a, 2);
    beacon(&a, 2, true, false, 1240);
    assert_int_equal(fw_client_age_now(&a, &c, 1250 * MS), 0);
    // It keeps changing: what is seen was true when it was begun, after the server said so.
    beacon(&a, 2, false, false, 1260);
    v = (struct fw_wire_video){ .frame_id = 3,
                                .begun_ns = server(1270),
                                .change_ns = server(1255) };
    fw_client_age_received(&a, &v);
    assert_int_equal(fw_client_age_change(&a, &c), 1255 * MS);
    fw_client_age_presented(&a, 3);
    assert_int_equal(fw_client_age_change(&a, &c), 0);
    assert_int_equal(fw_client_age_now(&a, &c, 1280 * MS), 10 * MS);
    // A moving source: as old as what is seen.
    v = (struct fw_wire_video){ .frame_id = 4, .begun_ns = server(1300), .animating = true };
    fw_client_age_received(&a, &v);
    fw_client_age_presented(&a, 4);
    assert_int_equal(fw_client_age_now(&a, &c, 1345 * MS), 45 * MS);
    fw_client_age_presented(&a, 2); // older
    assert_int_equal(fw_client_age_now(&a, &c, 1345 * MS), 45 * MS);
}

// More pictures than are kept, none shown: the oldest fall out.
static void test_age_bounded(void **state)
{
    (void)state;
    struct fw_client_age a = { .pending_count = 0 };
    for (uint64_t id = 1; id <= 3 * FW_CLIENT_AGE_PENDING; id++)
        fw_client_age_received(&a, &(struct fw_wire_video){ .frame_id = id });
    assert_int_equal(a.pending_count, FW_CLIENT_AGE_PENDING);
    fw_client_age_presented(&a, 3 * FW_CLIENT_AGE_PENDING);
    assert_int_equal(a.shown.frame_id, 3 * FW_CLIENT_AGE_PENDING);
    assert_int_equal(a.pending_count, 0);
}

// ---- inputs

struct seen {
    unsigned count;
    uint64_t seq;
    int64_t took;
};

static void on_seen(void *user, uint64_t seq, int64_t since, int64_t at)
{
    struct seen *s = user;
    assert_int_equal(seq, s->seq + 1); // each once, in order
    s->count++;
    s->seq = seq;
    s->took = at - since;
}

static void stamp(struct fw_inputs *in, uint64_t seq, uint64_t id, struct seen *s)
{
    const struct fw_wire_input_stamp st = { .seq = seq, .input_id = id };
    fw_inputs_stamp(in, &st, on_seen, s);
}

static void test_inputs(void **state)
{
    (void)state;
    static struct fw_inputs in;
    struct seen s = { .count = 0 };
    for (uint64_t seq = 1; seq <= 4; seq++)
        fw_inputs_sent(&in, seq, (int64_t)seq * 10 * MS);
    stamp(&in, 3, 103, &s); // a batch: 1, 2 and 3 are 101 to 103
    assert_int_equal(s.count, 0);
    fw_inputs_presented(&in, 102, 50 * MS, on_seen, &s);
    assert_int_equal(s.count, 2);
    assert_int_equal(s.took, 30 * MS);
    fw_inputs_presented(&in, 102, 60 * MS, on_seen, &s); // again the same input
    assert_int_equal(s.count, 2);
    // The picture is quicker than the stamp of the last input it shows.
    fw_inputs_presented(&in, 104, 70 * MS, on_seen, &s);
    assert_int_equal(s.count, 3);
    fw_inputs_presented(&in, 110, 90 * MS, on_seen, &s);
    stamp(&in, 4, 104, &s);
    assert_int_equal(s.count, 4);
    assert_int_equal(s.took, 30 * MS);
    assert_int_equal(in.count, 0);
    // Nobody answers: bounded, and counted.
    for (uint64_t seq = 5; seq < 5 + FW_INPUTS_KEPT + 7; seq++)
        fw_inputs_sent(&in, seq, 0);
    assert_int_equal(in.count, FW_INPUTS_KEPT);
    assert_int_equal(in.lost, 7);
}

// ---- addresses

static void good(const char *url, const char *host, int port, bool tls, const char *session)
{
    struct fw_target t;
    char message[300];
    assert_int_equal(fw_target_parse(&t, url, message, sizeof(message)), FW_OK);
    assert_string_equal(t.host, host);
    assert_int_equal(t.port, port);
    assert_int_equal(t.tls, tls);
    assert_string_equal(t.session, session);
}

static void test_target(void **state)
{
    (void)state;
    good("http://127.0.0.1:8600", "127.0.0.1", 8600, false, "");
    good("127.0.0.1:8600/", "127.0.0.1", 8600, false, "");
    good("box", "box", 8080, false, "");
    good("https://box.example", "box.example", 443, true, "");
    good("http://[::1]:81/s/n1-abcdef/", "::1", 81, false, "n1-abcdef");
    struct fw_target t;
    char message[300];
    assert_int_equal(fw_target_parse(&t, "https://b/s/n1-ab#code12", message, sizeof(message)),
                     FW_OK);
    assert_string_equal(t.code, "code12");
    assert_string_equal(t.origin, "https://b:443");
    static const char *const bad[] = {
        "",    "ftp://x",     "http://", "http://x:0",     "x:99999", "x:8a", "http://x/api",
        "::1", "http://x/s/", "[::1",    "http://x/s/a/b", "x:"
    };
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(fw_target_parse(&t, bad[i], message, sizeof(message)), FW_ERR_INVALID);
        assert_non_null(strstr(message, "http://127.0.0.1:8080")); // says how
    }
}

static enum fw_err read_token(const char *text, char *token)
{
    char path[] = P_tmpdir "/fwtoken.XXXXXX", message[300];
    const int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    const enum fw_err err = fw_target_read_token(path, token, message, sizeof(message));
    unlink(path);
    assert_true(!err || strstr(message, "token"));
    return err;
}

static void test_token_file(void **state)
{
    (void)state;
    char token[FW_TARGET_TOKEN_SIZE];
    assert_int_equal(read_token("# who\n\n  anna:0123456789abcdef \r\nb:x\n", token), FW_OK);
    assert_string_equal(token, "0123456789abcdef");
    assert_int_equal(read_token("fedcba9876543210", token), FW_OK);
    assert_string_equal(token, "fedcba9876543210");
    assert_int_equal(read_token("", token), FW_ERR_FORMAT);
    assert_int_equal(read_token("a:\n", token), FW_ERR_FORMAT);
    assert_int_equal(read_token("a:two words\n", token), FW_ERR_FORMAT);
    char message[300];
    assert_int_equal(fw_target_read_token("/nowhere", token, message, sizeof(message)), FW_ERR_IO);
}

// What a server says must not steer a terminal, and stays UTF-8 where it is cut.
static void test_text(void **state)
{
    (void)state;
    char out[8];
    fw_text_copy(out, sizeof(out), "ok");
    assert_string_equal(out, "ok");
    fw_text_copy(out, sizeof(out), "\x1b[2J\r\n\x7f");
    assert_string_equal(out, "?[2J???");
    fw_text_copy(out, sizeof(out),
                 "a\xc2\x9b"
                 "1m"); // CSI in one character
    assert_string_equal(out, "a??1m");
    fw_text_copy(out, sizeof(out), "grün ist");
    assert_string_equal(out, "grün i");
    fw_text_copy(out, sizeof(out), "123456ü");
    assert_string_equal(out, "123456");
    fw_text_copy(out, sizeof(out), "12345€");
    assert_string_equal(out, "12345");
    fw_text_copy(out, 1, "ü");
    assert_string_equal(out, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clock),      cmocka_unit_test(test_clock_drifts),
        cmocka_unit_test(test_age),        cmocka_unit_test(test_age_bounded),
        cmocka_unit_test(test_inputs),     cmocka_unit_test(test_target),
        cmocka_unit_test(test_token_file), cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
