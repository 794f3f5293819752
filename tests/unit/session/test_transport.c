// SPDX-License-Identifier: MIT
// Both transports carry the same things, and behave the same when the other end does not read.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "session/transport.h"

static _Alignas(8) uint8_t buf[FW_LINK_MAX_BYTES];

static bool readable(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };
    return poll(&p, 1, 0) == 1;
}

static struct fw_packet *make_packet(uint64_t id, size_t size)
{
    struct fw_packet *p = fw_packet_alloc(size);
    assert_non_null(p);
    p->frame_id = id;
    p->input_id = id + 100;
    p->width = 641;
    p->height = 479;
    p->coded_width = 642;
    p->coded_height = 480;
    p->key = true;
    strcpy(p->codec, "avc1.42e01f");
    p->times.begun_ns = 5;
    memset(p->data, (int)id, size);
    return p;
}

static void over_socket_and_ring(void **state)
{
    (void)state;
    struct fw_ring ring;
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    assert_int_equal(fw_ring_create(&ring, 64 << 10), FW_OK);
    struct fw_transport *t = NULL;
    assert_int_equal(fw_transport_link_create(&t, pair[1], pair[1]), FW_ERR_FORMAT);
    assert_int_equal(fw_transport_link_create(&t, pair[1], dup(ring.fd)), FW_OK);

    struct fw_link_resize resize = { .width = 100, .height = 100 };
    size_t size;
    assert_false(readable(t->impl->poll_fd(t)));
    assert_int_equal(t->impl->recv(t, buf, &size), FW_ERR_AGAIN);
    assert_int_equal(fw_link_send(pair[0], &resize, FW_LINK_RESIZE, sizeof(resize)), FW_OK);
    assert_true(readable(t->impl->poll_fd(t)));
    assert_int_equal(t->impl->recv(t, buf, &size), FW_OK);
    resize.width = 1;
    assert_int_equal(fw_link_send(pair[0], &resize, FW_LINK_RESIZE, sizeof(resize)), FW_OK);
    assert_int_equal(t->impl->recv(t, buf, &size), FW_ERR_FORMAT);

    struct fw_packet *p = make_packet(7, 20000);
    assert_int_equal(t->impl->packet(t, p), FW_OK);
    assert_int_equal(fw_link_recv(pair[0], buf, &size), FW_OK);
    assert_int_equal(((struct fw_link_header *)(void *)buf)->type, FW_LINK_PACKET);
    struct fw_link_packet head;
    assert_int_equal(fw_ring_peek(&ring, &size), FW_OK);
    fw_ring_copy(&ring, 0, &head, sizeof(head));
    assert_int_equal(fw_link_check_packet(&head, size), FW_OK);
    assert_int_equal(head.frame_id, 7);
    assert_int_equal(head.input_id, 107);
    assert_int_equal(head.times.begun_ns, 5);
    assert_true(head.times.ring_ns > 0);
    assert_string_equal(head.codec, "avc1.42e01f");

    // The front stalls: the ring fills, then a packet is refused and the ring stays sound.
    while (t->impl->packet(t, p) == FW_OK) {
    }
    assert_int_equal(t->impl->packet(t, p), FW_ERR_AGAIN);
    unsigned records = 0;
    while (fw_ring_peek(&ring, &size) == FW_OK) {
        assert_int_equal(size, sizeof(head) + 20000);
        fw_ring_pop(&ring, size);
        records++;
    }
    assert_int_equal(records, 3);
    fw_packet_unref(&p);
    close(pair[0]);
    assert_int_equal(t->impl->recv(t, buf, &size), FW_ERR_CLOSED);
    fw_transport_destroy(&t);
    assert_null(t);
    fw_ring_finish(&ring);
}

// The announcement of a packet finds the socket full; the next message that fits brings it along.
static void a_lost_announcement_is_made_up_for(void **state)
{
    (void)state;
    struct fw_ring ring;
    int pair[2];
    size_t size;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    assert_int_equal(fw_ring_create(&ring, 64 << 10), FW_OK);
    struct fw_transport *t = NULL;
    assert_int_equal(fw_transport_link_create(&t, pair[1], dup(ring.fd)), FW_OK);
    struct fw_link_beacon beacon = { .frames = 1 };
    while (t->impl->send(t, &beacon, FW_LINK_BEACON, sizeof(beacon)) == FW_OK) {
    }
    struct fw_packet *p = make_packet(1, 10);
    assert_int_equal(t->impl->packet(t, p), FW_OK);
    while (fw_link_recv(pair[0], buf, &size) == FW_OK) {
        assert_int_equal(((struct fw_link_header *)(void *)buf)->type, FW_LINK_BEACON);
    }
    assert_int_equal(t->impl->send(t, &beacon, FW_LINK_BEACON, sizeof(beacon)), FW_OK);
    assert_int_equal(fw_link_recv(pair[0], buf, &size), FW_OK);
    assert_int_equal(((struct fw_link_header *)(void *)buf)->type, FW_LINK_PACKET);
    fw_packet_unref(&p);
    fw_transport_destroy(&t);
    close(pair[0]);
    fw_ring_finish(&ring);
}

static void over_queues(void **state)
{
    (void)state;
    struct fw_transport *t = NULL;
    struct fw_loopback_event event;
    size_t size;
    assert_int_equal(fw_transport_loopback_create(&t), FW_OK);
    assert_int_equal(fw_loopback_next(t, 10, &event), FW_ERR_TIMEOUT);
    assert_false(readable(t->impl->poll_fd(t)));

    struct fw_link_header stop;
    assert_int_equal(fw_loopback_command(t, &stop, FW_LINK_STOP, sizeof(stop)), FW_OK);
    assert_true(readable(t->impl->poll_fd(t)));
    assert_int_equal(t->impl->recv(t, buf, &size), FW_OK);
    assert_int_equal(t->impl->recv(t, buf, &size), FW_ERR_AGAIN);
    assert_false(readable(t->impl->poll_fd(t)));

    fw_loopback_limit(t, 2);
    struct fw_packet *p = make_packet(9, 100);
    assert_int_equal(t->impl->packet(t, p), FW_OK);
    assert_int_equal(t->impl->packet(t, p), FW_OK);
    assert_int_equal(t->impl->packet(t, p), FW_ERR_AGAIN);
    struct fw_link_warm warm = { .is_cpu = 1 };
    assert_int_equal(t->impl->send(t, &warm, FW_LINK_WARM, sizeof(warm)), FW_OK);
    assert_int_equal(fw_loopback_next(t, 10, &event), FW_OK);
    assert_ptr_equal(event.packet, p);
    fw_packet_unref(&event.packet);
    assert_int_equal(fw_loopback_next(t, 10, &event), FW_OK);
    fw_packet_unref(&event.packet);
    assert_int_equal(fw_loopback_next(t, 10, &event), FW_OK);
    assert_null(event.packet);
    assert_int_equal(fw_link_check(event.message, event.size), FW_OK);

    // What was not read is freed with the transport.
    assert_int_equal(t->impl->packet(t, p), FW_OK);
    assert_int_equal(fw_loopback_command(t, &stop, FW_LINK_STOP, sizeof(stop)), FW_OK);
    fw_loopback_hang_up(t);
    assert_int_equal(t->impl->packet(t, p), FW_ERR_CLOSED);
    fw_packet_unref(&p);
    fw_transport_destroy(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(over_socket_and_ring),
        cmocka_unit_test(a_lost_announcement_is_made_up_for),
        cmocka_unit_test(over_queues),
    };
    return cmocka_run_group_tests_name("transport", tests, NULL, NULL);
}
