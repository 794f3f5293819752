// SPDX-License-Identifier: MIT
// For those who write a source: what draws. A source gets a command buffer and a target; it knows
// nothing of encoders or sockets.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "base/err.h"
#include "base/frame.h"
#include "base/input.h"
#include "base/log.h"
#include "render/source_arg.h"

struct fw_gpu;

struct fw_source_params {
    struct fw_gpu *gpu; // NULL for host sources
    struct fw_log *log;
    int width, height;                // first size
    int fps;                          // 1-240: the rate an animating source should aim at
    const struct fw_source_arg *args; // valid during open only
    unsigned arg_count;
    bool tone_mapped; // what `record` will be asked to write, see fw_record
    // On failure the source writes a sentence for the user: what happened, what to do.
    char *message;
    size_t message_size;
    // May be called during open with 0-100 and what is being done ("textures").
    void (*progress)(void *user, int percent, const char *what);
    void *progress_user;
};

// One frame's target. The image is in COLOR_ATTACHMENT_OPTIMAL and must be left so; the old content
// is undefined: draw every pixel. The alpha channel must come out as 1.
struct fw_record {
    VkCommandBuffer cmd;
    VkImage image;
    VkImageView view;
    VkFormat format;
    VkExtent2D extent; // true size
    // true: write display-referred, sRGB-encoded values (the target is 8-bit UNORM).
    // false: write scene-linear values, exposure applied (RGBA16F); the output merge tone-maps.
    bool tone_mapped;
    int64_t now_ns; // the time the picture is to show
    uint64_t frame_id;
};

struct fw_source {
    const struct fw_source_impl *impl;
    // each source embeds this as its first member
};

// Thread: the session thread, always. No call may block for longer than a frame except open.
struct fw_source_impl {
    const char *name; // "scene"
    bool hdr;         // can write scene-linear
    bool host;        // draws on the CPU through `fill`, needs no device; `record` is NULL then
    // optional: makes what any session of this source will need on the host, ahead of time and in a
    // process that waits for its session. Any thread; an open meanwhile waits for it.
    void (*warm_up)(void);
    enum fw_err (*open)(struct fw_source **source, const struct fw_source_params *params);
    void (*close)(struct fw_source *source);
    // Applies an event at once; the next frame shows it.
    void (*input)(struct fw_source *source, const struct fw_input_event *event);
    enum fw_err (*resize)(struct fw_source *source, int width, int height); // optional
    // Has the picture changed since the last record/fill (input, animation)? When false,
    // `*next_ns` is when to ask again (INT64_MAX = only after input). Animation is `*animating`.
    bool (*wants_frame)(struct fw_source *source, int64_t now_ns, int64_t *next_ns,
                        bool *animating);
    enum fw_err (*record)(struct fw_source *source, const struct fw_record *record);
    // Host sources: fills an NV12 frame of the size set in it.
    enum fw_err (*fill)(struct fw_source *source, struct fw_frame *frame, int64_t now_ns);
    // optional: how many pixels of its picture may differ in the last record/fill from the one
    // before, never too few. NULL = all of them.
    uint64_t (*damage)(struct fw_source *source);
    // optional: one JSON object in ASCII with facts for the page ({"triangles":1234}); valid until
    // close
    const char *(*describe)(struct fw_source *source);
    // optional, both or none: where its user is (camera, switches), so that a process that takes
    // over goes on from there. Cheap: asked about once a second. `save` writes at most `room` (256)
    // bytes, the first of them a version of its own, and returns how many; the same state gives the
    // same bytes. `restore` comes once, after open; it ignores what is of another version or
    // absurd.
    size_t (*save)(struct fw_source *source, void *out, size_t room);
    void (*restore)(struct fw_source *source, const void *data, size_t size);
};

// The only list of sources; NULL when there is none of that name.
const struct fw_source_impl *fw_source_find(const char *name);
void fw_source_warm_up(void); // all of them
