// SPDX-License-Identifier: MIT
// `framewire worker` as a process of its own: this program runs itself as the worker. The host
// source needs a device all the same, since a worker always makes one; skipped without.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ring.h"
#include "session/link.h"
#include "session/worker.h"

enum { WARM_MS = 60000, SOON_MS = 20000 };

extern char **environ;

struct worker {
    pid_t pid;
    int link;
    struct fw_ring ring;
    struct fw_link_failed failed;
    uint64_t packets, keys, last_id;
    _Alignas(8) uint8_t buf[FW_LINK_MAX_BYTES];
};

static void spawn_worker(struct worker *w)
{
    int pair[2];
    *w = (struct worker){ .pid = -1 };
    assert_int_equal(fw_ring_create(&w->ring, 0), FW_OK);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    const int link = fcntl(pair[1], F_DUPFD_CLOEXEC, 10), ring = fcntl(w->ring.fd, F_DUPFD, 11);
    const int stray = fcntl(w->ring.fd, F_DUPFD, 20); // the worker must close it
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, link, FW_LINK_FD);
    posix_spawn_file_actions_adddup2(&files, ring, FW_RING_FD);
    char *const argv[] = { "worker", "worker", "--log-level", "error", "--lp-threads", "1", NULL };
    assert_int_equal(posix_spawn(&w->pid, "/proc/self/exe", &files, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&files);
    close(pair[1]);
    close(link);
    close(ring);
    close(stray);
    w->link = pair[0];
}

static void drain_ring(struct worker *w)
{
    size_t size;
    while (fw_ring_peek(&w->ring, &size) == FW_OK) {
        struct fw_link_packet head;
        assert_true(size >= sizeof(head));
        fw_ring_copy(&w->ring, 0, &head, sizeof(head));
        assert_int_equal(fw_link_check_packet(&head, size), FW_OK);
        assert_true(head.frame_id == w->last_id + 1);
        w->last_id = head.frame_id;
        w->packets++;
        w->keys += head.key;
        fw_ring_pop(&w->ring, size);
    }
}

// Reads until a message of `type` (then true), the end of the link, or the time is up.
static bool expect(struct worker *w, uint16_t type, int timeout_ms)
{
    const int64_t until = fw_now_ns() + (int64_t)timeout_ms * FW_NS_PER_MS;
    while (fw_now_ns() < until) {
        size_t size;
        const enum fw_err err = fw_link_recv(w->link, w->buf, &size);
        if (err == FW_ERR_AGAIN) {
            struct pollfd p = { .fd = w->link, .events = POLLIN };
            poll(&p, 1, 20);
            continue;
        }
        if (err) {
            return false;
        }
        assert_int_equal(fw_link_check(w->buf, size), FW_OK);
        drain_ring(w);
        const struct fw_link_header *h = (const void *)w->buf;
        if (h->type == FW_LINK_FAILED) {
            memcpy(&w->failed, w->buf, sizeof(w->failed));
        }
        if (h->type == type) {
            return true;
        }
    }
    return false;
}

static void tell(struct worker *w, void *message, uint16_t type, size_t size)
{
    assert_int_equal(fw_link_send(w->link, message, type, size), FW_OK);
}

static void begin(struct worker *w, const char *source, const char *encoder)
{
    static struct fw_link_start m;
    m = (struct fw_link_start){ .width = 320, .height = 240, .fps = 60, .first_frame_id = 1 };
    snprintf(m.source, sizeof(m.source), "%s", source);
    snprintf(m.encoder, sizeof(m.encoder), "%s", encoder);
    tell(w, &m, FW_LINK_START, sizeof(m));
    struct fw_link_credit credit = { .allowed = UINT64_MAX, .active = 1 };
    tell(w, &credit, FW_LINK_CREDIT, sizeof(credit));
}

static void run_until(struct worker *w, uint64_t packets)
{
    while (w->packets < packets) {
        assert_true(expect(w, FW_LINK_PACKET, SOON_MS));
    }
}

// The exit status, or -1 when the process is still there after `timeout_ms`.
static int wait_end(struct worker *w, int timeout_ms)
{
    int status;
    for (int i = 0; i < timeout_ms / 5; i++) {
        if (waitpid(w->pid, &status, WNOHANG) == w->pid) {
            w->pid = -1;
            return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
        }
        usleep(5000);
    }
    return -1;
}

static void finish(struct worker *w)
{
    if (w->pid > 0) {
        kill(w->pid, SIGKILL);
        waitpid(w->pid, NULL, 0);
    }
    if (w->link >= 0) {
        close(w->link);
    }
    fw_ring_finish(&w->ring);
}

static unsigned open_fds_from(pid_t pid, int first)
{
    unsigned n = 0;
    for (int fd = first; fd < 256; fd++) {
        char path[64], target[256];
        snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
        const ssize_t got = readlink(path, target, sizeof(target) - 1);
        if (got > 0) {
            target[got] = 0;
            n += strstr(target, "framewire-ring") != NULL;
        }
    }
    return n;
}

static void a_session_from_warm_to_stop(void **state)
{
    (void)state;
    struct worker w;
    spawn_worker(&w);
    assert_true(expect(&w, FW_LINK_WARM, WARM_MS));
    assert_true(((struct fw_link_warm *)(void *)w.buf)->gpu[0]);
    assert_int_equal(open_fds_from(w.pid, 0), 1); // fd 4 alone: strays are closed
    assert_int_equal(getpgid(w.pid), w.pid);
    begin(&w, "null", "x264");
    assert_true(expect(&w, FW_LINK_READY, SOON_MS));
    assert_string_equal(((struct fw_link_ready *)(void *)w.buf)->encoder, "x264");
    run_until(&w, 30);
    assert_int_equal(w.keys, 1);
    kill(w.pid, SIGINT); // the terminal's Ctrl-C is the front's business
    kill(w.pid, SIGTERM);
    kill(w.pid, SIGHUP);
    run_until(&w, w.packets + 30);
    assert_true(expect(&w, FW_LINK_BEACON, 3000));
    struct fw_link_header stop;
    tell(&w, &stop, FW_LINK_STOP, sizeof(stop));
    assert_int_equal(wait_end(&w, 2500), 0);
    assert_int_equal(w.failed.h.type, 0);
    finish(&w);
}

static void it_ends_when_the_front_has_gone(void **state)
{
    (void)state;
    struct worker w;
    for (int phase = 0; phase < 3; phase++) {
        spawn_worker(&w);
        if (phase > 0) {
            assert_true(expect(&w, FW_LINK_WARM, WARM_MS));
        }
        if (phase > 1) {
            begin(&w, "null", "null");
            run_until(&w, 5);
        }
        close(w.link);
        w.link = -1;
        assert_int_not_equal(wait_end(&w, phase == 0 ? WARM_MS : 2000), -1);
        finish(&w);
    }
}

// Once the front has gone, even a hung encoder holds the process for no longer.
static void a_hung_encoder_does_not_keep_it(void **state)
{
    (void)state;
    struct worker w;
    spawn_worker(&w);
    assert_true(expect(&w, FW_LINK_WARM, WARM_MS));
    begin(&w, "null", "fault:hang:5");
    run_until(&w, 4);
    close(w.link);
    w.link = -1;
    assert_int_not_equal(wait_end(&w, 2500), -1);
    finish(&w);
}

static void a_hung_encoder_is_found_and_said(void **state)
{
    (void)state;
    struct worker w;
    spawn_worker(&w);
    assert_true(expect(&w, FW_LINK_WARM, WARM_MS));
    begin(&w, "null", "fault:hang:5");
    run_until(&w, 4);
    const int64_t begun = fw_now_ns();
    assert_true(expect(&w, FW_LINK_FAILED, 8000));
    assert_in_range((fw_now_ns() - begun) / FW_NS_PER_MS, 4000, 6500);
    assert_int_equal(w.failed.err, FW_ERR_TIMEOUT);
    assert_int_equal(w.failed.permanent, 0);
    assert_int_equal(wait_end(&w, 1000), 1);
    finish(&w);
}

static void a_failing_encoder_is_replaced_and_said(void **state)
{
    (void)state;
    struct worker w;
    spawn_worker(&w);
    assert_true(expect(&w, FW_LINK_WARM, WARM_MS));
    begin(&w, "null", "fault:frame:10");
    assert_true(expect(&w, FW_LINK_READY, SOON_MS));
    assert_string_equal(((struct fw_link_ready *)(void *)w.buf)->encoder, "fault");
    assert_true(expect(&w, FW_LINK_READY, SOON_MS));
    assert_string_equal(((struct fw_link_ready *)(void *)w.buf)->encoder, "x264");
    run_until(&w, 30);
    assert_int_equal(w.keys, 2); // the new encoder's first
    finish(&w);
}

static void an_encoder_that_is_not_there_fails_for_good(void **state)
{
    (void)state;
    struct worker w;
    spawn_worker(&w);
    begin(&w, "null", "no-such"); // before WARM: it waits in the socket
    assert_true(expect(&w, FW_LINK_FAILED, WARM_MS));
    assert_int_equal(w.failed.err, FW_ERR_NOT_FOUND);
    assert_int_equal(w.failed.permanent, 1);
    assert_int_equal(wait_end(&w, 2500), 1);
    finish(&w);
}

// The fault layer takes the device away at the 20th submit (field case: device lost).
static void a_lost_device_is_said(void **state)
{
    (void)state;
    const char *layer = getenv("FW_LAYER_DIR");
    struct worker w;
    if (!layer) {
        skip();
    }
    setenv("VK_LAYER_PATH", layer, 1);
    setenv("VK_INSTANCE_LAYERS", "VK_LAYER_framewire_fault", 1);
    setenv("FW_FAULT_SUBMIT_AFTER", "20", 1);
    setenv("FW_FAULT_MODE", "always", 1);
    spawn_worker(&w);
    unsetenv("VK_INSTANCE_LAYERS");
    assert_true(expect(&w, FW_LINK_WARM, WARM_MS));
    begin(&w, "testcard", "null");
    assert_true(expect(&w, FW_LINK_FAILED, SOON_MS));
    assert_int_equal(w.failed.err, FW_ERR_DEVICE_LOST);
    assert_int_equal(w.failed.permanent, 0);
    assert_int_equal(wait_end(&w, 2500), 1);
    finish(&w);
}

static int run_bare(const char *arg)
{
    pid_t pid;
    int status;
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclose(&files, FW_LINK_FD);
    char *const argv[] = { "worker", "worker", (char *)(uintptr_t)arg, NULL };
    assert_int_equal(posix_spawn(&pid, "/proc/self/exe", &files, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&files);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void by_hand_it_says_what_it_is(void **state)
{
    (void)state;
    assert_int_equal(run_bare(NULL), 2);
    assert_int_equal(run_bare("--nonsense"), 2);
    assert_int_equal(run_bare("--lp-threads=0"), 2);
    assert_int_equal(run_bare("--log-level=loud"), 2);
}

static int needs_a_device(void **state)
{
    (void)state;
    struct worker w;
    spawn_worker(&w);
    const bool warm = expect(&w, FW_LINK_WARM, WARM_MS);
    finish(&w);
    if (!warm && w.failed.err == FW_ERR_NOT_FOUND) {
        print_message("skipped: there is no Vulkan device\n");
        exit(77);
    }
    return warm ? 0 : -1;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worker") == 0) {
        return fw_worker_main(argc - 1, argv + 1);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_from_warm_to_stop),
        cmocka_unit_test(it_ends_when_the_front_has_gone),
        cmocka_unit_test(a_hung_encoder_does_not_keep_it),
        cmocka_unit_test(a_hung_encoder_is_found_and_said),
        cmocka_unit_test(a_failing_encoder_is_replaced_and_said),
        cmocka_unit_test(an_encoder_that_is_not_there_fails_for_good),
        cmocka_unit_test(a_lost_device_is_said),
        cmocka_unit_test(by_hand_it_says_what_it_is),
    };
    return cmocka_run_group_tests_name("worker", tests, needs_a_device, NULL);
}
