// SPDX-License-Identifier: MIT
// How the server's machine does while it is under load: what the server tells (GET
// /api/v1/machine), and what this machine's kernel tells where both are one. What nobody tells
// stays unknown. Thread: one.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "stream/client/remote.h"

enum { FW_BENCH_GPUS = 4 };

// Shares are 0-1. Below 0 = unknown.
struct fw_bench_gpu {
    char name[128], kind[16];
    double use, encoder_use;
    double memory_used, memory_total; // bytes
    double temperature_c, power_w;
    char throttle[96]; // reasons, "" = none, "?" = unknown
};

struct fw_bench_machine {
    bool told; // the server has such an address
    double cores, used_cores;
    double memory_total, memory_available; // bytes
    double front_resident, workers_resident;
    unsigned gpu_count;
    struct fw_bench_gpu gpu[FW_BENCH_GPUS];
};

void fw_bench_machine_read(const struct fw_remote *remote, struct fw_bench_machine *machine);
// The processor's name where it is this machine's; "" = unknown.
void fw_bench_machine_cpu_name(const struct fw_remote *remote, char *out, size_t size);

enum { FW_BENCH_ELSEWHERE = -1 };
// The server's process and the workers of some sessions where they run on this machine, of all
// sessions elsewhere.
struct fw_bench_processes {
    pid_t front; // 0 = unknown, or FW_BENCH_ELSEWHERE
    double front_cpu_s, workers_cpu_s;
};
// Is the server on this machine, as far as its address tells?
bool fw_bench_is_local(const struct fw_remote *remote);
// The pid of a session's worker, as the server tells; 0 = it has none now.
pid_t fw_bench_worker_pid(const struct fw_remote *remote, const char *session, int *restarts);
// Adds a session's worker, and the server once. That worker's pid; 0: it is not one of this
// machine's.
pid_t fw_bench_processes_add(const struct fw_remote *remote, const char *session,
                             struct fw_bench_processes *processes);

// What the server tells of itself (GET /metrics), a second or more old. False: it does not.
bool fw_bench_processes_ask(const struct fw_remote *remote, struct fw_bench_processes *processes);

// What was seen over a while.
struct fw_bench_watchman {
    unsigned samples;
    double cores, used_cores_sum, used_cores_most;
    double memory_total, memory_available_least;
    double gpu_use_most, encoder_use_most, gpu_memory_share_most, temperature_most;
    char throttle[96]; // of any GPU at any time
    struct fw_bench_machine newest;
};
void fw_bench_watchman_begin(struct fw_bench_watchman *w);
void fw_bench_watchman_look(struct fw_bench_watchman *w, const struct fw_remote *remote);
// Mean share of all cores, below 0 = unknown.
double fw_bench_watchman_cpu(const struct fw_bench_watchman *w);
