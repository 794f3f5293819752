// SPDX-License-Identifier: MIT
#include "session/cli/view_gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DEVICES_MAX = 16, FAMILIES_MAX = 16, EXTENSIONS_MAX = 512 };

#define VALIDATION "VK_LAYER_KHRONOS_validation"

static const char *result_name(VkResult result)
{
    switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY: return "out of memory";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY: return "out of video memory";
    case VK_ERROR_DEVICE_LOST: return "the device is lost";
    case VK_ERROR_SURFACE_LOST_KHR: return "the window's surface is lost";
    case VK_ERROR_INITIALIZATION_FAILED: return "the driver does not start";
    case VK_ERROR_INCOMPATIBLE_DRIVER: return "there is no Vulkan driver";
    case VK_ERROR_NATIVE_WINDOW_IN_USE_KHR: return "the window is in use";
    case VK_TIMEOUT: return "the device does not answer";
    default: return "it failed";
    }
}

enum fw_err fw_view_gpu_check(struct fw_view_gpu *gpu, VkResult result, const char *call)
{
    if (result == VK_SUCCESS || result == VK_SUBOPTIMAL_KHR)
        return FW_OK;
    const int length = (int)strcspn(call, "(");
    snprintf(gpu->why, sizeof(gpu->why), "%.*s: %s (%d)", length, call, result_name(result),
             result);
    fw_log(gpu->log, FW_LOG_ERROR, "view", "%s", gpu->why);
    return result == VK_ERROR_DEVICE_LOST ? FW_ERR_DEVICE_LOST : FW_ERR_IO;
}

static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                 VkDebugUtilsMessageTypeFlagsEXT types,
                                                 const VkDebugUtilsMessengerCallbackDataEXT *data,
                                                 void *user)
{
    struct fw_view_gpu *gpu = user;
    (void)severity;
    (void)types;
    gpu->validation_messages++;
    fw_log(gpu->log, FW_LOG_ERROR, "view", "validation: %s", data->pMessage);
    return VK_FALSE;
}

// ---- instance

static bool has_layer(const char *name)
{
    VkLayerProperties layers[64];
    uint32_t count = 64;
    const VkResult result = vkEnumerateInstanceLayerProperties(&count, layers);
    for (uint32_t i = 0; (result == VK_SUCCESS || result == VK_INCOMPLETE) && i < count; i++)
        if (strcmp(layers[i].layerName, name) == 0)
            return true;
    return false;
}

static enum fw_err create_instance(struct fw_view_gpu *gpu, bool validation)
{
    const char *extensions[16], *layer = VALIDATION;
    uint32_t count = 0;
    const char **needed = glfwGetRequiredInstanceExtensions(&count);
    enum fw_err err = FW_ERR_UNSUPPORTED;
    if (!needed || count > 15) {
        snprintf(gpu->why, sizeof(gpu->why),
                 "this display has no Vulkan: install a driver (Debian: mesa-vulkan-drivers)");
        return err;
    }
    for (uint32_t i = 0; i < count; i++)
        extensions[i] = needed[i];
    if (validation && !has_layer(VALIDATION)) {
        snprintf(gpu->why, sizeof(gpu->why),
                 "--validation: the layer is missing (Debian: vulkan-validationlayers)");
        return err;
    }
    if (validation)
        extensions[count++] = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    const VkDebugUtilsMessengerCreateInfoEXT messages = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                           VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                       VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT,
        .pfnUserCallback = on_message,
        .pUserData = gpu,
    };
    const VkInstanceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .pNext = validation ? &messages : NULL,
        .pApplicationInfo =
            &(VkApplicationInfo){
                .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                .pApplicationName = "framewire view",
                .apiVersion = VK_API_VERSION_1_3,
            },
        .enabledExtensionCount = count,
        .ppEnabledExtensionNames = extensions,
        .enabledLayerCount = validation,
        .ppEnabledLayerNames = &layer,
    };
    FW_VIEW_VK(gpu, vkCreateInstance(&info, NULL, &gpu->instance));
    if (validation) {
        const PFN_vkCreateDebugUtilsMessengerEXT create =
            (PFN_vkCreateDebugUtilsMessengerEXT)vkGetInstanceProcAddr(
                gpu->instance, "vkCreateDebugUtilsMessengerEXT");
        FW_VIEW_VK(gpu, create(gpu->instance, &messages, NULL, &gpu->messenger));
    }
error:
    return err;
}

// ---- device

// Its graphics queue family that presents on our surface, or -1.
static int find_family(struct fw_view_gpu *gpu, VkPhysicalDevice physical)
{
    VkQueueFamilyProperties families[FAMILIES_MAX];
    uint32_t count = FAMILIES_MAX;
    vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
    for (uint32_t i = 0; i < count; i++) {
        VkBool32 presents = VK_FALSE;
        if (families[i].queueFlags & VK_QUEUE_GRAPHICS_BIT &&
            vkGetPhysicalDeviceSurfaceSupportKHR(physical, i, gpu->surface, &presents) ==
                VK_SUCCESS &&
            presents)
            return (int)i;
    }
    return -1;
}

static bool has_extension(VkPhysicalDevice physical, const char *name)
{
    static VkExtensionProperties list[EXTENSIONS_MAX];
    uint32_t count = EXTENSIONS_MAX;
    const VkResult result = vkEnumerateDeviceExtensionProperties(physical, NULL, &count, list);
    for (uint32_t i = 0; (result == VK_SUCCESS || result == VK_INCOMPLETE) && i < count; i++)
        if (strcmp(list[i].extensionName, name) == 0)
            return true;
    return false;
}

// 0 = it will not do; else the more the better.
static int rate(struct fw_view_gpu *gpu, VkPhysicalDevice physical, const char *select)
{
    VkPhysicalDeviceProperties props;
    vkGetPhysicalDeviceProperties(physical, &props);
    if ((select && !strcasestr(props.deviceName, select)) ||
        props.apiVersion < VK_API_VERSION_1_3 || find_family(gpu, physical) < 0 ||
        !has_extension(physical, VK_KHR_SWAPCHAIN_EXTENSION_NAME))
        return 0;
    switch (props.deviceType) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return 5;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return 4;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return 3;
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return 1;
    default: return 2;
    }
}

static enum fw_err choose_device(struct fw_view_gpu *gpu, const char *select)
{
    VkPhysicalDevice list[DEVICES_MAX];
    uint32_t count = DEVICES_MAX;
    const VkResult result = vkEnumeratePhysicalDevices(gpu->instance, &count, list);
    int best = 0;
    if (result != VK_SUCCESS && result != VK_INCOMPLETE)
        count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const int rated = rate(gpu, list[i], select);
        if (rated > best) {
            best = rated;
            gpu->physical = list[i];
        }
    }
    if (!best) {
        if (select)
            snprintf(gpu->why, sizeof(gpu->why),
                     "no Vulkan 1.3 device with '%s' in its name can present on this display; "
                     "without --gpu the best one is taken",
                     select);
        else
            snprintf(gpu->why, sizeof(gpu->why),
                     "no Vulkan 1.3 device can present on this display (of %u found); "
                     "Debian's mesa-vulkan-drivers has one that needs no GPU",
                     count);
        return FW_ERR_UNSUPPORTED;
    }
    vkGetPhysicalDeviceProperties(gpu->physical, &gpu->props);
    vkGetPhysicalDeviceMemoryProperties(gpu->physical, &gpu->memory);
    gpu->is_cpu = gpu->props.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    gpu->family = (uint32_t)find_family(gpu, gpu->physical);
    return FW_OK;
}

// Can the device tell when a picture was really shown?
static bool can_wait(struct fw_view_gpu *gpu)
{
    VkPhysicalDevicePresentWaitFeaturesKHR wait = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRESENT_WAIT_FEATURES_KHR,
    };
    VkPhysicalDevicePresentIdFeaturesKHR id = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRESENT_ID_FEATURES_KHR,
        .pNext = &wait,
    };
    VkPhysicalDeviceFeatures2 features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
        .pNext = &id,
    };
    if (!has_extension(gpu->physical, VK_KHR_PRESENT_ID_EXTENSION_NAME) ||
        !has_extension(gpu->physical, VK_KHR_PRESENT_WAIT_EXTENSION_NAME))
        return false;
    vkGetPhysicalDeviceFeatures2(gpu->physical, &features);
    return id.presentId && wait.presentWait;
}

static enum fw_err create_device(struct fw_view_gpu *gpu)
{
    static const char *const extensions[] = {
        VK_KHR_SWAPCHAIN_EXTENSION_NAME,
        VK_KHR_PRESENT_ID_EXTENSION_NAME,
        VK_KHR_PRESENT_WAIT_EXTENSION_NAME,
    };
    const bool wait = can_wait(gpu);
    VkPhysicalDevicePresentWaitFeaturesKHR wait_feature = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRESENT_WAIT_FEATURES_KHR,
        .presentWait = VK_TRUE,
    };
    VkPhysicalDevicePresentIdFeaturesKHR id_feature = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRESENT_ID_FEATURES_KHR,
        .pNext = &wait_feature,
        .presentId = VK_TRUE,
    };
    const float priority = 1;
    const VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .pNext =
            &(VkPhysicalDeviceVulkan13Features){
                .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
                .pNext = wait ? &id_feature : NULL,
                .dynamicRendering = VK_TRUE,
                .synchronization2 = VK_TRUE,
            },
        .queueCreateInfoCount = 1,
        .pQueueCreateInfos =
            &(VkDeviceQueueCreateInfo){
                .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                .queueFamilyIndex = gpu->family,
                .queueCount = 1,
                .pQueuePriorities = &priority,
            },
        .enabledExtensionCount = wait ? 3 : 1,
        .ppEnabledExtensionNames = extensions,
    };
    enum fw_err err;
    FW_VIEW_VK(gpu, vkCreateDevice(gpu->physical, &info, NULL, &gpu->device));
    vkGetDeviceQueue(gpu->device, gpu->family, 0, &gpu->queue);
    if (wait)
        gpu->wait_for_present =
            (PFN_vkWaitForPresentKHR)vkGetDeviceProcAddr(gpu->device, "vkWaitForPresentKHR");
error:
    return err;
}

enum fw_err fw_view_gpu_create(struct fw_view_gpu *gpu, const struct fw_view_gpu_params *params)
{
    *gpu = (struct fw_view_gpu){ .log = params->log };
    enum fw_err err = create_instance(gpu, params->validation);
    if (!err)
        FW_VIEW_VK(gpu,
                   glfwCreateWindowSurface(gpu->instance, params->window, NULL, &gpu->surface));
    if (!err)
        err = choose_device(gpu, params->select);
    if (!err)
        err = create_device(gpu);
error:
    if (err)
        fw_view_gpu_finish(gpu);
    return err;
}

void fw_view_gpu_finish(struct fw_view_gpu *gpu)
{
    vkDestroyDevice(gpu->device, NULL);
    if (gpu->surface)
        vkDestroySurfaceKHR(gpu->instance, gpu->surface, NULL);
    if (gpu->messenger) {
        const PFN_vkDestroyDebugUtilsMessengerEXT destroy =
            (PFN_vkDestroyDebugUtilsMessengerEXT)vkGetInstanceProcAddr(
                gpu->instance, "vkDestroyDebugUtilsMessengerEXT");
        destroy(gpu->instance, gpu->messenger, NULL);
    }
    if (gpu->instance)
        vkDestroyInstance(gpu->instance, NULL);
    gpu->device = NULL;
    gpu->surface = VK_NULL_HANDLE;
    gpu->messenger = VK_NULL_HANDLE;
    gpu->instance = NULL;
}
