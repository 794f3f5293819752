// SPDX-License-Identifier: MIT
// The binary messages of docs/protocol.md: a pure parser and writer. The only place where bytes
// from the network become numbers; every read is checked against the length given.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/packet.h"

enum {
    FW_WIRE_VERSION = 1,
    FW_WIRE_HEADER_MIN = 8,
    FW_WIRE_VIDEO_HEADER = 64,      // at least
    FW_WIRE_VIDEO_KEY_HEADER = 96,  // with the codec string
    FW_WIRE_VIDEO_HEADER_MAX = 104, // of a key frame, with what follows either
    FW_WIRE_BATCH_HEADER = 16,
    FW_WIRE_INPUT_SIZE = 40,
    FW_WIRE_ACK_SIZE = 24,
    FW_WIRE_BATCH_MAX = 64,
    FW_WIRE_CONTROL_MAX = 64 << 10, // bytes of a control message
    FW_WIRE_STAMPS_MAX = 8,         // in one message
    FW_WIRE_SMALL_MAX = 200,        // largest binary message of server → client control: 8 stamps
};

enum fw_wire_type {
    FW_WIRE_VIDEO = 0x01,
    FW_WIRE_INPUT = 0x20,
    FW_WIRE_ACK = 0x21,
    FW_WIRE_PING = 0x22,
    FW_WIRE_BEACON = 0x30,
    FW_WIRE_STAMP = 0x31,
    FW_WIRE_PONG = 0x32,
    FW_WIRE_INPUT_STAMP = 0x33,
};

enum fw_wire_video_flags { FW_VIDEO_KEY = 1, FW_VIDEO_ANIMATING = 2 };
enum fw_wire_beacon_flags { FW_BEACON_CURRENT = 1, FW_BEACON_ANIMATING = 2 };
enum fw_wire_ack_what {
    FW_ACK_RECEIVED = 1,
    FW_ACK_PRESENTED = 2,
    FW_ACK_DROPPED = 3,
    FW_ACK_DECODED = 4,
};

struct fw_wire_head {
    uint8_t type;
    uint8_t flags;
    uint16_t header_len;
    uint32_t payload_len;
};

struct fw_wire_video {
    bool key, animating;
    uint64_t frame_id, input_id;
    int64_t change_ns, begun_ns, encoded_ns;
    uint16_t width, height, coded_width, coded_height;
    uint32_t render_us, encode_us;
    uint32_t convert_us;              // of render_us; 0 = not told
    char codec[FW_CODEC_STRING_SIZE]; // "" unless key
    const uint8_t *payload;           // into the message
    size_t payload_size;
};

// One event as it came: numbers finite, kind, state and code in range when `valid`.
struct fw_wire_input {
    bool valid; // false: to be skipped; seq is still set
    uint8_t kind, state, mods;
    uint16_t code;
    float x, y, dx, dy;
    uint64_t seq, time_us;
};

struct fw_wire_ack {
    uint64_t frame_id;
    uint8_t what; // enum fw_wire_ack_what; other values are passed on, to be ignored
    uint64_t time_us;
};

struct fw_wire_ping {
    uint64_t client_us;
    bool estimate;     // the two below were told
    int64_t offset_ns; // server − client
    uint32_t error_us;
};

struct fw_wire_beacon {
    bool current, animating;
    int64_t server_ns;
    uint64_t newest_frame;
};

struct fw_wire_stamp {
    uint64_t frame_id;
    int64_t handed_ns, accepted_ns;
};

struct fw_wire_pong {
    uint64_t client_us;
    int64_t rx_ns, tx_ns;
};

struct fw_wire_input_stamp {
    uint64_t seq, input_id;
    int64_t rx_ns;
};

// The common header. FW_ERR_FORMAT when the lengths do not fit the message.
enum fw_err fw_wire_parse_head(const uint8_t *data, size_t size, struct fw_wire_head *head);

// Parsers of one type each; they check the common header as well (type included).
enum fw_err fw_wire_parse_video(const uint8_t *data, size_t size, struct fw_wire_video *video);
// `out` has room for FW_WIRE_BATCH_MAX entries.
enum fw_err fw_wire_parse_input(const uint8_t *data, size_t size, struct fw_wire_input *out,
                                unsigned *count);
enum fw_err fw_wire_parse_ack(const uint8_t *data, size_t size, struct fw_wire_ack *out,
                              unsigned *count);
enum fw_err fw_wire_parse_ping(const uint8_t *data, size_t size, struct fw_wire_ping *ping);
enum fw_err fw_wire_parse_beacon(const uint8_t *data, size_t size, struct fw_wire_beacon *beacon);
// The newest stamp of the message.
enum fw_err fw_wire_parse_stamp(const uint8_t *data, size_t size, struct fw_wire_stamp *stamp);
// All of them, oldest first; `out` has room for FW_WIRE_STAMPS_MAX.
enum fw_err fw_wire_parse_stamps(const uint8_t *data, size_t size, struct fw_wire_stamp *out,
                                 unsigned *count);
enum fw_err fw_wire_parse_pong(const uint8_t *data, size_t size, struct fw_wire_pong *pong);
enum fw_err fw_wire_parse_input_stamp(const uint8_t *data, size_t size,
                                      struct fw_wire_input_stamp *stamp);

// Writers. Each returns the bytes written; the caller gives room enough as named.
// Bytes before the payload of a video message as it is written here.
size_t fw_wire_video_header_size(bool key);
// The header of a video message: FW_WIRE_VIDEO_HEADER_MAX bytes of room at most.
size_t fw_wire_write_video_header(uint8_t *out, const struct fw_packet *packet);
// FW_WIRE_BATCH_HEADER + count * FW_WIRE_INPUT_SIZE (or ACK_SIZE) bytes of room, count 1-64.
size_t fw_wire_write_input(uint8_t *out, const struct fw_wire_input *events, unsigned count);
size_t fw_wire_write_ack(uint8_t *out, const struct fw_wire_ack *acks, unsigned count);
// FW_WIRE_SMALL_MAX bytes of room each.
size_t fw_wire_write_ping(uint8_t *out, const struct fw_wire_ping *ping);
size_t fw_wire_write_beacon(uint8_t *out, const struct fw_wire_beacon *beacon);
// `stamps`: oldest first, `count` 1 to FW_WIRE_STAMPS_MAX.
size_t fw_wire_write_stamps(uint8_t *out, const struct fw_wire_stamp *stamps, unsigned count);
size_t fw_wire_write_pong(uint8_t *out, const struct fw_wire_pong *pong);
size_t fw_wire_write_input_stamp(uint8_t *out, const struct fw_wire_input_stamp *stamp);
