// SPDX-License-Identifier: MIT
// How the machine does: processor, memory, our processes and the GPUs, as far as the kernel and the
// drivers tell. Read by a thread of its own, since a driver may take milliseconds to answer, or
// hang: who asks gets the newest sample at once. What nobody tells is unknown, never made up.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/log.h"

enum {
    FW_MACHINE_GPUS_MAX = 16,
    FW_TELEMETRY_PIDS_MAX = 272,   // sessions and spare workers
    FW_TELEMETRY_CALM_MS = 5000,   // between two samples
    FW_TELEMETRY_ASKED_MS = 1000,  // … while somebody asks
    FW_TELEMETRY_STALE_MS = 15000, // older than that is no news of now
};

// Why a GPU runs slower than it could. Bits 1 << reason.
enum fw_throttle {
    FW_THROTTLE_POWER,       // at its power limit
    FW_THROTTLE_THERMAL,     // too hot
    FW_THROTTLE_HARDWARE,    // slowed down by the hardware, no other reason told
    FW_THROTTLE_POWER_BRAKE, // the power supply asks for less
    FW_THROTTLE_SETTING,     // clocks fixed by somebody, or by another GPU that is slower
    FW_THROTTLE_COUNT
};
extern const char *const fw_throttle_names[FW_THROTTLE_COUNT];

// Integers: -1 = unknown. Doubles: NAN = unknown. Shares are 0.0-1.0.
struct fw_machine_gpu {
    char name[128];
    char uuid[33];    // 32 hex digits as `framewire gpus` prints them; "" = unknown
    char pci[24];     // "0000:03:00.0", "" = unknown
    const char *kind; // "nvidia", "amd", "intel", "software" or "other"
    double use;
    double encoder_use, decoder_use; // of their engines; AMD's is one for both
    double temperature_c, power_w;
    int64_t memory_used_bytes, memory_total_bytes; // its own memory
    bool throttle_known;
    unsigned throttle;
};

struct fw_machine {
    int64_t sampled_ns; // monotonic; 0 = nothing is known yet, all below is unknown
    int cores;          // that are on
    double used_cores;  // since the sample before
    int64_t memory_total_bytes, memory_available_bytes;
    struct {
        double cpu_seconds; // since it was started
        int64_t resident_bytes, virtual_bytes;
        int open_files, max_files;
        double start_time; // s since 1970
    } process;             // the front
    struct {
        unsigned count;
        int64_t resident_bytes; // of all together; -1 with none readable
    } workers;
    unsigned gpu_count;
    struct fw_machine_gpu gpu[FW_MACHINE_GPUS_MAX];
};

struct fw_telemetry_params {
    const char *proc, *sys; // NULL = "/proc", "/sys"; copied
    const char *nvml;       // NULL = "libnvidia-ml.so.1", looked for as the loader does; copied
    struct fw_log *log;
};

struct fw_telemetry; // Thread: any, one at a time

// Starts the thread; the first sample is there some 250 ms later.
enum fw_err fw_telemetry_create(struct fw_telemetry **telemetry,
                                const struct fw_telemetry_params *params);
// Waits for the thread for a second at most. One that hangs in a driver is left behind, with its
// memory.
void fw_telemetry_destroy(struct fw_telemetry **telemetry);
// Copies the newest sample, and asks for a newer one if it is older than FW_TELEMETRY_ASKED_MS.
// Never waits. One older than FW_TELEMETRY_STALE_MS is not given: all is unknown then, but what
// does not change. `telemetry` NULL: all unknown.
void fw_telemetry_get(struct fw_telemetry *telemetry, int64_t now_ns, struct fw_machine *out);
// The processes that `workers` is about from the next sample on. Over FW_TELEMETRY_PIDS_MAX the
// rest is left out.
void fw_telemetry_set_workers(struct fw_telemetry *telemetry, const pid_t *pids, unsigned count);

// Everything unknown.
void fw_machine_clear(struct fw_machine *m);
// A GPU of which nothing is known yet; `kind` is static. NULL: there is no room.
struct fw_machine_gpu *fw_machine_add_gpu(struct fw_machine *m, const char *kind);
