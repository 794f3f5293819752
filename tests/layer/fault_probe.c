// SPDX-License-Identifier: MIT
// Tries the fault layer without the server: two instances, two devices, unknown names, and one
// lost device beside a healthy one. Prints `ok`/`not ok` lines; exit 1 when something is wrong.
//   fault_probe N      expects the (N+1)st submission of each device to fail (mode "always")
//   fault_probe N once expects exactly one of the two devices to fail
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

struct gpu {
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
};

static int failures;

static void check(bool good, const char *what)
{
    printf("%s - %s\n", good ? "ok" : "not ok", what);
    failures += !good;
}

static bool open_gpu(struct gpu *gpu)
{
    const VkApplicationInfo app = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
        .apiVersion = VK_API_VERSION_1_3,
    };
    const VkInstanceCreateInfo instance_info = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .pApplicationInfo = &app,
    };
    if (vkCreateInstance(&instance_info, NULL, &gpu->instance) != VK_SUCCESS)
        return false;
    uint32_t count = 1;
    if (vkEnumeratePhysicalDevices(gpu->instance, &count, &gpu->physical) < 0 || !count)
        return false;
    const float priority = 1;
    const VkDeviceQueueCreateInfo queue_info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueCount = 1,
        .pQueuePriorities = &priority,
    };
    const VkPhysicalDeviceVulkan13Features features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
        .synchronization2 = VK_TRUE,
    };
    const VkDeviceCreateInfo device_info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .pNext = &features,
        .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &queue_info,
    };
    if (vkCreateDevice(gpu->physical, &device_info, NULL, &gpu->device) != VK_SUCCESS)
        return false;
    vkGetDeviceQueue(gpu->device, 0, 0, &gpu->queue);
    return true;
}

static void close_gpu(struct gpu *gpu)
{
    if (gpu->device)
        vkDestroyDevice(gpu->device, NULL);
    if (gpu->instance)
        vkDestroyInstance(gpu->instance, NULL);
}

// Submissions that succeed before the first that fails, up to `limit`.
static unsigned submit_until_lost(struct gpu *gpu, unsigned limit)
{
    const VkSubmitInfo2 empty = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2 };
    for (unsigned i = 0; i < limit; i++)
        if (vkQueueSubmit2(gpu->queue, 1, &empty, VK_NULL_HANDLE) == VK_ERROR_DEVICE_LOST)
            return i;
    return limit;
}

static void check_names(struct gpu *gpu)
{
    bool none = true;
    char name[64];
    for (unsigned i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "vk%xNotThere%u", i * 2654435761U, i);
        none = none && !vkGetInstanceProcAddr(gpu->instance, name) &&
               !vkGetDeviceProcAddr(gpu->device, name) &&
               !vkGetInstanceProcAddr(VK_NULL_HANDLE, name);
    }
    none =
        none && !vkGetDeviceProcAddr(gpu->device, "") && !vkGetInstanceProcAddr(gpu->instance, "");
    check(none, "unknown names give NULL");
    check(vkGetDeviceProcAddr(gpu->device, "vkQueueSubmit2") &&
              vkGetInstanceProcAddr(gpu->instance, "vkCreateDevice"),
          "known names are found");
}

int main(int argc, char **argv)
{
    const unsigned after = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 3;
    const bool once = argc > 2 && strcmp(argv[2], "once") == 0;
    const unsigned limit = after + 10;
    struct gpu gpu[2] = { 0 };
    check(open_gpu(&gpu[0]) && open_gpu(&gpu[1]), "two instances and two devices open");
    if (failures)
        goto done;
    check_names(&gpu[0]);
    check_names(&gpu[1]);
    const unsigned first = submit_until_lost(&gpu[0], limit);
    const unsigned second = submit_until_lost(&gpu[1], limit);
    check(first == after, "the first device is lost after the number asked for");
    check(second == (once ? limit : after),
          once ? "the second device is spared" : "so is the second, counted by itself");
    check(vkDeviceWaitIdle(gpu[0].device) == VK_ERROR_DEVICE_LOST, "a lost device stays lost");
    check(vkDeviceWaitIdle(gpu[1].device) == (once ? VK_SUCCESS : VK_ERROR_DEVICE_LOST),
          "waits on the other device tell its own state");
done:
    close_gpu(&gpu[1]);
    close_gpu(&gpu[0]);
    return failures > 0;
}
