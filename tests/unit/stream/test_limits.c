// SPDX-License-Identifier: MIT
// Visitors that say nothing, read nothing, or come in crowds: they lose their place, others do not.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "fake_host.h"

enum { PLACES = 1024, UNGREETED = 128 }; // FW_MAX_CONNECTIONS, FW_MAX_UNGREETED

static struct host host;

static int silent_connection(void)
{
    const struct sockaddr_in addr = { .sin_family = AF_INET,
                                      .sin_port = htons((uint16_t)host.port),
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
    return fd;
}

static bool is_served(void)
{
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    char answer[2048] = "";
    const struct fw_client_params p = host_client(&host, "/");
    return fw_client_http(&p, request, sizeof(request) - 1, answer, sizeof(answer)) == FW_OK &&
           strstr(answer, "HTTP/1.1 200") != NULL;
}

static struct fw_client *open_client(void)
{
    const struct fw_client_params p = host_client(&host, "/s/s1/ws");
    struct fw_client *c = NULL;
    fw_client_open(&c, &p, NULL);
    return c;
}

static void join(struct fw_client_viewer *v, int receive_buffer)
{
    struct fw_client_params p = host_client(&host, "/s/s1/ws");
    p.receive_buffer = receive_buffer;
    assert_int_equal(fw_client_join(v, &p, NULL, 800, 600), FW_OK);
}

// All places taken by people who say nothing: a moment later there is room, and they do not get it
// all back by coming again.
static void silent_crowd(void **state)
{
    static int fds[PLACES + 64];
    const int count = sizeof(fds) / sizeof(fds[0]);
    (void)state;
    assert_true(is_served());
    for (int i = 0; i < count; i++)
        fds[i] = silent_connection();
    usleep(700000);
    assert_true(is_served());
    for (int i = 0; i < 20; i++) {
        close(fds[i]);
        fds[i] = silent_connection();
        assert_true(is_served());
    }
    for (int i = 0; i < count; i++)
        close(fds[i]);
    usleep(100000);
    assert_true(is_served());
}

// The same for WebSockets that never say hello.
static void ungreeted_crowd(void **state)
{
    static struct fw_client *clients[UNGREETED];
    char last[1024];
    struct fw_client_viewer v;
    (void)state;
    for (int i = 0; i < UNGREETED; i++) {
        clients[i] = open_client();
        assert_non_null(clients[i]);
    }
    usleep(400000);
    for (int i = 0; i < 3; i++) { // with both its connections, each time
        join(&v, 0);
        fw_client_leave(&v);
    }
    struct fw_client_message m; // the first to come went first
    assert_int_equal(fw_client_receive(clients[0], 2000, &m), FW_ERR_CLOSED);
    for (int i = 0; i < UNGREETED; i++)
        fw_client_close(&clients[i]);
    join(&v, 0);
    assert_int_equal(host_wait_close(v.control, 200, last, sizeof(last)), 0);
    fw_client_leave(&v);
}

static void silent_viewer(void **state)
{
    char last[1024];
    struct fw_client_viewer v;
    (void)state;
    join(&v, 0);
    host_tick(&host, 14 * (int64_t)FW_NS_PER_S);
    assert_int_equal(host_wait_close(v.control, 200, last, sizeof(last)), 0);
    const unsigned left = host.left;
    host_tick(&host, 16 * (int64_t)FW_NS_PER_S);
    assert_int_equal(host_wait_close(v.control, 2000, last, sizeof(last)), 4408);
    assert_non_null(strstr(last, "\"code\":\"timeout\""));
    fw_client_leave(&v);
    assert_true(host_wait(&host, &host.left, left + 1, 4000));
}

// One that takes no control messages is dropped when 64 KiB wait for it, and only that one.
static void deaf_viewer(void **state)
{
    enum { MOST = 20000 };
    char text[1000];
    struct fw_client_viewer deaf, other;
    struct fw_channel_stats stats;
    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    join(&other, 0);
    join(&deaf, 4096);
    host_stats(&host, &stats);
    assert_int_equal(stats.viewers, 2);
    int sent = 0;
    for (struct fw_client_message m; sent < MOST && stats.viewers == 2; sent++) {
        host_state(&host, "running", "", text);
        while (fw_client_receive(other.control, 0, &m) == FW_OK) // this one listens
            assert_int_not_equal(m.opcode, FW_CLIENT_CLOSE);
        host_tick(&host, 0);
        host_stats(&host, &stats);
        fw_client_send_text(other.control, "{\"type\":\"visibility\",\"visible\":true}");
    }
    assert_in_range(sent, 64, MOST - 1);
    assert_int_equal(stats.viewers, 1);
    host_state(&host, "running", "", "after all");
    bool told = false;
    for (struct fw_client_message m; !told && fw_client_receive(other.control, 300, &m) == FW_OK;)
        told = m.opcode == FW_CLIENT_TEXT && strstr((const char *)m.data, "after all");
    assert_true(told);
    fw_client_leave(&deaf);
    fw_client_leave(&other);
}

static int start(bool tls)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files))
        return -1;
    files.rlim_cur = files.rlim_max < 8192 ? files.rlim_max : 8192; // both ends are ours
    setrlimit(RLIMIT_NOFILE, &files);
    host_start(&host, tls, "127.0.0.1", NULL, 0);
    return 0;
}

static int start_plain(void **state)
{
    (void)state;
    return start(false);
}

static int start_tls(void **state)
{
    (void)state;
    return start(true);
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
        cmocka_unit_test(silent_crowd),
        cmocka_unit_test(ungreeted_crowd),
        cmocka_unit_test(silent_viewer),
        cmocka_unit_test(deaf_viewer),
    };
    // Before TLS stands a connection is another thing inside libwebsockets.
    const struct CMUnitTest over_tls[] = { cmocka_unit_test(silent_crowd) };
    const int plain = cmocka_run_group_tests_name("limits", tests, start_plain, stop);
    const int tls = cmocka_run_group_tests_name("limits-tls", over_tls, start_tls, stop);
    return plain + tls ? 1 : 0;
}
