// SPDX-License-Identifier: MIT
// The private link between the front and a worker of the same binary: a SOCK_SEQPACKET pair for
// small typed messages and one sealed ring for packets. Same machine, same build: native layout.
// The front trusts nothing that comes from a worker (fw_link_check_*).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/fault.h"
#include "base/gpu_use.h"
#include "base/input.h"
#include "base/packet.h"

enum {
    FW_LINK_VERSION = 1,
    FW_LINK_MAX_BYTES = 64 << 10,
    FW_LINK_FD = 3, // in the worker: the socket
    FW_RING_FD = 4, // in the worker: the ring's memfd
    FW_LINK_MAX_EVENTS = 64,
    FW_LINK_MAX_ARGS = 16,
    FW_LINK_MAX_VIEW = 256,
};

enum fw_link_type {
    // front → worker
    FW_LINK_START = 1,    // struct fw_link_start; a warm worker becomes a session
    FW_LINK_INPUT = 2,    // struct fw_link_input
    FW_LINK_RESIZE = 3,   // struct fw_link_resize
    FW_LINK_CREDIT = 4,   // struct fw_link_credit
    FW_LINK_KEYFRAME = 5, // no body
    FW_LINK_RATE = 6,     // struct fw_link_rate
    FW_LINK_STOP = 7,     // no body; end in order within 2 s
    FW_LINK_FAULT = 8,    // struct fw_link_fault; only under --allow-faults
    // worker → front
    FW_LINK_WARM = 32,     // struct fw_link_warm: device and pipelines stand, START may come
    FW_LINK_READY = 33,    // struct fw_link_ready: source open, encoder open
    FW_LINK_PACKET = 34,   // no body: the ring has records (struct fw_link_packet + payload)
    FW_LINK_BEACON = 35,   // struct fw_link_beacon: at least once a second while running
    FW_LINK_FAILED = 36,   // struct fw_link_failed, then the worker ends
    FW_LINK_PROGRESS = 37, // struct fw_link_progress
    FW_LINK_VIEW = 38,     // struct fw_link_view: what START is to give the next worker
};

struct fw_link_header {
    uint16_t type;
    uint16_t version;
    uint32_t size; // of the whole message, this header included
};

// Where the source's user is (fw_source_impl.save). The front keeps it and does not read it.
struct fw_link_blob {
    uint32_t size; // 0 = none
    uint8_t bytes[FW_LINK_MAX_VIEW];
};

struct fw_link_start {
    struct fw_link_header h;
    int32_t width, height, fps, bitrate_kbps;
    uint64_t first_frame_id; // frame ids go on after a restart
    char source[32];
    char encoder[32];
    char device[64]; // for hardware encoders, "" = first
    uint32_t arg_count;
    struct {
        char key[32];
        char value[1024];
    } args[FW_LINK_MAX_ARGS];
    struct fw_link_blob view; // of the session's last worker
};

struct fw_link_input {
    struct fw_link_header h;
    uint32_t count;
    uint32_t reserved;
    struct fw_input_event events[FW_LINK_MAX_EVENTS]; // only `count` are sent
};

struct fw_link_resize {
    struct fw_link_header h;
    int32_t width, height;
};

struct fw_link_credit {
    struct fw_link_header h;
    uint64_t allowed; // packets this worker may have written in all since START
    uint8_t active;   // 0: nobody looks, stop rendering
    uint8_t reserved[7];
};

struct fw_link_rate {
    struct fw_link_header h;
    int32_t bitrate_kbps, frame_bytes;
};

struct fw_link_fault {
    struct fw_link_header h;
    struct fw_faults faults; // until the next of these
};

// Device memory of a worker.
struct fw_link_memory {
    uint64_t bytes[FW_GPU_USE_COUNT];                     // allocated by us
    uint64_t budget_bytes, budget_used_bytes, heap_bytes; // see struct fw_gpu_budget; 0 = not told
};

struct fw_link_warm {
    struct fw_link_header h;
    char gpu[256];
    uint8_t is_cpu;
    uint8_t reserved[7];
    struct fw_link_memory memory;
};

struct fw_link_ready {
    struct fw_link_header h;
    char gpu[256];
    char encoder[32];
    char convert[32];
    char target[32];
    char title[128];
    char describe[2048]; // JSON object
    char no_parts[96];   // as fw_render_info
    int32_t width, height, fps, reserved;
};

struct fw_link_beacon {
    struct fw_link_header h;
    uint64_t newest_frame;
    uint8_t current; // the newest frame shows all that the source has to show
    uint8_t animating;
    uint8_t reserved[6];
    uint64_t frames, encoded_bytes, skipped; // since START
    int64_t cpu_ns;                          // process CPU time
    struct fw_link_memory memory;
};

struct fw_link_failed {
    struct fw_link_header h;
    uint32_t err;      // enum fw_err
    uint8_t permanent; // a restart won't help (bad model, encoder refused)
    uint8_t reserved[3];
    char message[512]; // a sentence for the user
};

struct fw_link_progress {
    struct fw_link_header h;
    int32_t percent;
    char what[64];
};

struct fw_link_view {
    struct fw_link_header h;
    struct fw_link_blob view;
};

// A ring record: this, then `size` payload bytes. Fields as in struct fw_packet.
struct fw_link_packet {
    uint64_t frame_id, input_id;
    int32_t width, height, coded_width, coded_height;
    uint8_t key, animating, reserved[6];
    char codec[FW_CODEC_STRING_SIZE];
    struct fw_frame_times times;
    struct fw_frame_facts facts;
    uint8_t skipped[FW_PACKET_SKIPPED];
    uint64_t size;
};

// Sends one message; EAGAIN → FW_ERR_AGAIN, a closed peer → FW_ERR_CLOSED. Fills in the header
// from `type` and `size` (whole struct). Non-blocking.
enum fw_err fw_link_send(int fd, void *message, uint16_t type, size_t size);
// Receives one message into `buf` (FW_LINK_MAX_BYTES). `*size` ≥ the header's; version and size are
// checked here, the body by fw_link_check. FW_ERR_AGAIN, FW_ERR_CLOSED, FW_ERR_FORMAT.
enum fw_err fw_link_recv(int fd, void *buf, size_t *size);
// Is the body as long as its type wants, are strings terminated, numbers in range, counts covered?
enum fw_err fw_link_check(const void *buf, size_t size);
// Is a ring record's head sound (sizes, codec string terminated, size as the record's)?
enum fw_err fw_link_check_packet(const struct fw_link_packet *p, size_t record_size);
