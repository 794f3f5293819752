// SPDX-License-Identifier: MIT
// The machine's figures against a management library, a /sys and a /proc that are made up, and
// against this machine's own /proc.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "session/telemetry.h"
#include "session/telemetry_impl.h"

static char root[64];
static struct fw_machine m;

static int setup(void **state)
{
    (void)state;
    strcpy(root, "/tmp/framewire-telemetry-XXXXXX");
    assert_non_null(mkdtemp(root));
    unsetenv("FAKE_NVML");
    fw_machine_clear(&m);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    char command[96];
    snprintf(command, sizeof(command), "rm -rf %s", root);
    return system(command);
}

// A file below `root`, its folders too.
static void put(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void near(double value, double want)
{
    if (!(value > want - 1e-6 && value < want + 1e-6))
        fail_msg("%f instead of %f", value, want);
}

static void test_nvml(void **state)
{
    (void)state;
    struct fw_nvml *nvml = fw_nvml_open(FAKE_NVML_PATH, NULL);
    assert_non_null(nvml);
    fw_nvml_read(nvml, &m);
    assert_int_equal(m.gpu_count, 2);
    const struct fw_machine_gpu *gpu = &m.gpu[0];
    assert_string_equal(gpu->kind, "nvidia");
    assert_string_equal(gpu->name, "Made-up 0");
    assert_string_equal(gpu->uuid, "0123abcd456789abcdef000000000000");
    assert_string_equal(gpu->pci, "0000:3b:00.0");
    near(gpu->use, 0.25);
    assert_int_equal(gpu->memory_total_bytes, INT64_C(16) << 30);
    assert_int_equal(gpu->memory_used_bytes, INT64_C(4) << 30);
    near(gpu->temperature_c, 71);
    near(gpu->power_w, 123.456);
    near(gpu->encoder_use, 0.4);
    assert_true(isnan(gpu->decoder_use)); // this library has no such call
    assert_true(gpu->throttle_known);
    assert_int_equal(gpu->throttle, 1 << FW_THROTTLE_POWER | 1 << FW_THROTTLE_THERMAL);
    gpu = &m.gpu[1]; // which can't tell that much
    assert_string_equal(gpu->pci, "0000:3c:00.0");
    assert_true(isnan(gpu->use));
    assert_true(isnan(gpu->power_w));
    assert_true(isnan(gpu->encoder_use));
    near(gpu->temperature_c, 71);
    assert_true(gpu->throttle_known);
    assert_int_equal(gpu->throttle, 0); // idle is no throttling
    fw_nvml_close(&nvml);
    assert_null(nvml);
}

static void test_nvml_absent(void **state)
{
    (void)state;
    assert_null(fw_nvml_open("libnvidia-ml-that-is-not-there.so.1", NULL));
    assert_null(fw_nvml_open("libm.so.6", NULL)); // lacks every call
    setenv("FAKE_NVML", "none", 1);
    assert_null(fw_nvml_open(FAKE_NVML_PATH, NULL));
}

static void make_amd(void)
{
    put("class/drm/card1/device/uevent",
        "DRIVER=amdgpu\nPCI_ID=1002:73BF\nPCI_SLOT_NAME=0000:0a:00.0\n");
    put("class/drm/card1/device/gpu_busy_percent", "37\n");
    put("class/drm/card1/device/mem_info_vram_used", "2147483648\n");
    put("class/drm/card1/device/mem_info_vram_total", "17163091968\n");
    put("class/drm/card1/device/hwmon/hwmon3/temp1_input", "54000\n");
    put("class/drm/card1/device/hwmon/hwmon3/power1_average", "88000000\n");
    put("class/drm/card1-DP-1/status", "connected\n"); // a connector, no card
    put("class/drm/version", "drm\n");
}

static void make_intel(const char *rc6_ms)
{
    put("class/drm/card10/device/uevent", "DRIVER=i915\nPCI_SLOT_NAME=0000:00:02.0\n");
    put("class/drm/card10/gt/gt0/rc6_residency_ms", rc6_ms);
    put("class/drm/card10/gt/gt0/throttle_reason_status", "1\n");
    put("class/drm/card10/gt/gt0/throttle_reason_pl1", "0\n");
    put("class/drm/card10/gt/gt0/throttle_reason_thermal", "1\n");
}

static void test_sysfs(void **state)
{
    (void)state;
    struct fw_sysfs_base base = { 0 };
    make_amd();
    make_intel("5000\n");
    put("class/drm/card2/device/uevent", "DRIVER=nvidia\nPCI_SLOT_NAME=0000:41:00.0\n");
    put("class/drm/card3/device/uevent", "DRIVER=simpledrm\n");
    const int64_t start = 1000 * (int64_t)FW_NS_PER_S;
    fw_sysfs_read(root, &base, start, &m);
    assert_int_equal(m.gpu_count, 3);
    const struct fw_machine_gpu *amd = &m.gpu[0], *nvidia = &m.gpu[1], *intel = &m.gpu[2];
    assert_string_equal(amd->kind, "amd");
    assert_string_equal(amd->pci, "0000:0a:00.0");
    near(amd->use, 0.37);
    assert_int_equal(amd->memory_used_bytes, INT64_C(2147483648));
    assert_int_equal(amd->memory_total_bytes, INT64_C(17163091968));
    near(amd->temperature_c, 54);
    near(amd->power_w, 88);
    assert_true(isnan(amd->encoder_use)); // an older kernel
    assert_false(amd->throttle_known);
    assert_string_equal(nvidia->kind, "nvidia"); // there, and nothing is told of it
    assert_true(isnan(nvidia->use));
    assert_int_equal(nvidia->memory_total_bytes, -1);
    assert_string_equal(intel->kind, "intel");
    assert_true(isnan(intel->use)); // it takes two readings
    assert_true(intel->throttle_known);
    assert_int_equal(intel->throttle, 1 << FW_THROTTLE_THERMAL);

    put("class/drm/card1/device/gpu_busy_percent", "no number\n");
    put("class/drm/card1/device/vcn_busy_percent", "12\n");
    make_intel("5600\n"); // slept 0.6 s of the next second
    fw_machine_clear(&m);
    fw_sysfs_read(root, &base, start + (int64_t)FW_NS_PER_S, &m);
    assert_true(isnan(m.gpu[0].use));
    near(m.gpu[0].encoder_use, 0.12);
    near(m.gpu[0].decoder_use, 0.12);
    near(m.gpu[2].use, 0.4);
}

// With the library at hand it speaks for NVIDIA's, and sysfs for the others.
static void test_sysfs_beside_nvml(void **state)
{
    (void)state;
    struct fw_sysfs_base base = { 0 };
    make_amd();
    put("class/drm/card2/device/uevent", "DRIVER=nvidia\nPCI_SLOT_NAME=0000:3b:00.0\n");
    assert_non_null(fw_machine_add_gpu(&m, "nvidia"));
    fw_sysfs_read(root, &base, 1, &m);
    assert_int_equal(m.gpu_count, 2);
    assert_string_equal(m.gpu[1].kind, "amd");
}

static void test_no_sysfs(void **state)
{
    (void)state;
    struct fw_sysfs_base base = { 0 };
    fw_sysfs_read(root, &base, 1, &m);
    assert_int_equal(m.gpu_count, 0);
}

static void test_proc(void **state)
{
    (void)state;
    struct fw_proc_base base;
    const pid_t pids[] = { 77, 78, 79 };
    put("stat", "cpu  100 0 50 9000 5 3 2 1 0 0\nintr 1\nbtime 1700000000\n");
    put("meminfo", "MemTotal:       16000 kB\nMemFree: 1 kB\nMemAvailable:    4000 kB\n");
    put("self/stat", "42 (a b) c) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12345 0 0\n");
    put("self/statm", "1000 250 1 1 0 1 0\n");
    put("self/fd/0", "");
    put("self/fd/1", "");
    put("77/statm", "10 7 1 1 0 1 0\n");
    put("79/statm", "10 5 1 1 0 1 0\n");
    fw_proc_base_read(root, &base);
    assert_int_equal(base.busy_ticks, 156);
    const long hz = sysconf(_SC_CLK_TCK), page = sysconf(_SC_PAGESIZE);
    char text[96];
    snprintf(text, sizeof(text), "cpu  %ld 0 50 9000 5 3 2 1 0 0\nbtime 1700000000\n", 100 + hz);
    put("stat", text); // one core was busy for a second
    base.at_ns = fw_now_ns() - 2 * (int64_t)FW_NS_PER_S;
    const struct fw_proc_sample sample = {
        .proc = root, .pids = pids, .pid_count = 3, .base = &base
    };
    fw_proc_read(&sample, &base, &m);
    assert_true(m.used_cores > 0.3 && m.used_cores <= 0.5); // in two, or a little more
    assert_int_equal(m.memory_total_bytes, 16000 * 1024);
    assert_int_equal(m.memory_available_bytes, 4000 * 1024);
    assert_int_equal(m.process.virtual_bytes, 1000 * page);
    assert_int_equal(m.process.resident_bytes, 250 * page);
    assert_int_equal(m.process.open_files, 1); // less the one that counts
    near(m.process.start_time, 1700000000 + 12345.0 / (double)hz);
    assert_true(m.process.cpu_seconds >= 0);
    assert_int_equal(m.workers.count, 2); // 78 has ended
    assert_int_equal(m.workers.resident_bytes, 12 * page);
}

static bool sampled_after(struct fw_telemetry *t, int64_t ns)
{
    for (int i = 0; i < 2000; i++) {
        fw_telemetry_get(t, fw_now_ns(), &m);
        if (m.sampled_ns > ns)
            return true;
        nanosleep(&(struct timespec){ .tv_nsec = 5 * FW_NS_PER_MS }, NULL);
    }
    return false;
}

static void test_thread(void **state)
{
    (void)state;
    struct fw_telemetry *t = NULL;
    const struct fw_telemetry_params params = { .sys = root, .nvml = FAKE_NVML_PATH };
    make_amd();
    assert_int_equal(fw_telemetry_create(&t, &params), FW_OK);
    const pid_t self = getpid();
    fw_telemetry_set_workers(t, &self, 1);
    assert_true(sampled_after(t, 0));
    assert_int_equal(m.cores, sysconf(_SC_NPROCESSORS_ONLN));
    assert_true(m.used_cores >= 0 && m.used_cores <= m.cores);
    assert_true(m.memory_total_bytes > m.memory_available_bytes);
    assert_true(m.process.resident_bytes > 0 && m.process.open_files > 2);
    assert_true(m.process.start_time > 1.6e9 && m.process.start_time <= (double)time(NULL) + 1);
    assert_int_equal(m.gpu_count, 3);
    assert_string_equal(m.gpu[2].kind, "amd");
    // Asking for more brings more.
    assert_true(sampled_after(t, m.sampled_ns));
    assert_int_equal(m.workers.count, 1);
    // What is old is not told as if it were now.
    fw_telemetry_get(t, fw_now_ns() + (FW_TELEMETRY_STALE_MS + 1000) * (int64_t)FW_NS_PER_MS, &m);
    assert_int_equal(m.gpu_count, 0);
    assert_true(isnan(m.used_cores));
    assert_true(m.cores > 0);
    fw_telemetry_destroy(&t);
    assert_null(t);
    fw_telemetry_get(NULL, fw_now_ns(), &m);
    assert_int_equal(m.memory_total_bytes, -1);
}

// A driver that hangs holds up neither those who ask nor the end.
static void test_hang(void **state)
{
    (void)state;
    struct fw_telemetry *t = NULL;
    setenv("FAKE_NVML", "hang", 1);
    const struct fw_telemetry_params params = { .sys = root, .nvml = FAKE_NVML_PATH };
    assert_int_equal(fw_telemetry_create(&t, &params), FW_OK);
    nanosleep(&(struct timespec){ .tv_nsec = 400 * FW_NS_PER_MS }, NULL); // so that it hangs
    fw_telemetry_get(t, fw_now_ns(), &m);
    assert_int_equal(m.sampled_ns, 0);
    fw_telemetry_destroy(&t);
    assert_null(t);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nvml),     TEST(test_nvml_absent),
        TEST(test_sysfs),    TEST(test_sysfs_beside_nvml),
        TEST(test_no_sysfs), TEST(test_proc),
        TEST(test_thread),   TEST(test_hang),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
