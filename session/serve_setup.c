// SPDX-License-Identifier: MIT
#include "session/serve_setup.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

static bool join(char *out, const char *a, const char *b)
{
    return snprintf(out, PATH_MAX, "%s%s", a, b) < PATH_MAX;
}

// mkdir -p; the last one is for the owner only.
static bool make_dirs(const char *path)
{
    char part[PATH_MAX];
    if (!join(part, path, ""))
        return false;
    for (char *slash = part + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        if (mkdir(part, 0755) < 0 && errno != EEXIST)
            return false;
        *slash = '/';
    }
    struct stat st;
    if (mkdir(part, 0700) < 0 && errno != EEXIST)
        return false;
    if (stat(part, &st) < 0 || !S_ISDIR(st.st_mode))
        return errno = ENOTDIR, false;
    return access(part, W_OK | X_OK) == 0;
}

static bool state_dir(const struct fw_serve_options *o, char *out)
{
    const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (o->state)
        return o->state[0] == '/'
                   ? join(out, o->state, "")
                   : getcwd(out, PATH_MAX) && strlen(out) + strlen(o->state) + 2 < PATH_MAX &&
                         (strcat(out, "/"), strcat(out, o->state), true);
    if (xdg && xdg[0] == '/')
        return join(out, xdg, "/framewire");
    if (!home || home[0] != '/') {
        const struct passwd *pw = getpwuid(getuid());
        home = pw ? pw->pw_dir : "/";
    }
    return join(out, home, "/.local/state/framewire");
}

static bool has_pages(const char *dir)
{
    char file[PATH_MAX];
    return join(file, dir, "/session.html") && access(file, R_OK) == 0;
}

// Beside the binary: in the build tree, or installed.
static bool find_web(char *out)
{
    static const char *const places[] = { "/../stream/web", "/../share/framewire/web",
                                          "/../../share/framewire/web" };
    char exe[PATH_MAX], path[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    if (n <= 0)
        return false;
    exe[n] = '\0';
    *strrchr(exe, '/') = '\0';
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        if (join(path, exe, places[i]) && has_pages(path))
            return realpath(path, out) != NULL;
    return false;
}

enum fw_err fw_serve_find_paths(const struct fw_serve_options *o, struct fw_serve_paths *paths,
                                char *message, size_t size)
{
    if (!state_dir(o, paths->state) || !make_dirs(paths->state) ||
        !join(paths->cache, paths->state, "/cache") || !make_dirs(paths->cache)) {
        snprintf(message, size, "the state folder %s can't be used: %s; give another --state DIR",
                 paths->state, strerror(errno));
        return FW_ERR_IO;
    }
    chmod(paths->state, 0700);
    if (o->static_dir ? !realpath(o->static_dir, paths->web) || !has_pages(paths->web)
                      : !find_web(paths->web)) {
        snprintf(message, size,
                 "the web pages are not %s%s; give --static DIR with session.html "
                 "in it",
                 o->static_dir ? "in " : "found beside the binary",
                 o->static_dir ? o->static_dir : "");
        return FW_ERR_NOT_FOUND;
    }
    return FW_OK;
}

enum { NAMES_MAX = 32, NAME_SIZE = 256 };

struct names {
    char text[NAMES_MAX][NAME_SIZE];
    const char *list[NAMES_MAX];
    unsigned count;
};

static void add_name(struct names *n, const char *text, size_t length)
{
    if (n->count == NAMES_MAX || !length || length >= NAME_SIZE)
        return;
    snprintf(n->text[n->count], NAME_SIZE, "%.*s", (int)length, text);
    n->list[n->count] = n->text[n->count];
    n->count++;
}

// "https://host:port" → host
static void add_origin(struct names *n, const char *origin)
{
    const char *host = strstr(origin, "://");
    host = host ? host + 3 : origin;
    if (*host == '[')
        add_name(n, host + 1, strcspn(host + 1, "]"));
    else
        add_name(n, host, strcspn(host, ":/"));
}

static bool is_any(const char *host)
{
    return strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
}

static void add_interfaces(struct names *n)
{
    uv_interface_address_t *list;
    int count;
    if (uv_interface_addresses(&list, &count) < 0)
        return;
    for (int i = 0; i < count; i++) {
        char name[64];
        if (list[i].address.address4.sin_family == AF_INET)
            uv_ip4_name(&list[i].address.address4, name, sizeof(name));
        else
            uv_ip6_name(&list[i].address.address6, name, sizeof(name));
        add_name(n, name, strlen(name));
    }
    uv_free_interface_addresses(list, count);
}

enum fw_err fw_serve_self_signed(const struct fw_serve_options *o,
                                 const struct fw_serve_paths *paths, struct fw_log *log,
                                 struct fw_selfsigned *out)
{
    char host[NAME_SIZE] = "", dir[PATH_MAX];
    struct names *names = calloc(1, sizeof(*names));
    if (!names || !join(dir, paths->state, "/tls")) {
        free(names);
        return FW_ERR_NOMEM;
    }
    if (gethostname(host, sizeof(host) - 1) == 0)
        add_name(names, host, strlen(host));
    for (unsigned i = 0; i < o->origin_count; i++)
        add_origin(names, o->origins[i]);
    if (is_any(o->host))
        add_interfaces(names);
    else
        add_name(names, o->host, strlen(o->host));
    const enum fw_err err = fw_selfsigned_ensure(dir, names->list, names->count, log, out);
    free(names);
    return err;
}

enum fw_err fw_serve_faults(const struct fw_serve_options *o, struct fw_faults *faults,
                            char *message, size_t size)
{
    char why[256];
    const char *text = getenv("FRAMEWIRE_FAULT");
    *faults = (struct fw_faults){ 0 };
    if (!text || !*text)
        return FW_OK;
    if (!o->allow_faults) {
        fprintf(stderr, "framewire: WARNING: FRAMEWIRE_FAULT is set and not obeyed: it needs "
                        "--allow-faults\n");
        return FW_OK;
    }
    const enum fw_err err = fw_faults_parse(faults, text, why, sizeof(why));
    if (err)
        snprintf(message, size, "FRAMEWIRE_FAULT: %s", why);
    return err;
}

void fw_serve_settle_process(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max < 65536 ? files.rlim_max : 65536;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_NAME, "fw-front");
}

void fw_serve_addresses(const char *host, int port, bool tls, const char *indent, char *out,
                        size_t size)
{
    const char *scheme = tls ? "https" : "http";
    size_t used = 0;
    out[0] = '\0';
    if (!is_any(host)) {
        const bool v6 = strchr(host, ':') != NULL;
        snprintf(out, size, "%s://%s%s%s:%d/", scheme, v6 ? "[" : "", host, v6 ? "]" : "", port);
        return;
    }
    uv_interface_address_t *list;
    int count;
    if (uv_interface_addresses(&list, &count) < 0)
        return;
    for (int i = 0; i < count && used < size; i++) {
        char name[64];
        if (list[i].address.address4.sin_family != AF_INET)
            continue; // a v6 host is reachable under its name; the list would be long
        uv_ip4_name(&list[i].address.address4, name, sizeof(name));
        used += (size_t)snprintf(out + used, size - used, "%s%s%s://%s:%d/", used ? "\n" : "",
                                 used ? indent : "", scheme, name, port);
    }
    uv_free_interface_addresses(list, count);
}
