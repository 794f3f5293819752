// SPDX-License-Identifier: MIT
#include "render/gpu_priv.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_DEVICES = 32 };

static void append(char *out, size_t size, const char *word)
{
    const size_t n = strlen(out);
    snprintf(out + n, size - n, "%s%s", n ? ", " : "", word);
}

static bool has_queue(VkPhysicalDevice physical)
{
    VkQueueFamilyProperties family[16];
    uint32_t count = 16;
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, family);
    for (uint32_t i = 0; i < count; i++) {
        const VkQueueFlags want = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
        if ((family[i].queueFlags & want) == want) {
            return true;
        }
    }
    return false;
}

static void find_missing(VkPhysicalDevice physical, uint32_t version, char *out, size_t size)
{
    out[0] = '\0';
    if (version < VK_API_VERSION_1_3) {
        append(out, size, "Vulkan 1.3");
        return; // the structs below would not be known to it
    }
    VkPhysicalDeviceVulkan13Features f13 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
    };
    VkPhysicalDeviceVulkan12Features f12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
        .pNext = &f13,
    };
    VkPhysicalDeviceFeatures2 features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
        .pNext = &f12,
    };
    vkGetPhysicalDeviceFeatures2(physical, &features);
    if (!f13.dynamicRendering) {
        append(out, size, "dynamicRendering");
    }
    if (!f13.synchronization2) {
        append(out, size, "synchronization2");
    }
    if (!f12.timelineSemaphore) {
        append(out, size, "timelineSemaphore");
    }
    if (!has_queue(physical)) {
        append(out, size, "a graphics and compute queue");
    }
}

void fw_gpu_describe(VkPhysicalDevice physical, struct fw_gpu_info *out)
{
    VkPhysicalDeviceIDProperties id = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES,
    };
    VkPhysicalDeviceProperties2 props = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
        .pNext = &id,
    };
    vkGetPhysicalDeviceProperties2(physical, &props);
    *out = (struct fw_gpu_info){
        .type = props.properties.deviceType,
        .is_cpu = props.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU,
        .api_version = props.properties.apiVersion,
    };
    snprintf(out->name, sizeof(out->name), "%s", props.properties.deviceName);
    for (unsigned i = 0; i < VK_UUID_SIZE; i++) {
        snprintf(out->uuid + 2 * i, 3, "%02x", id.deviceUUID[i]);
    }
    find_missing(physical, out->api_version, out->missing, sizeof(out->missing));
}

static int rank(const struct fw_gpu_info *info)
{
    switch (info->type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return 4;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return 3;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return 2;
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return 0;
    default: return 1;
    }
}

// A UUID in hex, with or without dashes, becomes 32 lower-case digits.
static bool parse_uuid(const char *text, char out[2 * VK_UUID_SIZE + 1])
{
    int n = 0;
    for (; *text; text++) {
        if (*text == '-') {
            continue;
        }
        if (!isxdigit((unsigned char)*text) || n == 2 * VK_UUID_SIZE) {
            return false;
        }
        out[n++] = (char)tolower((unsigned char)*text);
    }
    out[n] = '\0';
    return n == 2 * VK_UUID_SIZE;
}

static bool matches(const struct fw_gpu_info *info, unsigned index, const char *select)
{
    if (!select) {
        return true;
    }
    char uuid[2 * VK_UUID_SIZE + 1];
    if (parse_uuid(select, uuid)) {
        return strcmp(uuid, info->uuid) == 0;
    }
    const size_t digits = strspn(select, "0123456789");
    if (!select[digits] && digits <= 3) {
        return strtoul(select, NULL, 10) == index;
    }
    return strcasestr(info->name, select) != NULL;
}

static void list_names(const struct fw_gpu_info *infos, unsigned count, char *out, size_t size)
{
    out[0] = '\0';
    for (unsigned i = 0; i < count; i++) {
        char row[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE + 64];
        snprintf(row, sizeof(row), "%u \"%s\" (%s)", i, infos[i].name, infos[i].uuid);
        append(out, size, row);
    }
}

enum fw_err fw_gpu_choose(const struct fw_gpu_info *infos, unsigned count, const char *select,
                          unsigned *index, char *why, size_t why_size)
{
    why[0] = '\0';
    if (select && (!*select || strcasecmp(select, "auto") == 0)) {
        select = NULL;
    }
    if (count == 0) {
        snprintf(why, why_size,
                 "no Vulkan device found: install a driver (for CPU rendering, the "
                 "package mesa-vulkan-drivers)");
        return FW_ERR_NOT_FOUND;
    }
    int best = -1, unfit = -1;
    for (unsigned i = 0; i < count; i++) {
        if (!matches(&infos[i], i, select)) {
            continue;
        }
        if (infos[i].missing[0]) {
            unfit = unfit < 0 ? (int)i : unfit;
        } else if (best < 0 || rank(&infos[i]) > rank(&infos[best])) {
            best = (int)i;
        }
    }
    if (best >= 0) {
        *index = (unsigned)best;
        return FW_OK;
    }
    if (unfit >= 0) {
        snprintf(why, why_size, "GPU \"%s\" lacks %s", infos[unfit].name, infos[unfit].missing);
        return FW_ERR_UNSUPPORTED;
    }
    char names[512];
    list_names(infos, count, names, sizeof(names));
    snprintf(why, why_size, "no GPU matches \"%.80s\"; there are: %s", select, names);
    return FW_ERR_NOT_FOUND;
}

enum fw_err fw_gpu_list(struct fw_gpu_info *out, unsigned *count, struct fw_log *log)
{
    const VkApplicationInfo app = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
        .pApplicationName = "framewire",
        .apiVersion = VK_API_VERSION_1_3,
    };
    const VkInstanceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .pApplicationInfo = &app,
    };
    VkInstance instance = VK_NULL_HANDLE;
    const unsigned room = *count;
    *count = 0;
    VkResult result = vkCreateInstance(&info, NULL, &instance);
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
        return FW_OK; // a loader without drivers: an empty list
    }
    if (result) {
        fw_log(log, FW_LOG_ERROR, "gpu", "vkCreateInstance failed (%d)", (int)result);
        return FW_ERR_UNSUPPORTED;
    }
    VkPhysicalDevice physical[MAX_DEVICES];
    uint32_t found = MAX_DEVICES;
    result = vkEnumeratePhysicalDevices(instance, &found, physical);
    if (result == VK_SUCCESS || result == VK_INCOMPLETE) {
        for (uint32_t i = 0; i < found; i++) {
            if (i < room) {
                fw_gpu_describe(physical[i], &out[i]);
            }
        }
        *count = found;
    }
    vkDestroyInstance(instance, NULL);
    return FW_OK;
}
