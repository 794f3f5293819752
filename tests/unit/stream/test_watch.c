// SPDX-License-Identifier: MIT
// Our own client against our own server, ws and wss: what it says of frames ends up in their
// records, inputs are seen, and what goes wrong comes back in words.
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "fake_host.h"
#include "stream/client/watch.h"

static struct host host;

// What the handlers saw.
struct eye {
    struct fw_watch *watch;
    unsigned videos, opened, beacons, inputs;
    uint64_t newest;
    bool hold; // does not present
};

static void on_video(void *user, const struct fw_wire_video *video, size_t bytes, int64_t now_ns)
{
    struct eye *e = user;
    assert_true(bytes > video->payload_size);
    e->videos++;
    e->newest = video->frame_id;
    if (!e->watch)
        return;
    fw_watch_ack(e->watch, video->frame_id, FW_ACK_RECEIVED, now_ns);
    fw_watch_ack(e->watch, video->frame_id, FW_ACK_DECODED, now_ns);
    fw_watch_ack(e->watch, video->frame_id, e->hold ? FW_ACK_DROPPED : FW_ACK_PRESENTED, now_ns);
}

static void on_beacon(void *user, const struct fw_wire_beacon *beacon, int64_t now_ns)
{
    (void)beacon, (void)now_ns;
    ((struct eye *)user)->beacons++;
}

static void on_media(void *user)
{
    ((struct eye *)user)->opened++;
}

static void on_seen(void *user, uint64_t seq, int64_t since_ns, int64_t seen_ns)
{
    (void)seq;
    assert_true(seen_ns >= since_ns);
    ((struct eye *)user)->inputs++;
}

static struct fw_remote remote(bool verified)
{
    struct fw_remote r = { .ca_file = host.tls && verified ? host.cert : NULL, .timeout_ms = 5000 };
    char url[64], message[200];
    snprintf(url, sizeof(url), "%s://127.0.0.1:%d", host.tls ? "https" : "http", host.port);
    assert_int_equal(fw_target_parse(&r.target, url, message, sizeof(message)), FW_OK);
    return r;
}

static enum fw_err open_watch(const struct fw_remote *r, struct eye *e, const char *id,
                              const char *token, struct fw_remote_error *error)
{
    const struct fw_watch_params params = {
        .remote = r,
        .id = id,
        .token = token,
        .width = 640,
        .height = 360,
        .handler = { on_video, on_beacon, NULL, on_seen, NULL, on_media },
        .user = e,
    };
    return fw_watch_open(&e->watch, &params, error);
}

// Turns until `*value` is at least `least`.
static void turn_until(struct eye *e, const unsigned *value, unsigned least)
{
    for (int i = 0; i < 500 && *value < least; i++) {
        int fds[2];
        fw_watch_fds(e->watch, fds);
        struct pollfd p[2] = { { fds[0], POLLIN, 0 }, { fds[1], POLLIN, 0 } };
        poll(p, 2, 20);
        assert_int_equal(fw_watch_turn(e->watch), FW_OK);
    }
    assert_true(*value >= least);
}

static void wait_record(uint64_t id, enum fw_outcome outcome, struct fw_frame_record *rec)
{
    for (int i = 0; i < 1000; i++) {
        if (host_record(&host, id, rec) && rec->outcome == outcome)
            return;
        poll(NULL, 0, 5);
    }
    fail_msg("frame %d is not %s", (int)id, fw_outcome_names[outcome]);
}

static void test_frames(void **state)
{
    (void)state;
    const struct fw_remote r = remote(true);
    struct fw_remote_error error;
    struct fw_frame_record rec;
    struct eye e = { .videos = 0 };
    host_reset(&host);
    assert_int_equal(open_watch(&r, &e, "s1", NULL, &error), FW_OK);
    assert_int_equal(e.opened, 1);
    assert_string_equal(fw_watch_info(e.watch)->encoder, "fake");
    assert_int_equal(fw_watch_info(e.watch)->fps, 60);
    assert_true(host_wait(&host, &host.keyframes, 1, 5000)); // media has joined
    const uint64_t first = host_publish(&host, 5000, true);
    turn_until(&e, &e.videos, 1);
    assert_int_equal(e.newest, first);
    wait_record(first, FW_OUTCOME_PRESENTED, &rec);
    assert_true(rec.at[FW_POINT_RECEIVED] && rec.at[FW_POINT_DECODED] &&
                rec.at[FW_POINT_PRESENTED]);
    e.hold = true;
    const uint64_t second = host_publish(&host, 5000, false);
    turn_until(&e, &e.videos, 2);
    wait_record(second, FW_OUTCOME_DROPPED, &rec);
    assert_int_equal(rec.reason, FW_REASON_CLIENT);
    // The clock: both ends share one, so what is told must hold zero within its bound.
    int64_t offset;
    uint32_t bound;
    turn_until(&e, &e.beacons, 1);
    assert_true(fw_client_clock_estimate(fw_watch_clock(e.watch), fw_now_ns(), &offset, &bound));
    assert_true(llabs(offset) <= bound * (int64_t)FW_NS_PER_US);
    assert_true(fw_watch_age(e.watch, fw_now_ns()) >= 0);
    fw_watch_close(&e.watch);
}

static void test_input_and_viewport(void **state)
{
    (void)state;
    const struct fw_remote r = remote(true);
    struct fw_remote_error error;
    struct eye e = { .videos = 0 };
    host_reset(&host);
    assert_int_equal(open_watch(&r, &e, "s1", NULL, &error), FW_OK);
    assert_true(host_wait(&host, &host.keyframes, 1, 5000));
    struct fw_wire_input events[2] = { { .kind = FW_INPUT_MOTION, .x = 10, .y = 20 },
                                       { .kind = FW_INPUT_BUTTON, .state = 1 } };
    assert_int_equal(fw_watch_input(e.watch, events, 2, 0), FW_OK);
    assert_int_equal(events[1].seq, events[0].seq + 1);
    assert_true(host_wait(&host, &host.event_count, 2, 5000));
    assert_int_equal(host.events[1].kind, FW_INPUT_BUTTON);
    assert_int_equal(fw_watch_inputs_open(e.watch), 2);
    const unsigned sizes = host.viewports;
    assert_int_equal(fw_watch_viewport(e.watch, 320, 200), FW_OK);
    assert_true(host_wait(&host, &host.viewports, sizes + 1, 5000));
    assert_int_equal(host.viewport.width, 320);
    // Pictures of the fake show all input so far.
    host_publish(&host, 100, true);
    turn_until(&e, &e.inputs, 2);
    assert_int_equal(fw_watch_inputs_open(e.watch), 0);
    fw_watch_close(&e.watch);
}

static void test_refusals(void **state)
{
    (void)state;
    const struct fw_remote r = remote(true);
    struct fw_remote_error error;
    struct eye e = { .videos = 0 };
    assert_int_not_equal(open_watch(&r, &e, "nobody", NULL, &error), FW_OK);
    assert_null(e.watch);
    assert_string_equal(error.code, "no_such_session");
    assert_int_not_equal(open_watch(&r, &e, "s1", "wrong", &error), FW_OK);
    assert_string_equal(error.code, "unauthorized");
    // Over the API: the server's words, a status without any, and nobody there at all.
    json_t *answer;
    assert_int_equal(fw_remote_call(&r, "GET", "/echo", NULL, &answer, &error), FW_OK);
    assert_string_equal(json_string_value(json_object_get(answer, "method")), "GET");
    json_decref(answer);
    assert_int_equal(fw_remote_call(&r, "GET", "/busy", NULL, &answer, &error), FW_ERR_DENIED);
    assert_int_equal(error.status, 503);
    assert_int_equal(error.retry_after_s, 7);
    struct fw_remote wrong = r;
    wrong.target.port = 1;
    assert_int_equal(fw_remote_call(&wrong, "GET", "/echo", NULL, &answer, &error), FW_ERR_IO);
    assert_string_equal(error.code, "unreachable");
    assert_non_null(strstr(error.message, "framewire serve"));
    if (!host.tls)
        return;
    const struct fw_remote blind = remote(false); // the system does not trust this certificate
    assert_int_equal(fw_remote_call(&blind, "GET", "/echo", NULL, &answer, &error), FW_ERR_DENIED);
    assert_string_equal(error.code, "untrusted");
    assert_non_null(strstr(error.message, "--tls-ca"));
}

// An answer that takes many reads.
static void test_large_answer(void **state)
{
    (void)state;
    const struct fw_remote r = remote(true);
    struct fw_remote_error error;
    char *text;
    size_t size;
    assert_int_equal(fw_remote_text(&r, "/big.css", &text, &size, &error), FW_OK);
    assert_int_equal(size, 300000);
    assert_int_equal(strspn(text, "x"), 300000);
    free(text);
}

static void test_end(void **state)
{
    (void)state;
    const struct fw_remote r = remote(true);
    struct fw_remote_error error;
    struct eye e = { .videos = 0 };
    assert_int_equal(open_watch(&r, &e, "s1", NULL, &error), FW_OK);
    host_end_channel(&host, "idle_timeout", "nobody watched");
    enum fw_err err = FW_OK;
    for (int i = 0; i < 500 && !err; i++) {
        poll(NULL, 0, 10);
        err = fw_watch_turn(e.watch);
    }
    assert_int_equal(err, FW_ERR_CLOSED);
    assert_string_equal(fw_watch_info(e.watch)->code, "idle_timeout");
    fw_watch_close(&e.watch);
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
        cmocka_unit_test(test_frames),   cmocka_unit_test(test_input_and_viewport),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_large_answer),
        cmocka_unit_test(test_end), // takes the channel away
    };
    return cmocka_run_group_tests_name("plain", tests, start_plain, stop) |
           cmocka_run_group_tests_name("tls", tests, start_tls, stop);
}
