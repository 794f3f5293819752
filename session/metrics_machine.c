// SPDX-License-Identifier: MIT
// The names of what the machine, its GPUs and the process do.
#include <math.h>
#include <stdio.h>

#include "session/metrics.h"

typedef struct fw_exposition expo;

// By name and by place, as there may be two of a kind: twice the same labels, and Prometheus takes
// nothing at all.
static const char *gpu_labels(struct fw_labels *l, const struct fw_machine *m, unsigned index)
{
    char number[16] = "";
    const struct fw_machine_gpu *gpu = &m->gpu[index];
    if (index)
        snprintf(number, sizeof(number), "#%u", index);
    fw_label(l, "gpu", gpu->name);
    fw_labels_add(l, "pci", gpu->pci[0] ? gpu->pci : number);
    return l->text;
}

enum column { USE, ENCODER, DECODER, TEMPERATURE, POWER, USED, TOTAL, LEVEL, COLUMNS };

static double value_of(const struct fw_machine_gpu *gpu, enum column column)
{
    const double used = gpu->memory_used_bytes < 0 ? NAN : (double)gpu->memory_used_bytes;
    const double total = gpu->memory_total_bytes <= 0 ? NAN : (double)gpu->memory_total_bytes;
    switch (column) {
    case USE: return gpu->use;
    case ENCODER: return gpu->encoder_use;
    case DECODER: return gpu->decoder_use;
    case TEMPERATURE: return gpu->temperature_c;
    case POWER: return gpu->power_w;
    case USED: return used;
    case TOTAL: return total;
    default: return used / total;
    }
}

static void write_gpus(const struct fw_machine *m, expo *e)
{
    static const struct {
        const char *name, *help;
    } columns[COLUMNS] = {
        [USE] = { "framewire_gpu_use_ratio", "How busy a GPU is, 0 to 1." },
        [ENCODER] = { "framewire_gpu_encoder_use_ratio", "How busy its video encoders are." },
        [DECODER] = { "framewire_gpu_decoder_use_ratio", "How busy its video decoders are." },
        [TEMPERATURE] = { "framewire_gpu_temperature_celsius", "How warm it is." },
        [POWER] = { "framewire_gpu_power_watts", "What it draws." },
        [USED] = { "framewire_gpu_memory_used_bytes", "Its memory in use, by everybody." },
        [TOTAL] = { "framewire_gpu_memory_total_bytes", "Its memory." },
        [LEVEL] = { "framewire_gpu_memory_level_ratio", "How full its memory is, 0 to 1." },
    };
    struct fw_labels l;
    for (int c = 0; c < COLUMNS; c++) {
        fw_expo_family(e, columns[c].name, "gauge", columns[c].help);
        for (unsigned i = 0; i < m->gpu_count; i++)
            fw_expo_real(e, gpu_labels(&l, m, i), value_of(&m->gpu[i], (enum column)c));
    }
    fw_expo_family(e, "framewire_gpu_throttled", "gauge",
                   "1: a GPU runs slower than it could, for this reason.");
    for (unsigned i = 0; i < m->gpu_count; i++)
        for (int r = 0; m->gpu[i].throttle_known && r < FW_THROTTLE_COUNT; r++) {
            gpu_labels(&l, m, i);
            fw_labels_add(&l, "reason", fw_throttle_names[r]);
            fw_expo_count(e, l.text, m->gpu[i].throttle >> r & 1);
        }
}

static void write_video_memory(const struct fw_metrics_now *now, expo *e)
{
    struct fw_labels l;
    fw_expo_family(e, "framewire_video_memory_bytes", "gauge",
                   "Device memory that workers have allocated, by what for.");
    for (int i = 0; i < FW_GPU_USE_COUNT; i++)
        fw_expo_whole(e, fw_label(&l, "use", fw_gpu_use_names[i]), now->gpu_bytes[i]);
    fw_expo_family(e, "framewire_video_memory_budget_bytes", "gauge",
                   "What the driver lets a worker have, the smallest (VK_EXT_memory_budget).");
    fw_expo_whole(e, "", now->gpu_budget_bytes);
    fw_expo_family(e, "framewire_video_memory_budget_used_bytes", "gauge",
                   "What that worker has of it, by the driver's count.");
    fw_expo_whole(e, "", now->gpu_budget_used_bytes);
}

static void write_process(const struct fw_machine *m, expo *e)
{
    fw_expo_family(e, "process_cpu_seconds_total", "counter", "Processor time of the front.");
    fw_expo_real(e, "", m->process.cpu_seconds);
    fw_expo_family(e, "process_resident_memory_bytes", "gauge", "Memory of the front.");
    fw_expo_whole(e, "", m->process.resident_bytes);
    fw_expo_family(e, "process_virtual_memory_bytes", "gauge", "Addresses of the front.");
    fw_expo_whole(e, "", m->process.virtual_bytes);
    fw_expo_family(e, "process_open_fds", "gauge", "Open files of the front.");
    fw_expo_whole(e, "", m->process.open_files);
    fw_expo_family(e, "process_max_fds", "gauge", "Files it may open.");
    fw_expo_whole(e, "", m->process.max_files);
    fw_expo_family(e, "process_start_time_seconds", "gauge", "When it was started, since 1970.");
    fw_expo_real(e, "", m->process.start_time);
}

void fw_metrics_write_machine(const struct fw_metrics_now *now, expo *e)
{
    const struct fw_machine *m = now->machine;
    fw_expo_family(e, "framewire_machine_cpu_cores", "gauge", "Cores that are on.");
    fw_expo_whole(e, "", m->cores ? m->cores : -1);
    fw_expo_family(e, "framewire_machine_cpu_used_cores", "gauge", "Cores' worth that is in use.");
    fw_expo_real(e, "", m->used_cores);
    fw_expo_family(e, "framewire_machine_memory_total_bytes", "gauge", "The machine's memory.");
    fw_expo_whole(e, "", m->memory_total_bytes);
    fw_expo_family(e, "framewire_machine_memory_available_bytes", "gauge",
                   "Memory that can be had without swapping.");
    fw_expo_whole(e, "", m->memory_available_bytes);
    fw_expo_family(e, "framewire_machine_sample_age_seconds", "gauge",
                   "Age of the figures of the machine; over 15 a driver hangs, and they are gone.");
    fw_expo_real(e, "", now->sample_age_seconds);
    write_gpus(m, e);
    write_video_memory(now, e);
    write_process(m, e);
}
