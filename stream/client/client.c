// SPDX-License-Identifier: MIT
#include "stream/client/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/packet.h"
#include "stream/client/socket.h"
#include "stream/secret.h"
#include "stream/wire.h"

enum {
    MESSAGE_MAX = FW_PACKET_MAX_BYTES + FW_PACKET_HEADROOM,
    READ_CHUNK = 256 << 10,
    HANDSHAKE_MAX = 8192,
    // When time is up a server that never stops talking is not listened to for much longer: so many
    // frames that are no message, or reads that cost as much as some of those.
    LATE_MAX = 1024,
    LATE_READ = 64,
};

struct fw_client {
    struct fw_socket socket;
    int timeout_ms;
    uint8_t *rx; // raw bytes, [rx_pos, rx_size) not parsed yet
    size_t rx_pos, rx_size, rx_room;
    uint8_t *message; // being put together
    size_t message_size, message_room;
    int message_opcode; // 0 = none begun
    uint8_t small[128]; // payload of the newest control frame
};

// ---- handshake

static enum fw_err upgrade(struct fw_client *c, const struct fw_client_params *p, int *status)
{
    char request[2048];
    const char *protocol = p->protocol ? p->protocol : "framewire.v1";
    const int n = snprintf(
        request, sizeof(request),
        "GET %s HTTP/1.1\r\nHost: %s%s%s:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAECAwQFBgcICQoLDA0ODw==\r\n"
        "%s%s%s%s%s%s%s\r\n",
        p->path, strchr(p->host, ':') ? "[" : "", p->host, strchr(p->host, ':') ? "]" : "", p->port,
        *protocol ? "Sec-WebSocket-Protocol: " : "", protocol, *protocol ? "\r\n" : "",
        p->origin ? "Origin: " : "", p->origin ? p->origin : "", p->origin ? "\r\n" : "",
        p->headers ? p->headers : "");
    if (n < 0 || n >= (int)sizeof(request))
        return FW_ERR_TOO_LARGE;
    enum fw_err err = fw_socket_write(&c->socket, request, (size_t)n, c->timeout_ms);
    if (err)
        return err;
    const int64_t until = fw_now_ns() + c->timeout_ms * (int64_t)FW_NS_PER_MS;
    // Byte by byte: what follows the blank line belongs to the WebSocket.
    char answer[HANDSHAKE_MAX];
    size_t size = 0;
    while (size < 4 || memcmp(answer + size - 4, "\r\n\r\n", 4)) {
        size_t got;
        if (size == sizeof(answer) - 1)
            return FW_ERR_FORMAT;
        const int64_t left = (until - fw_now_ns()) / FW_NS_PER_MS;
        if (left <= 0)
            return FW_ERR_TIMEOUT;
        err = fw_socket_read(&c->socket, answer + size, 1, (int)left, &got);
        if (err)
            return err == FW_ERR_AGAIN ? FW_ERR_TIMEOUT : err;
        size += got;
    }
    answer[size] = '\0';
    if (sscanf(answer, "HTTP/1.%*d %d", status) != 1)
        return FW_ERR_FORMAT;
    if (*status != 101)
        return FW_ERR_DENIED;
    // The answer to the fixed key above: we test a server, we do not guard against caches.
    return strcasestr(answer, "\r\nSec-WebSocket-Accept: ") ? FW_OK : FW_ERR_FORMAT;
}

enum fw_err fw_client_open(struct fw_client **out, const struct fw_client_params *params,
                           int *http_status)
{
    int status = 0;
    *out = NULL;
    struct fw_client *c = calloc(1, sizeof(*c));
    if (!c)
        return FW_ERR_NOMEM;
    c->timeout_ms = params->timeout_ms ? params->timeout_ms : 5000;
    enum fw_err err = fw_socket_connect(&c->socket, params, c->timeout_ms);
    if (!err)
        err = upgrade(c, params, &status);
    if (http_status)
        *http_status = status;
    if (err) {
        fw_client_close(&c);
        return err;
    }
    *out = c;
    return FW_OK;
}

void fw_client_close(struct fw_client **pointer)
{
    struct fw_client *c = *pointer;
    *pointer = NULL;
    if (!c)
        return;
    fw_socket_close(&c->socket);
    free(c->rx);
    free(c->message);
    free(c);
}

int fw_client_fd(const struct fw_client *client)
{
    return client->socket.fd;
}

// ---- sending

enum fw_err fw_client_send_bytes(struct fw_client *client, const void *data, size_t size)
{
    return fw_socket_write(&client->socket, data, size, client->timeout_ms);
}

enum fw_err fw_client_send_frame(struct fw_client *client, uint8_t first, const void *data,
                                 size_t size)
{
    uint8_t *frame = malloc(size + 14);
    if (!frame)
        return FW_ERR_NOMEM;
    size_t n = 0;
    frame[n++] = first;
    if (size < 126) {
        frame[n++] = (uint8_t)(0x80 | size);
    } else if (size < 65536) {
        frame[n++] = 0x80 | 126;
        frame[n++] = (uint8_t)(size >> 8);
        frame[n++] = (uint8_t)size;
    } else {
        frame[n++] = 0x80 | 127;
        for (int shift = 56; shift >= 0; shift -= 8)
            frame[n++] = (uint8_t)((uint64_t)size >> shift);
    }
    uint8_t *mask = frame + n;
    n += 4;
    enum fw_err err = fw_random(mask, 4);
    for (size_t i = 0; i < size; i++)
        frame[n + i] = ((const uint8_t *)data)[i] ^ mask[i & 3];
    if (!err)
        err = fw_client_send_bytes(client, frame, n + size);
    free(frame);
    return err;
}

enum fw_err fw_client_send(struct fw_client *client, int opcode, const void *data, size_t size)
{
    return fw_client_send_frame(client, (uint8_t)(0x80 | opcode), data, size);
}

enum fw_err fw_client_send_text(struct fw_client *client, const char *text)
{
    return fw_client_send(client, FW_CLIENT_TEXT, text, strlen(text));
}

// ---- receiving

static bool reserve(uint8_t **buf, size_t *room, size_t need)
{
    if (need <= *room)
        return true;
    size_t grown = *room ? *room : 4096;
    while (grown < need)
        grown *= 2;
    uint8_t *p = realloc(*buf, grown);
    if (!p)
        return false;
    *buf = p;
    *room = grown;
    return true;
}

// The frame at rx_pos: header and payload size. FW_ERR_AGAIN when the header is not all there.
static enum fw_err frame_size(const struct fw_client *c, size_t *header, uint64_t *payload)
{
    const uint8_t *p = c->rx + c->rx_pos;
    const size_t have = c->rx_size - c->rx_pos;
    if (have < 2)
        return FW_ERR_AGAIN;
    const unsigned small = p[1] & 0x7f;
    if (p[1] & 0x80 || p[0] & 0x70)
        return FW_ERR_FORMAT; // a server does not mask; no extension is agreed
    *header = small < 126 ? 2 : small == 126 ? 4 : 10;
    if (have < *header)
        return FW_ERR_AGAIN;
    *payload = small;
    if (small >= 126) {
        *payload = 0;
        for (size_t i = 2; i < *header; i++)
            *payload = *payload << 8 | p[i];
    }
    return *payload > MESSAGE_MAX ? FW_ERR_TOO_LARGE : FW_OK;
}

static enum fw_err take_control(struct fw_client *c, int opcode, const uint8_t *data, size_t size,
                                struct fw_client_message *out)
{
    uint8_t *copy = c->small;
    if (size > 125)
        return FW_ERR_FORMAT;
    if (opcode == FW_CLIENT_PING) {
        const enum fw_err err = fw_client_send(c, FW_CLIENT_PONG, data, size);
        return err ? err : FW_ERR_AGAIN;
    }
    memcpy(copy, data, size);
    copy[size] = 0;
    *out = (struct fw_client_message){ .opcode = opcode, .data = copy, .size = size };
    if (opcode == FW_CLIENT_CLOSE && size >= 2)
        out->close_code = copy[0] << 8 | copy[1];
    return FW_OK;
}

// One frame out of the buffer. FW_ERR_AGAIN: no whole message yet.
static enum fw_err take_frame(struct fw_client *c, struct fw_client_message *out, bool *progress)
{
    size_t header;
    uint64_t payload;
    *progress = false;
    enum fw_err err = frame_size(c, &header, &payload);
    if (err)
        return err;
    if (c->rx_size - c->rx_pos < header + payload)
        return FW_ERR_AGAIN;
    *progress = true;
    const uint8_t first = c->rx[c->rx_pos];
    const uint8_t *data = c->rx + c->rx_pos + header;
    const int opcode = first & 15;
    c->rx_pos += header + (size_t)payload;
    if (opcode & 8)
        return take_control(c, opcode, data, (size_t)payload, out);
    if ((opcode != 0) == (c->message_opcode != 0) || opcode > FW_CLIENT_BINARY)
        return FW_ERR_FORMAT;
    if (opcode) {
        c->message_opcode = opcode;
        c->message_size = 0;
    }
    if (c->message_size + payload > MESSAGE_MAX)
        return FW_ERR_TOO_LARGE;
    if (!reserve(&c->message, &c->message_room, c->message_size + (size_t)payload + 1))
        return FW_ERR_NOMEM;
    memcpy(c->message + c->message_size, data, (size_t)payload);
    c->message_size += (size_t)payload;
    if (!(first & 0x80))
        return FW_ERR_AGAIN;
    c->message[c->message_size] = 0;
    *out = (struct fw_client_message){
        .opcode = c->message_opcode,
        .data = c->message,
        .size = c->message_size,
    };
    c->message_opcode = 0;
    return FW_OK;
}

static enum fw_err fill(struct fw_client *c, int timeout_ms)
{
    if (c->rx_pos) {
        memmove(c->rx, c->rx + c->rx_pos, c->rx_size - c->rx_pos);
        c->rx_size -= c->rx_pos;
        c->rx_pos = 0;
    }
    if (!reserve(&c->rx, &c->rx_room, c->rx_size + READ_CHUNK))
        return FW_ERR_NOMEM;
    size_t got;
    const enum fw_err err =
        fw_socket_read(&c->socket, c->rx + c->rx_size, READ_CHUNK, timeout_ms, &got);
    if (!err)
        c->rx_size += got;
    return err;
}

enum fw_err fw_client_receive(struct fw_client *client, int timeout_ms,
                              struct fw_client_message *message)
{
    const int64_t until = fw_now_ns() + (int64_t)timeout_ms * FW_NS_PER_MS;
    for (int late = 0; late < LATE_MAX;) {
        bool progress = true;
        while (progress && late < LATE_MAX) {
            const enum fw_err err = take_frame(client, message, &progress);
            if (err != FW_ERR_AGAIN)
                return err;
            late += progress && fw_now_ns() >= until;
        }
        const int64_t left = until - fw_now_ns();
        late += left <= 0 ? LATE_READ : 0;
        const enum fw_err err =
            fill(client, left > 0 ? (int)(left / FW_NS_PER_MS) + (timeout_ms > 0) : 0);
        if (err)
            return err;
    }
    return FW_ERR_AGAIN;
}

// ---- a page

enum fw_err fw_client_join(struct fw_client_viewer *viewer, const struct fw_client_params *params,
                           const char *token, int width, int height)
{
    char text[1024];
    struct fw_client_message m;
    memset(viewer, 0, sizeof(*viewer));
    enum fw_err err = fw_client_open(&viewer->control, params, NULL);
    if (err)
        return err;
    snprintf(text, sizeof(text),
             "{\"type\":\"hello\",\"version\":1,\"channel\":\"control\",\"token\":\"%s\","
             "\"viewport\":{\"width\":%d,\"height\":%d},\"devicePixelRatio\":1,\"visible\":true,"
             "\"codecs\":[\"avc1.42e01f\"]}",
             token ? token : "", width, height);
    err = fw_client_send_text(viewer->control, text);
    if (err)
        goto error;
    const int timeout = params->timeout_ms ? params->timeout_ms : 5000;
    err = fw_client_receive(viewer->control, timeout, &m);
    if (err)
        goto error;
    const char *id = m.opcode == FW_CLIENT_TEXT && strstr((const char *)m.data, "\"welcome\"")
                         ? strstr((const char *)m.data, "\"viewer\":\"")
                         : NULL;
    err = FW_ERR_DENIED;
    if (!id || strcspn(id + 10, "\"") != 32)
        goto error;
    memcpy(viewer->id, id + 10, 32);
    err = fw_client_open(&viewer->media, params, NULL);
    if (err)
        goto error;
    snprintf(text, sizeof(text),
             "{\"type\":\"hello\",\"version\":1,\"channel\":\"media\",\"viewer\":\"%s\"}",
             viewer->id);
    err = fw_client_send_text(viewer->media, text);
    if (!err)
        return FW_OK;
error:
    fw_client_leave(viewer);
    return err;
}

void fw_client_leave(struct fw_client_viewer *viewer)
{
    fw_client_close(&viewer->control);
    fw_client_close(&viewer->media);
}

enum fw_err fw_client_ack(struct fw_client_viewer *viewer, uint64_t frame_id)
{
    uint8_t out[FW_WIRE_BATCH_HEADER + FW_WIRE_ACK_SIZE];
    const struct fw_wire_ack ack = {
        .frame_id = frame_id,
        .what = FW_ACK_RECEIVED,
        .time_us = (uint64_t)(fw_now_ns() / FW_NS_PER_US),
    };
    return fw_client_send(viewer->control, FW_CLIENT_BINARY, out, fw_wire_write_ack(out, &ack, 1));
}

// ---- plain HTTP

static bool complete(const char *answer, size_t size)
{
    const char *end = strstr(answer, "\r\n\r\n");
    const char *length = strcasestr(answer, "\r\ncontent-length:");
    if (!end || !length || length > end)
        return false;
    return size >= (size_t)(end + 4 - answer) + strtoul(length + 17, NULL, 10);
}

enum fw_err fw_client_http(const struct fw_client_params *params, const char *request,
                           size_t request_size, char *answer, size_t room)
{
    const int timeout = params->timeout_ms ? params->timeout_ms : 5000;
    const int64_t until = fw_now_ns() + (int64_t)timeout * FW_NS_PER_MS;
    struct fw_socket s;
    size_t size = 0;
    answer[0] = '\0';
    enum fw_err err = fw_socket_connect(&s, params, timeout);
    if (!err)
        err = fw_socket_write(&s, request, request_size, timeout);
    while (!err && size < room - 1 && !complete(answer, size)) {
        const int64_t left = (until - fw_now_ns()) / FW_NS_PER_MS;
        size_t got = 0;
        err = fw_socket_read(&s, answer + size, room - 1 - size, left > 0 ? (int)left : 0, &got);
        size += got;
        answer[size] = '\0';
    }
    fw_socket_close(&s);
    if (err == FW_ERR_AGAIN)
        err = FW_ERR_TIMEOUT;
    return err == FW_ERR_CLOSED || size ? FW_OK : err;
}
