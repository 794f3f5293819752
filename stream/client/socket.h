// SPDX-License-Identifier: MIT
// A connected socket, plain or TLS, with a time limit on each call. Inside of stream/client/.
#pragma once

#include <openssl/ssl.h>
#include <stddef.h>

#include "base/err.h"

struct fw_client_params;

struct fw_socket {
    int fd; // -1 = closed
    SSL_CTX *ctx;
    SSL *ssl; // NULL = plain
};

enum fw_err fw_socket_connect(struct fw_socket *s, const struct fw_client_params *params,
                              int timeout_ms);
void fw_socket_close(struct fw_socket *s);
// All of it or an error.
enum fw_err fw_socket_write(struct fw_socket *s, const void *data, size_t size, int timeout_ms);
// At least one byte. FW_ERR_AGAIN: nothing within the time.
enum fw_err fw_socket_read(struct fw_socket *s, void *data, size_t size, int timeout_ms,
                           size_t *got);
