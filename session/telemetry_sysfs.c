// SPDX-License-Identifier: MIT
// What the kernel drivers of AMD and Intel GPUs tell in sysfs (docs.kernel.org/gpu: amdgpu and
// i915), and which NVIDIA GPUs there are.
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "session/telemetry_impl.h"

enum { PATH_SIZE = 512 };

static bool read_text(const char *dir, const char *name, char *out, size_t size)
{
    char path[PATH_SIZE + 64];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    if (fw_read_file(path, out, size) < 0)
        return false;
    out[strcspn(out, "\n")] = '\0';
    return true;
}

// A whole number; false when there is none.
static bool read_number(const char *dir, const char *name, int64_t *out)
{
    char text[64], *end;
    if (!read_text(dir, name, text, sizeof(text)))
        return false;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return end != text && !*end && !errno;
}

static double percent(const char *dir, const char *name)
{
    int64_t value;
    return read_number(dir, name, &value) && value >= 0 && value <= 100 ? (double)value / 100 : NAN;
}

// The value of a line KEY=value of the device's uevent; "" when there is none.
static void uevent(const char *device, const char *key, char *out, size_t size)
{
    char path[PATH_SIZE + 16], text[1024];
    const size_t length = strlen(key);
    out[0] = '\0';
    snprintf(path, sizeof(path), "%s/uevent", device);
    if (fw_read_file(path, text, sizeof(text)) < 0)
        return;
    for (char *save = NULL, *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save))
        if (strncmp(line, key, length) == 0 && line[length] == '=')
            snprintf(out, size, "%s", line + length + 1);
}

// hwmon counts in thousandths of a degree and millionths of a watt.
static void read_hwmon(const char *device, struct fw_machine_gpu *gpu)
{
    char path[PATH_SIZE];
    int64_t value;
    if (snprintf(path, sizeof(path), "%s/hwmon", device) >= (int)sizeof(path))
        return;
    DIR *dir = opendir(path);
    if (!dir)
        return;
    for (const struct dirent *e; (e = readdir(dir));) {
        char one[PATH_SIZE + 280];
        if (strncmp(e->d_name, "hwmon", 5) != 0)
            continue;
        snprintf(one, sizeof(one), "hwmon/%s/temp1_input", e->d_name);
        if (read_number(device, one, &value))
            gpu->temperature_c = (double)value / 1000;
        static const char *const power[] = { "power1_input", "power1_average" };
        for (size_t i = 0; i < sizeof(power) / sizeof(power[0]); i++) {
            snprintf(one, sizeof(one), "hwmon/%s/%s", e->d_name, power[i]);
            if (read_number(device, one, &value))
                gpu->power_w = (double)value / 1e6;
        }
    }
    closedir(dir);
}

static void read_amd(const char *device, struct fw_machine_gpu *gpu)
{
    int64_t value;
    gpu->use = percent(device, "gpu_busy_percent");
    gpu->encoder_use = gpu->decoder_use = percent(device, "vcn_busy_percent");
    if (read_number(device, "mem_info_vram_used", &value))
        gpu->memory_used_bytes = value;
    if (read_number(device, "mem_info_vram_total", &value))
        gpu->memory_total_bytes = value;
}

static const struct {
    const char *file;
    enum fw_throttle reason;
} intel_reasons[] = {
    { "throttle_reason_pl1", FW_THROTTLE_POWER },
    { "throttle_reason_pl2", FW_THROTTLE_POWER },
    { "throttle_reason_pl4", FW_THROTTLE_POWER },
    { "throttle_reason_ratl", FW_THROTTLE_POWER },
    { "throttle_reason_vr_tdc", FW_THROTTLE_POWER },
    { "throttle_reason_thermal", FW_THROTTLE_THERMAL },
    { "throttle_reason_prochot", FW_THROTTLE_THERMAL },
    { "throttle_reason_vr_thermalert", FW_THROTTLE_THERMAL },
};

static void read_intel_throttle(const char *card, struct fw_machine_gpu *gpu)
{
    char name[64];
    int64_t value;
    if (!read_number(card, "gt/gt0/throttle_reason_status", &value))
        return;
    gpu->throttle_known = true;
    for (size_t i = 0; i < sizeof(intel_reasons) / sizeof(intel_reasons[0]); i++) {
        snprintf(name, sizeof(name), "gt/gt0/%s", intel_reasons[i].file);
        if (value && read_number(card, name, &value) && value)
            gpu->throttle |= 1u << intel_reasons[i].reason;
        value = 1;
    }
}

// i915 tells how long the GPU slept (RC6): the rest of the time it was awake, for somebody.
static void read_intel(const char *card, int index, const struct fw_sysfs_base *before,
                       struct fw_sysfs_base *now, struct fw_machine_gpu *gpu)
{
    int64_t sleep = -1;
    if (!read_number(card, "gt/gt0/rc6_residency_ms", &sleep) &&
        !read_number(card, "power/rc6_residency_ms", &sleep))
        sleep = -1;
    now->gpu[index].sleep_ms = sleep;
    read_intel_throttle(card, gpu);
    const double ms = (double)(now->at_ns - before->at_ns) / 1e6;
    if (!before->at_ns || ms <= 0 || sleep < 0)
        return;
    for (int i = 0; i < FW_MACHINE_GPUS_MAX; i++) {
        if (before->gpu[i].sleep_ms < 0 || strcmp(before->gpu[i].pci, gpu->pci) != 0)
            continue;
        const double use = 1 - (double)(sleep - before->gpu[i].sleep_ms) / ms;
        gpu->use = use < 0 ? 0 : use > 1 ? 1 : use;
        return;
    }
}

static void read_card(const char *card, const struct fw_sysfs_base *before,
                      struct fw_sysfs_base *now, bool nvidia_too, struct fw_machine *m)
{
    static const struct {
        const char *driver, *kind, *name;
    } drivers[] = {
        { "amdgpu", "amd", "AMD GPU" },
        { "i915", "intel", "Intel GPU" },
        { "nvidia", "nvidia", "NVIDIA GPU" },
    };
    enum { AMD, INTEL, NVIDIA, DRIVERS };
    char device[PATH_SIZE + 16], driver[32], product[96];
    snprintf(device, sizeof(device), "%s/device", card);
    uevent(device, "DRIVER", driver, sizeof(driver));
    int kind = 0;
    while (kind < DRIVERS && strcmp(driver, drivers[kind].driver) != 0)
        kind++;
    if (kind == DRIVERS || (kind == NVIDIA && !nvidia_too))
        return;
    struct fw_machine_gpu *gpu = fw_machine_add_gpu(m, drivers[kind].kind);
    if (!gpu)
        return;
    const int index = (int)(gpu - m->gpu);
    uevent(device, "PCI_SLOT_NAME", gpu->pci, sizeof(gpu->pci));
    snprintf(now->gpu[index].pci, sizeof(now->gpu[index].pci), "%s", gpu->pci);
    if (read_text(device, "product_name", product, sizeof(product)) && product[0])
        snprintf(gpu->name, sizeof(gpu->name), "%s", product);
    else
        snprintf(gpu->name, sizeof(gpu->name), "%s", drivers[kind].name);
    if (kind == AMD)
        read_amd(device, gpu);
    else if (kind == INTEL)
        read_intel(card, index, before, now, gpu);
    if (kind != NVIDIA)
        read_hwmon(device, gpu);
}

static int is_card(const struct dirent *e)
{
    const char *digits = e->d_name + 4;
    return strncmp(e->d_name, "card", 4) == 0 && *digits && !digits[strspn(digits, "0123456789")];
}

void fw_sysfs_read(const char *sys, struct fw_sysfs_base *base, int64_t now_ns,
                   struct fw_machine *m)
{
    const struct fw_sysfs_base before = *base;
    const bool nvidia_too = m->gpu_count == 0;
    char path[PATH_SIZE];
    struct dirent **cards;
    *base = (struct fw_sysfs_base){ .at_ns = now_ns };
    for (int i = 0; i < FW_MACHINE_GPUS_MAX; i++)
        base->gpu[i].sleep_ms = -1;
    snprintf(path, sizeof(path), "%.300s/class/drm", sys);
    const int count = scandir(path, &cards, is_card, versionsort);
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof(path), "%.300s/class/drm/%.64s", sys, cards[i]->d_name);
        read_card(path, &before, base, nvidia_too, m);
        free(cards[i]);
    }
    if (count >= 0)
        free(cards);
}
