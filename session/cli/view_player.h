// SPDX-License-Identifier: MIT
// Access units in, the newest picture out: a thread decodes, and a picture that is overtaken before
// it was shown is dropped, never queued. A decoder that breaks is replaced at the next key frame,
// which is asked for once.
#pragma once

#include <libavutil/frame.h>

#include "session/cli/view_decode.h"
#include "session/cli/view_figures.h"
#include "session/cli/view_record.h"
#include "stream/wire.h"

// What is known of a picture besides its planes.
struct fw_view_frame_info {
    uint64_t frame_id;
    int width, height; // true size; the planes are the coded size
    int64_t received_ns;
};

struct fw_view_player_params {
    struct fw_view_decoder_params decoder;
    struct fw_view_figures *figures;
    struct fw_view_record *record; // NULL = none; gets what comes
    // Called on the decoding thread or that of fw_view_player_feed(); they must not call back.
    void (*ack)(void *user, uint64_t frame_id, enum fw_wire_ack_what what, int64_t at_ns);
    void (*want_key)(void *user, const char *reason);
    void (*ready)(void *user); // there is a picture to take
    void *user;
    struct fw_log *log;
};

struct fw_view_player;

enum fw_err fw_view_player_create(struct fw_view_player **player,
                                  const struct fw_view_player_params *params);
void fw_view_player_destroy(struct fw_view_player **player);
// Thread: the connection's. Copies the payload.
void fw_view_player_feed(struct fw_view_player *player, const struct fw_wire_video *video,
                         int64_t now_ns);
// A new connection: what follows starts with a key frame.
void fw_view_player_restart(struct fw_view_player *player);
// While paused nothing is decoded; afterwards a key frame is asked for.
void fw_view_player_pause(struct fw_view_player *player, bool paused);
// Moves the newest picture into `picture` (unreferenced first). False: none since the last call.
bool fw_view_player_take(struct fw_view_player *player, AVFrame *picture,
                         struct fw_view_frame_info *info);
// "CPU", "VAAPI", …
void fw_view_player_decoder(struct fw_view_player *player, char *name, size_t size);
