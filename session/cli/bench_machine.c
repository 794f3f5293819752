// SPDX-License-Identifier: MIT
#include "session/cli/bench_machine.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stream/client/text.h"

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : -1;
}

static void text(const json_t *object, const char *key, char *out, size_t size)
{
    const char *value = json_string_value(json_object_get(object, key));
    fw_text_copy(out, size, value ? value : "");
}

static void read_gpu(const json_t *json, struct fw_bench_gpu *gpu)
{
    const json_t *throttle = json_object_get(json, "throttle");
    text(json, "name", gpu->name, sizeof(gpu->name));
    text(json, "kind", gpu->kind, sizeof(gpu->kind));
    gpu->use = number(json, "use");
    gpu->encoder_use = number(json, "encoder_use");
    gpu->memory_used = number(json, "memory_used_bytes");
    gpu->memory_total = number(json, "memory_total_bytes");
    gpu->temperature_c = number(json, "temperature_c");
    gpu->power_w = number(json, "power_w");
    snprintf(gpu->throttle, sizeof(gpu->throttle), "%s", json_is_array(throttle) ? "" : "?");
    size_t used = 0;
    for (size_t i = 0; i < json_array_size(throttle) && used < sizeof(gpu->throttle); i++) {
        const char *reason = json_string_value(json_array_get(throttle, i));
        char plain[32];
        fw_text_copy(plain, sizeof(plain), reason ? reason : "?");
        used += (size_t)snprintf(gpu->throttle + used, sizeof(gpu->throttle) - used, "%s%s",
                                 i ? ", " : "", plain);
    }
}

void fw_bench_machine_read(const struct fw_remote *remote, struct fw_bench_machine *m)
{
    struct fw_remote_error error;
    json_t *json = NULL;
    *m = (struct fw_bench_machine){ .cores = -1,
                                    .used_cores = -1,
                                    .memory_total = -1,
                                    .memory_available = -1,
                                    .front_resident = -1,
                                    .workers_resident = -1 };
    m->told = fw_remote_call(remote, "GET", "/machine", NULL, &json, &error) == FW_OK;
    if (m->told) {
        const json_t *cpu = json_object_get(json, "cpu"), *memory = json_object_get(json, "memory");
        const json_t *gpus = json_object_get(json, "gpus");
        m->cores = number(cpu, "cores");
        m->used_cores = number(cpu, "used_cores");
        m->memory_total = number(memory, "total_bytes");
        m->memory_available = number(memory, "available_bytes");
        m->front_resident = number(json_object_get(json, "process"), "resident_bytes");
        m->workers_resident = number(json_object_get(json, "workers"), "resident_bytes");
        for (size_t i = 0; i < json_array_size(gpus) && m->gpu_count < FW_BENCH_GPUS; i++)
            read_gpu(json_array_get(gpus, i), &m->gpu[m->gpu_count++]);
    }
    json_decref(json);
    if (m->cores < 0 && fw_bench_is_local(remote))
        m->cores = (double)sysconf(_SC_NPROCESSORS_ONLN);
}

bool fw_bench_is_local(const struct fw_remote *remote)
{
    const char *host = remote->target.host;
    return strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 ||
           strcmp(host, "localhost") == 0;
}

void fw_bench_machine_cpu_name(const struct fw_remote *remote, char *out, size_t size)
{
    char line[256];
    *out = '\0';
    FILE *f = fw_bench_is_local(remote) ? fopen("/proc/cpuinfo", "re") : NULL;
    while (f && fgets(line, sizeof(line), f)) {
        const char *colon = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
        if (!colon)
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(out, size, "%s", colon + 1 + strspn(colon + 1, " "));
        break;
    }
    if (f)
        fclose(f);
}

// ---- processes of this machine

// Is that process a framewire of ours to look at? Its name may be anything, so the file counts.
static bool is_framewire(pid_t pid)
{
    char path[64], file[512];
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    const ssize_t length = readlink(path, file, sizeof(file) - 1);
    if (length <= 0)
        return false;
    file[length] = '\0';
    const char *slash = strrchr(file, '/');
    return slash && strncmp(slash + 1, "framewire", 9) == 0;
}

// CPU time and parent. False: there is no such process, or it is no framewire.
static bool read_stat(pid_t pid, double *cpu_s, pid_t *parent)
{
    char path[64], line[1024];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *f = is_framewire(pid) ? fopen(path, "re") : NULL;
    if (!f)
        return false;
    const bool got = fgets(line, sizeof(line), f) != NULL;
    fclose(f);
    const char *close = got ? strrchr(line, ')') : NULL;
    int ppid = 0;
    unsigned long user = 0, system = 0;
    if (!close || sscanf(close + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &ppid,
                         &user, &system) != 3)
        return false;
    *cpu_s = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
    *parent = ppid;
    return true;
}

pid_t fw_bench_worker_pid(const struct fw_remote *remote, const char *session, int *restarts)
{
    char path[128];
    struct fw_remote_error error;
    json_t *json = NULL;
    snprintf(path, sizeof(path), "/sessions/%.80s", session);
    const enum fw_err err = fw_remote_call(remote, "GET", path, NULL, &json, &error);
    const double pid = err ? -1 : number(json, "workerPid");
    const double count = err ? -1 : number(json, "restarts");
    json_decref(json);
    if (restarts)
        *restarts = (int)count;
    return pid > 0 && pid <= INT_MAX ? (pid_t)pid : 0;
}

pid_t fw_bench_processes_add(const struct fw_remote *remote, const char *session,
                             struct fw_bench_processes *p)
{
    double cpu;
    pid_t parent, grandparent;
    const pid_t worker = fw_bench_is_local(remote) ? fw_bench_worker_pid(remote, session, NULL) : 0;
    if (!worker || !read_stat(worker, &cpu, &parent))
        return 0;
    p->workers_cpu_s += cpu;
    if (p->front)
        return worker;
    if (!read_stat(parent, &p->front_cpu_s, &grandparent))
        return 0;
    p->front = parent;
    return worker;
}

// The value of a metric without labels. False: it is not there.
static bool read_metric(const char *text, const char *name, double *value)
{
    const size_t length = strlen(name);
    for (const char *p = text; p; p = strchr(p, '\n')) {
        p += *p == '\n';
        if (strncmp(p, name, length) == 0 && p[length] == ' ')
            return sscanf(p + length, "%lf", value) == 1;
    }
    return false;
}

bool fw_bench_processes_ask(const struct fw_remote *remote, struct fw_bench_processes *p)
{
    struct fw_remote_error error;
    char *text;
    size_t size;
    if (fw_remote_text(remote, "/metrics", &text, &size, &error))
        return false;
    const bool known = read_metric(text, "framewire_worker_cpu_seconds_total", &p->workers_cpu_s) &&
                       read_metric(text, "process_cpu_seconds_total", &p->front_cpu_s);
    free(text);
    p->front = FW_BENCH_ELSEWHERE;
    return known;
}

// ---- over a while

void fw_bench_watchman_begin(struct fw_bench_watchman *w)
{
    *w = (struct fw_bench_watchman){
        .cores = -1,
        .used_cores_most = -1,
        .memory_total = -1,
        .memory_available_least = -1,
        .gpu_use_most = -1,
        .encoder_use_most = -1,
        .gpu_memory_share_most = -1,
        .temperature_most = -1,
    };
}

static void at_most(double *most, double value)
{
    if (value > *most)
        *most = value;
}

void fw_bench_watchman_look(struct fw_bench_watchman *w, const struct fw_remote *remote)
{
    struct fw_bench_machine *m = &w->newest;
    fw_bench_machine_read(remote, m);
    w->cores = m->cores;
    w->memory_total = m->memory_total;
    if (m->used_cores >= 0) {
        w->samples++;
        w->used_cores_sum += m->used_cores;
        at_most(&w->used_cores_most, m->used_cores);
    }
    if (m->memory_available >= 0 &&
        (w->memory_available_least < 0 || m->memory_available < w->memory_available_least))
        w->memory_available_least = m->memory_available;
    for (unsigned i = 0; i < m->gpu_count; i++) {
        const struct fw_bench_gpu *g = &m->gpu[i];
        at_most(&w->gpu_use_most, g->use);
        at_most(&w->encoder_use_most, g->encoder_use);
        at_most(&w->temperature_most, g->temperature_c);
        if (g->memory_total > 0 && g->memory_used >= 0)
            at_most(&w->gpu_memory_share_most, g->memory_used / g->memory_total);
        if (g->throttle[0] && g->throttle[0] != '?')
            snprintf(w->throttle, sizeof(w->throttle), "%s", g->throttle);
    }
}

double fw_bench_watchman_cpu(const struct fw_bench_watchman *w)
{
    return w->samples && w->cores > 0 ? w->used_cores_sum / w->samples / w->cores : -1;
}
