// SPDX-License-Identifier: MIT
#include "session/cli/list.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "encode/encoder.h"
#include "render/render.h"

enum { EXIT_USAGE = 2, GPUS_MAX = 32 };

int fw_list_gpus_main(int argc, char **argv)
{
    if (argc != 1) {
        fprintf(stderr, "framewire %s takes no options\n", argv[0]);
        return EXIT_USAGE;
    }
    struct fw_render_device list[GPUS_MAX];
    unsigned count = GPUS_MAX;
    const enum fw_err err = fw_render_list_devices(list, &count, fw_log_stderr(FW_LOG_WARN));
    if (err) {
        fprintf(stderr, "framewire gpus: no Vulkan here (%s)\n", fw_err_name(err));
        return EXIT_FAILURE;
    }
    for (unsigned i = 0; i < count; i++)
        printf("%u  %s  %s%s%s%s\n", i, list[i].uuid, list[i].name,
               list[i].is_cpu ? " (software, on the CPU)" : "",
               list[i].missing[0] ? "  lacks " : "", list[i].missing);
    if (!count)
        printf("no Vulkan device\n");
    return count ? EXIT_SUCCESS : EXIT_FAILURE;
}

static const char *best(const struct fw_encoder_probe *probes, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (probes[i].usable)
            return probes[i].name;
    return NULL;
}

// Can the encoder of that name be opened? `reason` says why not.
static bool can_open(const char *name, char *reason, size_t size)
{
    struct fw_encoder *encoder = NULL;
    const struct fw_encoder_params params = { .name = name, .width = 1280, .height = 720 };
    if (fw_encoder_open(&encoder, &params, reason, size) != FW_OK)
        return false;
    fw_encoder_close(&encoder);
    return true;
}

// The encoder that was asked for, and only that: looking at the others takes time, and may wake
// drivers that nobody wants.
static const char *try_named(const char *name, char *error, size_t size)
{
    struct fw_encoder_probe probe;
    if (fw_encoder_probe_named(name, &probe) != FW_OK) // one for tests: no H.264 to look at
        return can_open(name, error, size) ? name : NULL;
    snprintf(error, size, "%s", probe.usable ? "" : probe.reason);
    return probe.usable ? name : NULL;
}

static int print_json(const char *name)
{
    char summary[700] = "", error[256] = "";
    const char *chosen = NULL;
    if (strcmp(name, "auto") == 0) {
        struct fw_encoder_probe probes[FW_ENCODER_PROBE_MAX];
        unsigned count = FW_ENCODER_PROBE_MAX;
        fw_encoder_probe_all(probes, &count, NULL);
        chosen = best(probes, count);
        fw_encoder_probe_summary(probes, count, summary, sizeof(summary));
        if (!chosen)
            snprintf(error, sizeof(error), "%.250s", summary);
    } else {
        chosen = try_named(name, error, sizeof(error));
        snprintf(summary, sizeof(summary), "%s (as asked for)", name);
    }
    json_t *json =
        json_pack("{s:s*, s:s, s:s}", "chosen", chosen, "summary", summary, "error", error);
    const int rc = json ? json_dumpf(json, stdout, JSON_COMPACT) : -1;
    json_decref(json);
    return rc == 0 && chosen ? EXIT_SUCCESS : EXIT_FAILURE;
}

int fw_list_encoders_main(int argc, char **argv)
{
    const bool json = argc == 3 && strcmp(argv[1], "--json") == 0;
    if (argc != 1 && !json) {
        fprintf(stderr, "framewire %s takes no options\n", argv[0]);
        return EXIT_USAGE;
    }
    if (json)
        return print_json(argv[2]);
    struct fw_encoder_probe probes[FW_ENCODER_PROBE_MAX];
    unsigned count = FW_ENCODER_PROBE_MAX;
    fw_encoder_probe_all(probes, &count, NULL);
    for (unsigned i = 0; i < count; i++) {
        if (probes[i].usable)
            printf("%-8s %.1f ms per frame of 1280x720\n", probes[i].name, probes[i].ms_per_frame);
        else
            printf("%-8s no: %s\n", probes[i].name, probes[i].reason);
    }
    return best(probes, count) ? EXIT_SUCCESS : EXIT_FAILURE;
}
