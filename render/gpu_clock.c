// SPDX-License-Identifier: MIT
// The device's clock, placed on the CPU's: both are read at once, again each second, so that what
// they drift apart in a second (some µs) is all that is ever wrong.
#include <stdlib.h>

#include "base/clock.h"
#include "render/gpu_priv.h"

static const int64_t again_ns = FW_NS_PER_S;
enum { TRIES = 3, MAX_DOMAINS = 8 };

static bool has_domains(const struct fw_gpu *gpu)
{
    const PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT get =
        (PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT)vkGetInstanceProcAddr(
            gpu->instance, "vkGetPhysicalDeviceCalibrateableTimeDomainsEXT");
    VkTimeDomainEXT domains[MAX_DOMAINS];
    uint32_t count = MAX_DOMAINS;
    bool device = false, monotonic = false;
    if (!get || get(gpu->physical, &count, domains) < 0) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        device |= domains[i] == VK_TIME_DOMAIN_DEVICE_EXT;
        monotonic |= domains[i] == VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT;
    }
    return device && monotonic;
}

void fw_gpu_clock_init(struct fw_gpu *gpu)
{
    if (gpu->timestamps && gpu->priv->calibrated && has_domains(gpu)) {
        gpu->priv->get_clocks = (PFN_vkGetCalibratedTimestampsEXT)vkGetDeviceProcAddr(
            gpu->device, "vkGetCalibratedTimestampsEXT");
    }
}

// The reading with the least doubt of a few: an interrupt in between spoils one.
static bool calibrate(struct fw_gpu *gpu, int64_t now_ns)
{
    static const VkCalibratedTimestampInfoEXT infos[] = {
        { .sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT,
          .timeDomain = VK_TIME_DOMAIN_DEVICE_EXT },
        { .sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT,
          .timeDomain = VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT },
    };
    struct fw_gpu_private *p = gpu->priv;
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t both[2], doubt;
        if (p->get_clocks(gpu->device, 2, infos, both, &doubt) == VK_SUCCESS && doubt < best) {
            best = doubt;
            p->clock_ticks = both[0];
            p->clock_ns = (int64_t)both[1];
        }
    }
    p->clock_read_ns = best == UINT64_MAX ? 0 : now_ns;
    return best != UINT64_MAX;
}

int64_t fw_gpu_clock_ns(struct fw_gpu *gpu, uint64_t ticks, int64_t now_ns)
{
    struct fw_gpu_private *p = gpu->priv;
    if (!p->get_clocks ||
        ((!p->clock_read_ns || now_ns - p->clock_read_ns > again_ns) && !calibrate(gpu, now_ns))) {
        return 0;
    }
    // Counters may have fewer bits than 64 and wrap: what counts is how far apart they are.
    const unsigned spare = 64 - gpu->timestamp_bits;
    const int64_t apart = (int64_t)((ticks - p->clock_ticks) << spare) >> spare;
    return p->clock_ns + (int64_t)((double)apart * gpu->timestamp_ns);
}
