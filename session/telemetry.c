// SPDX-License-Identifier: MIT
#include "session/telemetry.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "session/telemetry_impl.h"

enum { FIRST_MS = 200 }; // what is used is told over a time

const char *const fw_throttle_names[FW_THROTTLE_COUNT] = {
    [FW_THROTTLE_POWER] = "power",       [FW_THROTTLE_THERMAL] = "thermal",
    [FW_THROTTLE_HARDWARE] = "hardware", [FW_THROTTLE_POWER_BRAKE] = "power_brake",
    [FW_THROTTLE_SETTING] = "setting",
};

struct fw_telemetry {
    // --- set before the thread starts
    char proc[256], sys[256], nvml[256];
    struct fw_log *log;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    // --- under the lock
    bool stop, asked, ended;
    struct fw_machine newest;
    pid_t pids[FW_TELEMETRY_PIDS_MAX];
    unsigned pid_count;
};

void fw_machine_clear(struct fw_machine *m)
{
    *m = (struct fw_machine){
        .used_cores = NAN,
        .memory_total_bytes = -1,
        .memory_available_bytes = -1,
        .process = { .cpu_seconds = NAN,
                     .resident_bytes = -1,
                     .virtual_bytes = -1,
                     .open_files = -1,
                     .max_files = -1,
                     .start_time = NAN },
        .workers.resident_bytes = -1,
    };
}

struct fw_machine_gpu *fw_machine_add_gpu(struct fw_machine *m, const char *kind)
{
    if (m->gpu_count == FW_MACHINE_GPUS_MAX)
        return NULL;
    struct fw_machine_gpu *gpu = &m->gpu[m->gpu_count++];
    *gpu = (struct fw_machine_gpu){
        .kind = kind,
        .use = NAN,
        .encoder_use = NAN,
        .decoder_use = NAN,
        .temperature_c = NAN,
        .power_w = NAN,
        .memory_used_bytes = -1,
        .memory_total_bytes = -1,
    };
    return gpu;
}

// ---- the thread

// True: it is time to end. The lock is held.
static bool pause_for(struct fw_telemetry *t, int64_t ms, bool until_asked)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    const int64_t ns = end.tv_nsec + ms * FW_NS_PER_MS;
    end.tv_sec += ns / FW_NS_PER_S;
    end.tv_nsec = ns % FW_NS_PER_S;
    while (!t->stop && !(until_asked && t->asked) &&
           pthread_cond_timedwait(&t->wake, &t->lock, &end) == 0)
        ;
    return t->stop;
}

static void *thread_main(void *arg)
{
    struct fw_telemetry *t = arg;
    struct fw_nvml *nvml = fw_nvml_open(t->nvml, t->log);
    struct fw_proc_base base;
    struct fw_sysfs_base gpu_base = { 0 };
    struct fw_machine m;
    pid_t pids[FW_TELEMETRY_PIDS_MAX];
    fw_proc_base_read(t->proc, &base);
    fw_machine_clear(&m);
    fw_sysfs_read(t->sys, &gpu_base, fw_now_ns(), &m);

    pthread_mutex_lock(&t->lock);
    bool stop = pause_for(t, FIRST_MS, false);
    while (!stop) {
        struct fw_proc_sample sample = { .proc = t->proc, .pids = pids, .base = &base };
        sample.pid_count = t->pid_count;
        memcpy(pids, t->pids, t->pid_count * sizeof(pids[0]));
        pthread_mutex_unlock(&t->lock);
        fw_machine_clear(&m);
        fw_proc_read(&sample, &base, &m);
        if (nvml)
            fw_nvml_read(nvml, &m);
        fw_sysfs_read(t->sys, &gpu_base, base.at_ns, &m);
        m.sampled_ns = base.at_ns;
        pthread_mutex_lock(&t->lock);
        t->newest = m;
        t->asked = false;
        stop = pause_for(t, FW_TELEMETRY_CALM_MS, true);
    }
    pthread_mutex_unlock(&t->lock);
    fw_nvml_close(&nvml);
    pthread_mutex_lock(&t->lock);
    t->ended = true;
    pthread_cond_signal(&t->wake);
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

// ---- the others

static enum fw_err start(struct fw_telemetry *t)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&t->wake, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&t->lock, NULL);
    if (pthread_create(&t->thread, NULL, thread_main, t)) {
        pthread_cond_destroy(&t->wake);
        pthread_mutex_destroy(&t->lock);
        return FW_ERR_INTERNAL;
    }
    pthread_setname_np(t->thread, "fw-telemetry");
    return FW_OK;
}

enum fw_err fw_telemetry_create(struct fw_telemetry **telemetry,
                                const struct fw_telemetry_params *params)
{
    *telemetry = NULL;
    struct fw_telemetry *t = calloc(1, sizeof(*t));
    if (!t)
        return FW_ERR_NOMEM;
    snprintf(t->proc, sizeof(t->proc), "%s", params->proc ? params->proc : "/proc");
    snprintf(t->sys, sizeof(t->sys), "%s", params->sys ? params->sys : "/sys");
    snprintf(t->nvml, sizeof(t->nvml), "%s", params->nvml ? params->nvml : "libnvidia-ml.so.1");
    t->log = params->log;
    fw_machine_clear(&t->newest);
    const enum fw_err err = start(t);
    if (err) {
        free(t);
        return err;
    }
    *telemetry = t;
    return FW_OK;
}

void fw_telemetry_destroy(struct fw_telemetry **telemetry)
{
    struct fw_telemetry *t = *telemetry;
    *telemetry = NULL;
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    t->stop = true;
    pthread_cond_signal(&t->wake);
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec++;
    while (!t->ended && pthread_cond_timedwait(&t->wake, &t->lock, &end) == 0)
        ;
    const bool ended = t->ended;
    pthread_mutex_unlock(&t->lock);
    if (!ended) {
        fw_log(t->log, FW_LOG_WARN, "telemetry", "a driver does not answer; left behind");
        pthread_detach(t->thread);
        return;
    }
    pthread_join(t->thread, NULL);
    pthread_cond_destroy(&t->wake);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

void fw_telemetry_get(struct fw_telemetry *t, int64_t now_ns, struct fw_machine *out)
{
    fw_machine_clear(out);
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    const int64_t age = now_ns - t->newest.sampled_ns;
    if (t->newest.sampled_ns && age <= FW_TELEMETRY_STALE_MS * (int64_t)FW_NS_PER_MS)
        *out = t->newest;
    out->cores = t->newest.cores;
    out->sampled_ns = t->newest.sampled_ns;
    if (age >= FW_TELEMETRY_ASKED_MS * (int64_t)FW_NS_PER_MS && !t->asked) {
        t->asked = true;
        pthread_cond_signal(&t->wake);
    }
    pthread_mutex_unlock(&t->lock);
}

void fw_telemetry_set_workers(struct fw_telemetry *t, const pid_t *pids, unsigned count)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    t->pid_count = count < FW_TELEMETRY_PIDS_MAX ? count : FW_TELEMETRY_PIDS_MAX;
    memcpy(t->pids, pids, t->pid_count * sizeof(pids[0]));
    pthread_mutex_unlock(&t->lock);
}
