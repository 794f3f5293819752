// SPDX-License-Identifier: MIT
#include "render/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/gpu_priv.h"

enum { MAX_DEVICES = 32 };

static const char validation_layer[] = "VK_LAYER_KHRONOS_validation";

static const char *result_name(VkResult result)
{
    switch (result) {
    case VK_NOT_READY: return "VK_NOT_READY";
    case VK_TIMEOUT: return "VK_TIMEOUT";
    case VK_ERROR_OUT_OF_HOST_MEMORY: return "VK_ERROR_OUT_OF_HOST_MEMORY";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY: return "VK_ERROR_OUT_OF_DEVICE_MEMORY";
    case VK_ERROR_INITIALIZATION_FAILED: return "VK_ERROR_INITIALIZATION_FAILED";
    case VK_ERROR_DEVICE_LOST: return "VK_ERROR_DEVICE_LOST";
    case VK_ERROR_MEMORY_MAP_FAILED: return "VK_ERROR_MEMORY_MAP_FAILED";
    case VK_ERROR_LAYER_NOT_PRESENT: return "VK_ERROR_LAYER_NOT_PRESENT";
    case VK_ERROR_EXTENSION_NOT_PRESENT: return "VK_ERROR_EXTENSION_NOT_PRESENT";
    case VK_ERROR_FEATURE_NOT_PRESENT: return "VK_ERROR_FEATURE_NOT_PRESENT";
    case VK_ERROR_INCOMPATIBLE_DRIVER: return "VK_ERROR_INCOMPATIBLE_DRIVER";
    case VK_ERROR_TOO_MANY_OBJECTS: return "VK_ERROR_TOO_MANY_OBJECTS";
    case VK_ERROR_FORMAT_NOT_SUPPORTED: return "VK_ERROR_FORMAT_NOT_SUPPORTED";
    case VK_ERROR_OUT_OF_POOL_MEMORY: return "VK_ERROR_OUT_OF_POOL_MEMORY";
    case VK_ERROR_INVALID_EXTERNAL_HANDLE: return "VK_ERROR_INVALID_EXTERNAL_HANDLE";
    default: return NULL;
    }
}

static enum fw_err result_err(VkResult result)
{
    switch (result) {
    case VK_NOT_READY: return FW_ERR_AGAIN;
    case VK_TIMEOUT: return FW_ERR_TIMEOUT;
    case VK_ERROR_DEVICE_LOST: return FW_ERR_DEVICE_LOST;
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_TOO_MANY_OBJECTS:
    case VK_ERROR_MEMORY_MAP_FAILED: return FW_ERR_NOMEM;
    case VK_ERROR_LAYER_NOT_PRESENT:
    case VK_ERROR_EXTENSION_NOT_PRESENT:
    case VK_ERROR_FEATURE_NOT_PRESENT:
    case VK_ERROR_INCOMPATIBLE_DRIVER:
    case VK_ERROR_FORMAT_NOT_SUPPORTED: return FW_ERR_UNSUPPORTED;
    default: return result < 0 ? FW_ERR_INTERNAL : FW_OK;
    }
}

enum fw_err fw_gpu_check(struct fw_gpu *gpu, VkResult result, const char *call)
{
    const enum fw_err err = result_err(result);
    if (!err) {
        return FW_OK;
    }
    // The call's name is enough; its arguments are noise in a log.
    const int length = (int)strcspn(call, "(");
    const char *name = result_name(result);
    // After a loss every call fails in the same way: the first says it.
    const enum fw_log_level level = gpu->lost ? FW_LOG_DEBUG : FW_LOG_ERROR;
    if (name) {
        fw_log(gpu->log, level, "gpu", "%.*s: %s", length, call, name);
    } else {
        fw_log(gpu->log, level, "gpu", "%.*s: VkResult %d", length, call, (int)result);
    }
    if (err == FW_ERR_DEVICE_LOST) {
        gpu->lost = true;
    }
    return err;
}

static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                 VkDebugUtilsMessageTypeFlagsEXT types,
                                                 const VkDebugUtilsMessengerCallbackDataEXT *data,
                                                 void *user)
{
    (void)severity;
    (void)types;
    struct fw_gpu *gpu = user;
    gpu->validation_messages++;
    fw_log(gpu->log, FW_LOG_ERROR, "validation", "%s", data->pMessage);
    return VK_FALSE;
}

static VkDebugUtilsMessengerCreateInfoEXT messenger_info(struct fw_gpu *gpu)
{
    return (VkDebugUtilsMessengerCreateInfoEXT){
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                           VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
        .pfnUserCallback = on_message,
        .pUserData = gpu,
    };
}

static bool layer_present(void)
{
    uint32_t count = 0;
    if (vkEnumerateInstanceLayerProperties(&count, NULL) || count == 0) {
        return false;
    }
    VkLayerProperties *layers = calloc(count, sizeof(*layers));
    bool found = false;
    if (layers && vkEnumerateInstanceLayerProperties(&count, layers) >= 0) {
        for (uint32_t i = 0; i < count; i++) {
            found |= strcmp(layers[i].layerName, validation_layer) == 0;
        }
    }
    free(layers);
    return found;
}

static enum fw_err create_instance(struct fw_gpu *gpu, bool validation)
{
    enum fw_err err = FW_OK;
    if (validation && !layer_present()) {
        fw_log(gpu->log, FW_LOG_ERROR, "gpu",
               "validation asked for, but there is no %s (package vulkan-validationlayers)",
               validation_layer);
        return FW_ERR_UNSUPPORTED;
    }
    const VkApplicationInfo app = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
        .pApplicationName = "framewire",
        .pEngineName = "framewire",
        .apiVersion = VK_API_VERSION_1_3,
    };
    VkDebugUtilsMessengerCreateInfoEXT messenger = messenger_info(gpu);
    const VkValidationFeatureEnableEXT enable =
        VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
    const VkValidationFeaturesEXT features = {
        .sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
        .pNext = &messenger,
        .enabledValidationFeatureCount = 1,
        .pEnabledValidationFeatures = &enable,
    };
    const char *const layers[] = { validation_layer };
    const char *const extensions[] = { VK_EXT_DEBUG_UTILS_EXTENSION_NAME,
                                       VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME };
    const VkInstanceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .pNext = validation ? &features : NULL,
        .pApplicationInfo = &app,
        .enabledLayerCount = validation ? 1 : 0,
        .ppEnabledLayerNames = layers,
        .enabledExtensionCount = validation ? 2 : 0,
        .ppEnabledExtensionNames = extensions,
    };
    const VkResult result = vkCreateInstance(&info, NULL, &gpu->instance);
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER) { // a loader that finds no driver at all
        char why[256];
        unsigned none;
        err = fw_gpu_choose(NULL, 0, NULL, &none, why, sizeof(why));
        fw_log(gpu->log, FW_LOG_ERROR, "gpu", "%s", why);
        goto error;
    }
    err = fw_gpu_check(gpu, result, "vkCreateInstance");
    if (err) {
        goto error;
    }
    if (validation) {
        PFN_vkCreateDebugUtilsMessengerEXT create =
            (PFN_vkCreateDebugUtilsMessengerEXT)vkGetInstanceProcAddr(
                gpu->instance, "vkCreateDebugUtilsMessengerEXT");
        gpu->priv->destroy_messenger = (PFN_vkDestroyDebugUtilsMessengerEXT)vkGetInstanceProcAddr(
            gpu->instance, "vkDestroyDebugUtilsMessengerEXT");
        gpu->priv->set_name = (PFN_vkSetDebugUtilsObjectNameEXT)vkGetInstanceProcAddr(
            gpu->instance, "vkSetDebugUtilsObjectNameEXT");
        VK(gpu, create(gpu->instance, &messenger, NULL, &gpu->messenger));
    }
error:
    return err;
}

static enum fw_err choose_device(struct fw_gpu *gpu, const char *select)
{
    enum fw_err err = FW_OK;
    VkPhysicalDevice physical[MAX_DEVICES];
    struct fw_gpu_info info[MAX_DEVICES];
    uint32_t count = MAX_DEVICES;
    VK(gpu, vkEnumeratePhysicalDevices(gpu->instance, &count, physical));
    for (uint32_t i = 0; i < count; i++) {
        fw_gpu_describe(physical[i], &info[i]);
    }
    unsigned index = 0;
    char why[1024];
    err = fw_gpu_choose(info, count, select, &index, why, sizeof(why));
    if (err) {
        fw_log(gpu->log, FW_LOG_ERROR, "gpu", "%s", why);
        goto error;
    }
    gpu->physical = physical[index];
    gpu->is_cpu = info[index].is_cpu;
error:
    return err;
}

static void read_properties(struct fw_gpu *gpu)
{
    VkPhysicalDeviceExternalMemoryHostPropertiesEXT host = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT,
    };
    VkPhysicalDeviceDriverProperties driver = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES,
        .pNext = gpu->host_import ? &host : NULL,
    };
    VkPhysicalDeviceIDProperties id = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES,
        .pNext = &driver,
    };
    VkPhysicalDeviceProperties2 props = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
        .pNext = &id,
    };
    vkGetPhysicalDeviceProperties2(gpu->physical, &props);
    vkGetPhysicalDeviceMemoryProperties(gpu->physical, &gpu->memory);
    gpu->props = props.properties;
    memcpy(gpu->uuid, id.deviceUUID, VK_UUID_SIZE);
    gpu->host_import_align = host.minImportedHostPointerAlignment;
    gpu->timestamp_ns = (double)props.properties.limits.timestampPeriod;
    snprintf(gpu->driver, sizeof(gpu->driver), "%.24s %.36s", driver.driverName, driver.driverInfo);
}

static bool has_extension(VkPhysicalDevice physical, const char *name)
{
    uint32_t count = 0;
    if (vkEnumerateDeviceExtensionProperties(physical, NULL, &count, NULL)) {
        return false;
    }
    VkExtensionProperties *list = calloc(count ? count : 1, sizeof(*list));
    bool found = false;
    if (list && vkEnumerateDeviceExtensionProperties(physical, NULL, &count, list) >= 0) {
        for (uint32_t i = 0; i < count; i++) {
            found |= strcmp(list[i].extensionName, name) == 0;
        }
    }
    free(list);
    return found;
}

static enum fw_err choose_queue(struct fw_gpu *gpu)
{
    VkQueueFamilyProperties family[16];
    uint32_t count = 16;
    vkGetPhysicalDeviceQueueFamilyProperties(gpu->physical, &count, family);
    for (uint32_t i = 0; i < count; i++) {
        const VkQueueFlags want = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
        if ((family[i].queueFlags & want) == want) {
            gpu->queue_family = i;
            gpu->timestamps = family[i].timestampValidBits > 0;
            gpu->timestamp_bits = family[i].timestampValidBits;
            return FW_OK;
        }
    }
    return FW_ERR_UNSUPPORTED; // fw_gpu_choose has refused such a device already
}

static enum fw_err create_device(struct fw_gpu *gpu)
{
    enum fw_err err = choose_queue(gpu);
    if (err) {
        return err;
    }
    VkPhysicalDeviceVulkan12Features have12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
    };
    VkPhysicalDeviceFeatures2 have = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
        .pNext = &have12,
    };
    vkGetPhysicalDeviceFeatures2(gpu->physical, &have);
    gpu->timestamps = gpu->timestamps && have12.hostQueryReset && gpu->timestamp_ns > 0;
    gpu->anisotropy = have.features.samplerAnisotropy;
    gpu->statistics = have.features.pipelineStatisticsQuery && have12.hostQueryReset;

    VkPhysicalDeviceVulkan13Features f13 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
        .synchronization2 = VK_TRUE,
        .dynamicRendering = VK_TRUE,
    };
    VkPhysicalDeviceVulkan12Features f12 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
        .pNext = &f13,
        .timelineSemaphore = VK_TRUE,
        .hostQueryReset = have12.hostQueryReset,
    };
    const VkPhysicalDeviceFeatures2 features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
        .pNext = &f12,
        .features.samplerAnisotropy = have.features.samplerAnisotropy,
        .features.pipelineStatisticsQuery = gpu->statistics,
    };
    const float priority = 1.0f;
    const VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueFamilyIndex = gpu->queue_family,
        .queueCount = 1,
        .pQueuePriorities = &priority,
    };
    const char *extensions[3];
    uint32_t extension_count = 0;
    if (gpu->host_import)
        extensions[extension_count++] = VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME;
    if (gpu->memory_budget)
        extensions[extension_count++] = VK_EXT_MEMORY_BUDGET_EXTENSION_NAME;
    if (gpu->priv->calibrated)
        extensions[extension_count++] = VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME;
    const VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .pNext = &features,
        .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &queue,
        .enabledExtensionCount = extension_count,
        .ppEnabledExtensionNames = extensions,
    };
    VK(gpu, vkCreateDevice(gpu->physical, &info, NULL, &gpu->device));
    vkGetDeviceQueue(gpu->device, gpu->queue_family, 0, &gpu->queue);
    if (gpu->host_import) {
        gpu->priv->host_pointer_properties =
            (PFN_vkGetMemoryHostPointerPropertiesEXT)vkGetDeviceProcAddr(
                gpu->device, "vkGetMemoryHostPointerPropertiesEXT");
        gpu->host_import = gpu->priv->host_pointer_properties && gpu->host_import_align > 0;
    }
    fw_gpu_clock_init(gpu);
error:
    return err;
}

static enum fw_err create_common(struct fw_gpu *gpu, const char *cache_dir)
{
    enum fw_err err = FW_OK;
    const VkCommandPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
        .queueFamilyIndex = gpu->queue_family,
    };
    const VkFenceCreateInfo fence = { .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO };
    VK(gpu, vkCreateCommandPool(gpu->device, &pool, NULL, &gpu->upload_pool));
    VK(gpu, vkCreateFence(gpu->device, &fence, NULL, &gpu->priv->once_fence));
    err = fw_gpu_cache_open(gpu, cache_dir);
error:
    return err;
}

enum fw_err fw_gpu_create(struct fw_gpu **out, const struct fw_gpu_params *params)
{
    enum fw_err err = FW_ERR_NOMEM;
    *out = NULL;
    struct fw_gpu *gpu = calloc(1, sizeof(*gpu));
    if (!gpu || !(gpu->priv = calloc(1, sizeof(*gpu->priv)))) {
        goto error;
    }
    gpu->log = params->log;
    err = create_instance(gpu, params->validation);
    if (err) {
        goto error;
    }
    err = choose_device(gpu, params->select);
    if (err) {
        goto error;
    }
    gpu->host_import = has_extension(gpu->physical, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
    gpu->memory_budget = has_extension(gpu->physical, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
    gpu->priv->calibrated =
        has_extension(gpu->physical, VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME);
    read_properties(gpu);
    err = create_device(gpu);
    if (err) {
        goto error;
    }
    err = create_common(gpu, params->cache_dir);
    if (err) {
        goto error;
    }
    fw_log(gpu->log, FW_LOG_INFO, "gpu", "using %s (%s)%s", gpu->props.deviceName, gpu->driver,
           gpu->is_cpu ? ": this is the CPU, not a GPU" : "");
    *out = gpu;
    return FW_OK;

error:
    fw_gpu_destroy(&gpu);
    return err;
}

void fw_gpu_destroy(struct fw_gpu **pointer)
{
    struct fw_gpu *gpu = *pointer;
    *pointer = NULL;
    if (!gpu) {
        return;
    }
    // After a wait that ran out the device may still be at work on what we would destroy, and
    // waiting for it could take for ever. The process is about to end: leave it to the kernel.
    if (gpu->priv && gpu->priv->hung) {
        return;
    }
    if (gpu->device) {
        if (gpu->priv->once_fence) {
            fw_gpu_cache_save(gpu);
        }
        vkDestroyFence(gpu->device, gpu->priv->once_fence, NULL);
        vkDestroyCommandPool(gpu->device, gpu->upload_pool, NULL);
        vkDestroyPipelineCache(gpu->device, gpu->pipeline_cache, NULL);
        vkDestroyDevice(gpu->device, NULL);
    }
    if (gpu->messenger) {
        gpu->priv->destroy_messenger(gpu->instance, gpu->messenger, NULL);
    }
    if (gpu->instance) {
        vkDestroyInstance(gpu->instance, NULL);
    }
    free(gpu->priv);
    free(gpu);
}
