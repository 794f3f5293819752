// SPDX-License-Identifier: MIT
// The link: what is sent arrives, what is broken does not pass, a full or closed socket is flow.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/frame.h"
#include "session/link.h"

struct fixture {
    int front, worker;
    _Alignas(8) uint8_t buf[FW_LINK_MAX_BYTES];
};

static int setup(void **state)
{
    static struct fixture f;
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    f.front = pair[0];
    f.worker = pair[1];
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    close(f->front);
    close(f->worker);
    return 0;
}

static void fill_header(void *message, uint16_t type, size_t size)
{
    struct fw_link_header *h = message;
    *h = (struct fw_link_header){ type, FW_LINK_VERSION, (uint32_t)size };
}

static struct fw_link_start good_start(void)
{
    struct fw_link_start m = { .width = 1280, .height = 720, .fps = 60, .arg_count = 1 };
    fill_header(&m, FW_LINK_START, sizeof(m));
    strcpy(m.source, "scene");
    strcpy(m.args[0].key, "model");
    strcpy(m.args[0].value, "x.glb");
    return m;
}

static void a_message_arrives_whole(void **state)
{
    struct fixture *f = *state;
    struct fw_link_start m = good_start();
    size_t size = 0;
    assert_int_equal(fw_link_recv(f->worker, f->buf, &size), FW_ERR_AGAIN);
    assert_int_equal(fw_link_send(f->front, &m, FW_LINK_START, sizeof(m)), FW_OK);
    assert_int_equal(fw_link_recv(f->worker, f->buf, &size), FW_OK);
    assert_int_equal(size, sizeof(m));
    assert_int_equal(fw_link_check(f->buf, size), FW_OK);
    assert_memory_equal(f->buf, &m, sizeof(m));
}

static void a_closed_peer_is_flow(void **state)
{
    struct fixture *f = *state;
    struct fw_link_header h;
    size_t size;
    close(f->front);
    f->front = -1;
    assert_int_equal(fw_link_recv(f->worker, f->buf, &size), FW_ERR_CLOSED);
    assert_int_equal(fw_link_send(f->worker, &h, FW_LINK_PACKET, sizeof(h)), FW_ERR_CLOSED);
}

// As a worker does that fails while input is on its way to it.
static void last_words_are_heard(void **state)
{
    struct fixture *f = *state;
    struct fw_link_header h;
    struct fw_link_failed failed = { .err = FW_ERR_FORMAT, .permanent = 1 };
    size_t size;
    strcpy(failed.message, "broken");
    assert_int_equal(fw_link_send(f->front, &h, FW_LINK_KEYFRAME, sizeof(h)), FW_OK);
    assert_int_equal(fw_link_send(f->worker, &failed, FW_LINK_FAILED, sizeof(failed)), FW_OK);
    close(f->worker); // with a message unread: the socket is reset
    f->worker = -1;
    assert_int_equal(fw_link_recv(f->front, f->buf, &size), FW_OK);
    assert_int_equal(size, sizeof(failed));
    assert_memory_equal(f->buf, &failed, sizeof(failed));
    assert_int_equal(fw_link_recv(f->front, f->buf, &size), FW_ERR_CLOSED);
    assert_int_equal(fw_link_recv(f->front, f->buf, &size), FW_ERR_CLOSED);
}

static void a_full_socket_is_flow(void **state)
{
    struct fixture *f = *state;
    struct fw_link_header h;
    enum fw_err err = FW_OK;
    unsigned sent = 0;
    while (!err && sent < 100000) {
        err = fw_link_send(f->worker, &h, FW_LINK_PACKET, sizeof(h));
        sent += !err;
    }
    assert_int_equal(err, FW_ERR_AGAIN);
    size_t size;
    for (unsigned i = 0; i < sent; i++) {
        assert_int_equal(fw_link_recv(f->front, f->buf, &size), FW_OK);
    }
    assert_int_equal(fw_link_recv(f->front, f->buf, &size), FW_ERR_AGAIN);
    assert_int_equal(fw_link_send(f->worker, &h, FW_LINK_PACKET, sizeof(h)), FW_OK);
}

static void raw_nonsense_does_not_pass(void **state)
{
    struct fixture *f = *state;
    size_t size;
    struct {
        struct fw_link_header h;
        uint8_t more[FW_LINK_MAX_BYTES];
    } m = { .h = { FW_LINK_STOP, FW_LINK_VERSION, sizeof(struct fw_link_header) } };
    const struct {
        size_t bytes;
        uint16_t version;
        uint32_t said;
    } bad[] = {
        { 3, FW_LINK_VERSION, 3 },                                         // shorter than a header
        { 8, FW_LINK_VERSION + 1, 8 },                                     // of another build
        { 8, FW_LINK_VERSION, 9 },                                         // says more than it is
        { 16, FW_LINK_VERSION, 8 },                                        // is more than it says
        { FW_LINK_MAX_BYTES + 8, FW_LINK_VERSION, FW_LINK_MAX_BYTES + 8 }, // too large
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        m.h.version = bad[i].version;
        m.h.size = bad[i].said;
        assert_int_equal(send(f->front, &m, bad[i].bytes, 0), (int)bad[i].bytes);
        assert_int_equal(fw_link_recv(f->worker, f->buf, &size), FW_ERR_FORMAT);
    }
    assert_int_equal(fw_link_send(f->front, &m, FW_LINK_STOP, 4), FW_ERR_INVALID);
}

#define BAD_START(change)                                                                          \
    do {                                                                                           \
        struct fw_link_start m = good_start();                                                     \
        change;                                                                                    \
        assert_int_equal(fw_link_check(&m, sizeof(m)), FW_ERR_FORMAT);                             \
    } while (0)

static void start_is_checked(void **state)
{
    (void)state;
    struct fw_link_start good = good_start();
    assert_int_equal(fw_link_check(&good, sizeof(good)), FW_OK);
    assert_int_equal(fw_link_check(&good, sizeof(good) - 1), FW_ERR_FORMAT);
    BAD_START(m.width = 15);
    BAD_START(m.width = 3841);
    BAD_START(m.height = -720);
    BAD_START(m.fps = 0);
    BAD_START(m.fps = 241);
    BAD_START(m.bitrate_kbps = 99);
    BAD_START(m.bitrate_kbps = 100001);
    BAD_START(m.source[0] = 0);
    BAD_START(memset(m.source, 'x', sizeof(m.source)));
    BAD_START(memset(m.encoder, 'x', sizeof(m.encoder)));
    BAD_START(memset(m.device, 'x', sizeof(m.device)));
    BAD_START(m.arg_count = FW_LINK_MAX_ARGS + 1);
    BAD_START(m.args[0].key[0] = 0);
    BAD_START(m.view.size = FW_LINK_MAX_VIEW + 1);
    BAD_START(memset(m.args[0].key, 'x', sizeof(m.args[0].key)));
    BAD_START(memset(m.args[0].value, 'x', sizeof(m.args[0].value)));
}

static void input_is_checked(void **state)
{
    (void)state;
    struct fw_link_input m = { .count = 2 };
    const size_t size = offsetof(struct fw_link_input, events) + 2 * sizeof(m.events[0]);
    fill_header(&m, FW_LINK_INPUT, size);
    m.events[0].kind = FW_INPUT_MOTION;
    m.events[1].kind = FW_INPUT_KEY;
    assert_int_equal(fw_link_check(&m, size), FW_OK);
    m.events[1].x = NAN;
    assert_int_equal(fw_link_check(&m, size), FW_ERR_FORMAT);
    m.events[1].x = 0;
    m.events[0].kind = 7;
    assert_int_equal(fw_link_check(&m, size), FW_ERR_FORMAT);
    m.events[0].kind = FW_INPUT_MOTION;
    m.count = 3; // more than was sent
    assert_int_equal(fw_link_check(&m, size), FW_ERR_FORMAT);
    m.count = 0;
    assert_int_equal(fw_link_check(&m, size), FW_ERR_FORMAT);
    m.count = FW_LINK_MAX_EVENTS + 1;
    assert_int_equal(fw_link_check(&m, size), FW_ERR_FORMAT);
    m.count = UINT32_MAX; // count * size overflows 32 bits
    assert_int_equal(fw_link_check(&m, size), FW_ERR_FORMAT);
    m.h.size = 8;
    assert_int_equal(fw_link_check(&m, 8), FW_ERR_FORMAT);
}

static void other_bodies_are_checked(void **state)
{
    (void)state;
    struct fw_link_resize resize = { .width = 641, .height = 479 };
    fill_header(&resize, FW_LINK_RESIZE, sizeof(resize));
    assert_int_equal(fw_link_check(&resize, sizeof(resize)), FW_OK);
    resize.height = 0;
    assert_int_equal(fw_link_check(&resize, sizeof(resize)), FW_ERR_FORMAT);

    struct fw_link_rate rate = { .bitrate_kbps = 100 };
    fill_header(&rate, FW_LINK_RATE, sizeof(rate));
    assert_int_equal(fw_link_check(&rate, sizeof(rate)), FW_OK);
    rate.frame_bytes = -1;
    assert_int_equal(fw_link_check(&rate, sizeof(rate)), FW_ERR_FORMAT);

    struct fw_link_fault fault = { .faults.delay_ns = { 0, 20000000 } };
    fill_header(&fault, FW_LINK_FAULT, sizeof(fault));
    assert_int_equal(fw_link_check(&fault, sizeof(fault)), FW_OK);
    fault.faults.delay_ns[FW_FAULT_COUNT - 1] = -1;
    assert_int_equal(fw_link_check(&fault, sizeof(fault)), FW_ERR_FORMAT);
    fault.faults.delay_ns[FW_FAULT_COUNT - 1] = INT64_MAX;
    assert_int_equal(fw_link_check(&fault, sizeof(fault)), FW_ERR_FORMAT);

    struct fw_link_view view = { .view.size = FW_LINK_MAX_VIEW };
    fill_header(&view, FW_LINK_VIEW, sizeof(view));
    assert_int_equal(fw_link_check(&view, sizeof(view)), FW_OK);
    view.view.size++;
    assert_int_equal(fw_link_check(&view, sizeof(view)), FW_ERR_FORMAT);
    view.view.size = 0;
    assert_int_equal(fw_link_check(&view, sizeof(view) - 1), FW_ERR_FORMAT);

    struct fw_link_failed failed = { .err = FW_ERR_DEVICE_LOST };
    fill_header(&failed, FW_LINK_FAILED, sizeof(failed));
    assert_int_equal(fw_link_check(&failed, sizeof(failed)), FW_OK);
    failed.err = FW_ERR_COUNT;
    assert_int_equal(fw_link_check(&failed, sizeof(failed)), FW_ERR_FORMAT);
    failed.err = FW_ERR_IO;
    memset(failed.message, 'x', sizeof(failed.message));
    assert_int_equal(fw_link_check(&failed, sizeof(failed)), FW_ERR_FORMAT);

    struct fw_link_ready ready = { .width = 16, .height = 16, .fps = 1 };
    fill_header(&ready, FW_LINK_READY, sizeof(ready));
    assert_int_equal(fw_link_check(&ready, sizeof(ready)), FW_OK);
    memset(ready.describe, ' ', sizeof(ready.describe));
    assert_int_equal(fw_link_check(&ready, sizeof(ready)), FW_ERR_FORMAT);

    struct fw_link_progress progress = { .percent = 101 };
    fill_header(&progress, FW_LINK_PROGRESS, sizeof(progress));
    assert_int_equal(fw_link_check(&progress, sizeof(progress)), FW_ERR_FORMAT);

    struct fw_link_header unknown;
    fill_header(&unknown, 99, sizeof(unknown));
    assert_int_equal(fw_link_check(&unknown, sizeof(unknown)), FW_ERR_UNSUPPORTED);
}

static struct fw_link_packet good_packet(void)
{
    return (struct fw_link_packet){ .frame_id = 1,
                                    .width = 641,
                                    .height = 479,
                                    .coded_width = 642,
                                    .coded_height = 480,
                                    .key = 1,
                                    .codec = "avc1.42e01f",
                                    .size = 100 };
}

#define BAD_PACKET(change)                                                                         \
    do {                                                                                           \
        struct fw_link_packet p = good_packet();                                                   \
        change;                                                                                    \
        assert_int_equal(fw_link_check_packet(&p, sizeof(p) + 100), FW_ERR_FORMAT);                \
    } while (0)

static void packet_heads_are_checked(void **state)
{
    (void)state;
    struct fw_link_packet good = good_packet();
    assert_int_equal(fw_link_check_packet(&good, sizeof(good) + 100), FW_OK);
    assert_int_equal(fw_link_check_packet(&good, sizeof(good) + 99), FW_ERR_FORMAT);
    assert_int_equal(fw_link_check_packet(&good, sizeof(good) - 1), FW_ERR_FORMAT);
    BAD_PACKET(p.size = UINT64_MAX);
    BAD_PACKET(p.size = 101);
    BAD_PACKET(p.frame_id = 0);
    BAD_PACKET(p.key = 2);
    BAD_PACKET(p.animating = 0xff);
    BAD_PACKET(p.width = 0);
    BAD_PACKET(p.coded_width = 641);
    BAD_PACKET(p.coded_height = 1 << 30);
    BAD_PACKET(memset(p.codec, 'a', sizeof(p.codec)));
    BAD_PACKET(p.codec[0] = 0); // a key frame names its codec
    BAD_PACKET(p.codec[4] = '"');
    BAD_PACKET(p.times.begun_ns = -1);
    BAD_PACKET(p.times.delivered_ns = INT64_MIN);
    BAD_PACKET(p.times.picked_ns = -1);
    BAD_PACKET(p.skipped[FW_PACKET_SKIPPED - 1] = FW_REASON_RING_FULL + 1);
    BAD_PACKET(p.facts.gpu.begin_ns = -1);
    BAD_PACKET(p.facts.qp_plus1 = 53);
    BAD_PACKET(p.facts.damage_px = 641 * 479 + 1);
    BAD_PACKET(memset(p.facts.encoder, 'a', sizeof(p.facts.encoder)));
    BAD_PACKET(p.facts.encoder[0] = ',');
    struct fw_link_packet huge = good_packet();
    huge.size = FW_PACKET_MAX_BYTES + 1;
    assert_int_equal(fw_link_check_packet(&huge, sizeof(huge) + huge.size), FW_ERR_FORMAT);
}

// Random bytes under a right header: nothing may be read outside (the sanitizers watch).
static void random_bodies_do_no_harm(void **state)
{
    struct fixture *f = *state;
    static const uint16_t types[] = { 1, 2, 3, 4, 5, 6, 7, 8, 32, 33, 34, 35, 36, 37, 0, 99 };
    unsigned random = 7, passed = 0;
    for (int i = 0; i < 20000; i++) {
        random = random * 1103515245u + 12345u;
        const size_t size = 8 + (random >> 8) % 400;
        for (size_t b = 8; b < size; b++) {
            random = random * 1103515245u + 12345u;
            f->buf[b] = (uint8_t)(random >> 16);
        }
        fill_header(f->buf, types[(random >> 4) % 16], size);
        passed += fw_link_check(f->buf, size) == FW_OK;
    }
    assert_true(passed < 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_message_arrives_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(a_closed_peer_is_flow, setup, teardown),
        cmocka_unit_test_setup_teardown(last_words_are_heard, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_socket_is_flow, setup, teardown),
        cmocka_unit_test_setup_teardown(raw_nonsense_does_not_pass, setup, teardown),
        cmocka_unit_test(start_is_checked),
        cmocka_unit_test(input_is_checked),
        cmocka_unit_test(other_bodies_are_checked),
        cmocka_unit_test(packet_heads_are_checked),
        cmocka_unit_test_setup_teardown(random_bodies_do_no_harm, setup, teardown),
    };
    return cmocka_run_group_tests_name("link", tests, NULL, NULL);
}
