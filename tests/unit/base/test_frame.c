// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/err.h"
#include "base/frame.h"

static void planes_hold_what_they_promise(void **state)
{
    (void)state;
    const int sizes[][2] = { { 16, 16 }, { 641, 479 }, { 1007, 601 }, { 3840, 2160 } };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct fw_frame *f = fw_frame_alloc(sizes[i][0], sizes[i][1], FW_PIXEL_NV12);
        assert_non_null(f);
        assert_int_equal(f->width, sizes[i][0]);
        assert_int_equal(f->coded_width, (sizes[i][0] + 1) / 2 * 2);
        assert_int_equal(f->coded_height, (sizes[i][1] + 1) / 2 * 2);
        assert_true(f->plane[0].stride >= (size_t)f->coded_width);
        for (int p = 0; p < 2; p++) {
            const size_t rows = (size_t)f->coded_height / (p ? 2 : 1);
            assert_int_equal((uintptr_t)f->plane[p].data % 64, 0);
            memset(f->plane[p].data, 1, f->plane[p].stride * rows); // the sanitizer watches
        }
        fw_frame_unref(&f);
        assert_null(f);
    }
    struct fw_frame *rgba = fw_frame_alloc(17, 16, FW_PIXEL_RGBA8);
    assert_non_null(rgba);
    assert_true(rgba->plane[0].stride >= 18 * 4);
    assert_null(rgba->plane[1].data);
    memset(rgba->plane[0].data, 1, rgba->plane[0].stride * 16);
    fw_frame_unref(&rgba);
}

static void absurd_sizes_are_refused(void **state)
{
    (void)state;
    assert_null(fw_frame_alloc(0, 0, FW_PIXEL_NV12));
    assert_null(fw_frame_alloc(15, 16, FW_PIXEL_NV12));
    assert_null(fw_frame_alloc(16, -1, FW_PIXEL_NV12));
    assert_null(fw_frame_alloc(3841, 16, FW_PIXEL_NV12));
    assert_null(fw_frame_alloc(16, 2161, FW_PIXEL_NV12));
}

static int released;

static void release(struct fw_frame *frame)
{
    (void)frame;
    released++;
}

static void the_last_reference_releases(void **state)
{
    (void)state;
    struct fw_frame f = { .release = release };
    fw_ref_init(&f.ref);
    struct fw_frame *a = &f, *b = fw_frame_ref(&f), *none = NULL;
    fw_frame_unref(&a);
    assert_int_equal(released, 0);
    fw_frame_unref(&a); // nulled: no second time
    fw_frame_unref(&none);
    fw_frame_unref(NULL);
    assert_int_equal(released, 0);
    fw_frame_unref(&b);
    assert_int_equal(released, 1);
}

static void each_error_has_a_name(void **state)
{
    (void)state;
    for (int i = 0; i < FW_ERR_COUNT; i++) {
        const char *name = fw_err_name((enum fw_err)i);
        assert_non_null(name);
        assert_string_not_equal(name, "unknown");
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(name, fw_err_name((enum fw_err)j));
        }
    }
    assert_string_equal(fw_err_name((enum fw_err)FW_ERR_COUNT), "unknown");
    assert_string_equal(fw_err_name((enum fw_err) - 1), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planes_hold_what_they_promise),
        cmocka_unit_test(absurd_sizes_are_refused),
        cmocka_unit_test(the_last_reference_releases),
        cmocka_unit_test(each_error_has_a_name),
    };
    return cmocka_run_group_tests_name("frame", tests, NULL, NULL);
}
