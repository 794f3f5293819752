// SPDX-License-Identifier: MIT
// What the server writes into the records of frames, over real sockets: the whole way of one that
// is presented, and the reason of each that is not.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "fake_host.h"
#include "stream/wire.h"

enum { IDR = 200 * 1000, DELTA = 15 * 1000 };

static struct host host;

static void wait_visible(unsigned count)
{
    struct fw_channel_stats s = { 0 };
    for (int i = 0; i < 400; i++) {
        host_stats(&host, &s);
        if (s.visible == count)
            break;
        usleep(5000);
    }
    assert_int_equal(s.visible, count);
}

static void join(struct fw_client_viewer *v, int receive_buffer)
{
    struct fw_client_params p = host_client(&host, "/s/s1/ws");
    p.receive_buffer = receive_buffer;
    assert_int_equal(fw_client_join(v, &p, NULL, 800, 600), FW_OK);
    wait_visible(1);
}

static void leave(struct fw_client_viewer *v)
{
    fw_client_leave(v);
    wait_visible(0);
}

static struct fw_frame_record record_of(uint64_t id)
{
    struct fw_frame_record rec = { 0 };
    assert_true(host_record(&host, id, &rec));
    return rec;
}

// Waits until its way has ended.
static struct fw_frame_record ended(uint64_t id)
{
    struct fw_frame_record rec = record_of(id);
    for (int i = 0; i < 400 && rec.outcome == FW_OUTCOME_OPEN; i++) {
        usleep(5000);
        rec = record_of(id);
    }
    return rec;
}

static void expect(uint64_t id, enum fw_outcome outcome, enum fw_reason reason)
{
    const struct fw_frame_record rec = ended(id);
    assert_string_equal(fw_outcome_names[rec.outcome], fw_outcome_names[outcome]);
    assert_string_equal(fw_reason_names[rec.reason], fw_reason_names[reason]);
}

static uint64_t now_us(void)
{
    return (uint64_t)(fw_now_ns() / FW_NS_PER_US);
}

static void take(struct fw_client_viewer *v, uint64_t id)
{
    struct fw_client_message m;
    struct fw_wire_video video;
    assert_int_equal(fw_client_receive(v->media, 2000, &m), FW_OK);
    assert_int_equal(fw_wire_parse_video(m.data, m.size, &video), FW_OK);
    assert_int_equal(video.frame_id, id);
}

static void send_acks(struct fw_client_viewer *v, const struct fw_wire_ack *acks, unsigned count)
{
    uint8_t out[FW_WIRE_BATCH_HEADER + 4 * FW_WIRE_ACK_SIZE];
    fw_client_send(v->control, FW_CLIENT_BINARY, out, fw_wire_write_ack(out, acks, count));
}

// This process has the server's clock: its offset is 0.
static void ping(struct fw_client_viewer *v, bool estimate)
{
    uint8_t out[FW_WIRE_SMALL_MAX];
    const struct fw_wire_ping p = { .client_us = now_us(),
                                    .estimate = estimate,
                                    .error_us = estimate ? 50 : 0 };
    fw_client_send(v->control, FW_CLIENT_BINARY, out, fw_wire_write_ping(out, &p));
}

static struct fw_frame_record present_one(struct fw_client_viewer *v, bool key)
{
    const uint64_t id = host_publish(&host, DELTA, key);
    take(v, id);
    const struct fw_wire_ack acks[] = {
        { .frame_id = id, .what = FW_ACK_RECEIVED, .time_us = now_us() },
        { .frame_id = id, .what = FW_ACK_DECODED, .time_us = now_us() + 1 },
        { .frame_id = id, .what = FW_ACK_PRESENTED, .time_us = now_us() + 2 },
    };
    usleep(1000);
    send_acks(v, acks, 3);
    return ended(id);
}

static void the_whole_way(void **state)
{
    (void)state;
    struct fw_client_viewer v;
    join(&v, 0);
    struct fw_frame_record rec = present_one(&v, true);
    assert_int_equal(rec.outcome, FW_OUTCOME_PRESENTED);
    assert_int_equal(rec.clock, FW_PEER_CLOCK_BOUNDS); // one picture there, one answer here
    ping(&v, false);
    rec = present_one(&v, false);
    assert_int_equal(rec.clock, FW_PEER_CLOCK_BOUNDS);
    ping(&v, true);
    rec = present_one(&v, false);
    assert_true(rec.clock == FW_PEER_CLOCK_ESTIMATE && rec.clock_error_us <= 51);
    for (int i = FW_POINT_HANDED; i <= FW_POINT_PRESENTED; i++)
        assert_true(rec.at[i] >= rec.at[FW_POINT_ENC_END]);
    assert_true(rec.bytes == DELTA && !rec.key && rec.width == 641 && rec.window >= 2);
    assert_true(rec.rtt_us > 0);
    const int64_t network = fw_frame_record_stage(&rec, FW_STAGE_NETWORK);
    assert_true(network >= 0 && network < 500 * (int64_t)FW_NS_PER_MS);
    assert_true(fw_frame_record_total(&rec) > 3 * FW_NS_PER_MS); // as the host stamps it
    leave(&v);
}

static void an_input_is_followed(void **state)
{
    (void)state;
    struct fw_client_viewer v;
    join(&v, 0);
    present_one(&v, true);
    uint8_t out[FW_WIRE_BATCH_HEADER + FW_WIRE_INPUT_SIZE];
    const struct fw_wire_input move = { .kind = FW_INPUT_MOTION, .x = 5, .y = 5, .seq = 1 };
    const int64_t before = fw_now_ns();
    fw_client_send(v.control, FW_CLIENT_BINARY, out, fw_wire_write_input(out, &move, 1));
    usleep(50000); // the host publishes pictures with the newest input it has had
    const struct fw_frame_record rec = present_one(&v, false);
    assert_int_equal(rec.outcome, FW_OUTCOME_PRESENTED);
    assert_int_equal(rec.input_id, 1);
    assert_true(rec.shows_input && rec.at[FW_POINT_INPUT] >= before);
    assert_true(fw_frame_record_total(&rec) >= 50 * (int64_t)FW_NS_PER_MS);
    leave(&v);
}

static void reasons_by_the_server(void **state)
{
    (void)state;
    struct fw_client_viewer v;
    expect(host_publish(&host, DELTA, true), FW_OUTCOME_SKIPPED, FW_REASON_NOBODY);
    join(&v, 0);
    expect(host_publish(&host, DELTA, false), FW_OUTCOME_DROPPED, FW_REASON_NEEDS_KEY);
    uint64_t id = host_publish(&host, DELTA, true);
    take(&v, id);
    const struct fw_wire_ack dropped = { .frame_id = id, .what = FW_ACK_DROPPED };
    send_acks(&v, &dropped, 1);
    expect(id, FW_OUTCOME_DROPPED, FW_REASON_CLIENT);
    id = host_publish(&host, DELTA, false);
    take(&v, id);
    fw_client_leave(&v);
    expect(id, FW_OUTCOME_DROPPED, FW_REASON_GONE);
    wait_visible(0);
}

// Publishes to a viewer that reads nothing until one has to wait; its id.
static uint64_t fill(bool key)
{
    for (int i = 0; i < 400; i++) {
        const uint64_t id = host_publish(&host, IDR, key && i == 0);
        const struct fw_frame_record rec = record_of(id);
        if (!rec.at[FW_POINT_HANDED])
            return id;
    }
    fail_msg("the kernel takes everything");
    return 0;
}

static void reasons_of_a_stalled_viewer(void **state)
{
    (void)state;
    struct fw_client_viewer v;
    join(&v, 8 << 10);
    const uint64_t waits = fill(true);
    uint64_t id = waits;
    for (int i = 1; i < 8; i++)
        id = host_publish(&host, IDR, false);
    assert_int_equal(record_of(id).outcome, FW_OUTCOME_OPEN); // eight may wait for the pacer
    expect(host_publish(&host, IDR, false), FW_OUTCOME_DROPPED, FW_REASON_BUSY);
    id = host_publish(&host, IDR, true);
    expect(waits, FW_OUTCOME_DROPPED, FW_REASON_NEWER_KEY);
    assert_int_equal(record_of(id).outcome, FW_OUTCOME_OPEN);
    host_reset(&host);
    expect(id, FW_OUTCOME_DROPPED, FW_REASON_RESTART);
    id = host_publish(&host, IDR, true);
    fw_client_send_text(v.control, "{\"type\":\"visibility\",\"visible\":false}");
    expect(id, FW_OUTCOME_DROPPED, FW_REASON_HIDDEN);
    fw_client_leave(&v);
    wait_visible(0);
}

static int start(void **state)
{
    (void)state;
    host_start(&host, false, "127.0.0.1", NULL, 0);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    host_stop(&host);
    return 0;
}

#define HOST(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HOST(the_whole_way),
        HOST(an_input_is_followed),
        HOST(reasons_by_the_server),
        HOST(reasons_of_a_stalled_viewer),
    };
    return cmocka_run_group_tests_name("trace", tests, NULL, NULL);
}
