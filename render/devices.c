// SPDX-License-Identifier: MIT
#include <stdio.h>

#include "render/gpu.h"
#include "render/render.h"

enum { DEVICES_MAX = 32 };

enum fw_err fw_render_list_devices(struct fw_render_device *out, unsigned *count,
                                   struct fw_log *log)
{
    struct fw_gpu_info list[DEVICES_MAX];
    unsigned found = DEVICES_MAX;
    const enum fw_err err = fw_gpu_list(list, &found, log);
    const unsigned room = *count;
    *count = 0;
    for (unsigned i = 0; !err && i < found && i < room && i < DEVICES_MAX; i++) {
        struct fw_render_device *d = &out[(*count)++];
        snprintf(d->name, sizeof(d->name), "%.255s", list[i].name);
        snprintf(d->uuid, sizeof(d->uuid), "%s", list[i].uuid);
        snprintf(d->missing, sizeof(d->missing), "%s", list[i].missing);
        d->is_cpu = list[i].is_cpu;
    }
    return err;
}
