// SPDX-License-Identifier: MIT
// NVIDIA's management library, loaded where it is there. The declarations are ours, by its public
// reference (docs.nvidia.com/deploy/nvml-api).
#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/telemetry_impl.h"

enum {
    NVML_SUCCESS = 0,
    NVML_TEMPERATURE_GPU = 0,
    NVML_UUID_SIZE = 96,
    NVML_NAME_SIZE = 96,
};

// Clock event (throttle) reasons. Idle clocks (bit 0) are no throttling.
enum {
    REASON_APPLICATION_CLOCKS = 0x2,
    REASON_SW_POWER_CAP = 0x4,
    REASON_HW_SLOWDOWN = 0x8,
    REASON_SYNC_BOOST = 0x10,
    REASON_SW_THERMAL = 0x20,
    REASON_HW_THERMAL = 0x40,
    REASON_HW_POWER_BRAKE = 0x80,
    REASON_DISPLAY_CLOCKS = 0x100,
};

typedef struct nvml_device *nvml_device; // opaque

struct nvml_utilization {
    unsigned gpu, memory; // percent of the last sample period
};

struct nvml_memory {
    unsigned long long total, free, used; // bytes
};

struct nvml_pci_info {
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32];
};

// A call that this version lacks stays NULL: what it tells is unknown then.
struct fw_nvml {
    void *library;
    int (*init)(void);
    int (*shutdown)(void);
    int (*count)(unsigned *count);
    int (*handle)(unsigned index, nvml_device *device);
    int (*name)(nvml_device device, char *name, unsigned size);
    int (*uuid)(nvml_device device, char *uuid, unsigned size);
    int (*pci)(nvml_device device, struct nvml_pci_info *pci);
    int (*utilization)(nvml_device device, struct nvml_utilization *use);
    int (*memory)(nvml_device device, struct nvml_memory *memory);
    int (*temperature)(nvml_device device, int sensor, unsigned *celsius);
    int (*power)(nvml_device device, unsigned *milliwatts);
    int (*encoder)(nvml_device device, unsigned *percent, unsigned *period_us);
    int (*decoder)(nvml_device device, unsigned *percent, unsigned *period_us);
    int (*throttle)(nvml_device device, unsigned long long *reasons);
};

static bool load(struct fw_nvml *n)
{
    const struct {
        const char *name;
        void *slot; // of a function pointer, which has the size of any other here (POSIX)
        bool needed;
    } calls[] = {
        { "nvmlInit_v2", &n->init, true },
        { "nvmlShutdown", &n->shutdown, true },
        { "nvmlDeviceGetCount_v2", &n->count, true },
        { "nvmlDeviceGetHandleByIndex_v2", &n->handle, true },
        { "nvmlDeviceGetName", &n->name, false },
        { "nvmlDeviceGetUUID", &n->uuid, false },
        { "nvmlDeviceGetPciInfo_v3", &n->pci, false },
        { "nvmlDeviceGetUtilizationRates", &n->utilization, false },
        { "nvmlDeviceGetMemoryInfo", &n->memory, false },
        { "nvmlDeviceGetTemperature", &n->temperature, false },
        { "nvmlDeviceGetPowerUsage", &n->power, false },
        { "nvmlDeviceGetEncoderUtilization", &n->encoder, false },
        { "nvmlDeviceGetDecoderUtilization", &n->decoder, false },
        { "nvmlDeviceGetCurrentClocksThrottleReasons", &n->throttle, false },
    };
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        void *call = dlsym(n->library, calls[i].name);
        memcpy(calls[i].slot, &call, sizeof(call));
        if (!call && calls[i].needed)
            return false;
    }
    return true;
}

struct fw_nvml *fw_nvml_open(const char *library, struct fw_log *log)
{
    unsigned count = 0;
    struct fw_nvml *n = calloc(1, sizeof(*n));
    if (!n)
        return NULL;
    n->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!n->library) {
        fw_log(log, FW_LOG_DEBUG, "telemetry", "no NVIDIA management library (%s)", library);
        goto error;
    }
    if (!load(n)) {
        fw_log(log, FW_LOG_WARN, "telemetry", "%s is too old", library);
        goto error;
    }
    const int rc = n->init();
    if (rc != NVML_SUCCESS) { // the library is there, the driver is not
        fw_log(log, FW_LOG_INFO, "telemetry", "%s finds no driver (error %d)", library, rc);
        goto error;
    }
    if (n->count(&count) != NVML_SUCCESS || !count) {
        n->shutdown();
        goto error;
    }
    return n;
error:
    if (n->library)
        dlclose(n->library);
    free(n);
    return NULL;
}

void fw_nvml_close(struct fw_nvml **nvml)
{
    struct fw_nvml *n = *nvml;
    *nvml = NULL;
    if (!n)
        return;
    n->shutdown();
    dlclose(n->library);
    free(n);
}

// "GPU-12345678-…" → the digits alone.
static void take_uuid(const char *text, char out[33])
{
    size_t n = 0;
    if (strncmp(text, "GPU-", 4) == 0)
        text += 4;
    for (; *text && n < 32; text++)
        if (isxdigit((unsigned char)*text))
            out[n++] = (char)tolower((unsigned char)*text);
    out[n == 32 ? n : 0] = '\0';
}

static unsigned take_reasons(unsigned long long bits)
{
    static const struct {
        unsigned long long bits;
        enum fw_throttle reason;
    } rows[] = {
        { REASON_SW_POWER_CAP, FW_THROTTLE_POWER },
        { REASON_SW_THERMAL | REASON_HW_THERMAL, FW_THROTTLE_THERMAL },
        { REASON_HW_SLOWDOWN, FW_THROTTLE_HARDWARE },
        { REASON_HW_POWER_BRAKE, FW_THROTTLE_POWER_BRAKE },
        { REASON_APPLICATION_CLOCKS | REASON_SYNC_BOOST | REASON_DISPLAY_CLOCKS,
          FW_THROTTLE_SETTING },
    };
    unsigned found = 0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        found |= bits & rows[i].bits ? 1u << rows[i].reason : 0;
    return found;
}

static void read_names(struct fw_nvml *n, nvml_device device, struct fw_machine_gpu *gpu)
{
    char name[NVML_NAME_SIZE] = "", uuid[NVML_UUID_SIZE] = "";
    struct nvml_pci_info pci = { 0 };
    if (!n->name || n->name(device, name, sizeof(name)) != NVML_SUCCESS)
        snprintf(name, sizeof(name), "NVIDIA GPU");
    snprintf(gpu->name, sizeof(gpu->name), "%.95s", name);
    if (n->uuid && n->uuid(device, uuid, sizeof(uuid)) == NVML_SUCCESS)
        take_uuid(uuid, gpu->uuid);
    if (n->pci && n->pci(device, &pci) == NVML_SUCCESS)
        snprintf(gpu->pci, sizeof(gpu->pci), "%04x:%02x:%02x.0", pci.domain & 0xffffff,
                 pci.bus & 0xff, pci.device & 0xff);
}

static void read_device(struct fw_nvml *n, nvml_device device, struct fw_machine_gpu *gpu)
{
    struct nvml_utilization use;
    struct nvml_memory memory;
    unsigned value, period;
    unsigned long long reasons;
    read_names(n, device, gpu);
    if (n->utilization && n->utilization(device, &use) == NVML_SUCCESS)
        gpu->use = use.gpu / 100.0;
    if (n->memory && n->memory(device, &memory) == NVML_SUCCESS) {
        gpu->memory_used_bytes = (int64_t)memory.used;
        gpu->memory_total_bytes = (int64_t)memory.total;
    }
    if (n->temperature && n->temperature(device, NVML_TEMPERATURE_GPU, &value) == NVML_SUCCESS)
        gpu->temperature_c = value;
    if (n->power && n->power(device, &value) == NVML_SUCCESS)
        gpu->power_w = value / 1000.0;
    if (n->encoder && n->encoder(device, &value, &period) == NVML_SUCCESS)
        gpu->encoder_use = value / 100.0;
    if (n->decoder && n->decoder(device, &value, &period) == NVML_SUCCESS)
        gpu->decoder_use = value / 100.0;
    if (n->throttle && n->throttle(device, &reasons) == NVML_SUCCESS) {
        gpu->throttle_known = true;
        gpu->throttle = take_reasons(reasons);
    }
}

void fw_nvml_read(struct fw_nvml *n, struct fw_machine *m)
{
    unsigned count = 0;
    n->count(&count); // 0 when it fails: the driver has gone
    for (unsigned i = 0; i < count; i++) {
        nvml_device device;
        if (n->handle(i, &device) != NVML_SUCCESS)
            continue; // one that has fallen off the bus
        struct fw_machine_gpu *gpu = fw_machine_add_gpu(m, "nvidia");
        if (!gpu)
            return;
        read_device(n, device, gpu);
    }
}
