// SPDX-License-Identifier: MIT
// H.264 on Intel and AMD GPUs through VA-API, fed by an upload into the driver's surfaces.
#include <errno.h>
#include <glob.h>
#include <libavutil/hwcontext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "encode/avlog.h"
#include "encode/lavc.h"

enum { NODE_PATH_SIZE = 64, SURFACES = 4 };

// The first render node that we may open, or the reason why there is none.
static bool find_node(const char *device, char *node, char *reason, size_t reason_size)
{
    if (device) {
        snprintf(node, NODE_PATH_SIZE, "%s", device);
        if (access(node, R_OK | W_OK) != 0) {
            snprintf(reason, reason_size, "%s: %s", node, strerror(errno));
            return false;
        }
        return true;
    }
    glob_t nodes = { 0 };
    bool found = false;
    if (glob("/dev/dri/renderD*", 0, NULL, &nodes) == 0) {
        for (size_t i = 0; i < nodes.gl_pathc && !found; i++) {
            snprintf(node, NODE_PATH_SIZE, "%s", nodes.gl_pathv[i]);
            found = access(node, R_OK | W_OK) == 0;
        }
        if (!found) {
            snprintf(reason, reason_size, "%s: %s", node, strerror(errno));
        }
    } else {
        snprintf(reason, reason_size, "no /dev/dri/renderD*");
    }
    globfree(&nodes);
    return found;
}

static bool vaapi_present(const char *device, char *reason, size_t reason_size)
{
    char node[NODE_PATH_SIZE];
    return fw_lavc_has("h264_vaapi", reason, reason_size) &&
           find_node(device, node, reason, reason_size);
}

// Surfaces that the planes are uploaded to. NULL with a message on failure.
static AVBufferRef *make_surfaces(const struct fw_encoder_config *config, const char *node,
                                  char *message, size_t message_size)
{
    AVBufferRef *device = NULL, *frames = NULL;
    fw_avlog_install();
    fw_avlog_reset();
    int ret = av_hwdevice_ctx_create(&device, AV_HWDEVICE_TYPE_VAAPI, node, NULL, 0);
    if (ret < 0) {
        goto error;
    }
    frames = av_hwframe_ctx_alloc(device);
    if (!frames) {
        ret = AVERROR(ENOMEM);
        goto error;
    }
    AVHWFramesContext *context = (AVHWFramesContext *)frames->data;
    context->format = AV_PIX_FMT_VAAPI;
    context->sw_format = AV_PIX_FMT_NV12;
    context->width = config->width;
    context->height = config->height;
    context->initial_pool_size = SURFACES;
    ret = av_hwframe_ctx_init(frames);
    if (ret < 0) {
        goto error;
    }
    av_buffer_unref(&device); // the frames hold their own reference
    return frames;

error:
    snprintf(message, message_size, "%s", fw_avlog_reason(ret));
    av_buffer_unref(&frames);
    av_buffer_unref(&device);
    return NULL;
}

static enum fw_err open_entry_point(void **state, const struct fw_encoder_config *config,
                                    AVBufferRef *surfaces, const char *low_power, char *message,
                                    size_t message_size)
{
    const struct fw_lavc_option options[] = {
        { "low_power", low_power }, { "async_depth", "1" }, { "profile", "main" },
        { "idr_interval", "0" },    { "sei", "0" },         { NULL, NULL },
    };
    const struct fw_lavc_params params = {
        .codec = "h264_vaapi", .options = options, .format = AV_PIX_FMT_VAAPI, .hw_frames = surfaces
    };
    return fw_lavc_open(state, config, &params, message, message_size);
}

static enum fw_err vaapi_open(void **state, const struct fw_encoder_config *config, char *message,
                              size_t message_size)
{
    char node[NODE_PATH_SIZE];
    if (!find_node(config->device, node, message, message_size)) {
        return FW_ERR_UNSUPPORTED;
    }
    AVBufferRef *surfaces = make_surfaces(config, node, message, message_size);
    if (!surfaces) {
        return FW_ERR_UNSUPPORTED;
    }
    // Recent Intel GPUs encode on the low-power entry point only.
    enum fw_err err = open_entry_point(state, config, surfaces, "0", message, message_size);
    if (err) {
        char second[FW_ENCODER_MESSAGE_SIZE];
        err = open_entry_point(state, config, surfaces, "1", second, sizeof(second));
    }
    av_buffer_unref(&surfaces);
    return err;
}

static enum fw_err vaapi_set_rate(void *state, int bitrate_kbps, int frame_bytes)
{
    (void)state;
    (void)bitrate_kbps;
    (void)frame_bytes;
    return FW_ERR_UNSUPPORTED; // libavcodec fixes the rate when it opens VA-API
}

const struct fw_encoder_backend fw_encoder_vaapi = {
    .name = "vaapi",
    .codec = "h264_vaapi",
    .hardware = true,
    .automatic = true,
    .rate_costs_key = true,
    .present = vaapi_present,
    .open = vaapi_open,
    .encode = fw_lavc_encode,
    .set_rate = vaapi_set_rate,
    .close = fw_lavc_close,
};
