// SPDX-License-Identifier: MIT
// The pipeline cache on disk: one file per device. Drivers trust what they are given, so the file
// carries a checksum of ours in front of the driver's own header.
#include "render/gpu_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CACHE_MAX_BYTES = 64 << 20 };

struct cache_head {
    char magic[8];
    uint64_t hash; // of the driver's bytes that follow
    uint64_t size;
};
static const char cache_magic[8] = "fwpipe1";

static uint64_t hash_bytes(const uint8_t *data, size_t size)
{
    uint64_t h = 0xcbf29ce484222325u; // FNV-1a
    for (size_t i = 0; i < size; i++) {
        h = (h ^ data[i]) * 0x100000001b3u;
    }
    return h;
}

static bool read_all(int fd, void *out, size_t size)
{
    for (size_t done = 0; done < size;) {
        const ssize_t n = read(fd, (uint8_t *)out + done, size - done);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        done += (size_t)n;
    }
    return true;
}

static bool write_all(int fd, const void *data, size_t size)
{
    for (size_t done = 0; done < size;) {
        const ssize_t n = write(fd, (const uint8_t *)data + done, size - done);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        done += (size_t)n;
    }
    return true;
}

// Is this blob from this very driver and device?
static bool header_fits(const struct fw_gpu *gpu, const uint8_t *data, size_t size)
{
    VkPipelineCacheHeaderVersionOne head;
    if (size < sizeof(head)) {
        return false;
    }
    memcpy(&head, data, sizeof(head));
    return head.headerSize >= sizeof(head) && head.headerSize <= size &&
           head.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE &&
           head.vendorID == gpu->props.vendorID && head.deviceID == gpu->props.deviceID &&
           memcmp(head.pipelineCacheUUID, gpu->props.pipelineCacheUUID, VK_UUID_SIZE) == 0;
}

// The caller frees the result. NULL when there is nothing to use.
static uint8_t *load(struct fw_gpu *gpu, size_t *size)
{
    const int fd = open(gpu->priv->cache_path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    struct cache_head head;
    struct stat st;
    uint8_t *data = NULL;
    const char *why = "not a cache of ours";
    if (fstat(fd, &st) || !read_all(fd, &head, sizeof(head)) ||
        memcmp(head.magic, cache_magic, sizeof(cache_magic)) != 0 || head.size > CACHE_MAX_BYTES ||
        (uint64_t)st.st_size != sizeof(head) + head.size) {
        goto reject;
    }
    data = malloc(head.size ? head.size : 1);
    if (!data || !read_all(fd, data, head.size) || hash_bytes(data, head.size) != head.hash) {
        why = "damaged";
        goto reject;
    }
    if (!header_fits(gpu, data, head.size)) {
        why = "from another driver";
        goto reject;
    }
    close(fd);
    gpu->priv->cache_hash = head.hash;
    *size = head.size;
    return data;

reject:
    fw_log(gpu->log, FW_LOG_INFO, "gpu", "pipeline cache %s ignored: %s", gpu->priv->cache_path,
           why);
    free(data);
    close(fd);
    return NULL;
}

enum fw_err fw_gpu_cache_open(struct fw_gpu *gpu, const char *dir)
{
    enum fw_err err = FW_OK;
    size_t size = 0;
    uint8_t *data = NULL;
    if (dir && *dir) {
        char uuid[2 * VK_UUID_SIZE + 1];
        for (unsigned i = 0; i < VK_UUID_SIZE; i++) {
            snprintf(uuid + 2 * i, 3, "%02x", gpu->uuid[i]);
        }
        const int n = snprintf(gpu->priv->cache_path, sizeof(gpu->priv->cache_path),
                               "%s/pipeline-%s.bin", dir, uuid);
        if (n < 0 || (size_t)n + 24 > sizeof(gpu->priv->cache_path)) {
            fw_log(gpu->log, FW_LOG_WARN, "gpu", "cache folder's name is too long: no cache");
            gpu->priv->cache_path[0] = '\0';
        } else {
            mkdir(dir, 0700); // if that fails, so will the write, and say why
            data = load(gpu, &size);
        }
    }
    const VkPipelineCacheCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
        .initialDataSize = size,
        .pInitialData = data,
    };
    VK(gpu, vkCreatePipelineCache(gpu->device, &info, NULL, &gpu->pipeline_cache));
error:
    free(data);
    return err;
}

static bool write_file(const char *path, const struct cache_head *head, const uint8_t *data)
{
    char tmp[544];
    snprintf(tmp, sizeof(tmp), "%s.%d", path, (int)getpid());
    const int fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return false;
    }
    const bool written = write_all(fd, head, sizeof(*head)) && write_all(fd, data, head->size);
    // Several workers may do this at once: each renames a whole file, the last one wins.
    if (close(fd) || !written || rename(tmp, path)) {
        const int saved = errno;
        unlink(tmp);
        errno = saved;
        return false;
    }
    return true;
}

void fw_gpu_cache_save(struct fw_gpu *gpu)
{
    if (!gpu->pipeline_cache || !gpu->priv->cache_path[0] || gpu->lost) {
        return;
    }
    size_t size = 0;
    uint8_t *data = NULL;
    if (vkGetPipelineCacheData(gpu->device, gpu->pipeline_cache, &size, NULL) || size == 0 ||
        size > CACHE_MAX_BYTES || !(data = malloc(size)) ||
        vkGetPipelineCacheData(gpu->device, gpu->pipeline_cache, &size, data)) {
        free(data);
        return; // a cache is a help, not a promise
    }
    struct cache_head head = { .hash = hash_bytes(data, size), .size = size };
    memcpy(head.magic, cache_magic, sizeof(head.magic));
    if (head.hash != gpu->priv->cache_hash) {
        if (write_file(gpu->priv->cache_path, &head, data)) {
            gpu->priv->cache_hash = head.hash;
        } else {
            fw_log(gpu->log, FW_LOG_WARN, "gpu", "cannot write %s: %s", gpu->priv->cache_path,
                   strerror(errno));
        }
    }
    free(data);
}
