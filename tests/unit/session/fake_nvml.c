// SPDX-License-Identifier: MIT
// A management library of NVIDIA's that is none: two devices whose figures are fixed. It is loaded
// as the real one is. FAKE_NVML: "none" = no driver, "hang" = the first reading never returns.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, INVALID = 2, NOT_SUPPORTED = 3, DRIVER_NOT_LOADED = 9 };

static const int ids[] = { 0, 1 };

static int index_of(const void *device)
{
    return *(const int *)device;
}

static int is(const char *what)
{
    const char *mode = getenv("FAKE_NVML");
    return mode && strcmp(mode, what) == 0;
}

int nvmlInit_v2(void);
int nvmlInit_v2(void)
{
    return is("none") ? DRIVER_NOT_LOADED : OK;
}

int nvmlShutdown(void);
int nvmlShutdown(void)
{
    return OK;
}

int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = sizeof(ids) / sizeof(ids[0]);
    return OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, const void **device);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, const void **device)
{
    if (index >= sizeof(ids) / sizeof(ids[0]))
        return INVALID;
    *device = &ids[index];
    return OK;
}

int nvmlDeviceGetName(const void *device, char *name, unsigned size);
int nvmlDeviceGetName(const void *device, char *name, unsigned size)
{
    snprintf(name, size, "Made-up %d", index_of(device));
    return OK;
}

int nvmlDeviceGetUUID(const void *device, char *uuid, unsigned size);
int nvmlDeviceGetUUID(const void *device, char *uuid, unsigned size)
{
    snprintf(uuid, size, "GPU-0123ABCD-4567-89ab-cdef-00000000000%d", index_of(device));
    return OK;
}

struct pci_info {
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32];
};
int nvmlDeviceGetPciInfo_v3(const void *device, struct pci_info *pci);
int nvmlDeviceGetPciInfo_v3(const void *device, struct pci_info *pci)
{
    *pci = (struct pci_info){ .bus = 0x3b + (unsigned)index_of(device) };
    return OK;
}

int nvmlDeviceGetUtilizationRates(const void *device, unsigned use[2]);
int nvmlDeviceGetUtilizationRates(const void *device, unsigned use[2])
{
    if (is("hang"))
        pause();
    use[0] = 25;
    use[1] = 99; // of the memory's bandwidth: nobody asked
    return index_of(device) ? NOT_SUPPORTED : OK;
}

int nvmlDeviceGetMemoryInfo(const void *device, unsigned long long memory[3]);
int nvmlDeviceGetMemoryInfo(const void *device, unsigned long long memory[3])
{
    (void)device;
    memory[0] = 16ULL << 30;
    memory[1] = 12ULL << 30;
    memory[2] = 4ULL << 30;
    return OK;
}

int nvmlDeviceGetTemperature(const void *device, int sensor, unsigned *celsius);
int nvmlDeviceGetTemperature(const void *device, int sensor, unsigned *celsius)
{
    (void)device;
    *celsius = 71;
    return sensor ? INVALID : OK;
}

int nvmlDeviceGetPowerUsage(const void *device, unsigned *milliwatts);
int nvmlDeviceGetPowerUsage(const void *device, unsigned *milliwatts)
{
    *milliwatts = 123456;
    return index_of(device) ? NOT_SUPPORTED : OK;
}

int nvmlDeviceGetEncoderUtilization(const void *device, unsigned *percent, unsigned *period_us);
int nvmlDeviceGetEncoderUtilization(const void *device, unsigned *percent, unsigned *period_us)
{
    *percent = 40;
    *period_us = 167000;
    return index_of(device) ? NOT_SUPPORTED : OK; // a data-centre GPU without an encoder
}

// nvmlDeviceGetDecoderUtilization is left out: what a version lacks is unknown.

int nvmlDeviceGetCurrentClocksThrottleReasons(const void *device, unsigned long long *reasons);
int nvmlDeviceGetCurrentClocksThrottleReasons(const void *device, unsigned long long *reasons)
{
    *reasons = index_of(device) ? 1 : 0x4 | 0x40; // idle; power cap and heat
    return OK;
}
