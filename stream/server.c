// SPDX-License-Identifier: MIT
#include "stream/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "stream/http_work.h"
#include "stream/server_priv.h"
#include "stream/static_files.h"

// libwebsockets logs through one function of the whole process, without a context.
static struct fw_log *lws_log_target;

static void on_lws_log(int level, const char *line)
{
    char text[512];
    size_t size = strlen(line);
    while (size && (line[size - 1] == '\n' || line[size - 1] == ' '))
        size--;
    if (size >= sizeof(text))
        size = sizeof(text) - 1;
    memcpy(text, line, size);
    text[size] = '\0';
    // What lws calls an error is mostly a visitor's doing.
    fw_log(lws_log_target, level & (LLL_ERR | LLL_WARN) ? FW_LOG_DEBUG : FW_LOG_TRACE, "lws", "%s",
           text);
}

// protocols[0] takes plain HTTP; its name matches no sub-protocol a client could ask for.
static const struct lws_protocols protocols[] = {
    { .name = "", .callback = fw_http_callback, .per_session_data_size = sizeof(void *) },
    {
        .name = "framewire.v1",
        .callback = fw_ws_callback,
        .per_session_data_size = sizeof(struct fw_conn),
        .rx_buffer_size = 4096,
        // Above the largest message, so that one lws_write is one send.
        .tx_packet_size = FW_PACKET_MAX_BYTES + FW_PACKET_HEADROOM,
    },
    { 0 },
};

bool fw_server_tls(const struct fw_server *server)
{
    return server->policy.tls;
}

static void on_handle_closed_free(uv_handle_t *handle)
{
    free(handle);
}

static void close_handle(uv_handle_t *handle)
{
    if (handle)
        uv_close(handle, on_handle_closed_free);
}

static void free_server(struct fw_server *server)
{
    for (unsigned i = 0; i < server->policy.origin_count; i++)
        free(server->origins[i]);
    free(server->origins);
    free(server->host);
    free(server->chart_js);
    fw_http_works_destroy(&server->works);
    if (server->root_fd >= 0)
        close(server->root_fd);
    if (server->listen_fd >= 0)
        close(server->listen_fd);
    if (server->spare_fd >= 0)
        close(server->spare_fd);
    free(server);
}

// ---- accepting

static void tune_socket(int fd)
{
    const int one = 1, lowat = FW_NOTSENT_LOWAT;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &lowat, sizeof(lowat));
    // Refused where the administrator does not allow it; then the default stays.
    setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "bbr", 3);
}

// One more than we serve: say so where it can be said, and hang up.
static void turn_away(struct fw_server *server, int fd)
{
    static const char busy[] = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 2\r\n"
                               "Content-Length: 0\r\nConnection: close\r\n\r\n";
    server->totals.refused[FW_REFUSAL_CONNECTIONS]++;
    if (!fw_server_tls(server))
        (void)!send(fd, busy, sizeof(busy) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(fd);
}

// Out of descriptors: a connection that can't be accepted would wake us for ever. The spare one
// takes it, to close it.
static void shed_connection(struct fw_server *server)
{
    if (server->spare_fd >= 0)
        close(server->spare_fd);
    const int fd = accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0)
        close(fd);
    server->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    server->totals.refused[FW_REFUSAL_FILES]++;
    fw_log(server->log, FW_LOG_WARN, "stream", "out of file descriptors, connection dropped");
}

static void on_acceptable(uv_poll_t *poll, int status, int events)
{
    struct fw_server *server = poll->data;
    enum { BATCH = 16 };
    (void)events;
    for (int i = 0; i < BATCH && status >= 0; i++) {
        const int fd = accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            if (errno == EMFILE || errno == ENFILE)
                shed_connection(server);
            return;
        }
        if (server->wsi_count >= FW_MAX_CONNECTIONS + FW_EVICTED_MAX ||
            (server->wsi_count >= FW_MAX_CONNECTIONS && !fw_waiting_evict(server))) {
            turn_away(server, fd);
            continue;
        }
        tune_socket(fd);
        // On failure lws has closed the socket.
        struct lws *wsi = lws_adopt_socket_vhost(server->vhost, fd);
        server->totals.connections++;
        if (wsi)
            fw_waiting_begin(server, wsi);
        else
            fw_log(server->log, FW_LOG_DEBUG, "stream", "connection not adopted");
    }
}

static int open_listener(const struct fw_server_params *params, int *port)
{
    struct sockaddr_storage addr = { 0 };
    struct sockaddr_in *v4 = (struct sockaddr_in *)&addr;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&addr;
    socklen_t size = sizeof(*v4);
    const char *host = strcmp(params->host, "localhost") ? params->host : "127.0.0.1";
    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons((uint16_t)params->port);
    } else if (inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)params->port);
        size = sizeof(*v6);
    } else {
        errno = EADDRNOTAVAIL;
        return -1;
    }
    const int fd = socket(addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int one = 1;
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(fd, (struct sockaddr *)&addr, size) || listen(fd, 512) ||
        getsockname(fd, (struct sockaddr *)&addr, &size)) {
        const int saved = errno;
        close(fd);
        errno = saved;
        return -1;
    }
    *port = ntohs(addr.ss_family == AF_INET ? v4->sin_port : v6->sin6_port);
    return fd;
}

// ---- time

static void on_tick(uv_timer_t *timer)
{
    struct fw_server *server = timer->data;
    const int64_t now = fw_now_ns();
    fw_ws_tick(server, now);
    struct fw_channel *channel;
    TAILQ_FOREACH(channel, &server->channels, link)
    fw_channel_tick(channel, now);
}

// ---- life

// Over a still picture nothing is sent on the media connection. Proxies and address translators
// forget a connection that says nothing for a minute, so a ping goes out before that.
static const lws_retry_bo_t keep_alive = {
    .secs_since_valid_ping = 25,
    .secs_since_valid_hangup = 120,
};

static bool create_context(struct fw_server *server, const struct fw_server_params *params)
{
    void *loops[1] = { server->loop };
    struct lws_context_creation_info info = {
        .options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS | LWS_SERVER_OPTION_LIBUV |
                   LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS | LWS_SERVER_OPTION_VALIDATE_UTF8 |
                   (params->tls_cert ? LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT : 0),
        .foreign_loops = loops,
        .pt_serv_buf_size = 16 << 10,
        .max_http_header_data = 8192,
        .max_http_header_pool = FW_MAX_CONNECTIONS + FW_EVICTED_MAX,
        .fd_limit_per_thread = FW_MAX_CONNECTIONS + FW_EVICTED_MAX + 16,
        .timeout_secs = 10,
        .server_string = "framewire",
        .user = server,
        .gid = (gid_t)-1,
        .uid = (uid_t)-1,
    };
    lws_log_target = server->log;
    lws_set_log_level(LLL_ERR | LLL_WARN, on_lws_log);
    server->lws = lws_create_context(&info);
    if (!server->lws)
        return false;
    struct lws_context_creation_info vhost = {
        .port = CONTEXT_PORT_NO_LISTEN_SERVER,
        .options = params->tls_cert ? LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT : 0,
        .vhost_name = "framewire",
        .protocols = protocols,
        .headers = fw_http_vhost_headers,
        .alpn = "http/1.1", // never h2: it hides the socket and cuts WebSocket messages
        .keepalive_timeout = 30,
        .timeout_secs = 10,
        .retry_and_idle_policy = &keep_alive,
        .server_string = "framewire",
        .ssl_cert_filepath = params->tls_cert,
        .ssl_private_key_filepath = params->tls_key,
        .ssl_options_set = SSL_OP_NO_TLSv1 | SSL_OP_NO_TLSv1_1 | SSL_OP_NO_RENEGOTIATION,
        .user = server,
    };
    server->vhost = lws_create_vhost(server->lws, &vhost);
    return server->vhost != NULL;
}

static enum fw_err copy_params(struct fw_server *server, const struct fw_server_params *params)
{
    server->loop = params->loop;
    server->handler = *params->handler;
    server->log = params->log;
    server->host = strdup(params->host);
    server->policy.tls = params->tls_cert != NULL;
    server->policy.bound_host = server->host;
    server->origins = calloc(params->origin_count + 1, sizeof(*server->origins));
    server->policy.origins = (const char *const *)server->origins;
    if (params->chart_js && !(server->chart_js = strdup(params->chart_js)))
        return FW_ERR_NOMEM;
    if (!server->host || !server->origins)
        return FW_ERR_NOMEM;
    for (unsigned i = 0; i < params->origin_count; i++) {
        if (!fw_origin_valid(params->origins[i])) {
            fw_log(server->log, FW_LOG_ERROR, "stream", "not an origin: \"%s\"",
                   params->origins[i]);
            return FW_ERR_INVALID;
        }
        server->origins[i] = strdup(params->origins[i]);
        if (!server->origins[i])
            return FW_ERR_NOMEM;
        server->policy.origin_count++;
    }
    return FW_OK;
}

static enum fw_err start_handles(struct fw_server *server)
{
    server->accept_poll = calloc(1, sizeof(*server->accept_poll));
    server->tick = calloc(1, sizeof(*server->tick));
    if (!server->accept_poll || !server->tick) {
        free(server->accept_poll);
        free(server->tick);
        server->accept_poll = NULL;
        server->tick = NULL;
        return FW_ERR_NOMEM;
    }
    uv_timer_init(server->loop, server->tick);
    server->tick->data = server;
    uv_timer_start(server->tick, on_tick, 1000, 1000);
    if (uv_poll_init(server->loop, server->accept_poll, server->listen_fd)) {
        free(server->accept_poll);
        server->accept_poll = NULL;
        return FW_ERR_IO;
    }
    server->accept_poll->data = server;
    uv_poll_start(server->accept_poll, UV_READABLE, on_acceptable);
    return FW_OK;
}

enum fw_err fw_server_create(struct fw_server **out, const struct fw_server_params *params)
{
    *out = NULL;
    if (!params->loop || !params->host || !params->static_dir || !params->handler ||
        !params->tls_cert != !params->tls_key || params->port < 0 || params->port > 65535)
        return FW_ERR_INVALID;
    struct fw_server *server = calloc(1, sizeof(*server));
    if (!server)
        return FW_ERR_NOMEM;
    server->root_fd = server->listen_fd = server->spare_fd = -1;
    TAILQ_INIT(&server->conns);
    TAILQ_INIT(&server->channels);
    TAILQ_INIT(&server->waiting);
    int saved = 0;
    server->works = fw_http_works_create(params->loop);
    enum fw_err err = server->works ? copy_params(server, params) : FW_ERR_NOMEM;
    if (err)
        goto error;
    err = fw_static_root(params->static_dir, &server->root_fd);
    if (err) {
        fw_log(server->log, FW_LOG_ERROR, "stream", "no folder of web files at %s",
               params->static_dir);
        goto error;
    }
    server->listen_fd = open_listener(params, &server->port);
    if (server->listen_fd < 0) {
        saved = errno;
        err = FW_ERR_IO;
        goto error;
    }
    server->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (!create_context(server, params)) {
        err = params->tls_cert ? FW_ERR_INVALID : FW_ERR_INTERNAL;
        fw_log(server->log, FW_LOG_ERROR, "stream", "%s",
               params->tls_cert ? "the TLS certificate or key can't be used"
                                : "libwebsockets with its libuv loop can't start");
        goto error;
    }
    err = start_handles(server);
    if (err)
        goto error;
    *out = server;
    return FW_OK;
error:
    fw_server_destroy(&server);
    errno = saved;
    return err;
}

int fw_server_port(const struct fw_server *server)
{
    return server->port;
}

const struct fw_stream_totals *fw_server_totals(const struct fw_server *server)
{
    return &server->totals;
}

unsigned fw_server_connections(const struct fw_server *server)
{
    return server->wsi_count;
}

// lws closes its handles on the loop; only when they are gone may its context be freed. It does
// not tell, so we look at each turn: no connection left, and then some turns for its timer and
// idle handles.
static void on_closing(uv_idle_t *idle)
{
    enum { TURNS_AFTER_LAST = 3, TURNS_AT_MOST = 100000 };
    struct fw_server *server = idle->data;
    if (server->wsi_count && server->closing_turns++ < TURNS_AT_MOST)
        return;
    if (server->after_last_turns++ < TURNS_AFTER_LAST)
        return;
    lws_context_destroy(server->lws);
    uv_close((uv_handle_t *)idle, on_handle_closed_free);
    if (lws_log_target == server->log)
        lws_log_target = NULL;
    free_server(server);
}

void fw_server_destroy(struct fw_server **pointer)
{
    struct fw_server *server = *pointer;
    *pointer = NULL;
    if (!server)
        return;
    server->closing = true;
    close_handle((uv_handle_t *)server->accept_poll);
    close_handle((uv_handle_t *)server->tick);
    server->accept_poll = NULL;
    server->tick = NULL;
    if (server->listen_fd >= 0)
        close(server->listen_fd);
    server->listen_fd = -1;
    if (!server->lws) {
        free_server(server);
        return;
    }
    uv_idle_t *idle = calloc(1, sizeof(*idle));
    if (!idle)
        return; // nothing can be done any more without memory; the process ends with it
    uv_idle_init(server->loop, idle);
    idle->data = server;
    lws_context_destroy(server->lws);
    uv_idle_start(idle, on_closing);
}
