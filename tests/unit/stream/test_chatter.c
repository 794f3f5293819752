// SPDX-License-Identifier: MIT
// Our own client against servers that never stop talking, or say a word at a time: whatever they
// do, the caller gets its thread back.
#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "stream/client/watch.h"

#define UPGRADED                                                                                   \
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"            \
    "Sec-WebSocket-Accept: x\r\n\r\n"
#define PING     "\x89\x00"
#define FRAGMENT "\x00\x00" // empty, and not the last
#define INFO     "\x81\x0f{\"type\":\"info\"}"

struct chatter {
    const char *first, *then; // `then` for ever
    unsigned pause_us;        // between one and the next
    size_t then_size;
    int listener, port;
    pthread_t thread;
};

static bool say(int fd, const void *data, size_t size)
{
    return send(fd, data, size, MSG_NOSIGNAL) == (ssize_t)size;
}

static void *listen_only(void *user)
{
    char rest[4096];
    while (recv(*(int *)user, rest, sizeof(rest), 0) > 0) {
    }
    return NULL;
}

static void *talk(void *user)
{
    const struct chatter *c = user;
    char request[4096], many[8192];
    size_t size = 0;
    while (c->then_size && size + c->then_size <= (c->pause_us ? c->then_size : sizeof(many))) {
        memcpy(many + size, c->then, c->then_size);
        size += c->then_size;
    }
    const int fd = accept(c->listener, NULL, NULL);
    pthread_t reader;
    int read_fd = fd;
    if (fd < 0 || recv(fd, request, sizeof(request), 0) <= 0 ||
        pthread_create(&reader, NULL, listen_only, &read_fd))
        return NULL;
    for (bool open = say(fd, c->first, strlen(c->first)); open; open = say(fd, many, size))
        usleep(c->pause_us);
    shutdown(fd, SHUT_RDWR);
    pthread_join(reader, NULL);
    close(fd);
    return NULL;
}

static void start(struct chatter *c)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(a);
    c->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(c->listener, (struct sockaddr *)&a, sizeof(a)), 0);
    assert_int_equal(listen(c->listener, 4), 0);
    assert_int_equal(getsockname(c->listener, (struct sockaddr *)&a, &size), 0);
    c->port = ntohs(a.sin_port);
    assert_int_equal(pthread_create(&c->thread, NULL, talk, c), 0);
}

static void stop(struct chatter *c)
{
    pthread_join(c->thread, NULL);
    close(c->listener);
}

static void on_video(void *user, const struct fw_wire_video *video, size_t bytes, int64_t now_ns)
{
    (void)user, (void)video, (void)bytes, (void)now_ns;
}

// It must come back with an error: that it does is the test, the time limit is the suite's.
static void expect_no_welcome(const char *first, const char *then, size_t size, unsigned pause_us)
{
    struct chatter c = { first, then, pause_us, size, -1, 0, 0 };
    struct fw_remote remote = { .timeout_ms = 300 };
    struct fw_remote_error error;
    struct fw_watch *watch = NULL;
    char url[64], message[200];
    start(&c);
    snprintf(url, sizeof(url), "http://127.0.0.1:%d", c.port);
    assert_int_equal(fw_target_parse(&remote.target, url, message, sizeof(message)), FW_OK);
    const struct fw_watch_params params = {
        .remote = &remote, .id = "s", .width = 64, .height = 48, .handler = { .video = on_video }
    };
    assert_int_equal(fw_watch_open(&watch, &params, &error), FW_ERR_TIMEOUT);
    assert_null(watch);
    assert_non_null(strstr(error.message, "no answer in time"));
    stop(&c);
}

static void test_no_welcome(void **state)
{
    (void)state;
    expect_no_welcome(UPGRADED, PING, 2, 0);
    expect_no_welcome(UPGRADED, INFO, sizeof(INFO) - 1, 0);
    expect_no_welcome(UPGRADED "\x01\x01x", FRAGMENT, 2, 0);
}

static void test_drips(void **state)
{
    (void)state;
    expect_no_welcome("HTTP/1.1 101 ", "x", 1, 20000);
}

// A client whose time is up at once comes back too, message or none.
static void test_receive(void **state)
{
    static const struct {
        const char *then;
        size_t size;
    } talks[] = { { PING, 2 }, { FRAGMENT, 2 } };
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct chatter c = { UPGRADED "\x01\x01x", talks[i].then, 0, talks[i].size, -1, 0, 0 };
        struct fw_client *client;
        struct fw_client_message m;
        start(&c);
        const struct fw_client_params params = { .host = "127.0.0.1", .port = c.port, .path = "/" };
        assert_int_equal(fw_client_open(&client, &params, NULL), FW_OK);
        for (int turn = 0; turn < 20; turn++)
            assert_int_equal(fw_client_receive(client, 0, &m), FW_ERR_AGAIN);
        fw_client_close(&client);
        stop(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_welcome),
        cmocka_unit_test(test_drips),
        cmocka_unit_test(test_receive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
