// SPDX-License-Identifier: MIT
// The parts of a pass: told only by a device that has shown that it can, and kept for the next
// process. The judgement is tried with figures of devices of many kinds.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/render/rig.h"

static void judged_by_where_the_time_lands(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        uint32_t vertex_heavy[FW_PART_COUNT], fragment_heavy[FW_PART_COUNT];
        const char *why; // a part of it; NULL = it can
    } devices[] = {
        { "each in its part", { 900, 20, 50, 30 }, { 5, 10, 950, 35 }, NULL },
        { "at the limit", { 60, 0, 40, 0 }, { 20, 0, 60, 20 }, NULL },
        { "all at the end of the pass",
          { 0, 0, 0, 1000 },
          { 0, 0, 0, 1000 },
          "vertices shows 0 %" },
        { "all at the first stamp", { 1000, 0, 0, 0 }, { 1000, 0, 0, 0 }, "fragments shows 0 %" },
        { "fragments only", { 30, 10, 950, 10 }, { 30, 10, 950, 10 }, "vertices shows 3 %" },
        { "blurred", { 59, 0, 41, 0 }, { 0, 0, 100, 0 }, "vertices shows 59 %" },
        { "nothing measured", { 0, 0, 0, 0 }, { 0, 0, 0, 0 }, "vertices shows 0 %" },
    };
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        char why[96];
        fw_gpu_parts_judge(devices[i].vertex_heavy, devices[i].fragment_heavy, why, sizeof(why));
        const bool right = devices[i].why ? strstr(why, devices[i].why) != NULL : !why[0];
        if (!right)
            fail_msg("%s: '%s'", devices[i].what, why);
    }
}

static void parts_sum_up(void **state)
{
    (void)state;
    uint32_t us[FW_PART_COUNT];
    static const uint64_t ticks[FW_PARTS_QUERIES] = { 1000, 1333, 1333, 9999, 10500 };
    assert_true(fw_gpu_parts_read(ticks, 1000.0, us)); // a tick is a µs
    assert_int_equal(us[FW_PART_VERTEX], 333);
    assert_int_equal(us[FW_PART_RASTER], 0);
    assert_int_equal(us[FW_PART_FRAGMENT], 8666);
    assert_int_equal(us[FW_PART_OUTPUT], 501);
    assert_true(fw_gpu_parts_read(ticks, 1.0, us)); // rounded, and still 9.5 µs in all
    assert_int_equal(us[0] + us[1] + us[2] + us[3], 10);
    static const uint64_t fallen[FW_PARTS_QUERIES] = { 1000, 2000, 1999, 3000, 4000 };
    assert_false(fw_gpu_parts_read(fallen, 1.0, us));
    assert_int_equal(us[0] + us[1] + us[2] + us[3], 0);
}

static void create(const char *dir, char *why, size_t size)
{
    struct fw_render *render = rig_create((struct fw_render_params){ .cache_dir = dir });
    struct fw_render_info info;
    fw_render_get_info(render, &info);
    snprintf(why, size, "%s", info.no_parts);
    // A driver that draws on the CPU stamps a pass when it is over, and is found out.
    assert_true(!render->gpu->is_cpu || info.no_parts[0]);
    rig_destroy(render);
}

static void the_verdict_is_kept(void **state)
{
    (void)state;
    char dir[] = "/tmp/fw-parts-XXXXXX", first[96], again[96], command[128], path[128] = "";
    assert_non_null(mkdtemp(dir));
    create(dir, first, sizeof(first));
    create(dir, again, sizeof(again));
    assert_string_equal(first, again);
    snprintf(command, sizeof(command), "ls %s/parts-*.txt", dir);
    FILE *list = popen(command, "r");
    assert_non_null(fgets(path, sizeof(path), list));
    pclose(list);
    path[strcspn(path, "\n")] = '\0';
    // What stands there is believed …
    FILE *f = fopen(path, "r+");
    char line[256];
    assert_non_null(fgets(line, sizeof(line), f));
    char *verdict = strchr(strchr(line, ' ') + 1, ' ') + 1;
    strcpy(verdict, "as kept\n");
    rewind(f);
    fputs(line, f);
    assert_int_equal(ftruncate(fileno(f), (off_t)strlen(line)), 0);
    fclose(f);
    create(dir, again, sizeof(again));
    assert_string_equal(again, "as kept");
    // … unless it is another driver's, or nonsense.
    static const char *const bad[] = {
        "fwparts1 00 as kept\n", "fwparts1\n", "fwparts1 \n", "", "\n", "fwparts2 x\n"
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        f = fopen(path, "w");
        fputs(bad[i], f);
        fclose(f);
        create(dir, again, sizeof(again));
        assert_string_not_equal(again, "as kept");
        assert_string_not_equal(again, "");
    }
    snprintf(command, sizeof(command), "rm -r %s", dir);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(judged_by_where_the_time_lands),
        cmocka_unit_test(parts_sum_up),
        cmocka_unit_test(the_verdict_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
