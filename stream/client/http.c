// SPDX-License-Identifier: MIT
#include "stream/client/http.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "stream/client/client.h"
#include "stream/client/socket.h"

enum { READ_STEP = 64 << 10, HEAD_MAX = 32 << 10 };

struct reply {
    char *data;
    size_t size, room;
    char *body; // into data, NULL = the head is not complete
    bool chunked, has_length;
    size_t length;
};

// The value of a header, NULL = not there. The head ends before `body`.
static const char *header(const struct reply *r, const char *name)
{
    const size_t length = strlen(name);
    for (const char *p = strstr(r->data, "\r\n"); p && p + 2 < r->body; p = strstr(p + 2, "\r\n"))
        if (strncasecmp(p + 2, name, length) == 0 && p[2 + length] == ':')
            return p + 3 + length + strspn(p + 3 + length, " \t");
    return NULL;
}

static void take_head(struct reply *r)
{
    char *end = r->body ? NULL : strstr(r->data, "\r\n\r\n");
    if (!end)
        return;
    r->body = end + 4;
    const char *length = header(r, "Content-Length"), *coding = header(r, "Transfer-Encoding");
    r->chunked = coding && strncasecmp(coding, "chunked", 7) == 0;
    r->has_length = length != NULL;
    r->length = length ? strtoul(length, NULL, 10) : 0;
}

// Takes the chunk sizes out of the body in place. False: it does not end yet, or is nonsense.
static bool join_chunks(struct reply *r, bool write)
{
    char *in = r->body, *out = r->body;
    const char *const end = r->data + r->size;
    for (;;) {
        char *line = memchr(in, '\n', (size_t)(end - in)), *digits;
        if (!line)
            return false;
        const unsigned long size = strtoul(in, &digits, 16);
        if (digits == in || size > FW_HTTP_ANSWER_MAX)
            return false;
        if (size == 0) {
            if (write)
                r->length = (size_t)(out - r->body);
            return true;
        }
        if ((size_t)(end - line - 1) < size + 2)
            return false;
        if (write)
            memmove(out, line + 1, size);
        out += size;
        in = line + 1 + size + 2;
    }
}

static bool complete(struct reply *r)
{
    if (!r->body)
        return false;
    if (r->chunked)
        return join_chunks(r, false);
    return r->has_length && r->size - (size_t)(r->body - r->data) >= r->length;
}

static enum fw_err grow(struct reply *r)
{
    if (r->size + READ_STEP + 1 <= r->room)
        return FW_OK;
    if (r->size > FW_HTTP_ANSWER_MAX)
        return FW_ERR_TOO_LARGE;
    const size_t body = r->body ? (size_t)(r->body - r->data) : 0;
    const size_t room = 2 * r->room + READ_STEP + 1;
    char *data = realloc(r->data, room);
    if (!data)
        return FW_ERR_NOMEM;
    r->data = data;
    r->room = room;
    if (r->body)
        r->body = data + body;
    return FW_OK;
}

static enum fw_err read_reply(struct fw_socket *s, struct reply *r, int64_t until)
{
    while (!complete(r)) {
        const int64_t left = (until - fw_now_ns()) / FW_NS_PER_MS;
        size_t got = 0;
        enum fw_err err = grow(r);
        if (!err)
            err = fw_socket_read(s, r->data + r->size, READ_STEP, left > 0 ? (int)left : 0, &got);
        if (err == FW_ERR_CLOSED && r->body && !r->chunked && !r->has_length)
            return FW_OK; // the end of the connection is the end of the body
        if (err)
            return err == FW_ERR_AGAIN ? FW_ERR_TIMEOUT : err;
        r->size += got;
        r->data[r->size] = '\0';
        take_head(r);
        if (!r->body && r->size > HEAD_MAX)
            return FW_ERR_FORMAT;
    }
    return FW_OK;
}

static enum fw_err take_answer(struct reply *r, struct fw_http_answer *answer)
{
    if (sscanf(r->data, "HTTP/1.%*d %d", &answer->status) != 1)
        return FW_ERR_FORMAT;
    const char *retry = header(r, "Retry-After");
    answer->retry_after_s = retry ? atoi(retry) : 0;
    size_t size = r->size - (size_t)(r->body - r->data);
    if (r->chunked && join_chunks(r, true))
        size = r->length;
    else if (r->has_length)
        size = r->length;
    memmove(r->data, r->body, size);
    r->data[size] = '\0';
    answer->body = r->data;
    answer->size = size;
    r->data = NULL;
    return FW_OK;
}

enum fw_err fw_http_exchange(const struct fw_client_params *params, const char *request,
                             size_t request_size, struct fw_http_answer *answer)
{
    const int timeout = params->timeout_ms ? params->timeout_ms : 5000;
    const int64_t until = fw_now_ns() + (int64_t)timeout * FW_NS_PER_MS;
    struct fw_socket s;
    struct reply r = { .room = 0 };
    *answer = (struct fw_http_answer){ .status = 0 };
    enum fw_err err = grow(&r);
    if (err)
        return err;
    r.data[0] = '\0';
    err = fw_socket_connect(&s, params, timeout);
    if (!err)
        err = fw_socket_write(&s, request, request_size, timeout);
    if (!err)
        err = read_reply(&s, &r, until);
    if (!err)
        err = take_answer(&r, answer);
    fw_socket_close(&s);
    free(r.data);
    return err;
}
