// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include "base/packet.h"

static void head_room_and_payload_are_writable(void **state)
{
    (void)state;
    const size_t sizes[] = { 0, 1, 1000, FW_PACKET_MAX_BYTES };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct fw_packet *p = fw_packet_alloc(sizes[i]);
        assert_non_null(p);
        assert_int_equal(p->size, sizes[i]);
        assert_false(p->key);
        assert_int_equal(p->codec[0], 0);
        memset(p->data - FW_PACKET_HEADROOM, 1, FW_PACKET_HEADROOM + sizes[i]);
        assert_int_equal(p->size, sizes[i]); // the head room is not the struct
        fw_packet_unref(&p);
        assert_null(p);
    }
    assert_null(fw_packet_alloc((size_t)FW_PACKET_MAX_BYTES + 1));
    assert_null(fw_packet_alloc(SIZE_MAX));
}

static void *drop_many(void *arg)
{
    for (int i = 0; i < 100000; i++) {
        struct fw_packet *p = fw_packet_ref(arg);
        fw_packet_unref(&p);
    }
    return NULL;
}

static void references_count_across_threads(void **state)
{
    (void)state;
    struct fw_packet *p = fw_packet_alloc(10), *none = NULL;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, drop_many, p), 0);
    drop_many(p);
    pthread_join(thread, NULL);
    assert_int_equal(p->ref.count, 1);
    fw_packet_unref(&none);
    fw_packet_unref(NULL);
    fw_packet_unref(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(head_room_and_payload_are_writable),
        cmocka_unit_test(references_count_across_threads),
    };
    return cmocka_run_group_tests_name("packet", tests, NULL, NULL);
}
