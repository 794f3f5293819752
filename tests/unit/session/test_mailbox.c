// SPDX-License-Identifier: MIT
// The mailbox: newest wins, nothing leaks, close wakes the taker.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "session/mailbox.h"

static int released;

static void release(struct fw_frame *frame)
{
    (void)frame;
    __atomic_add_fetch(&released, 1, __ATOMIC_SEQ_CST);
}

static void frame_init(struct fw_frame *frame, uint64_t id)
{
    *frame = (struct fw_frame){ .id = id, .release = release };
    fw_ref_init(&frame->ref);
}

static void newest_wins(void **state)
{
    (void)state;
    struct fw_mailbox box;
    struct fw_frame a, b;
    struct fw_job job;
    released = 0;
    assert_int_equal(fw_mailbox_init(&box), FW_OK);
    frame_init(&a, 1);
    frame_init(&b, 2);
    assert_false(fw_mailbox_full(&box));
    assert_false(fw_mailbox_put(&box, &(struct fw_job){ .frame = &a, .id = 1 }));
    assert_true(fw_mailbox_full(&box));
    assert_true(fw_mailbox_put(&box, &(struct fw_job){ .frame = &b, .id = 2 }));
    assert_int_equal(released, 1);
    assert_int_equal(fw_mailbox_take(&box, &job), FW_OK);
    assert_int_equal(job.id, 2);
    assert_ptr_equal(job.frame, &b);
    assert_false(fw_mailbox_full(&box));
    fw_frame_unref(&job.frame);
    assert_int_equal(released, 2);
    fw_mailbox_finish(&box);
}

static void close_drops_what_waits_and_what_comes(void **state)
{
    (void)state;
    struct fw_mailbox box;
    struct fw_frame a, b;
    struct fw_job job;
    released = 0;
    assert_int_equal(fw_mailbox_init(&box), FW_OK);
    frame_init(&a, 1);
    frame_init(&b, 2);
    fw_mailbox_put(&box, &(struct fw_job){ .frame = &a });
    fw_mailbox_close(&box);
    assert_int_equal(fw_mailbox_take(&box, &job), FW_ERR_CLOSED);
    assert_true(fw_mailbox_put(&box, &(struct fw_job){ .frame = &b }));
    assert_int_equal(released, 1);
    fw_mailbox_finish(&box);
    assert_int_equal(released, 2);
}

struct taker {
    struct fw_mailbox box;
    uint64_t last, taken;
    bool ordered;
};

static void *take_all(void *arg)
{
    struct taker *t = arg;
    struct fw_job job;
    while (fw_mailbox_take(&t->box, &job) == FW_OK) {
        t->ordered = t->ordered && job.id > t->last;
        t->last = job.id;
        t->taken++;
        fw_frame_unref(&job.frame);
    }
    return NULL;
}

static void two_threads_lose_nothing(void **state)
{
    (void)state;
    enum { JOBS = 20000 };
    static struct fw_frame frames[JOBS];
    struct taker t = { .ordered = true };
    pthread_t thread;
    uint64_t replaced = 0;
    released = 0;
    assert_int_equal(fw_mailbox_init(&t.box), FW_OK);
    assert_int_equal(pthread_create(&thread, NULL, take_all, &t), 0);
    for (unsigned i = 0; i < JOBS; i++) {
        frame_init(&frames[i], i + 1);
        replaced += fw_mailbox_put(&t.box, &(struct fw_job){ .frame = &frames[i], .id = i + 1 });
    }
    while (fw_mailbox_full(&t.box)) {
        sched_yield();
    }
    fw_mailbox_close(&t.box);
    pthread_join(thread, NULL);
    fw_mailbox_finish(&t.box);
    assert_true(t.ordered);
    assert_int_equal(t.last, JOBS); // the newest always arrives
    assert_int_equal(t.taken + replaced, JOBS);
    assert_int_equal(released, JOBS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(newest_wins),
        cmocka_unit_test(close_drops_what_waits_and_what_comes),
        cmocka_unit_test(two_threads_lose_nothing),
    };
    return cmocka_run_group_tests_name("mailbox", tests, NULL, NULL);
}
