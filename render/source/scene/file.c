// SPDX-License-Identifier: MIT
#include "render/source/scene/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// Kernels before 5.6 and some sandboxes lack openat2: compare real paths there.
static int open_beneath_fallback(int dir, const char *name)
{
    char link[64], root[PATH_MAX], real[PATH_MAX], joined[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
    if (name[0] == '/' || !realpath(link, root))
        return -1;
    if (snprintf(joined, sizeof(joined), "%s/%s", root, name) >= (int)sizeof(joined))
        return -1;
    if (!realpath(joined, real))
        return -1;
    size_t length = strcmp(root, "/") ? strlen(root) : 0;
    if (strncmp(real, root, length) || real[length] != '/') {
        errno = EXDEV;
        return -1;
    }
    return open(real, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

static int open_beneath(int dir, const char *name)
{
    struct open_how how = {
        .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK, // a FIFO must not hold us up
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };
    int fd = (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));
    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        fd = open_beneath_fallback(dir, name);
    return fd;
}

static enum fw_err read_all(int fd, uint64_t limit, struct fw_scene_bytes *out)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return FW_ERR_NOT_FOUND;
    if ((uint64_t)st.st_size > limit)
        return FW_ERR_TOO_LARGE;
    size_t size = (size_t)st.st_size;
    uint8_t *data = malloc(size + 1);
    if (!data)
        return FW_ERR_NOMEM;
    size_t got = 0;
    while (got < size) {
        ssize_t n = read(fd, data + got, size - got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        got += (size_t)n;
    }
    if (got < size) { // it shrank, or the disk failed
        free(data);
        return FW_ERR_IO;
    }
    data[size] = 0;
    *out = (struct fw_scene_bytes){ data, size };
    return FW_OK;
}

static enum fw_err load(struct fw_scene_files *files, const char *key, const char *name)
{
    if (files->count == FW_SCENE_MAX_FILES)
        return FW_ERR_TOO_LARGE;
    int fd = open_beneath(files->dir, name);
    if (fd < 0)
        return errno == EXDEV || errno == EACCES || errno == EPERM ? FW_ERR_DENIED
                                                                   : FW_ERR_NOT_FOUND;
    struct fw_scene_bytes bytes = { 0 };
    // One cap for each file and a looser one for all of them.
    uint64_t room = 2ull * FW_SCENE_MAX_FILE - files->total;
    enum fw_err err = read_all(fd, room < FW_SCENE_MAX_FILE ? room : FW_SCENE_MAX_FILE, &bytes);
    close(fd);
    if (err)
        return err;
    char *copy = strdup(key);
    if (!copy) {
        free(bytes.data);
        return FW_ERR_NOMEM;
    }
    files->total += bytes.size;
    files->file[files->count].name = copy;
    files->file[files->count].bytes = bytes;
    files->count++;
    return FW_OK;
}

enum fw_err fw_scene_files_open(struct fw_scene_files *files, const char *path,
                                const struct fw_scene_note *note)
{
    memset(files, 0, sizeof(*files));
    files->dir = -1;
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    if (path[0] != '/' || !*name || strlen(name) >= sizeof(files->main_name))
        return fw_scene_fail(note, FW_ERR_INVALID, "The name of the model is not usable.");
    char dir[PATH_MAX];
    if (snprintf(dir, sizeof(dir), "%.*s", (int)(name - path), path) >= (int)sizeof(dir))
        return fw_scene_fail(note, FW_ERR_INVALID, "The name of the model is too long.");
    snprintf(files->main_name, sizeof(files->main_name), "%s", name);
    files->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (files->dir < 0)
        return fw_scene_fail(note, FW_ERR_NOT_FOUND, "The folder of \"%s\" can't be opened.", name);
    enum fw_err err = load(files, name, name);
    switch (err) {
    case FW_OK: break;
    case FW_ERR_TOO_LARGE:
        return fw_scene_fail(note, err, "\"%s\" is larger than the limit of %d MiB.", name,
                             FW_SCENE_MAX_FILE >> 20);
    case FW_ERR_DENIED:
        return fw_scene_fail(note, err, "\"%s\" may not be read by the server.", name);
    case FW_ERR_NOT_FOUND: return fw_scene_fail(note, err, "There is no model file \"%s\".", name);
    default: return fw_scene_fail(note, err, "\"%s\" could not be read.", name);
    }
    if (files->file[0].bytes.size == 0)
        return fw_scene_fail(note, FW_ERR_FORMAT, "\"%s\" is empty.", name);
    return FW_OK;
}

void fw_scene_files_finish(struct fw_scene_files *files)
{
    for (unsigned i = 0; i < files->count; i++) {
        free(files->file[i].name);
        free(files->file[i].bytes.data);
    }
    files->count = 0;
    if (files->dir >= 0)
        close(files->dir);
    files->dir = -1;
}

const struct fw_scene_bytes *fw_scene_files_main(const struct fw_scene_files *files)
{
    return &files->file[0].bytes;
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Slashes made forward, "./" dropped, optionally %xx decoded. False: does not fit, or holds a NUL.
static bool clean_name(const char *in, bool decode, char *out, size_t size)
{
    while (in[0] == '.' && (in[1] == '/' || in[1] == '\\'))
        in += 2;
    size_t n = 0;
    for (; *in; in++) {
        char c = *in;
        if (decode && c == '%' && hex(in[1]) >= 0 && hex(in[2]) >= 0) {
            c = (char)(hex(in[1]) << 4 | hex(in[2]));
            in += 2;
        } else if (c == '\\') {
            c = '/';
        }
        if (!c || n + 1 >= size)
            return false;
        out[n++] = c;
    }
    out[n] = 0;
    return n > 0;
}

enum fw_err fw_scene_files_get(struct fw_scene_files *files, const char *name,
                               struct fw_scene_bytes *out)
{
    for (unsigned i = 0; i < files->count; i++) {
        if (!strcmp(files->file[i].name, name)) {
            *out = files->file[i].bytes;
            return FW_OK;
        }
    }
    char clean[FW_SCENE_NAME];
    enum fw_err err = FW_ERR_NOT_FOUND;
    for (int decode = 0; decode < 2 && err == FW_ERR_NOT_FOUND; decode++) {
        if (!clean_name(name, decode, clean, sizeof(clean)))
            return FW_ERR_NOT_FOUND;
        err = load(files, name, clean);
    }
    if (!err)
        *out = files->file[files->count - 1].bytes;
    return err;
}
