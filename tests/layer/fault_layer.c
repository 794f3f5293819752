// SPDX-License-Identifier: MIT
// VK_LAYER_framewire_fault: a Vulkan layer for tests that loses the device on purpose.
//   FW_FAULT_SUBMIT_AFTER=N  the N+1st queue submission of a device fails with DEVICE_LOST, and all
//                            that follow on that device do; absent or empty = never
//   FW_FAULT_MODE=once       only the first process that gets there (the file FW_FAULT_STATE,
//                            made by it, tells the others); "always" = every device of every
//                            process
//   FW_FAULT_STATE=FILE      needed for "once"
//   FW_FAULT_BUDGET=B,U      the device has VK_EXT_memory_budget, with a budget of B bytes in its
//                            first heap, of which U are used
// Dispatch tables are kept per instance and per device; nothing is looked up after creation.
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#define LAYER_NAME "VK_LAYER_framewire_fault"
#define EXPORT     __attribute__((visibility("default")))

enum { MAX_INSTANCES = 64, MAX_DEVICES = 64, MAX_EXTENSIONS = 64 };

// The first word of every dispatchable handle is the loader's table: queues and command buffers
// share their device's, physical devices their instance's.
typedef void *table_key;

struct instance_table {
    table_key key; // NULL = free slot
    VkInstance instance;
    PFN_vkGetInstanceProcAddr get_proc;
    PFN_vkDestroyInstance destroy;
    PFN_vkEnumerateDeviceExtensionProperties extensions;
    PFN_vkGetPhysicalDeviceMemoryProperties2 memory2;
};

struct device_table {
    table_key key; // NULL = free slot
    PFN_vkGetDeviceProcAddr get_proc;
    PFN_vkDestroyDevice destroy;
    PFN_vkQueueSubmit submit;
    PFN_vkQueueSubmit2 submit2;
    PFN_vkWaitSemaphores wait_semaphores;
    PFN_vkWaitForFences wait_fences;
    PFN_vkQueueWaitIdle queue_idle;
    PFN_vkDeviceWaitIdle device_idle;
    uint64_t submissions;
    bool lost;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
// --- protected by lock
static struct instance_table instances[MAX_INSTANCES];
static struct device_table devices[MAX_DEVICES];
// ---

EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL fw_fault_GetInstanceProcAddr(VkInstance instance,
                                                                             const char *name);
EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL fw_fault_GetDeviceProcAddr(VkDevice device,
                                                                           const char *name);
EXPORT VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *negotiate);

static table_key key_of(const void *handle)
{
    return *(table_key const *)handle;
}

// Call with the lock held.
static struct instance_table *find_instance(table_key key)
{
    for (int i = 0; i < MAX_INSTANCES; i++)
        if (instances[i].key == key)
            return &instances[i];
    return NULL;
}

static struct device_table *find_device(table_key key)
{
    for (int i = 0; i < MAX_DEVICES; i++)
        if (devices[i].key == key)
            return &devices[i];
    return NULL;
}

// A copy, so that the calls further down happen without the lock.
static bool device_of(const void *handle, struct device_table *out)
{
    pthread_mutex_lock(&lock);
    const struct device_table *found = find_device(key_of(handle));
    if (found)
        *out = *found;
    pthread_mutex_unlock(&lock);
    return found != NULL;
}

// In mode "once", exactly one process in the life of the state file may fire.
static bool may_fire(void)
{
    const char *mode = getenv("FW_FAULT_MODE");
    if (!mode || strcmp(mode, "once") != 0)
        return true;
    const char *path = getenv("FW_FAULT_STATE");
    if (!path || !*path)
        return false;
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    dprintf(fd, "%d\n", (int)getpid());
    close(fd);
    return true;
}

// Counts one submission; true when this one fails.
static bool count_submission(const void *queue)
{
    const char *after = getenv("FW_FAULT_SUBMIT_AFTER");
    bool lost = false;
    pthread_mutex_lock(&lock);
    struct device_table *device = find_device(key_of(queue));
    if (device) {
        device->submissions++;
        if (!device->lost && after && *after &&
            device->submissions == strtoull(after, NULL, 10) + 1 && may_fire()) {
            device->lost = true;
            fprintf(stderr, LAYER_NAME ": device lost in process %d after %s submissions\n",
                    (int)getpid(), after);
        }
        lost = device->lost;
    }
    pthread_mutex_unlock(&lock);
    return lost;
}

// ---- what is intercepted --------------------------------------------------------------------

static VKAPI_ATTR VkResult VKAPI_CALL queue_submit(VkQueue queue, uint32_t count,
                                                   const VkSubmitInfo *submits, VkFence fence)
{
    struct device_table device;
    if (count_submission(queue) || !device_of(queue, &device))
        return VK_ERROR_DEVICE_LOST;
    return device.submit(queue, count, submits, fence);
}

static VKAPI_ATTR VkResult VKAPI_CALL queue_submit2(VkQueue queue, uint32_t count,
                                                    const VkSubmitInfo2 *submits, VkFence fence)
{
    struct device_table device;
    if (count_submission(queue) || !device_of(queue, &device))
        return VK_ERROR_DEVICE_LOST;
    return device.submit2(queue, count, submits, fence);
}

static VKAPI_ATTR VkResult VKAPI_CALL wait_semaphores(VkDevice handle,
                                                      const VkSemaphoreWaitInfo *info,
                                                      uint64_t timeout)
{
    struct device_table device;
    if (!device_of(handle, &device) || device.lost)
        return VK_ERROR_DEVICE_LOST;
    return device.wait_semaphores(handle, info, timeout);
}

static VKAPI_ATTR VkResult VKAPI_CALL wait_fences(VkDevice handle, uint32_t count,
                                                  const VkFence *fences, VkBool32 all,
                                                  uint64_t timeout)
{
    struct device_table device;
    if (!device_of(handle, &device) || device.lost)
        return VK_ERROR_DEVICE_LOST;
    return device.wait_fences(handle, count, fences, all, timeout);
}

static VKAPI_ATTR VkResult VKAPI_CALL queue_wait_idle(VkQueue queue)
{
    struct device_table device;
    if (!device_of(queue, &device) || device.lost)
        return VK_ERROR_DEVICE_LOST;
    return device.queue_idle(queue);
}

static VKAPI_ATTR VkResult VKAPI_CALL device_wait_idle(VkDevice handle)
{
    struct device_table device;
    if (!device_of(handle, &device) || device.lost)
        return VK_ERROR_DEVICE_LOST;
    return device.device_idle(handle);
}

// ---- creation --------------------------------------------------------------------------------

static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info,
                                                      const VkAllocationCallbacks *allocator,
                                                      VkInstance *out)
{
    VkLayerInstanceCreateInfo *link = (VkLayerInstanceCreateInfo *)info->pNext;
    while (link && !(link->sType == VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO &&
                     link->function == VK_LAYER_LINK_INFO))
        link = (VkLayerInstanceCreateInfo *)link->pNext;
    if (!link)
        return VK_ERROR_INITIALIZATION_FAILED;
    PFN_vkGetInstanceProcAddr next = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)next(VK_NULL_HANDLE, "vkCreateInstance");
    if (!create)
        return VK_ERROR_INITIALIZATION_FAILED;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext; // the next layer's turn
    VkResult result = create(info, allocator, out);
    if (result != VK_SUCCESS)
        return result;

    struct instance_table table = {
        .key = key_of(*out),
        .instance = *out,
        .get_proc = next,
        .destroy = (PFN_vkDestroyInstance)next(*out, "vkDestroyInstance"),
        .extensions = (PFN_vkEnumerateDeviceExtensionProperties)next(
            *out, "vkEnumerateDeviceExtensionProperties"),
        .memory2 = (PFN_vkGetPhysicalDeviceMemoryProperties2)next(
            *out, "vkGetPhysicalDeviceMemoryProperties2"),
    };
    pthread_mutex_lock(&lock);
    struct instance_table *slot = find_instance(NULL);
    if (slot)
        *slot = table;
    pthread_mutex_unlock(&lock);
    if (slot)
        return VK_SUCCESS;
    table.destroy(*out, allocator);
    return VK_ERROR_OUT_OF_HOST_MEMORY;
}

static VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance instance,
                                                   const VkAllocationCallbacks *allocator)
{
    if (!instance)
        return;
    pthread_mutex_lock(&lock);
    struct instance_table *found = find_instance(key_of(instance));
    PFN_vkDestroyInstance destroy = found ? found->destroy : NULL;
    if (found)
        *found = (struct instance_table){ 0 };
    pthread_mutex_unlock(&lock);
    if (destroy)
        destroy(instance, allocator);
}

// ---- a memory budget that is made up

static bool made_up_budget(unsigned long long *budget, unsigned long long *used)
{
    const char *text = getenv("FW_FAULT_BUDGET");
    return text && sscanf(text, "%llu,%llu", budget, used) == 2;
}

static bool instance_of(const void *handle, struct instance_table *out)
{
    pthread_mutex_lock(&lock);
    const struct instance_table *found = find_instance(key_of(handle));
    if (found)
        *out = *found;
    pthread_mutex_unlock(&lock);
    return found != NULL;
}

// What is below does not know the extension.
static VkDeviceCreateInfo without_budget(const VkDeviceCreateInfo *info,
                                         const char *extensions[MAX_EXTENSIONS])
{
    unsigned long long budget, used;
    VkDeviceCreateInfo plain = *info;
    if (!made_up_budget(&budget, &used) || info->enabledExtensionCount > MAX_EXTENSIONS)
        return plain;
    plain.enabledExtensionCount = 0;
    plain.ppEnabledExtensionNames = extensions;
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++) {
        const char *name = info->ppEnabledExtensionNames[i];
        if (strcmp(name, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME) != 0)
            extensions[plain.enabledExtensionCount++] = name;
    }
    return plain;
}

static VKAPI_ATTR VkResult VKAPI_CALL device_extensions(VkPhysicalDevice physical,
                                                        const char *layer, uint32_t *count,
                                                        VkExtensionProperties *properties)
{
    unsigned long long budget, used;
    struct instance_table table;
    const uint32_t room = *count;
    if (layer && strcmp(layer, LAYER_NAME) == 0) {
        *count = 0;
        return VK_SUCCESS;
    }
    if (!instance_of(physical, &table))
        return VK_ERROR_INITIALIZATION_FAILED;
    const VkResult result = table.extensions(physical, layer, count, properties);
    if (result != VK_SUCCESS || layer || !made_up_budget(&budget, &used))
        return result;
    if (properties && *count == room)
        return VK_INCOMPLETE;
    if (properties)
        properties[*count] =
            (VkExtensionProperties){ .extensionName = VK_EXT_MEMORY_BUDGET_EXTENSION_NAME,
                                     .specVersion = 1 };
    ++*count;
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL memory_properties2(VkPhysicalDevice physical,
                                                     VkPhysicalDeviceMemoryProperties2 *properties)
{
    unsigned long long budget, used;
    struct instance_table table;
    if (!instance_of(physical, &table))
        return;
    table.memory2(physical, properties);
    if (!made_up_budget(&budget, &used))
        return;
    for (VkBaseOutStructure *s = properties->pNext; s; s = s->pNext) {
        if (s->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT)
            continue;
        VkPhysicalDeviceMemoryBudgetPropertiesEXT *b = (void *)s;
        memset(b->heapBudget, 0, sizeof(b->heapBudget));
        memset(b->heapUsage, 0, sizeof(b->heapUsage));
        b->heapBudget[0] = budget;
        b->heapUsage[0] = used;
    }
}

static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical,
                                                    const VkDeviceCreateInfo *info,
                                                    const VkAllocationCallbacks *allocator,
                                                    VkDevice *out)
{
    VkLayerDeviceCreateInfo *link = (VkLayerDeviceCreateInfo *)info->pNext;
    while (link && !(link->sType == VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO &&
                     link->function == VK_LAYER_LINK_INFO))
        link = (VkLayerDeviceCreateInfo *)link->pNext;
    if (!link)
        return VK_ERROR_INITIALIZATION_FAILED;
    PFN_vkGetInstanceProcAddr next_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
    PFN_vkGetDeviceProcAddr next = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
    pthread_mutex_lock(&lock);
    const struct instance_table *owner = find_instance(key_of(physical));
    VkInstance instance = owner ? owner->instance : VK_NULL_HANDLE;
    pthread_mutex_unlock(&lock);
    // With the true instance: others down the chain may refuse a NULL one.
    PFN_vkCreateDevice create = (PFN_vkCreateDevice)next_instance(instance, "vkCreateDevice");
    if (!instance || !create)
        return VK_ERROR_INITIALIZATION_FAILED;
    link->u.pLayerInfo = link->u.pLayerInfo->pNext;
    const char *extensions[MAX_EXTENSIONS];
    const VkDeviceCreateInfo plain = without_budget(info, extensions);
    VkResult result = create(physical, &plain, allocator, out);
    if (result != VK_SUCCESS)
        return result;

#define NEXT(name) (PFN_##name) next(*out, #name)
    struct device_table table = {
        .key = key_of(*out),
        .get_proc = next,
        .destroy = NEXT(vkDestroyDevice),
        .submit = NEXT(vkQueueSubmit),
        .submit2 = NEXT(vkQueueSubmit2),
        .wait_semaphores = NEXT(vkWaitSemaphores),
        .wait_fences = NEXT(vkWaitForFences),
        .queue_idle = NEXT(vkQueueWaitIdle),
        .device_idle = NEXT(vkDeviceWaitIdle),
    };
#undef NEXT
    pthread_mutex_lock(&lock);
    struct device_table *slot = find_device(NULL);
    if (slot)
        *slot = table;
    pthread_mutex_unlock(&lock);
    if (slot)
        return VK_SUCCESS;
    table.destroy(*out, allocator);
    return VK_ERROR_OUT_OF_HOST_MEMORY;
}

static VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice device,
                                                 const VkAllocationCallbacks *allocator)
{
    if (!device)
        return;
    pthread_mutex_lock(&lock);
    struct device_table *found = find_device(key_of(device));
    PFN_vkDestroyDevice destroy = found ? found->destroy : NULL;
    if (found)
        *found = (struct device_table){ 0 };
    pthread_mutex_unlock(&lock);
    if (destroy)
        destroy(device, allocator);
}

// ---- lookup ----------------------------------------------------------------------------------

struct hook {
    const char *name;
    PFN_vkVoidFunction function;
};

static const struct hook instance_hooks[] = {
    { "vkGetInstanceProcAddr", (PFN_vkVoidFunction)fw_fault_GetInstanceProcAddr },
    { "vkCreateInstance", (PFN_vkVoidFunction)create_instance },
    { "vkDestroyInstance", (PFN_vkVoidFunction)destroy_instance },
    { "vkCreateDevice", (PFN_vkVoidFunction)create_device },
    { "vkEnumerateDeviceExtensionProperties", (PFN_vkVoidFunction)device_extensions },
    { "vkGetPhysicalDeviceMemoryProperties2", (PFN_vkVoidFunction)memory_properties2 },
};

static const struct hook device_hooks[] = {
    { "vkGetDeviceProcAddr", (PFN_vkVoidFunction)fw_fault_GetDeviceProcAddr },
    { "vkDestroyDevice", (PFN_vkVoidFunction)destroy_device },
    { "vkQueueSubmit", (PFN_vkVoidFunction)queue_submit },
    { "vkQueueSubmit2", (PFN_vkVoidFunction)queue_submit2 },
    { "vkWaitSemaphores", (PFN_vkVoidFunction)wait_semaphores },
    { "vkWaitForFences", (PFN_vkVoidFunction)wait_fences },
    { "vkQueueWaitIdle", (PFN_vkVoidFunction)queue_wait_idle },
    { "vkDeviceWaitIdle", (PFN_vkVoidFunction)device_wait_idle },
};

static PFN_vkVoidFunction find_hook(const struct hook *hooks, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(hooks[i].name, name) == 0)
            return hooks[i].function;
    // The same calls under the names they had as extensions.
    if (strcmp(name, "vkQueueSubmit2KHR") == 0)
        return find_hook(hooks, count, "vkQueueSubmit2");
    if (strcmp(name, "vkWaitSemaphoresKHR") == 0)
        return find_hook(hooks, count, "vkWaitSemaphores");
    return NULL;
}

#define FIND(hooks, name) find_hook(hooks, sizeof(hooks) / sizeof((hooks)[0]), name)

PFN_vkVoidFunction fw_fault_GetDeviceProcAddr(VkDevice device, const char *name)
{
    if (!device || !name)
        return NULL;
    struct device_table table;
    if (!device_of(device, &table))
        return NULL;
    // What the driver does not have, we don't offer either.
    PFN_vkVoidFunction below = table.get_proc(device, name);
    PFN_vkVoidFunction hook = FIND(device_hooks, name);
    return below && hook ? hook : below;
}

PFN_vkVoidFunction fw_fault_GetInstanceProcAddr(VkInstance instance, const char *name)
{
    if (!name)
        return NULL;
    PFN_vkVoidFunction hook = FIND(instance_hooks, name);
    if (hook)
        return hook;
    if (!instance)
        return NULL;
    pthread_mutex_lock(&lock);
    const struct instance_table *found = find_instance(key_of(instance));
    PFN_vkGetInstanceProcAddr next = found ? found->get_proc : NULL;
    pthread_mutex_unlock(&lock);
    if (!next)
        return NULL;
    PFN_vkVoidFunction below = next(instance, name);
    hook = FIND(device_hooks, name);
    return below && hook ? hook : below;
}

VkResult vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *negotiate)
{
    if (!negotiate || negotiate->sType != LAYER_NEGOTIATE_INTERFACE_STRUCT ||
        negotiate->loaderLayerInterfaceVersion < 2)
        return VK_ERROR_INITIALIZATION_FAILED;
    negotiate->loaderLayerInterfaceVersion = 2;
    negotiate->pfnGetInstanceProcAddr = fw_fault_GetInstanceProcAddr;
    negotiate->pfnGetDeviceProcAddr = fw_fault_GetDeviceProcAddr;
    negotiate->pfnGetPhysicalDeviceProcAddr = NULL;
    return VK_SUCCESS;
}
