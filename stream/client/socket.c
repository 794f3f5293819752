// SPDX-License-Identifier: MIT
#include "stream/client/socket.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "stream/client/client.h"

static enum fw_err wait_for(int fd, short events, int64_t until_ns)
{
    for (;;) {
        const int64_t left = until_ns - fw_now_ns();
        if (left <= 0)
            return FW_ERR_AGAIN;
        struct pollfd p = { .fd = fd, .events = events };
        const int n = poll(&p, 1, (int)((left + FW_NS_PER_MS - 1) / FW_NS_PER_MS));
        if (n > 0)
            return FW_OK;
        if (n == 0)
            return FW_ERR_AGAIN;
        if (errno != EINTR)
            return FW_ERR_IO;
    }
}

static int64_t deadline(int timeout_ms)
{
    return fw_now_ns() + (int64_t)timeout_ms * FW_NS_PER_MS;
}

static enum fw_err connect_one(struct fw_socket *s, const struct addrinfo *ai, int receive_buffer,
                               int timeout_ms)
{
    const int one = 1;
    s->fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (s->fd < 0)
        return FW_ERR_IO;
    if (receive_buffer)
        setsockopt(s->fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
    setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (!connect(s->fd, ai->ai_addr, ai->ai_addrlen))
        return FW_OK;
    if (errno != EINPROGRESS)
        return FW_ERR_IO;
    const enum fw_err err = wait_for(s->fd, POLLOUT, deadline(timeout_ms));
    int failed = 0;
    socklen_t size = sizeof(failed);
    if (err)
        return FW_ERR_TIMEOUT;
    getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &failed, &size);
    return failed ? FW_ERR_IO : FW_OK;
}

// What an SSL call wants before it is tried again. FW_OK: try again.
static enum fw_err tls_wait(struct fw_socket *s, int ret, int64_t until_ns)
{
    switch (SSL_get_error(s->ssl, ret)) {
    case SSL_ERROR_WANT_READ: return wait_for(s->fd, POLLIN, until_ns);
    case SSL_ERROR_WANT_WRITE: return wait_for(s->fd, POLLOUT, until_ns);
    case SSL_ERROR_ZERO_RETURN: return FW_ERR_CLOSED;
    default: return FW_ERR_CLOSED; // a reset or a cut: the other end is gone
    }
}

static enum fw_err start_tls(struct fw_socket *s, const struct fw_client_params *params,
                             int timeout_ms)
{
    const int64_t until = deadline(timeout_ms);
    s->ctx = SSL_CTX_new(TLS_client_method());
    if (!s->ctx)
        return FW_ERR_NOMEM;
    SSL_CTX_set_min_proto_version(s->ctx, TLS1_2_VERSION);
    const bool verify_it = params->ca_file || params->system_ca;
    if (params->ca_file && SSL_CTX_load_verify_locations(s->ctx, params->ca_file, NULL) != 1)
        return FW_ERR_INVALID;
    if (!params->ca_file && verify_it && SSL_CTX_set_default_verify_paths(s->ctx) != 1)
        return FW_ERR_INVALID;
    if (verify_it) {
        SSL_CTX_set_verify(s->ctx, SSL_VERIFY_PEER, NULL);
        // A self-signed certificate vouches for itself only.
        X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(s->ctx), X509_V_FLAG_PARTIAL_CHAIN);
    }
    s->ssl = SSL_new(s->ctx);
    if (!s->ssl || SSL_set_fd(s->ssl, s->fd) != 1)
        return FW_ERR_NOMEM;
    if (verify_it) {
        X509_VERIFY_PARAM *verify = SSL_get0_param(s->ssl);
        if (X509_VERIFY_PARAM_set1_ip_asc(verify, params->host) != 1 &&
            X509_VERIFY_PARAM_set1_host(verify, params->host, 0) != 1)
            return FW_ERR_INVALID;
    }
    // What a browser offers; the server must pick http/1.1.
    static const unsigned char alpn[] = "\x02h2\x08http/1.1";
    SSL_set_alpn_protos(s->ssl, alpn, sizeof(alpn) - 1);
    SSL_set_mode(s->ssl, SSL_MODE_AUTO_RETRY | SSL_MODE_ENABLE_PARTIAL_WRITE |
                             SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    for (;;) {
        ERR_clear_error();
        const int ret = SSL_connect(s->ssl);
        if (ret == 1)
            return FW_OK;
        const enum fw_err err = tls_wait(s, ret, until);
        if (err)
            return err == FW_ERR_AGAIN ? FW_ERR_TIMEOUT : FW_ERR_DENIED;
    }
}

enum fw_err fw_socket_connect(struct fw_socket *s, const struct fw_client_params *params,
                              int timeout_ms)
{
    char port[8];
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list = NULL;
    *s = (struct fw_socket){ .fd = -1 };
    snprintf(port, sizeof(port), "%d", params->port);
    if (getaddrinfo(params->host, port, &hints, &list))
        return FW_ERR_NOT_FOUND;
    enum fw_err err = FW_ERR_NOT_FOUND;
    for (const struct addrinfo *ai = list; ai; ai = ai->ai_next) {
        err = connect_one(s, ai, params->receive_buffer, timeout_ms);
        if (!err)
            break;
        fw_socket_close(s);
    }
    freeaddrinfo(list);
    if (!err && params->tls)
        err = start_tls(s, params, timeout_ms);
    if (err)
        fw_socket_close(s);
    return err;
}

void fw_socket_close(struct fw_socket *s)
{
    SSL_free(s->ssl);
    SSL_CTX_free(s->ctx);
    if (s->fd >= 0)
        close(s->fd);
    *s = (struct fw_socket){ .fd = -1 };
}

enum fw_err fw_socket_write(struct fw_socket *s, const void *data, size_t size, int timeout_ms)
{
    const int64_t until = deadline(timeout_ms);
    const uint8_t *p = data;
    while (size) {
        enum fw_err err = FW_OK;
        ssize_t n;
        if (s->ssl) {
            ERR_clear_error();
            n = SSL_write(s->ssl, p, size > 1 << 30 ? 1 << 30 : (int)size);
            if (n <= 0)
                err = tls_wait(s, (int)n, until);
        } else {
            n = send(s->fd, p, size, MSG_NOSIGNAL);
            if (n < 0)
                err = errno == EAGAIN  ? wait_for(s->fd, POLLOUT, until)
                      : errno == EINTR ? FW_OK
                                       : FW_ERR_CLOSED;
        }
        if (err)
            return err == FW_ERR_AGAIN ? FW_ERR_TIMEOUT : err;
        if (n > 0) {
            p += n;
            size -= (size_t)n;
        }
    }
    return FW_OK;
}

enum fw_err fw_socket_read(struct fw_socket *s, void *data, size_t size, int timeout_ms,
                           size_t *got)
{
    const int64_t until = deadline(timeout_ms);
    *got = 0;
    for (;;) {
        enum fw_err err;
        if (s->ssl) {
            ERR_clear_error();
            const int n = SSL_read(s->ssl, data, size > 1 << 30 ? 1 << 30 : (int)size);
            if (n > 0) {
                *got = (size_t)n;
                return FW_OK;
            }
            err = tls_wait(s, n, until);
        } else {
            const ssize_t n = recv(s->fd, data, size, 0);
            if (n > 0) {
                *got = (size_t)n;
                return FW_OK;
            }
            if (n == 0)
                return FW_ERR_CLOSED;
            err = errno == EAGAIN  ? wait_for(s->fd, POLLIN, until)
                  : errno == EINTR ? FW_OK
                                   : FW_ERR_CLOSED;
        }
        if (err)
            return err;
    }
}
