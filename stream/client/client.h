// SPDX-License-Identifier: MIT
// The protocol's small client, for tests, bench and view: blocking calls with a time limit over
// plain sockets or TLS. It trusts the server no more than the server trusts it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct fw_client; // one WebSocket connection

struct fw_client_params {
    const char *host; // numeric address or name
    int port;
    const char *path;     // "/s/{id}/ws"
    const char *protocol; // NULL = "framewire.v1", "" = none
    const char *origin;   // NULL = no Origin header
    const char *headers;  // more header lines, each with its CRLF; NULL = none
    bool tls;
    const char *ca_file; // PEM to verify the server with; NULL = not verified
    bool system_ca;      // without ca_file: verify with the certificates this system trusts
    int receive_buffer;  // bytes, 0 = the system's
    int timeout_ms;      // of each step, 0 = 5000
};

enum fw_client_opcode {
    FW_CLIENT_CONTINUATION = 0,
    FW_CLIENT_TEXT = 1,
    FW_CLIENT_BINARY = 2,
    FW_CLIENT_CLOSE = 8,
    FW_CLIENT_PING = 9,
    FW_CLIENT_PONG = 10,
};

struct fw_client_message {
    int opcode;          // TEXT, BINARY, PONG or CLOSE; pings are answered inside
    const uint8_t *data; // valid until the next call; NUL-terminated
    size_t size;
    int close_code; // of CLOSE; 0 = none given
};

// Connects and upgrades. On failure `*http_status` (may be NULL) is the status of the refusal, 0
// when there was none: FW_ERR_DENIED refused, FW_ERR_IO, FW_ERR_TIMEOUT, FW_ERR_FORMAT.
enum fw_err fw_client_open(struct fw_client **client, const struct fw_client_params *params,
                           int *http_status);
// Closes the socket, without a close frame.
void fw_client_close(struct fw_client **client);
int fw_client_fd(const struct fw_client *client);

// One masked frame, FIN set.
enum fw_err fw_client_send(struct fw_client *client, int opcode, const void *data, size_t size);
enum fw_err fw_client_send_text(struct fw_client *client, const char *text);
// The first byte of the frame as given (FIN, RSV, opcode), for fragments and nonsense.
enum fw_err fw_client_send_frame(struct fw_client *client, uint8_t first, const void *data,
                                 size_t size);
// Bytes as they are, past all framing.
enum fw_err fw_client_send_bytes(struct fw_client *client, const void *data, size_t size);
// The next message. FW_ERR_AGAIN: none within `timeout_ms`; FW_ERR_CLOSED: end of the connection;
// FW_ERR_FORMAT: the server broke the framing.
enum fw_err fw_client_receive(struct fw_client *client, int timeout_ms,
                              struct fw_client_message *message);

// One page: both connections, joined.
struct fw_client_viewer {
    struct fw_client *control, *media;
    char id[40];
};
// Says hello on control (`token` may be NULL), waits for the welcome, joins media. `params->path`
// is that of the session's WebSocket.
enum fw_err fw_client_join(struct fw_client_viewer *viewer, const struct fw_client_params *params,
                           const char *token, int width, int height);
void fw_client_leave(struct fw_client_viewer *viewer);
// Confirms a frame as received.
enum fw_err fw_client_ack(struct fw_client_viewer *viewer, uint64_t frame_id);

// Sends `request` as it is on a connection of its own and collects the answer (NUL-terminated, cut
// at `room` - 1) until the server closes, the announced length is there, or time is up.
enum fw_err fw_client_http(const struct fw_client_params *params, const char *request,
                           size_t request_size, char *answer, size_t room);
