// SPDX-License-Identifier: MIT
#include "session/api_machine.h"

#include <math.h>

#include "base/clock.h"

static json_t *whole(int64_t value)
{
    return value < 0 ? json_null() : json_integer(value);
}

// To three decimals: more is noise.
static json_t *real(double value)
{
    return isnan(value) ? json_null() : json_real(round(value * 1000) / 1000);
}

static json_t *text(const char *value)
{
    json_t *json = *value ? json_string(value) : NULL; // NULL as well when it is not UTF-8
    return json ? json : json_null();
}

static json_t *throttle_json(const struct fw_machine_gpu *gpu)
{
    if (!gpu->throttle_known)
        return json_null();
    json_t *list = json_array();
    for (int i = 0; i < FW_THROTTLE_COUNT; i++)
        if (gpu->throttle & 1u << i)
            json_array_append_new(list, json_string(fw_throttle_names[i]));
    return list;
}

static json_t *gpu_json(const struct fw_machine_gpu *gpu)
{
    return json_pack("{s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
                     text(gpu->name), "uuid", text(gpu->uuid), "pci", text(gpu->pci), "kind",
                     gpu->kind, "use", real(gpu->use), "memory_used_bytes",
                     whole(gpu->memory_used_bytes), "memory_total_bytes",
                     whole(gpu->memory_total_bytes), "temperature_c", real(gpu->temperature_c),
                     "power_w", real(gpu->power_w), "encoder_use", real(gpu->encoder_use),
                     "decoder_use", real(gpu->decoder_use), "throttle", throttle_json(gpu));
}

json_t *fw_machine_json(const struct fw_machine *m, int64_t now_ns)
{
    json_t *gpus = json_array();
    for (unsigned i = 0; i < m->gpu_count; i++)
        json_array_append_new(gpus, gpu_json(&m->gpu[i]));
    json_t *age =
        m->sampled_ns ? json_integer((now_ns - m->sampled_ns) / FW_NS_PER_MS) : json_null();
    return json_pack("{s:o, s:{s:o, s:o}, s:{s:o, s:o}, s:{s:o, s:o, s:o, s:o, s:o},"
                     " s:{s:i, s:o}, s:o}",
                     "sample_age_ms", age, //
                     "cpu", "cores", m->cores ? json_integer(m->cores) : json_null(), "used_cores",
                     real(m->used_cores), //
                     "memory", "total_bytes", whole(m->memory_total_bytes), "available_bytes",
                     whole(m->memory_available_bytes), //
                     "process", "cpu_seconds", real(m->process.cpu_seconds), "resident_bytes",
                     whole(m->process.resident_bytes), "open_files", whole(m->process.open_files),
                     "max_files", whole(m->process.max_files), "start_time",
                     real(m->process.start_time), //
                     "workers", "count", (int)m->workers.count, "resident_bytes",
                     whole(m->workers.resident_bytes), //
                     "gpus", gpus);
}
