// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "session/manager_impl.h"

// ---- the machine

// The worker nearest to what its driver lets it have; NULL: none is told.
static const struct fw_link_memory *tightest(const struct fw_manager *m)
{
    const struct fw_link_memory *found = NULL;
    double most = -1;
    for (const struct child *c = m->children; c; c = c->next) {
        const double level = c->memory.budget_bytes ? (double)c->memory.budget_used_bytes /
                                                          (double)c->memory.budget_bytes
                                                    : -1;
        if (!c->reaped && level > most) {
            most = level;
            found = &c->memory;
        }
    }
    return found;
}

// What Vulkan's driver tells its process, where nobody tells of the whole device: all there is,
// less what this process could still have.
static void add_budget(const struct fw_manager *m, struct fw_machine *machine)
{
    const struct fw_link_memory *memory = tightest(m);
    struct fw_machine_gpu *gpu = &machine->gpu[0];
    if (!memory || machine->gpu_count > 1) // which one would it be?
        return;
    if (!machine->gpu_count) {
        gpu = fw_machine_add_gpu(machine, "other");
        snprintf(gpu->name, sizeof(gpu->name), "%.127s", m->gpu);
    }
    if (gpu->memory_total_bytes >= 0)
        return;
    const uint64_t left = memory->budget_bytes > memory->budget_used_bytes
                              ? memory->budget_bytes - memory->budget_used_bytes
                              : 0;
    gpu->memory_total_bytes = (int64_t)memory->heap_bytes;
    gpu->memory_used_bytes = (int64_t)(left < memory->heap_bytes ? memory->heap_bytes - left : 0);
}

void fw_manager_machine(void *manager, int64_t now_ns, struct fw_machine *machine)
{
    const struct fw_manager *m = manager;
    fw_telemetry_get(m->p.telemetry, now_ns, machine);
    // One that is made of the processor's time has no driver to ask.
    struct fw_machine_gpu *gpu =
        m->gpu_known && m->gpu_is_cpu ? fw_machine_add_gpu(machine, "software") : NULL;
    if (gpu)
        snprintf(gpu->name, sizeof(gpu->name), "%.127s", m->gpu);
    add_budget(m, machine);
}

// ---- now

static void look_at_sessions(const struct fw_manager *m, int64_t now_ns, struct fw_metrics_now *now)
{
    for (const struct session *s = m->sessions; s; s = s->next) {
        struct fw_channel_stats stats;
        switch (s->state) {
        case SESSION_STARTING: now->starting++; break;
        case SESSION_RUNNING: now->running++; break;
        case SESSION_RESTARTING: now->restarting++; break;
        case SESSION_FAILED: now->failed++; break;
        }
        now->waiting += !s->child && s->state != SESSION_FAILED;
        fw_channel_get_stats(s->channel, &stats);
        now->viewers += stats.viewers;
        now->visible += stats.visible;
        if (!stats.visible)
            continue;
        const int64_t age = fw_records_age(fw_channel_records(s->channel), now_ns);
        now->age_ns = age > now->age_ns ? age : now->age_ns;
    }
}

static void look_at_workers(const struct fw_manager *m, int64_t now_ns, struct fw_metrics_now *now)
{
    const double cores = (double)sysconf(_SC_NPROCESSORS_ONLN);
    for (const struct child *c = m->children; c; c = c->next) {
        if (c->reaped)
            continue;
        switch (c->state) {
        case CHILD_BOOTING: now->booting++; break;
        case CHILD_WARM: now->warm++; break;
        case CHILD_STARTED:
        case CHILD_READY: now->busy++; break;
        case CHILD_STOPPING: now->stopping++; break;
        }
        // Its own word, as far as that can be.
        const double most = (double)(now_ns - c->spawned_ns) / 1e9 * cores;
        now->live_cpu_seconds += fmin((double)c->beacon.cpu_ns / 1e9, most);
        for (int i = 0; i < FW_GPU_USE_COUNT; i++)
            now->gpu_bytes[i] += (int64_t)c->memory.bytes[i];
    }
}

void fw_manager_metrics(void *manager, int64_t now_ns, struct fw_exposition *out)
{
    struct fw_manager *m = manager;
    struct fw_machine machine;
    struct fw_node_view node;
    fw_manager_api_ops()->node(m, &node);
    fw_manager_machine(m, now_ns, &machine);
    struct fw_metrics_now now = {
        .gpu = node.gpu,
        .encoder = node.encoder,
        .ready = node.ready,
        .max_sessions = node.max_sessions,
        .age_ns = 0,
        .connections = fw_server_connections(m->server),
        .gpu_budget_bytes = -1,
        .gpu_budget_used_bytes = -1,
        .stream = fw_server_totals(m->server),
        .machine = &machine,
        .sample_age_seconds =
            machine.sampled_ns ? (double)(now_ns - machine.sampled_ns) / 1e9 : NAN,
    };
    look_at_sessions(m, now_ns, &now);
    look_at_workers(m, now_ns, &now);
    const struct fw_link_memory *memory = tightest(m);
    if (memory) {
        now.gpu_budget_bytes = (int64_t)memory->budget_bytes;
        now.gpu_budget_used_bytes = (int64_t)memory->budget_used_bytes;
    }
    // A worker's word and the kernel's differ by a little, and a counter does not go down.
    const double cpu = m->metrics.ended_cpu_seconds + now.live_cpu_seconds;
    m->metrics.cpu_seconds = fmax(m->metrics.cpu_seconds, cpu);
    fw_metrics_write(&m->metrics, &now, out);
    m->metrics.scrape_ns = fw_now_ns() - now_ns;
}
