// SPDX-License-Identifier: MIT
#include "session/models.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

enum { ENTRIES_MAX = 8192, FRESH_S = 2 };

struct fw_models {
    char *given;        // the folder as the operator named it; NULL = none
    int fd;             // what stands there as of the last scan, -1 = nothing
    char dir[PATH_MAX]; // its path without links
    struct fw_model list[FW_MODELS_MAX];
    unsigned count;
    unsigned seen; // directory entries looked at in this scan, bounded
    int64_t listed_ns;
    bool listed;
};

// What assimp reads and people have.
static const char *const extensions[] = {
    "glb", "gltf", "obj", "fbx", "stl", "ply",  "dae", "3ds", "blend",   "x3d", "ifc", "off",
    "3mf", "lwo",  "lws", "dxf", "x",   "ms3d", "md2", "md3", "md5mesh", "ase", "ac",  "b3d",
};

static bool is_model(const char *name)
{
    const char *dot = strrchr(name, '.');
    if (!dot || dot == name)
        return false;
    for (size_t i = 0; i < sizeof(extensions) / sizeof(extensions[0]); i++)
        if (strcasecmp(dot + 1, extensions[i]) == 0)
            return true;
    return false;
}

// Well-formed UTF-8 without control characters: fit for JSON and for a page.
static bool is_text(const char *s)
{
    const unsigned char *p = (const unsigned char *)s;
    while (*p) {
        const int more = *p < 0x80 ? 0 : *p >= 0xf0 ? 3 : *p >= 0xe0 ? 2 : 1;
        if (*p < 0x20 || *p == 0x7f || (*p >= 0x80 && *p < 0xc2) || *p > 0xf4)
            return false;
        const unsigned char lead = *p++;
        for (int i = 0; i < more; i++, p++) {
            if ((*p & 0xc0) != 0x80)
                return false;
            if (i == 0 && ((lead == 0xe0 && *p < 0xa0) || (lead == 0xed && *p > 0x9f) ||
                           (lead == 0xf0 && *p < 0x90) || (lead == 0xf4 && *p > 0x8f)))
                return false;
        }
    }
    return true;
}

// Opens below the folder only: no "..", no link that leads out, no magic link.
static int open_beneath(int fd, const char *name, uint64_t flags)
{
    struct open_how how = { .flags = flags | O_CLOEXEC,
                            .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
    int opened = (int)syscall(SYS_openat2, fd, name, &how, sizeof(how));
    // Old kernels and some sandboxes lack it. Names come from our own scan (no ".."), so a link in
    // the last place is all that could lead out.
    if (opened < 0 && (errno == ENOSYS || errno == EPERM))
        opened = openat(fd, name, (int)(flags | O_NOFOLLOW | O_CLOEXEC));
    return opened;
}

static void add(struct fw_models *m, const char *name)
{
    struct stat st;
    const int fd = open_beneath(m->fd, name, O_PATH);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && m->count < FW_MODELS_MAX) {
        struct fw_model *model = &m->list[m->count++];
        const char *slash = strrchr(name, '/');
        snprintf(model->name, sizeof(model->name), "%s", name);
        snprintf(model->title, sizeof(model->title), "%s", slash ? slash + 1 : name);
        *strrchr(model->title, '.') = '\0';
        model->bytes = (uint64_t)st.st_size;
    }
    close(fd);
}

static void scan(struct fw_models *m, const char *prefix, int depth)
{
    // Directories are not followed through links, so there is no loop and no way out.
    const int fd = open_beneath(m->fd, *prefix ? prefix : ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (struct dirent *e; (e = readdir(dir)) && m->seen < ENTRIES_MAX && m->count < FW_MODELS_MAX;
         m->seen++) {
        char name[FW_MODEL_NAME_MAX];
        if (e->d_name[0] == '.' || !is_text(e->d_name))
            continue;
        const int n = snprintf(name, sizeof(name), "%s%s%s", prefix, *prefix ? "/" : "", e->d_name);
        if (n >= (int)sizeof(name))
            continue;
        struct stat st;
        if (is_model(e->d_name))
            add(m, name);
        else if (depth > 1 && fstatat(m->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                 S_ISDIR(st.st_mode))
            scan(m, name, depth - 1);
    }
    closedir(dir);
}

static int by_name(const void *a, const void *b)
{
    const struct fw_model *x = a, *y = b;
    const int order = strcasecmp(x->name, y->name);
    return order ? order : strcmp(x->name, y->name);
}

// The folder may have been replaced by another since: a link turned, a directory moved.
static bool reopen(struct fw_models *m)
{
    if (m->fd >= 0)
        close(m->fd);
    m->fd = open(m->given, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return m->fd >= 0 && realpath(m->given, m->dir);
}

enum fw_err fw_models_create(struct fw_models **models, const char *dir, char *message, size_t size)
{
    message[0] = '\0';
    *models = NULL;
    struct fw_models *m = calloc(1, sizeof(*m));
    if (!m)
        return FW_ERR_NOMEM;
    m->fd = -1;
    if (dir) {
        m->given = strdup(dir);
        if (!m->given || !reopen(m)) {
            snprintf(message, size, "--models %s: %s; give a folder that exists and can be read",
                     dir, strerror(errno));
            fw_models_destroy(&m);
            return FW_ERR_NOT_FOUND;
        }
    }
    *models = m;
    return FW_OK;
}

void fw_models_destroy(struct fw_models **models)
{
    struct fw_models *m = *models;
    *models = NULL;
    if (!m)
        return;
    if (m->fd >= 0)
        close(m->fd);
    free(m->given);
    free(m);
}

const struct fw_model *fw_models_list(struct fw_models *m, int64_t now_ns, unsigned *count)
{
    if (m->given && (!m->listed || now_ns - m->listed_ns > (int64_t)FRESH_S * FW_NS_PER_S)) {
        m->count = m->seen = 0;
        if (reopen(m))
            scan(m, "", FW_MODELS_DEPTH);
        qsort(m->list, m->count, sizeof(m->list[0]), by_name);
        m->listed = true;
        m->listed_ns = now_ns;
    }
    *count = m->count;
    return m->list;
}

enum fw_err fw_models_path(struct fw_models *m, const char *name, char *out, size_t out_size)
{
    unsigned count;
    const struct fw_model *list = fw_models_list(m, fw_now_ns(), &count);
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(list[i].name, name) != 0)
            continue;
        struct stat st; // still there, still below, still a file
        const int fd = open_beneath(m->fd, name, O_PATH);
        const bool good = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
        if (fd >= 0)
            close(fd);
        if (!good)
            return FW_ERR_NOT_FOUND;
        const int n = snprintf(out, out_size, "%s/%s", m->dir, name);
        return n < (int)out_size ? FW_OK : FW_ERR_TOO_LARGE;
    }
    return FW_ERR_NOT_FOUND;
}

const char *fw_models_dir(const struct fw_models *m)
{
    return m->given ? m->dir : NULL;
}
