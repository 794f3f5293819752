// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "session/telemetry_impl.h"

int fw_read_file(const char *path, char *out, size_t size)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    const ssize_t n = read(fd, out, size - 1);
    close(fd);
    if (n < 0)
        return -1;
    out[n] = '\0';
    return (int)n;
}

static int read_proc(const char *proc, const char *name, char *out, size_t size)
{
    char path[320];
    snprintf(path, sizeof(path), "%s/%s", proc, name);
    return fw_read_file(path, out, size);
}

// The first line of /proc/stat: user nice system idle iowait irq softirq steal (guest is in user).
static int64_t busy_ticks(const char *proc)
{
    char text[512];
    int64_t user, nice, system, idle, iowait, irq, softirq, steal;
    if (read_proc(proc, "stat", text, sizeof(text)) < 0 ||
        sscanf(text,
               "cpu %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64
               " %" SCNd64 " %" SCNd64,
               &user, &nice, &system, &idle, &iowait, &irq, &softirq, &steal) != 8)
        return -1;
    return user + nice + system + irq + softirq + steal;
}

void fw_proc_base_read(const char *proc, struct fw_proc_base *out)
{
    out->at_ns = fw_now_ns();
    out->busy_ticks = busy_ticks(proc);
}

static int64_t meminfo_bytes(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    int64_t kb;
    return at && sscanf(at + strlen(name), ": %" SCNd64 " kB", &kb) == 1 ? kb * 1024 : -1;
}

static void read_memory(const char *proc, struct fw_machine *m)
{
    char text[4096];
    if (read_proc(proc, "meminfo", text, sizeof(text)) < 0)
        return;
    m->memory_total_bytes = meminfo_bytes(text, "MemTotal");
    m->memory_available_bytes = meminfo_bytes(text, "MemAvailable");
}

// Pages of all and of the resident part, in bytes. False: there is no such process (any more).
static bool statm(const char *proc, const char *who, int64_t *all, int64_t *resident)
{
    char name[64], text[128];
    snprintf(name, sizeof(name), "%s/statm", who);
    if (read_proc(proc, name, text, sizeof(text)) < 0 ||
        sscanf(text, "%" SCNd64 " %" SCNd64, all, resident) != 2)
        return false;
    const int64_t page = sysconf(_SC_PAGESIZE);
    *all *= page;
    *resident *= page;
    return true;
}

static int count_files(const char *proc)
{
    char path[320];
    snprintf(path, sizeof(path), "%s/self/fd", proc);
    DIR *dir = opendir(path);
    if (!dir)
        return -1;
    int n = -1; // that of the folder itself
    for (const struct dirent *e; (e = readdir(dir));)
        n += e->d_name[0] != '.';
    closedir(dir);
    return n;
}

// Field 22 of /proc/self/stat, in ticks since the machine was started, and that in /proc/stat.
static double start_time(const char *proc)
{
    char text[1024], *boot = malloc(64 << 10); // a line for each core and interrupt comes first
    double result = NAN;
    const char *at = NULL, *btime = NULL;
    if (boot && read_proc(proc, "self/stat", text, sizeof(text)) > 0)
        at = strrchr(text, ')'); // the name may hold anything
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (at && read_proc(proc, "stat", boot, 64 << 10) > 0)
        btime = strstr(boot, "\nbtime ");
    if (btime)
        result = (double)strtoll(btime + 7, NULL, 10) +
                 (double)strtoll(at, NULL, 10) / (double)sysconf(_SC_CLK_TCK);
    free(boot);
    return result;
}

static void read_process(const char *proc, struct fw_machine *m)
{
    struct rusage use;
    struct rlimit files;
    int64_t all, resident;
    if (getrusage(RUSAGE_SELF, &use) == 0)
        m->process.cpu_seconds = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                                 (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
    if (statm(proc, "self", &all, &resident)) {
        m->process.virtual_bytes = all;
        m->process.resident_bytes = resident;
    }
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        m->process.max_files = (int)files.rlim_cur;
    m->process.open_files = count_files(proc);
    m->process.start_time = start_time(proc);
}

void fw_proc_read(const struct fw_proc_sample *s, struct fw_proc_base *base, struct fw_machine *m)
{
    const struct fw_proc_base before = *s->base;
    fw_proc_base_read(s->proc, base);
    m->cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    const double seconds = (double)(base->at_ns - before.at_ns) / 1e9;
    if (before.busy_ticks >= 0 && base->busy_ticks >= before.busy_ticks && seconds > 0)
        m->used_cores =
            (double)(base->busy_ticks - before.busy_ticks) / (double)sysconf(_SC_CLK_TCK) / seconds;
    if (m->used_cores > m->cores) // ticks are counted when they end
        m->used_cores = m->cores;
    read_memory(s->proc, m);
    read_process(s->proc, m);
    for (unsigned i = 0; i < s->pid_count; i++) {
        char who[16];
        int64_t all, resident;
        snprintf(who, sizeof(who), "%d", (int)s->pids[i]);
        if (!statm(s->proc, who, &all, &resident))
            continue;
        m->workers.resident_bytes = (m->workers.count ? m->workers.resident_bytes : 0) + resident;
        m->workers.count++;
    }
}
