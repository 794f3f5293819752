// SPDX-License-Identifier: MIT
// The records of frames with made-up times.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "stream/recent.h"
#include "stream/record.h"

enum { MS = FW_NS_PER_MS, VIEWER = 7, STEP = 17 };

static const int64_t t0 = 1000 * (int64_t)FW_NS_PER_S;
static struct fw_records *r;
static unsigned seed;

static int setup(void **state)
{
    (void)state;
    seed = 1;
    r = fw_records_create();
    return r ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    fw_records_destroy(&r);
    return 0;
}

static unsigned random_below(unsigned limit)
{
    seed = seed * 1103515245u + 12345u;
    return (seed >> 8) % limit;
}

// A packet whose stamps lie 1 ms apart from `begun` on, picked up 7 ms after it.
static struct fw_packet packet(uint64_t id, int64_t begun)
{
    return (struct fw_packet){
        .frame_id = id,
        .width = 640,
        .height = 480,
        .size = 1000,
        .times = { .change_ns = begun,
                   .begun_ns = begun,
                   .submitted_ns = begun + 1 * MS,
                   .rendered_ns = begun + 2 * MS,
                   .converted_ns = begun + 3 * MS,
                   .enc_begin_ns = begun + 4 * MS,
                   .enc_end_ns = begun + 5 * MS,
                   .ring_ns = begun + 6 * MS,
                   .picked_ns = begun + 7 * MS },
    };
}

static void publish_to(const struct fw_packet *p, uint32_t serial)
{
    const struct fw_record_viewer viewer = {
        .serial = serial, .rtt_us = 2000, .window = 3, .queue = 1
    };
    fw_records_publish(r, p, &viewer, p->times.picked_ns);
}

static void publish(uint64_t id, int64_t begun)
{
    const struct fw_packet p = packet(id, begun);
    publish_to(&p, VIEWER);
}

static void send(uint64_t id, int64_t handed)
{
    fw_records_sent(r, VIEWER, id, FW_POINT_HANDED, handed);
    fw_records_sent(r, VIEWER, id, FW_POINT_ACCEPTED, handed + MS);
}

static void ack_at(uint64_t id, enum fw_point point, int64_t ns, int64_t now)
{
    const struct fw_record_ack ack = {
        .frame_id = id, .point = point, .ns = ns, .error_us = 500, .clock = FW_PEER_CLOCK_ESTIMATE
    };
    fw_records_ack(r, VIEWER, &ack, now);
}

static void ack(uint64_t id, enum fw_point point, int64_t ns)
{
    ack_at(id, point, ns, ns + MS);
}

static const struct fw_frame_record *newest(void)
{
    return fw_records_at(r, fw_records_count(r) - 1);
}

static int64_t sum_of_stages(const struct fw_frame_record *rec)
{
    int64_t sum = 0;
    for (int i = 0; i < FW_STAGE_COUNT; i++) {
        const int64_t ns = fw_frame_record_stage(rec, (enum fw_stage)i);
        sum += ns > 0 ? ns : 0;
    }
    return sum;
}

// The whole way, 11 ms from `begun` to presented.
static void whole_way(uint64_t id, int64_t begun)
{
    publish(id, begun);
    send(id, begun + 7 * MS);
    ack(id, FW_POINT_RECEIVED, begun + 9 * MS);
    ack(id, FW_POINT_DECODED, begun + 10 * MS);
    ack(id, FW_POINT_PRESENTED, begun + 11 * MS);
}

static void a_whole_way_has_no_rest(void **state)
{
    (void)state;
    whole_way(1, t0);
    const struct fw_frame_record *rec = newest();
    assert_int_equal(rec->outcome, FW_OUTCOME_PRESENTED);
    assert_int_equal(fw_frame_record_total(rec), 11 * MS);
    assert_int_equal(fw_frame_record_stage(rec, FW_STAGE_REST), 0);
    assert_int_equal(fw_frame_record_stage(rec, FW_STAGE_DELIVER), -1);
    assert_int_equal(fw_frame_record_stage(rec, FW_STAGE_WAIT), -1);
    assert_int_equal(fw_frame_record_stage(rec, FW_STAGE_ENCODE), MS);
    assert_int_equal(fw_frame_record_stage(rec, FW_STAGE_HAND), 0);
    assert_int_equal(fw_frame_record_stage(rec, FW_STAGE_PRESENT), MS);
    assert_int_equal(sum_of_stages(rec), 11 * MS);
    assert_true(rec->bytes == 1000 && rec->rtt_us == 2000 && rec->window == 3 && rec->queue == 1);
    assert_true(rec->clock == FW_PEER_CLOCK_ESTIMATE && rec->clock_error_us == 500);
    const struct fw_record_sums *sums = fw_records_sums(r);
    assert_int_equal(sums->total.count, 1);
    assert_int_equal(sums->total.max_us, 11000);
    assert_int_equal(sums->stage[FW_STAGE_REST].count, 1);
    assert_int_equal(sums->stage[FW_STAGE_DELIVER].count, 0);
    assert_int_equal(sums->outcome[FW_OUTCOME_PRESENTED], 1);
}

static void a_missing_stamp_goes_to_the_rest(void **state)
{
    (void)state;
    struct fw_packet p = packet(1, t0);
    p.times.rendered_ns = 0;
    publish_to(&p, VIEWER);
    send(1, t0 + 7 * MS);
    ack(1, FW_POINT_RECEIVED, t0 + 9 * MS);
    ack(1, FW_POINT_PRESENTED, t0 + 11 * MS); // an old client: nothing of decoding
    const struct fw_frame_record *rec = newest();
    assert_int_equal(fw_frame_record_stage(rec, FW_STAGE_RENDER), -1);
    assert_int_equal(fw_frame_record_stage(rec, FW_STAGE_CONVERT), -1);
    assert_int_equal(fw_frame_record_stage(rec, FW_STAGE_DECODE), -1);
    assert_int_equal(fw_frame_record_stage(rec, FW_STAGE_REST), 4 * MS);
    assert_int_equal(sum_of_stages(rec), fw_frame_record_total(rec));
}

// Whatever a worker and a client say: stages are never negative and tile the total.
static void random_records_tile(void **state)
{
    (void)state;
    unsigned totals = 0;
    for (uint64_t id = 1; id <= 20000; id++) {
        const int64_t begun = t0 + (int64_t)id * STEP * MS;
        struct fw_packet p = packet(id, begun);
        int64_t *const stamps[] = { &p.times.submitted_ns, &p.times.rendered_ns,
                                    &p.times.converted_ns, &p.times.enc_begin_ns,
                                    &p.times.enc_end_ns,   &p.times.ring_ns };
        if (random_below(2))
            *stamps[random_below(6)] += ((int64_t)random_below(60) - 30) * MS;
        if (random_below(3) == 0)
            *stamps[random_below(6)] = 0;
        if (random_below(4) == 0) {
            fw_records_input(r, id, 1, begun - random_below(5) * (int64_t)MS);
            p.input_id = id;
            p.times.delivered_ns = begun - random_below(5) * (int64_t)MS;
        }
        publish_to(&p, VIEWER);
        send(id, begun + 7 * MS);
        for (int point = FW_POINT_RECEIVED; point <= FW_POINT_PRESENTED; point++)
            if (random_below(5))
                ack(id, (enum fw_point)point, begun + (8 + random_below(12)) * (int64_t)MS);
        const struct fw_frame_record *rec = newest();
        assert_int_equal(rec->frame_id, id);
        int64_t last = 0;
        for (int i = 0; i < FW_POINT_COUNT; i++) {
            assert_true(!rec->at[i] || rec->at[i] >= last);
            last = rec->at[i] ? rec->at[i] : last;
        }
        const int64_t total = fw_frame_record_total(rec);
        if (total < 0)
            continue;
        totals++;
        assert_true(fw_frame_record_stage(rec, FW_STAGE_REST) >= 0);
        assert_int_equal(sum_of_stages(rec), total);
    }
    assert_true(totals > 5000);
    assert_int_equal(fw_records_sums(r)->total.count, totals);
    assert_int_equal(fw_records_sums(r)->frames, 20000);
}

static void acks_may_come_out_of_order(void **state)
{
    (void)state;
    for (uint64_t id = 1; id <= 3; id++) {
        publish(id, t0 + (int64_t)id * STEP * MS);
        send(id, t0 + (int64_t)id * STEP * MS + 7 * MS);
    }
    const int64_t begun = t0 + 2 * STEP * MS, now = begun + 50 * MS;
    ack_at(2, FW_POINT_PRESENTED, begun + 11 * MS, now);
    ack_at(2, FW_POINT_RECEIVED, begun + 9 * MS, now);
    ack_at(2, FW_POINT_DECODED, begun + 10 * MS, now);
    const struct fw_frame_record *rec = fw_records_at(r, 1);
    assert_int_equal(fw_frame_record_stage(rec, FW_STAGE_REST), 0);
    assert_int_equal(fw_frame_record_total(rec), 11 * MS);
    assert_int_equal(fw_records_at(r, 0)->outcome, FW_OUTCOME_OPEN);
    // The same again, with other times: what came first stands.
    ack_at(2, FW_POINT_PRESENTED, begun + 20 * MS, now);
    ack_at(2, FW_POINT_DECODED, begun + 10 * MS + 1, now);
    const struct fw_record_ack dropped = { .frame_id = 2, .dropped = true };
    fw_records_ack(r, VIEWER, &dropped, now);
    assert_int_equal(rec->outcome, FW_OUTCOME_PRESENTED);
    assert_int_equal(fw_frame_record_total(rec), 11 * MS);
    assert_int_equal(fw_records_sums(r)->total.count, 1);
}

static void acks_from_the_future_are_left_out(void **state)
{
    (void)state;
    publish(1, t0);
    ack(1, FW_POINT_RECEIVED, t0 + 9 * MS); // it was never handed out
    assert_int_equal(newest()->at[FW_POINT_RECEIVED], 0);
    send(1, t0 + 7 * MS);
    const int64_t now = t0 + 12 * MS;
    ack_at(1, FW_POINT_RECEIVED, t0 + 7 * MS + 1, now); // before it was accepted, within the error
    ack_at(1, FW_POINT_DECODED, now + 3 * MS, now);     // beyond the error
    ack_at(1, FW_POINT_DECODED, t0 + 5 * MS, now);      // before it was received, beyond it
    ack_at(1, FW_POINT_DECODED, INT64_MIN, now);
    ack_at(1, FW_POINT_PRESENTED, now + MS, now); // within the error
    ack_at(9, FW_POINT_PRESENTED, now, now);      // never published
    const struct fw_frame_record *rec = newest();
    assert_int_equal(rec->at[FW_POINT_RECEIVED], t0 + 7 * MS + 1);
    assert_int_equal(rec->at[FW_POINT_DECODED], 0);
    assert_int_equal(rec->at[FW_POINT_PRESENTED], now);
    assert_int_equal(fw_frame_record_stage(rec, FW_STAGE_REST), 5 * MS - 1);
    assert_int_equal(sum_of_stages(rec), 12 * MS);
}

// A front that is kept from running notices late that the kernel has taken a frame, when it is on
// the screen already. That is no time of the client's: it has its network, decoding and showing.
static void a_late_look_at_the_socket_does_not_hide_the_client(void **state)
{
    (void)state;
    publish(1, t0);
    fw_records_sent(r, VIEWER, 1, FW_POINT_HANDED, t0 + 7 * MS);
    fw_records_sent(r, VIEWER, 1, FW_POINT_ACCEPTED, t0 + 40 * MS);
    const int64_t now = t0 + 41 * MS;
    ack_at(1, FW_POINT_RECEIVED, t0 + 9 * MS, now);
    ack_at(1, FW_POINT_DECODED, t0 + 12 * MS, now);
    ack_at(1, FW_POINT_PRESENTED, t0 + 17 * MS, now);
    const struct fw_frame_record *rec = newest();
    assert_int_equal(fw_frame_record_stage(rec, FW_STAGE_ACCEPT), 0);
    assert_int_equal(fw_frame_record_stage(rec, FW_STAGE_NETWORK), 2 * MS);
    assert_int_equal(fw_frame_record_stage(rec, FW_STAGE_DECODE), 3 * MS);
    assert_int_equal(fw_frame_record_stage(rec, FW_STAGE_PRESENT), 5 * MS);
    assert_int_equal(fw_frame_record_total(rec), 17 * MS);
}

static void an_ack_without_a_time_still_ends_it(void **state)
{
    (void)state;
    publish(1, t0);
    send(1, t0 + 7 * MS);
    ack(1, FW_POINT_PRESENTED, 0);
    assert_int_equal(newest()->outcome, FW_OUTCOME_PRESENTED);
    assert_int_equal(fw_frame_record_total(newest()), -1);
    assert_int_equal(fw_records_sums(r)->total.count, 0);
    assert_int_equal(fw_records_sums(r)->stage[FW_STAGE_ENCODE].count, 1);
}

static void only_the_pacing_viewer_is_heard(void **state)
{
    (void)state;
    publish(1, t0);
    send(1, t0 + 7 * MS);
    fw_records_sent(r, VIEWER + 1, 1, FW_POINT_HANDED, t0 + 99 * MS);
    const struct fw_record_ack other = { .frame_id = 1, .dropped = true };
    fw_records_ack(r, VIEWER + 1, &other, t0 + 20 * MS);
    fw_records_drop(r, VIEWER + 1, 1, FW_REASON_BUSY);
    fw_records_left(r, VIEWER + 1);
    assert_int_equal(newest()->outcome, FW_OUTCOME_OPEN);
    assert_int_equal(newest()->at[FW_POINT_HANDED], t0 + 7 * MS);
    fw_records_left(r, VIEWER);
    assert_int_equal(newest()->outcome, FW_OUTCOME_DROPPED);
    assert_int_equal(newest()->reason, FW_REASON_GONE);
}

static void the_ring_wraps(void **state)
{
    (void)state;
    enum { FRAMES = FW_RECORDS_KEPT + 100 };
    assert_int_equal(fw_records_count(r), 0);
    for (uint64_t id = 1; id <= FRAMES; id++)
        whole_way(id, t0 + (int64_t)id * STEP * MS);
    assert_int_equal(fw_records_count(r), FW_RECORDS_KEPT);
    for (unsigned i = 0; i < FW_RECORDS_KEPT; i++)
        assert_int_equal(fw_records_at(r, i)->frame_id, FRAMES - FW_RECORDS_KEPT + 1 + i);
    assert_int_equal(fw_records_sums(r)->total.count, FRAMES);
    ack(1, FW_POINT_PRESENTED, t0 + 11 * MS); // gone
    assert_int_equal(fw_records_sums(r)->total.count, FRAMES);
}

static void silence_has_an_end(void **state)
{
    (void)state;
    for (uint64_t id = 1; id <= FW_RECORDS_OPEN + 2; id++) {
        publish(id, t0 + (int64_t)id * STEP * MS);
        send(id, t0 + (int64_t)id * STEP * MS + 7 * MS);
    }
    assert_int_equal(fw_records_at(r, 0)->outcome, FW_OUTCOME_UNCONFIRMED);
    assert_int_equal(fw_records_at(r, 1)->outcome, FW_OUTCOME_UNCONFIRMED);
    assert_int_equal(fw_records_at(r, 2)->outcome, FW_OUTCOME_OPEN);
    assert_int_equal(fw_records_sums(r)->reason[FW_REASON_NO_WORD], 2);
    assert_int_equal(fw_records_sums(r)->stage[FW_STAGE_ENCODE].count, 2);
    assert_int_equal(fw_records_sums(r)->stage[FW_STAGE_REST].count, 0);
}

static void ids_that_do_not_rise_are_not_recorded(void **state)
{
    (void)state;
    publish(5, t0);
    send(5, t0 + 7 * MS);
    publish(5, t0 + STEP * MS);
    publish(4, t0 + STEP * MS);
    assert_int_equal(fw_records_count(r), 1);
    assert_int_equal(newest()->at[FW_POINT_BEGUN], t0);
}

static void skipped_frames_have_a_reason(void **state)
{
    (void)state;
    publish(1, t0);
    struct fw_packet p = packet(5, t0 + STEP * MS);
    p.skipped[0] = FW_REASON_RING_FULL; // 4
    p.skipped[2] = FW_REASON_NEWER;     // 2
    publish_to(&p, VIEWER);
    assert_int_equal(fw_records_count(r), 5);
    static const enum fw_reason reasons[] = { FW_REASON_NEWER, FW_REASON_UNKNOWN,
                                              FW_REASON_RING_FULL };
    for (unsigned i = 0; i < 3; i++) {
        const struct fw_frame_record *rec = fw_records_at(r, 1 + i);
        assert_int_equal(rec->frame_id, 2 + i);
        assert_int_equal(rec->outcome, FW_OUTCOME_SKIPPED);
        assert_int_equal(rec->reason, reasons[i]);
        assert_int_equal(fw_frame_record_total(rec), -1);
    }
    struct fw_packet far = packet(UINT64_MAX - 1, t0 + 2 * STEP * MS); // a gap is no loop
    publish_to(&far, VIEWER);
    assert_int_equal(fw_records_count(r), 5 + FW_PACKET_SKIPPED + 1);
    assert_int_equal(fw_records_sums(r)->outcome[FW_OUTCOME_SKIPPED], 3 + FW_PACKET_SKIPPED);
}

static void nobody_is_a_reason(void **state)
{
    (void)state;
    struct fw_packet p = packet(1, t0);
    publish_to(&p, 0);
    assert_int_equal(newest()->outcome, FW_OUTCOME_SKIPPED);
    assert_int_equal(newest()->reason, FW_REASON_NOBODY);
    fw_records_sent(r, 0, 1, FW_POINT_HANDED, t0 + 8 * MS);
    assert_int_equal(newest()->at[FW_POINT_HANDED], 0);
}

// Frames that wait are dropped, ids go on with the new worker's, its stamps start over.
static void a_worker_is_replaced(void **state)
{
    (void)state;
    whole_way(1, t0);
    publish(2, t0 + STEP * MS);
    fw_records_drop(r, VIEWER, 2, FW_REASON_RESTART);
    whole_way(3, t0 + FW_NS_PER_S);
    assert_int_equal(fw_records_at(r, 1)->outcome, FW_OUTCOME_DROPPED);
    assert_int_equal(fw_records_at(r, 1)->reason, FW_REASON_RESTART);
    assert_int_equal(fw_frame_record_total(newest()), 11 * MS);
    assert_int_equal(fw_records_sums(r)->outcome[FW_OUTCOME_PRESENTED], 2);
    assert_int_equal(fw_records_sums(r)->outcome[FW_OUTCOME_SKIPPED], 0);
}

// The way of an input to the server counts for the sums of all sessions; a word that can't be does
// not.
static void inputs_count_from_their_making(void **state)
{
    (void)state;
    static struct fw_record_totals totals;
    totals = (struct fw_record_totals){ .frames = 0 };
    fw_records_set_totals(r, &totals);
    fw_records_input(r, 4, 4, t0 - 4 * MS);
    fw_records_input_made(r, 1, t0 - 24 * MS);
    fw_records_input_made(r, 2, t0 + 5 * MS); // after it arrived
    fw_records_input_made(r, 3, t0 - 11 * (int64_t)FW_NS_PER_S);
    fw_records_input_made(r, 9, t0 - 24 * MS); // never came
    struct fw_packet p = packet(1, t0);
    p.input_id = 4;
    publish_to(&p, VIEWER);
    send(1, t0 + 7 * MS);
    ack(1, FW_POINT_PRESENTED, t0 + 11 * MS);
    assert_int_equal(totals.input_to_photon.count, 4);
    assert_int_equal(totals.input_to_photon.sum_us, 35000 + 3 * 15000);
    assert_int_equal(fw_records_sums(r)->input_to_presented.max_us, 35000);
    static struct fw_record_sums lately;
    fw_recent_read(r, t0 - MS, t0 + 20 * MS, false, &lately);
    assert_int_equal(lately.input_to_presented.count, 4);
    assert_int_equal(lately.input_to_presented.sum_us, 35000 + 3 * 15000);
}

static void every_input_is_counted_once(void **state)
{
    (void)state;
    fw_records_input(r, 3, 3, t0 - 4 * MS); // 1, 2, 3 in one batch
    struct fw_packet p = packet(1, t0);
    p.input_id = 3;
    p.times.input_rx_ns = t0 - 9 * MS; // the front knows better
    p.times.delivered_ns = t0 - 3 * MS;
    publish_to(&p, VIEWER);
    fw_records_drop(r, VIEWER, 1, FW_REASON_BUSY); // nobody saw it
    assert_int_equal(fw_records_sums(r)->input_to_presented.count, 0);
    fw_records_input(r, 4, 1, t0 + 10 * MS);
    p = packet(2, t0 + 20 * MS); // shows 3 as well, 4 is not in it
    p.input_id = 3;
    p.times.delivered_ns = t0 - 3 * MS;
    publish_to(&p, VIEWER);
    send(2, t0 + 27 * MS);
    ack(2, FW_POINT_PRESENTED, t0 + 31 * MS);
    const struct fw_record_sums *sums = fw_records_sums(r);
    assert_int_equal(sums->input_to_presented.count, 3);
    assert_int_equal(sums->input_to_presented.max_us, 35000);
    assert_true(newest()->shows_input);
    assert_int_equal(fw_frame_record_total(newest()), 35 * MS);
    assert_int_equal(fw_frame_record_stage(newest(), FW_STAGE_DELIVER), MS);
    assert_int_equal(fw_frame_record_stage(newest(), FW_STAGE_WAIT), 23 * MS);
    assert_int_equal(sum_of_stages(newest()), 35 * MS);
    p = packet(3, t0 + 40 * MS); // the next picture without a new input
    p.input_id = 3;
    p.times.delivered_ns = t0 - 3 * MS;
    publish_to(&p, VIEWER);
    send(3, t0 + 47 * MS);
    ack(3, FW_POINT_PRESENTED, t0 + 51 * MS);
    assert_false(newest()->shows_input);
    assert_int_equal(fw_frame_record_total(newest()), 11 * MS);
    assert_int_equal(sums->input_to_presented.count, 3);
    p = packet(4, t0 + 60 * MS); // an input that never came
    p.input_id = UINT64_MAX;
    publish_to(&p, VIEWER);
    assert_int_equal(newest()->input_id, 0);
}

static void stamps_of_a_worker_are_cleaned(void **state)
{
    (void)state;
    struct fw_packet p = packet(1, t0);
    p.times.submitted_ns = t0 - 1;
    p.times.enc_end_ns = t0 + FW_NS_PER_S;
    p.times.change_ns = INT64_MAX;
    p.times.picked_ns = 5;
    fw_frame_times_clean(&p.times, t0 + 8 * MS);
    assert_int_equal(p.times.begun_ns, t0);
    assert_int_equal(p.times.submitted_ns, 0);
    assert_int_equal(p.times.rendered_ns, t0 + 2 * MS);
    assert_int_equal(p.times.enc_end_ns, 0);
    assert_int_equal(p.times.ring_ns, t0 + 6 * MS);
    assert_int_equal(p.times.change_ns, 0);
    assert_int_equal(p.times.picked_ns, t0 + 8 * MS);
}

#define RECORDS(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RECORDS(a_whole_way_has_no_rest),
        RECORDS(a_missing_stamp_goes_to_the_rest),
        RECORDS(random_records_tile),
        RECORDS(acks_may_come_out_of_order),
        RECORDS(acks_from_the_future_are_left_out),
        RECORDS(a_late_look_at_the_socket_does_not_hide_the_client),
        RECORDS(an_ack_without_a_time_still_ends_it),
        RECORDS(only_the_pacing_viewer_is_heard),
        RECORDS(the_ring_wraps),
        RECORDS(silence_has_an_end),
        RECORDS(ids_that_do_not_rise_are_not_recorded),
        RECORDS(skipped_frames_have_a_reason),
        RECORDS(nobody_is_a_reason),
        RECORDS(a_worker_is_replaced),
        RECORDS(every_input_is_counted_once),
        RECORDS(inputs_count_from_their_making),
        cmocka_unit_test(stamps_of_a_worker_are_cleaned),
    };
    return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
