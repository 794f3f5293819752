// SPDX-License-Identifier: MIT
// Writes what comes over the wire into a file a player opens, without encoding it again: from the
// first key frame on, on a thread of its own. A picture of another size starts the next file,
// NAME-2.mp4, because most players take one size per file.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "stream/wire.h"

struct AVPacket;
struct fw_view_record;

struct fw_view_record_params {
    const char *path; // ends in .mp4, .mov or .mkv
    bool overwrite;
    void (*want_key)(void *user, const char *reason); // from the writing thread
    void *user;
    struct fw_log *log;
};

// FW_ERR_INVALID, FW_ERR_DENIED (the file exists), FW_ERR_IO: `message` says so in words.
enum fw_err fw_view_record_start(struct fw_view_record **record,
                                 const struct fw_view_record_params *params, char *message,
                                 size_t size);
// Takes a reference of the packet. Never waits: what the disk can't follow is left out up to the
// next key frame, which is asked for.
void fw_view_record_feed(struct fw_view_record *record, const struct AVPacket *packet,
                         const struct fw_wire_video *video, int64_t now_ns);
// Writes what is left and closes the file. The sum in words: "12.3 s in clip.mp4 (738 pictures)";
// an error when something could not be written.
enum fw_err fw_view_record_stop(struct fw_view_record **record, char *message, size_t size);
