// SPDX-License-Identifier: MIT
// What the tests of the frame path share: renders with validation on, and pictures checked against
// the reference.
#pragma once

#include <stdio.h>

#include "base/frame.h"
#include "render/render.h"
#include "render/render_priv.h"

static void rig_write(struct fw_log *log, enum fw_log_level level, const char *module,
                      const char *line)
{
    (void)log;
    fprintf(stderr, "  [%d] %s: %s\n", level, module, line);
}

static struct fw_log rig_log = { .level = FW_LOG_WARN, .write = rig_write };

static inline struct fw_render *rig_create(struct fw_render_params params)
{
    struct fw_render *render = NULL;
    params.validation = !params.no_device;
    params.log = &rig_log;
    assert_int_equal(fw_render_create(&render, &params), FW_OK);
    return render;
}

static inline enum fw_err rig_open_args(struct fw_render *render, const char *source, int width,
                                        int height, const struct fw_source_arg *arg)
{
    char message[256] = "";
    const struct fw_render_open_params params = {
        .source = source,
        .args = arg,
        .arg_count = arg ? 1 : 0,
        .width = width,
        .height = height,
        .fps = 60,
        .message = message,
        .message_size = sizeof(message),
    };
    const enum fw_err err = fw_render_open(render, &params);
    assert_true(!err == !message[0]); // a failure has words, a success has none
    return err;
}

static inline void rig_open(struct fw_render *render, const char *source, int width, int height)
{
    assert_int_equal(rig_open_args(render, source, width, height, NULL), FW_OK);
}

static inline struct fw_frame *rig_frame(struct fw_render *render, uint64_t id, int64_t now_ns)
{
    struct fw_frame *frame = NULL;
    assert_int_equal(fw_render_frame(render, id, now_ns, &frame), FW_OK);
    assert_int_equal(frame->id, id);
    return frame;
}

static inline void rig_destroy(struct fw_render *render)
{
    struct fw_render_info info;
    fw_render_get_info(render, &info);
    assert_int_equal(info.validation_messages, 0);
    fw_render_destroy(&render);
    assert_null(render);
}
