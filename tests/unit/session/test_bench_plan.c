// SPDX-License-Identifier: MIT
// Go-live plans: what ships is read, what is wrong is told with its line; the slope of a soak, and
// the page of a report.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "session/cli/bench_plan.h"
#include "session/cli/bench_verify.h"

static struct fw_plan plan;
static char message[700];

static enum fw_err read_plan(const char *text)
{
    char path[] = P_tmpdir "/fwplan.XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    const enum fw_err err = fw_plan_read(&plan, path, message, sizeof(message));
    unlink(path);
    return err;
}

static void test_shipped(void **state)
{
    (void)state;
    assert_int_equal(fw_plan_read(&plan, FW_PLANS "/cpu.yaml", message, sizeof(message)), FW_OK);
    assert_string_equal(plan.name, "framewire on the CPU");
    assert_true(plan.function.on && plan.performance.on && plan.resources.on && plan.stability.on);
    assert_int_equal(plan.load.width, 960);
    assert_int_equal(plan.performance.promise.count, 2);
    assert_true(plan.stability.drill);
    assert_int_equal(fw_plan_read(&plan, FW_PLANS "/gpu.yaml", message, sizeof(message)), FW_OK);
    assert_int_equal(plan.stability.soak, 4 * 3600);
    assert_int_equal(plan.resources.gpu_use_min, 3);
}

static void test_small(void **state)
{
    (void)state;
    assert_int_equal(read_plan("load:\n  source: scene\n  args: [model=Duck.glb, light=a=b]\n"
                               "function: {frames: 5}\nurl: http://h:1\n"),
                     FW_OK);
    assert_string_equal(plan.load.source, "scene");
    assert_int_equal(plan.load.arg_count, 2);
    assert_string_equal(plan.load.args[1], "light=a=b");
    assert_string_equal(plan.url, "http://h:1");
    assert_int_equal(plan.function.frames, 5);
    assert_false(plan.performance.on || plan.stability.drill);
    assert_int_equal(plan.load.fps, 60);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *hint;
    } bad[] = {
        { "", "keys and values" },
        { "- a\n- b\n", ":1: " },
        { "name: x\n", "nothing is to be checked" },
        { "function:\n  frames: 5\nspeed: 3\n",
          ":3: unknown key 'speed'; known here are name, url" },
        { "function:\n  sessions: 5\n", ":2: unknown key 'sessions'; known here are frames" },
        { "function:\n  frames: many\n", ":2: function.frames wants a number from 1" },
        { "function:\n  frames: 0\n", ":2: " },
        { "function:\n  frames: [1]\n", ":2: function.frames wants one value" },
        { "function:\n  frames: {a: 1}\n", ":2: function.frames wants one value" },
        { "function: 5\n", ":1: function wants keys of its own" },
        { "function:\n  frames: 5\n  frames: 6\n", ":3: function.frames stands there twice" },
        { "load:\n  size: big\nfunction: {frames: 1}\n", ":2: load.size wants WIDTHxHEIGHT" },
        { "load:\n  input: dance\nfunction: {frames: 1}\n", ":2: load.input wants orbit" },
        { "load:\n  args: x\nfunction: {frames: 1}\n", ":2: load.args wants a list" },
        { "load:\n  args: [x]\nfunction: {frames: 1}\n", ":2: load.args wants up to" },
        { "stability:\n  soak: 4d\n", ":2: stability.soak wants a time" },
        { "stability:\n  drill: maybe\n", ":2: stability.drill wants yes or no" },
        { "performance:\n  promise: \"aoi<=5\"\n", "performance.promise" },
        { "load: {input: none}\nperformance:\n  promise: \"i2p_p50<=5ms\"\n", "sends nothing" },
        { "performance:\n  capacity_min: 9\n  capacity_max: 3\n", "more than capacity_max" },
        { "function:\n\tframes: 5\n", ":2: this is not YAML" },
        { "function: {frames: 5\n", "this is not YAML" },
    };
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(read_plan(bad[i].text), FW_ERR_INVALID);
        if (!strstr(message, bad[i].hint))
            fail_msg("'%s' says '%s', not %s", bad[i].text, message, bad[i].hint);
    }
    assert_int_equal(fw_plan_read(&plan, "/nowhere.yaml", message, sizeof(message)), FW_ERR_IO);
    // Much of everything: bounded.
    static char deep[20000];
    memset(deep, '[', sizeof(deep) - 1);
    assert_int_equal(read_plan(deep), FW_ERR_INVALID);
    memcpy(deep, "function: {frames: 1}\nname: ", 28);
    memset(deep + 28, 'x', sizeof(deep) - 29);
    assert_int_equal(read_plan(deep), FW_ERR_INVALID);
    assert_non_null(strstr(message, ":2: name wants a text"));
}

// ---- slope

static double memory(const struct fw_soak_point *p)
{
    return p->memory_mb;
}

static void test_slope(void **state)
{
    (void)state;
    static struct fw_soak_point points[200];
    double slope;
    for (unsigned i = 0; i < 200; i++) {
        points[i].at_s = i * 60.0;
        // Settles from 50 to 100, then 6 MB an hour with some noise.
        points[i].memory_mb = (i < 40 ? 50 : 100) + i * 0.1 + (i % 2 ? 1 : -1);
    }
    assert_true(fw_soak_slope(points, 200, 40 * 60, memory, &slope));
    assert_true(slope > 5.8 && slope < 6.2);
    assert_true(fw_soak_slope(points, 200, 0, memory, &slope));
    assert_true(slope > 15);   // with the beginning it looks like a leak
    points[50].memory_mb = -1; // unknown once
    assert_true(fw_soak_slope(points, 200, 40 * 60, memory, &slope));
    assert_true(slope > 5.8 && slope < 6.2);
    assert_false(fw_soak_slope(points, 2, 0, memory, &slope));
    assert_false(fw_soak_slope(points, 0, 0, memory, &slope));
}

// ---- the report

static void test_report(void **state)
{
    (void)state;
    static struct fw_verify v;
    static struct fw_bench bench = { .version = "1", .machine = "a & b" };
    plan = (struct fw_plan){ .name = "<b>\"plan\"</b>" };
    v = (struct fw_verify){ .bench = &bench, .plan = &plan };
    struct fw_check *c = fw_verify_add(&v, FW_VERIFY_FUNCTION, FW_PASS, "one");
    fw_check_found(c, "%d < %d", 1, 2);
    assert_int_equal(fw_verify_verdict(&v), FW_PASS);
    fw_verify_add(&v, FW_VERIFY_RESOURCES, FW_UNKNOWN, "two");
    assert_int_equal(fw_verify_verdict(&v), FW_PASS);
    fw_verify_add(&v, FW_VERIFY_RESOURCES, FW_WARN, "three");
    assert_int_equal(fw_verify_verdict(&v), FW_WARN);
    fw_verify_add(&v, FW_VERIFY_STABILITY, FW_FAIL, "four");
    fw_verify_add(&v, FW_VERIFY_STABILITY, FW_PASS, "five");
    assert_int_equal(fw_verify_verdict(&v), FW_FAIL);
    v.soak[0] = (struct fw_soak_point){ .at_s = 0, .memory_mb = 40 };
    v.soak[1] = (struct fw_soak_point){ .at_s = 60, .memory_mb = 41 };
    v.soak_count = 2;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fw_verify_html(out, &v);
    fclose(out);
    assert_non_null(strstr(text, "&lt;b&gt;&quot;plan&quot;&lt;/b&gt;"));
    assert_null(strstr(text, "<b>"));
    assert_non_null(strstr(text, "1 &lt; 2"));
    assert_non_null(strstr(text, "Not ready to go live"));
    assert_non_null(strstr(text, "<polyline"));
    free(text);
    json_t *json = fw_verify_json(&v);
    assert_int_equal(json_array_size(json_object_get(json, "checks")), 5);
    assert_string_equal(json_string_value(json_object_get(json, "verdict")), "fail");
    json_decref(json);
    // More checks than there is room for: bounded.
    for (int i = 0; i < 2 * FW_CHECKS_MAX; i++)
        fw_verify_add(&v, FW_VERIFY_FUNCTION, FW_PASS, "many");
    assert_int_equal(v.count, FW_CHECKS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shipped), cmocka_unit_test(test_small),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_slope),
        cmocka_unit_test(test_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
