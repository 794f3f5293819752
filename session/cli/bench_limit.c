// SPDX-License-Identifier: MIT
#include "session/cli/bench_limit.h"

#include <stdio.h>

const char *const fw_bench_limit_names[] = {
    [FW_LIMIT_ADMISSION] = "admission",
    [FW_LIMIT_OURS] = "none_found",
    [FW_LIMIT_CLIENT] = "load_generator",
    [FW_LIMIT_GPU] = "gpu",
    [FW_LIMIT_ENCODER] = "encoder",
    [FW_LIMIT_GPU_MEMORY] = "gpu_memory",
    [FW_LIMIT_CPU] = "cpu",
    [FW_LIMIT_MEMORY] = "memory",
    [FW_LIMIT_NETWORK] = "network",
    [FW_LIMIT_STAGE] = "stage",
};

// Where "near its end" begins.
static const double BUSY_THREAD = 0.8, LATE_MS = 10, BUSY_CPU = 0.85, BUSY_GPU = 0.9,
                    FULL_MEMORY = 0.95, LITTLE_MEMORY = 0.05;

static double mean_us(const struct fw_histogram *h)
{
    return h->count ? (double)h->sum_us / (double)h->count : 0;
}

// The stage that takes longer than before by most; that takes most where there is no before.
static enum fw_stage grown(const struct fw_bench_evidence *e, double *from_ms, double *to_ms)
{
    enum fw_stage worst = FW_STAGE_REST;
    double most = -1;
    for (int i = 0; i < FW_STAGE_COUNT; i++) {
        const double to = mean_us(&e->broken->all.stage[i]);
        const double from = e->before ? mean_us(&e->before->all.stage[i]) : 0;
        if (to - from <= most)
            continue;
        most = to - from;
        worst = (enum fw_stage)i;
        *from_ms = from / 1000;
        *to_ms = to / 1000;
    }
    return worst;
}

static enum fw_bench_limit by_stage(const struct fw_bench_evidence *e, char *words, size_t size)
{
    double from = 0, to = 0;
    const enum fw_stage stage = grown(e, &from, &to);
    const bool network = stage == FW_STAGE_NETWORK || stage == FW_STAGE_ACCEPT;
    int used = snprintf(words, size, "%s: stage '%s' (until %s) takes %.1f ms",
                        network ? "network" : "no resource that shows", fw_stages[stage].name,
                        fw_stages[stage].ends, to);
    if (e->before && used > 0 && (size_t)used < size)
        snprintf(words + used, size - (size_t)used, " on average instead of %.1f", from);
    return network ? FW_LIMIT_NETWORK : FW_LIMIT_STAGE;
}

static enum fw_bench_limit by_gpu(const struct fw_bench_watchman *m, char *words, size_t size)
{
    if (m->gpu_use_most >= BUSY_GPU) {
        snprintf(words, size, "GPU: %.0f %% busy", 100 * m->gpu_use_most);
        return FW_LIMIT_GPU;
    }
    if (m->encoder_use_most >= BUSY_GPU) {
        snprintf(words, size, "the GPU's encoder: %.0f %% busy", 100 * m->encoder_use_most);
        return FW_LIMIT_ENCODER;
    }
    if (m->gpu_memory_share_most >= FULL_MEMORY) {
        snprintf(words, size, "video memory: %.0f %% in use", 100 * m->gpu_memory_share_most);
        return FW_LIMIT_GPU_MEMORY;
    }
    return FW_LIMIT_STAGE;
}

enum fw_bench_limit fw_bench_find_limit(const struct fw_bench_evidence *e, char *words, size_t size)
{
    if (e->refusal) {
        snprintf(words, size, "admission: %s", e->refusal);
        return FW_LIMIT_ADMISSION;
    }
    if (!e->broken || e->our_limit) {
        snprintf(words, size, "none that was found: the search was not to go beyond %u sessions",
                 e->most);
        return FW_LIMIT_OURS;
    }
    const struct fw_bench_result *r = e->broken;
    const struct fw_bench_watchman *m = &r->machine;
    const double cpu = fw_bench_watchman_cpu(m);
    const double late = (double)fw_histogram_quantile(&r->all.late, 0.99) / 1000;
    const bool full = cpu >= BUSY_CPU;
    // Where both share a machine, being late says that the machine is busy, not with what.
    if (r->client_thread_cpu >= BUSY_THREAD || (late >= LATE_MS && !e->same_machine)) {
        snprintf(words, size,
                 "this load generator: its thread is busy %.0f %% of the time and sends inputs "
                 "%.1f ms late (P99); use a faster or a less busy machine for it",
                 100 * r->client_thread_cpu, late);
        return FW_LIMIT_CLIENT;
    }
    const enum fw_bench_limit gpu = by_gpu(m, words, size);
    if (gpu != FW_LIMIT_STAGE)
        return gpu;
    if (full) {
        const int used =
            snprintf(words, size, "CPU: %.0f %% of %.0f cores busy", 100 * cpu, m->cores);
        const double server = r->front_cpu + r->workers_cpu;
        if (used > 0 && (size_t)used < size && e->same_machine && r->front_cpu >= 0)
            snprintf(words + used, size - (size_t)used,
                     ", %.0f %% by the server and its sessions, %.0f %% by this load generator%s",
                     100 * server / m->cores, 100 * r->client_cpu / m->cores,
                     server + r->client_cpu < cpu * m->cores / 2 ? ", most by other programs" : "");
        return FW_LIMIT_CPU;
    }
    if (m->memory_total > 0 && m->memory_available_least >= 0 &&
        m->memory_available_least / m->memory_total <= LITTLE_MEMORY) {
        snprintf(words, size, "memory: %.0f MB left", m->memory_available_least / 1e6);
        return FW_LIMIT_MEMORY;
    }
    return by_stage(e, words, size);
}
