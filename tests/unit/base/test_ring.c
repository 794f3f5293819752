// SPDX-License-Identifier: MIT
// The ring, and what a hostile producer can do to the consumer: nothing but an error.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/ring.h"

// Where things lie in the shared memory; a hostile worker knows it too.
enum { HEAD_AT = 0, TAIL_AT = 64, DATA_AT = 4096, CAPACITY = 4096 };

struct pair {
    struct fw_ring consumer, producer;
};

static int setup(void **state)
{
    static struct pair p;
    assert_int_equal(fw_ring_create(&p.consumer, CAPACITY), FW_OK);
    assert_int_equal(fw_ring_open(&p.producer, dup(p.consumer.fd)), FW_OK);
    *state = &p;
    return 0;
}

static int teardown(void **state)
{
    struct pair *p = *state;
    fw_ring_finish(&p->producer);
    fw_ring_finish(&p->consumer);
    return 0;
}

static void records_come_out_as_they_went_in(void **state)
{
    struct pair *p = *state;
    uint8_t body[300], out[308];
    size_t size;
    assert_int_equal(fw_ring_peek(&p->consumer, &size), FW_ERR_AGAIN);
    // Many laps, sizes that do not divide the capacity: records wrap at every offset.
    for (unsigned i = 0; i < 5000; i++) {
        const uint64_t head = i;
        const size_t n = i % sizeof(body);
        memset(body, (int)i, sizeof(body));
        assert_int_equal(fw_ring_write(&p->producer, &head, sizeof(head), body, n), FW_OK);
        assert_int_equal(fw_ring_peek(&p->consumer, &size), FW_OK);
        assert_int_equal(size, sizeof(head) + n);
        fw_ring_copy(&p->consumer, 0, out, size);
        assert_memory_equal(out, &head, sizeof(head));
        assert_memory_equal(out + sizeof(head), body, n);
        fw_ring_pop(&p->consumer, size);
    }
    assert_int_equal(fw_ring_peek(&p->consumer, &size), FW_ERR_AGAIN);
}

static void full_is_flow_and_too_large_is_not(void **state)
{
    struct pair *p = *state;
    static uint8_t body[CAPACITY];
    size_t size;
    unsigned written = 0;
    assert_int_equal(fw_ring_write(&p->producer, body, 8, body, CAPACITY / 2), FW_ERR_TOO_LARGE);
    while (fw_ring_write(&p->producer, body, 8, body, 1000) == FW_OK) {
        written++;
    }
    assert_int_equal(written, 4);
    assert_int_equal(fw_ring_write(&p->producer, body, 8, body, 1000), FW_ERR_AGAIN);
    assert_int_equal(fw_ring_peek(&p->consumer, &size), FW_OK);
    fw_ring_pop(&p->consumer, size);
    assert_int_equal(fw_ring_write(&p->producer, body, 8, body, 1000), FW_OK);
}

static void a_restarted_producer_goes_on(void **state)
{
    struct pair *p = *state;
    size_t size;
    assert_int_equal(fw_ring_write(&p->producer, "ab", 2, "cd", 2), FW_OK);
    fw_ring_finish(&p->producer);
    assert_int_equal(fw_ring_open(&p->producer, dup(p->consumer.fd)), FW_OK);
    assert_int_equal(fw_ring_write(&p->producer, "ef", 2, "gh", 2), FW_OK);
    char out[4];
    assert_int_equal(fw_ring_peek(&p->consumer, &size), FW_OK);
    fw_ring_copy(&p->consumer, 0, out, 4);
    assert_memory_equal(out, "abcd", 4);
    fw_ring_pop(&p->consumer, size);
    assert_int_equal(fw_ring_peek(&p->consumer, &size), FW_OK);
    fw_ring_copy(&p->consumer, 0, out, 4);
    assert_memory_equal(out, "efgh", 4);
}

static void the_producer_cannot_shrink_it_under_us(void **state)
{
    struct pair *p = *state;
    assert_int_equal(ftruncate(p->producer.fd, 0), -1);
    assert_int_equal(ftruncate(p->producer.fd, 1 << 20), -1);
    assert_int_equal(fcntl(p->producer.fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
    assert_int_equal(fallocate(p->producer.fd, FALLOC_FL_KEEP_SIZE, 0, 1 << 20), -1);
}

static void poke(struct pair *p, size_t at, uint64_t value)
{
    memcpy(p->producer.map + at, &value, sizeof(value));
}

static void lies_about_lengths_end_as_an_error(void **state)
{
    struct pair *p = *state;
    size_t size;
    const uint64_t lengths[] = { UINT64_MAX, UINT64_MAX - 7,   (uint64_t)INT64_MAX,
                                 CAPACITY,   CAPACITY / 2 + 1, 9,
                                 1 << 30 };
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        poke(p, DATA_AT, lengths[i]);
        poke(p, HEAD_AT, 16); // one record of 8 bytes, says the head
        assert_int_equal(fw_ring_peek(&p->consumer, &size), FW_ERR_FORMAT);
    }
    poke(p, DATA_AT, 8);
    assert_int_equal(fw_ring_peek(&p->consumer, &size), FW_OK);
}

static void lies_about_the_head_end_as_an_error(void **state)
{
    struct pair *p = *state;
    size_t size;
    const uint64_t heads[] = { 1, 7, CAPACITY + 1, UINT64_MAX, (uint64_t)INT64_MAX + 1 };
    poke(p, DATA_AT, 0);
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        poke(p, HEAD_AT, heads[i]);
        assert_int_equal(fw_ring_peek(&p->consumer, &size), FW_ERR_FORMAT);
    }
}

static void a_head_that_goes_back_ends_as_an_error(void **state)
{
    struct pair *p = *state;
    size_t size;
    assert_int_equal(fw_ring_write(&p->producer, "12345678", 8, "", 0), FW_OK);
    assert_int_equal(fw_ring_peek(&p->consumer, &size), FW_OK);
    fw_ring_pop(&p->consumer, size);
    poke(p, HEAD_AT, 0);
    assert_int_equal(fw_ring_peek(&p->consumer, &size), FW_ERR_FORMAT);
}

static void lies_about_the_tail_do_not_reach_the_producer(void **state)
{
    struct pair *p = *state;
    const uint64_t tails[] = { 8, CAPACITY + 8, (uint64_t)1 << 63 };
    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        poke(p, TAIL_AT, tails[i]);
        assert_int_equal(fw_ring_write(&p->producer, "x", 1, "y", 1), FW_ERR_AGAIN);
    }
}

// A producer that scribbles over everything while the consumer reads: any answer, no fault, and
// never more than half of the ring.
struct scribbler {
    struct pair *pair;
    atomic_bool stop;
};

static void *scribble(void *arg)
{
    struct scribbler *s = arg;
    unsigned seed = 1;
    for (unsigned i = 0; !atomic_load(&s->stop); i++) {
        const uint64_t value =
            i % 3 ? (uint64_t)rand_r(&seed) % (2 * CAPACITY) : (uint64_t)rand_r(&seed) << 33;
        const size_t at = i % 4 == 0 ? HEAD_AT : DATA_AT + (size_t)rand_r(&seed) % 4096 / 8 * 8;
        __atomic_store_n((uint64_t *)(void *)(s->pair->producer.map + at), value, __ATOMIC_RELAXED);
    }
    return NULL;
}

static void a_scribbling_producer_does_no_harm(void **state)
{
    struct scribbler s = { .pair = *state };
    struct fw_ring *consumer = &s.pair->consumer;
    static uint8_t out[CAPACITY];
    pthread_t thread;
    unsigned wrong = 0, taken = 0;
#ifdef __SANITIZE_THREAD__
    skip(); // the race is the point
#endif
    assert_int_equal(pthread_create(&thread, NULL, scribble, &s), 0);
    while (wrong < 100000 || taken < 100) { // the test's time-out ends it otherwise
        size_t size;
        const enum fw_err err = fw_ring_peek(consumer, &size);
        if (err == FW_OK) {
            assert_true(size <= CAPACITY / 2);
            fw_ring_copy(consumer, 0, out, size);
            fw_ring_pop(consumer, size);
            taken++;
        }
        wrong += err == FW_ERR_FORMAT;
        if (wrong % 1000 == 999) {
            consumer->pos = 0; // as for a new worker, so that records are taken again
        }
    }
    atomic_store(&s.stop, true);
    pthread_join(thread, NULL);
}

static void only_a_ring_opens(void **state)
{
    (void)state;
    struct fw_ring ring;
    const int fd = memfd_create("no-ring", MFD_CLOEXEC);
    assert_true(fd >= 0);
    const off_t sizes[] = { 0, 100, DATA_AT, DATA_AT + 4095, DATA_AT + 12288 };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        assert_int_equal(ftruncate(fd, sizes[i]), 0);
        assert_int_equal(fw_ring_open(&ring, fd), FW_ERR_FORMAT);
        fw_ring_finish(&ring);
    }
    assert_int_not_equal(fcntl(fd, F_GETFD), -1); // still the caller's
    close(fd);
    assert_int_equal(fw_ring_open(&ring, -1), FW_ERR_IO);
}

static void *produce(void *arg)
{
    struct pair *p = arg;
    uint8_t body[700];
    for (uint32_t i = 0; i < 50000; i++) {
        memset(body, (int)i, sizeof(body));
        while (fw_ring_write(&p->producer, &i, sizeof(i), body, i % sizeof(body)) == FW_ERR_AGAIN) {
            sched_yield();
        }
    }
    return NULL;
}

static void two_threads_agree(void **state)
{
    struct pair *p = *state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, produce, p), 0);
    for (uint32_t i = 0; i < 50000; i++) {
        uint8_t out[704];
        size_t size;
        enum fw_err err;
        while ((err = fw_ring_peek(&p->consumer, &size)) == FW_ERR_AGAIN) {
            sched_yield();
        }
        assert_int_equal(err, FW_OK);
        assert_int_equal(size, sizeof(i) + i % 700);
        fw_ring_copy(&p->consumer, 0, out, size);
        fw_ring_pop(&p->consumer, size);
        uint32_t head;
        memcpy(&head, out, sizeof(head));
        assert_int_equal(head, i);
        for (size_t b = sizeof(i); b < size; b++) {
            assert_int_equal(out[b], (uint8_t)i);
        }
    }
    pthread_join(thread, NULL);
}

#define RING_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RING_TEST(records_come_out_as_they_went_in),
        RING_TEST(full_is_flow_and_too_large_is_not),
        RING_TEST(a_restarted_producer_goes_on),
        RING_TEST(the_producer_cannot_shrink_it_under_us),
        RING_TEST(lies_about_lengths_end_as_an_error),
        RING_TEST(lies_about_the_head_end_as_an_error),
        RING_TEST(a_head_that_goes_back_ends_as_an_error),
        RING_TEST(lies_about_the_tail_do_not_reach_the_producer),
        RING_TEST(a_scribbling_producer_does_no_harm),
        cmocka_unit_test(only_a_ring_opens),
        RING_TEST(two_threads_agree),
    };
    return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
