// SPDX-License-Identifier: MIT
#include "stream/static_files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *suffix, *type;
} types[] = {
    { ".html", "text/html; charset=utf-8" },
    { ".js", "text/javascript; charset=utf-8" },
    { ".mjs", "text/javascript; charset=utf-8" },
    { ".css", "text/css; charset=utf-8" },
    { ".json", "application/json" },
    { ".map", "application/json" },
    { ".yaml", "application/yaml" },
    { ".svg", "image/svg+xml" },
    { ".png", "image/png" },
    { ".jpg", "image/jpeg" },
    { ".jpeg", "image/jpeg" },
    { ".webp", "image/webp" },
    { ".avif", "image/avif" },
    { ".ico", "image/x-icon" },
    { ".woff2", "font/woff2" },
    { ".wasm", "application/wasm" },
    { ".webmanifest", "application/manifest+json" },
    { ".txt", "text/plain; charset=utf-8" },
    { ".md", "text/plain; charset=utf-8" },
    { ".h264", "application/octet-stream" },
};

const char *fw_content_type(const char *path)
{
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof(types) / sizeof(types[0]); i++) {
        if (!strcasecmp(dot, types[i].suffix))
            return types[i].type;
    }
    return "application/octet-stream";
}

enum fw_err fw_static_root(const char *dir, int *fd)
{
    *fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return *fd >= 0 ? FW_OK : FW_ERR_NOT_FOUND;
}

// Where the kernel (or a container's filter) has no openat2: one step at a time.
static int open_stepwise(int root_fd, const char *path)
{
    int dir = dup(root_fd);
    while (dir >= 0) {
        char name[256];
        const size_t size = strcspn(path, "/");
        if (!size || size >= sizeof(name))
            break;
        memcpy(name, path, size);
        name[size] = '\0';
        const bool last = !path[size];
        const int next =
            openat(dir, name,
                   O_NOFOLLOW | O_CLOEXEC |
                       (last ? O_RDONLY | O_NONBLOCK | O_NOCTTY : O_PATH | O_DIRECTORY));
        close(dir);
        if (last)
            return next;
        dir = next;
        path += size + 1;
    }
    if (dir >= 0)
        close(dir);
    return -1;
}

static int open_beneath(int root_fd, const char *path)
{
    struct open_how how = {
        .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    const int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        return open_stepwise(root_fd, path);
    return fd;
}

// Every part is a plain visible name: no "", ".", "..", ".git", no backslash, no control bytes.
static bool path_plain(const char *path)
{
    if (!*path || strlen(path) > 1024)
        return false;
    bool start = true;
    for (const char *p = path; *p; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f || *p == '\\')
            return false;
        if (start && (*p == '.' || *p == '/'))
            return false;
        start = *p == '/';
    }
    return !start;
}

static enum fw_err read_all(int fd, size_t lead, struct fw_static_file *file)
{
    file->data = malloc(lead + file->size + 1);
    if (!file->data)
        return FW_ERR_NOMEM;
    size_t have = 0;
    while (have < file->size) {
        const ssize_t n = read(fd, file->data + lead + have, file->size - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        have += (size_t)n;
    }
    if (have == file->size)
        return FW_OK;
    free(file->data);
    file->data = NULL;
    return FW_ERR_IO;
}

enum fw_err fw_static_read(int root_fd, const char *path, size_t lead, struct fw_static_file *file)
{
    memset(file, 0, sizeof(*file));
    if (!path_plain(path))
        return FW_ERR_NOT_FOUND;
    const int fd = open_beneath(root_fd, path);
    if (fd < 0)
        return FW_ERR_NOT_FOUND;
    struct stat st;
    enum fw_err err = FW_ERR_NOT_FOUND;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode))
        goto done;
    err = FW_ERR_TOO_LARGE;
    if (st.st_size < 0 || st.st_size > FW_STATIC_MAX_BYTES)
        goto done;
    file->size = (size_t)st.st_size;
    file->content_type = fw_content_type(path);
    snprintf(file->etag, sizeof(file->etag), "\"%llx-%llx-%llx\"", (unsigned long long)st.st_ino,
             (unsigned long long)st.st_size,
             (unsigned long long)st.st_mtim.tv_sec * 1000000000ULL +
                 (unsigned long long)st.st_mtim.tv_nsec);
    struct tm tm;
    gmtime_r(&st.st_mtim.tv_sec, &tm);
    strftime(file->last_modified, sizeof(file->last_modified), "%a, %d %b %Y %H:%M:%S GMT", &tm);
    err = read_all(fd, lead, file);
done:
    close(fd);
    return err;
}
