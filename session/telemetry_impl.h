// SPDX-License-Identifier: MIT
// For telemetry*.c: where a sample comes from. Thread: the sampling thread.
#pragma once

#include <math.h>
#include <stddef.h>

#include "session/telemetry.h"

// ---- telemetry_proc.c

// What is needed to tell how much was used since.
struct fw_proc_base {
    int64_t at_ns;
    int64_t busy_ticks; // of all cores; -1 = unknown
};

struct fw_proc_sample {
    const char *proc; // "/proc"
    const pid_t *pids;
    unsigned pid_count;
    const struct fw_proc_base *base; // the one before
};
void fw_proc_base_read(const char *proc, struct fw_proc_base *out);
// All of `m` but the GPUs. `*base` becomes that of now.
void fw_proc_read(const struct fw_proc_sample *sample, struct fw_proc_base *base,
                  struct fw_machine *m);
// The first `size` - 1 bytes of a small file; -1 when it can't be read.
int fw_read_file(const char *path, char *out, size_t size);

// ---- telemetry_nvml.c

struct fw_nvml;
// NULL where the library, or a device that it knows, is missing.
struct fw_nvml *fw_nvml_open(const char *library, struct fw_log *log);
void fw_nvml_close(struct fw_nvml **nvml);
void fw_nvml_read(struct fw_nvml *nvml, struct fw_machine *m);

// ---- telemetry_sysfs.c

// What is needed to tell how long a GPU slept since.
struct fw_sysfs_base {
    int64_t at_ns;
    struct {
        char pci[24];
        int64_t sleep_ms; // -1 = unknown
    } gpu[FW_MACHINE_GPUS_MAX];
};
// Adds the GPUs of amdgpu and i915, and those of NVIDIA where `m` has none (nothing but their
// presence is known then).
void fw_sysfs_read(const char *sys, struct fw_sysfs_base *base, int64_t now_ns,
                   struct fw_machine *m);
