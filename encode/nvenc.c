// SPDX-License-Identifier: MIT
// H.264 on NVIDIA GPUs. Takes host planes; the driver's upload is the one copy.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "encode/lavc.h"

static bool library_is_there(const char *name)
{
    void *handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (handle) {
        dlclose(handle);
    }
    return handle != NULL;
}

static bool nvenc_present(const char *device, char *reason, size_t reason_size)
{
    static const char *const libraries[] = { "libcuda.so.1", "libnvidia-encode.so.1" };
    if (!fw_lavc_has("h264_nvenc", reason, reason_size)) {
        return false;
    }
    if (device && strspn(device, "0123456789") != strlen(device)) {
        snprintf(reason, reason_size, "%.80s is not a CUDA device number", device);
        return false;
    }
    for (unsigned i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
        if (!library_is_there(libraries[i])) {
            snprintf(reason, reason_size, "%s is not installed", libraries[i]);
            return false;
        }
    }
    // WSL has the library but no such node; there the open itself decides.
    if (access("/dev/nvidiactl", F_OK) != 0 && access("/dev/dxg", F_OK) != 0) {
        snprintf(reason, reason_size, "no NVIDIA device (/dev/nvidiactl)");
        return false;
    }
    return true;
}

static enum fw_err nvenc_open(void **state, const struct fw_encoder_config *config, char *message,
                              size_t message_size)
{
    const struct fw_lavc_option options[] = {
        { "preset", "p1" },
        { "tune", "ull" },
        { "profile", "main" },
        { "zerolatency", "1" },
        { "delay", "0" },
        { "rc", "cbr" },
        { "rc-lookahead", "0" },
        { "multipass", "qres" }, // keeps to the one-frame VBV
        { "forced-idr", "1" },
        { "no-scenecut", "1" },
        { "dpb_size", "1" },
        { "b_ref_mode", "disabled" },
        { "gpu", config->device ? config->device : "any" },
        { NULL, NULL },
    };
    const struct fw_lavc_params params = { .codec = "h264_nvenc",
                                           .options = options,
                                           .format = AV_PIX_FMT_NV12 };
    return fw_lavc_open(state, config, &params, message, message_size);
}

const struct fw_encoder_backend fw_encoder_nvenc = {
    .name = "nvenc",
    .codec = "h264_nvenc",
    .hardware = true,
    .automatic = true,
    // libavcodec resets the encoder and forces an IDR when the rate changes.
    .rate_costs_key = true,
    .present = nvenc_present,
    .open = nvenc_open,
    .encode = fw_lavc_encode,
    .set_rate = fw_lavc_set_rate,
    .close = fw_lavc_close,
};
