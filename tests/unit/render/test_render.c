// SPDX-License-Identifier: MIT
// The whole path from a source to NV12 frames, in each of its variants, validation on.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pthread.h>

#include "base/clock.h"
#include "reference.h"
#include "render/gpu_priv.h"
#include "render/source/testcard.h"
#include "rig.h"

static const struct fw_render_params paths[] = {
    { .gpu = NULL }, // as the device and the measurement have it
    { .force_convert = "simd", .force_target = "host-import" },
    { .force_convert = "simd", .force_target = "readback" },
    { .force_convert = "compute" },
    { .force_convert = "simd", .force_target = "readback", .force_merge = "on" },
    { .force_convert = "simd", .force_target = "host-import", .force_merge = "on" },
    { .force_convert = "compute", .force_merge = "on" },
};
enum { PATHS = sizeof(paths) / sizeof(paths[0]) };

static const int sizes[][2] = { { 16, 16 },   { 17, 16 },   { 16, 17 },   { 31, 33 },
                                { 64, 48 },   { 641, 479 }, { 100, 300 }, { 1007, 601 },
                                { 640, 360 }, { 1366, 768 } };
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

// The picture as R,G,B,A bytes, from a path that keeps it in sight of the CPU.
static uint8_t *keep_pixels(const struct fw_render *render, int width, int height)
{
    const struct fw_target *target = &render->targets.target;
    uint8_t *copy = malloc((size_t)width * (size_t)height * 4);
    assert_non_null(copy);
    for (int y = 0; y < height; y++) {
        memcpy(copy + (size_t)y * (size_t)width * 4, target->pixels + (size_t)y * target->stride,
               (size_t)width * 4);
    }
    return copy;
}

static void check_against(const uint8_t *rgba, const struct fw_frame *frame)
{
    assert_int_equal(frame->coded_width, (frame->width + 1) & ~1);
    assert_int_equal(frame->coded_height, (frame->height + 1) & ~1);
    const double worst = reference_worst(&(struct reference_picture){
        .rgba = rgba,
        .rgba_stride = (size_t)frame->width * 4,
        .width = frame->width,
        .height = frame->height,
        .luma = frame->plane[0].data,
        .chroma = frame->plane[1].data,
        .luma_stride = frame->plane[0].stride,
        .chroma_stride = frame->plane[1].stride,
    });
    assert_true(worst <= 1.0);
}

// All paths, all sizes: planes within 1 level of the reference for one and the same picture.
static void test_paths(void **state)
{
    (void)state;
    uint8_t *picture[SIZES];
    struct fw_render *render = rig_create((struct fw_render_params){
        .force_convert = "simd", .force_target = "readback", .force_merge = "off" });
    rig_open(render, "testcard", 16, 20);
    for (int i = 0; i < SIZES; i++) {
        assert_int_equal(fw_render_resize(render, sizes[i][0], sizes[i][1]), FW_OK);
        struct fw_frame *frame = rig_frame(render, 77, FW_NS_PER_S);
        picture[i] = keep_pixels(render, sizes[i][0], sizes[i][1]);
        for (int k = 0; k < sizes[i][0] * sizes[i][1]; k++) {
            assert_int_equal(picture[i][k * 4 + 3], 255); // opaque everywhere
        }
        fw_frame_unref(&frame);
    }
    rig_destroy(render);

    for (int p = 0; p < PATHS; p++) {
        render = rig_create(paths[p]);
        rig_open(render, "testcard", 20, 16);
        for (int i = 0; i < SIZES; i++) {
            assert_int_equal(fw_render_resize(render, sizes[i][0], sizes[i][1]), FW_OK);
            struct fw_frame *frame = rig_frame(render, 77, FW_NS_PER_S);
            assert_int_equal(frame->width, sizes[i][0]);
            assert_int_equal(frame->height, sizes[i][1]);
            check_against(picture[i], frame);
            fw_frame_unref(&frame);
        }
        rig_destroy(render);
    }
    for (int i = 0; i < SIZES; i++) {
        free(picture[i]);
    }
}

static void expect_color(const struct fw_frame *frame, enum fw_testcard_patch patch,
                         const uint8_t rgb[3])
{
    const struct fw_testcard_rect r = fw_testcard_place(patch, frame->width, frame->height);
    assert_true(r.x1 - r.x0 >= 32 && r.y1 - r.y0 >= 32);
    const int x = ((r.x0 + r.x1) / 2) & ~1, y = ((r.y0 + r.y1) / 2) & ~1;
    const uint8_t luma = frame->plane[0].data[(size_t)y * frame->plane[0].stride + (size_t)x];
    const uint8_t *uv = frame->plane[1].data + (size_t)(y / 2) * frame->plane[1].stride + (size_t)x;
    double cb, cr;
    const double sum[3] = { 4.0 * rgb[0], 4.0 * rgb[1], 4.0 * rgb[2] };
    reference_chroma(sum, &cb, &cr);
    assert_true(fabs(luma - reference_luma(rgb[0], rgb[1], rgb[2])) <= 1.0);
    assert_true(fabs(uv[0] - cb) <= 1.0);
    assert_true(fabs(uv[1] - cr) <= 1.0);
}

static uint64_t read_id(const struct fw_frame *frame)
{
    return fw_testcard_read_id(frame->plane[0].data, (int)frame->plane[0].stride, frame->width,
                               frame->height);
}

static void test_card(void **state)
{
    (void)state;
    static const int at[][2] = { { 1280, 720 }, { 641, 479 }, { 1366, 768 } };
    struct fw_render *render = rig_create((struct fw_render_params){ 0 });
    for (int i = 0; i < 3; i++) {
        rig_open(render, "testcard", at[i][0], at[i][1]);
        struct fw_frame *frame = rig_frame(render, 0xfedcba9876543210u, 5);
        for (int k = 0; k <= FW_TESTCARD_KEY; k++) {
            expect_color(frame, (enum fw_testcard_patch)k, fw_testcard_entries[k].rgb);
        }
        assert_int_equal(read_id(frame), 0xfedcba9876543210u);
        fw_frame_unref(&frame);
    }
    // The id is there at every size.
    for (int i = 16; i < 700; i += 37) {
        assert_int_equal(fw_render_resize(render, i, 716 - i), FW_OK);
        struct fw_frame *frame = rig_frame(render, 0x8000000000000001u + (unsigned)i, 5);
        assert_int_equal(read_id(frame), frame->id);
        fw_frame_unref(&frame);
    }
    rig_destroy(render);
}

static bool wants(struct fw_render *render, int64_t now_ns)
{
    int64_t next_ns;
    bool animating;
    return fw_render_wants_frame(render, now_ns, &next_ns, &animating);
}

static void test_still_until_input(void **state)
{
    (void)state;
    const struct fw_source_arg still = { "animate", "0" };
    struct fw_render *render = rig_create((struct fw_render_params){ 0 });
    assert_int_equal(rig_open_args(render, "testcard", 800, 600, &still), FW_OK);
    int64_t next_ns;
    bool animating;
    assert_true(fw_render_wants_frame(render, 0, &next_ns, &animating));
    assert_false(animating);
    struct fw_frame *frame = rig_frame(render, 1, 0);
    assert_false(frame->animating);
    assert_int_equal(frame->input_id, 0);
    assert_true(frame->times.change_ns > 0);
    fw_frame_unref(&frame);
    assert_false(fw_render_wants_frame(render, 3600 * (int64_t)FW_NS_PER_S, &next_ns, &animating));
    assert_true(next_ns == INT64_MAX);

    const struct fw_input_event events[] = {
        { .id = 41, .rx_ns = 1000, .kind = FW_INPUT_MOTION, .x = 300, .y = 200 },
        { .id = 42, .rx_ns = 2000, .kind = FW_INPUT_BUTTON, .state = 1, .x = 300, .y = 200 },
        { .id = 43, .rx_ns = 3000, .kind = FW_INPUT_KEY, .state = 1, .code = 31 },
    };
    for (int i = 0; i < 3; i++) {
        fw_render_input(render, &events[i]);
    }
    assert_true(wants(render, 1));
    frame = rig_frame(render, 2, 1);
    assert_int_equal(frame->input_id, 43);
    assert_int_equal(frame->times.input_rx_ns, 3000);
    assert_int_equal(frame->times.change_ns, 1000); // the oldest that was not yet shown
    expect_color(frame, FW_TESTCARD_CLICK, fw_testcard_clicked);
    expect_color(frame, FW_TESTCARD_KEY, fw_testcard_entries[FW_TESTCARD_GREEN].rgb); // 31 % 6
    const size_t at = 200 * frame->plane[0].stride + 300;
    assert_true(fabs(frame->plane[0].data[at] - reference_luma(255, 0, 128)) <= 1.0);
    fw_frame_unref(&frame);
    assert_false(wants(render, 2));
    // What nobody uses starts no frame and does not count as a change.
    fw_render_input(render,
                    &(struct fw_input_event){ .id = 43, .rx_ns = 3000, .kind = FW_INPUT_RELEASE });
    assert_false(wants(render, 2));
    frame = rig_frame(render, 3, 3); // asked for all the same: the input shown stays the newest
    assert_int_equal(frame->input_id, 43);
    assert_true(frame->times.change_ns >= frame->times.begun_ns - FW_NS_PER_S);
    fw_frame_unref(&frame);

    assert_int_equal(fw_render_resize(render, 500, 400), FW_OK);
    assert_true(wants(render, 4));
    rig_destroy(render);
}

static void test_animation_beat(void **state)
{
    (void)state;
    struct fw_render *render = rig_create((struct fw_render_params){ 0 });
    rig_open(render, "testcard", 320, 240);
    int64_t now = 123456789012345, next_ns;
    bool animating;
    int frames = 0;
    // Asked at just the times it names, it draws just fps frames in a second.
    for (const int64_t end = now + FW_NS_PER_S; now < end; now = next_ns) {
        assert_true(fw_render_wants_frame(render, now, &next_ns, &animating));
        assert_true(animating && next_ns > now);
        struct fw_frame *frame = rig_frame(render, (uint64_t)++frames, now);
        assert_true(frame->animating);
        fw_frame_unref(&frame);
        assert_false(wants(render, next_ns - 1));
    }
    assert_in_range(frames, 60, 61);
    rig_destroy(render);
}

static unsigned differing(const struct fw_frame *a, const struct fw_frame *b)
{
    unsigned n = 0;
    for (int y = 0; y < a->height; y++) {
        for (int x = 0; x < a->width; x++) {
            n += a->plane[0].data[(size_t)y * a->plane[0].stride + (size_t)x] !=
                 b->plane[0].data[(size_t)y * b->plane[0].stride + (size_t)x];
        }
    }
    return n;
}

// A source never tells of fewer pixels than have changed, and of a small change no large one.
static void test_damage(void **state)
{
    (void)state;
    static const struct fw_input_event events[] = {
        { .id = 1, .kind = FW_INPUT_MOTION, .x = 320, .y = 200 },
        { .id = 2, .kind = FW_INPUT_MOTION, .x = 20, .y = 30 },
        { .id = 3, .kind = FW_INPUT_BUTTON, .state = 1, .x = 20, .y = 30 },
        { .id = 4, .kind = FW_INPUT_WHEEL, .dy = 1 },
        { .id = 5, .kind = FW_INPUT_KEY, .state = 1, .code = 30 },
    };
    enum { EVENTS = sizeof(events) / sizeof(events[0]) };
    static const struct {
        int width, height;
        const char *animate;
    } cases[] = { { 640, 360, "1" }, { 640, 360, "0" }, { 301, 600, "1" }, { 1280, 720, "full" } };
    for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        struct fw_render *render = rig_create((struct fw_render_params){ 0 });
        const struct fw_source_arg arg = { "animate", cases[k].animate };
        assert_int_equal(rig_open_args(render, "testcard", cases[k].width, cases[k].height, &arg),
                         FW_OK);
        const unsigned all = (unsigned)(cases[k].width * cases[k].height);
        struct fw_frame *before = rig_frame(render, 1, 0);
        assert_int_equal(before->facts.damage_px, all);
        for (int i = 0; i < EVENTS; i++) {
            fw_render_input(render, &events[i]);
            struct fw_frame *frame = rig_frame(render, (uint64_t)i + 2, (i + 1) * 400000000LL);
            const unsigned changed = differing(before, frame);
            if (frame->facts.damage_px < changed || changed == 0)
                fail_msg("case %zu, event %d: %u told, %u changed", k, i, frame->facts.damage_px,
                         changed);
            assert_true(k == 3 ? frame->facts.damage_px == all : frame->facts.damage_px < all / 4);
            fw_frame_unref(&before);
            before = frame;
        }
        assert_int_equal(fw_render_resize(render, 320, 240), FW_OK);
        struct fw_frame *resized = rig_frame(render, EVENTS + 2, EVENTS * 400000000LL);
        assert_int_equal(resized->facts.damage_px, 320 * 240);
        fw_frame_unref(&resized);
        fw_frame_unref(&before);
        rig_destroy(render);
    }
}

static void test_times(void **state)
{
    (void)state;
    for (int p = 0; p < PATHS; p++) {
        struct fw_render *render = rig_create(paths[p]);
        rig_open(render, "testcard", 640, 360);
        struct fw_frame *frame = rig_frame(render, 1, 1);
        const struct fw_frame_times *t = &frame->times;
        const struct fw_gpu_facts *gpu = &frame->facts.gpu;
        assert_true(t->begun_ns > 0 && t->begun_ns <= t->submitted_ns);
        assert_true(t->submitted_ns <= t->rendered_ns && t->rendered_ns <= t->converted_ns);
        if (render->gpu->timestamps) {
            assert_true(gpu->pass_us[FW_PASS_SOURCE] > 0);
            assert_true(!render->path.merge || gpu->pass_us[FW_PASS_MERGE] > 0);
            assert_true(gpu->pass_us[FW_PASS_CONVERT] > 0);
            const int64_t sum = (int64_t)gpu->pass_us[FW_PASS_SOURCE] +
                                gpu->pass_us[FW_PASS_MERGE] + gpu->pass_us[FW_PASS_CONVERT];
            assert_true(sum * FW_NS_PER_US <= t->rendered_ns - t->begun_ns + 3 * FW_NS_PER_US);
            // The GPU's clock on ours: it begins after us, and ends before we know that it has.
            const int64_t doubt = FW_NS_PER_MS / 2;
            if (render->gpu->priv->get_clocks) {
                assert_true(gpu->begin_ns >= t->begun_ns - doubt);
                assert_true(gpu->begin_ns + sum * FW_NS_PER_US <= t->rendered_ns + doubt);
            } else {
                assert_true(gpu->begin_ns == 0);
            }
            assert_true(render->gpu->parts == !render->gpu->no_parts[0]);
            uint32_t parts = 0;
            for (int i = 0; i < FW_PART_COUNT; i++)
                parts += gpu->part_us[i];
            assert_true(render->gpu->parts || parts == 0); // nothing is made up
        }
        if (render->gpu->statistics) {
            assert_true(gpu->vertices > 100 && gpu->primitives > 30);
            assert_true(gpu->fragments >= 640 * 360 / 2 && gpu->fragments < 640 * 360 * 20);
        }
        fw_frame_unref(&frame);
        rig_destroy(render);
    }
}

static void test_slots(void **state)
{
    (void)state;
    for (int p = 0; p < 4; p++) {
        struct fw_render *render = rig_create(paths[p]);
        struct fw_frame *held[3], *none = NULL;
        rig_open(render, "testcard", 641, 479);
        for (uint64_t i = 0; i < 3; i++) {
            held[i] = rig_frame(render, i + 1, 0);
        }
        assert_int_equal(fw_render_frame(render, 4, 0, &none), FW_ERR_AGAIN);
        assert_null(none);
        // The size changes while the encoder holds all three: they stay readable, and still count.
        assert_int_equal(fw_render_resize(render, 320, 200), FW_OK);
        assert_int_equal(fw_render_frame(render, 4, 0, &none), FW_ERR_AGAIN);
        for (uint64_t i = 0; i < 3; i++) {
            assert_int_equal(held[i]->width, 641);
            assert_int_equal(read_id(held[i]), i + 1);
        }
        assert_true(wants(render, 0));
        fw_frame_unref(&held[1]);
        held[1] = rig_frame(render, 5, 0);
        assert_int_equal(held[1]->width, 320);
        assert_int_equal(fw_render_frame(render, 6, 0, &none), FW_ERR_AGAIN);
        assert_int_equal(fw_render_resize(render, 300, 200), FW_OK);
        assert_int_equal(fw_render_resize(render, 310, 200), FW_OK);
        assert_int_equal(read_id(held[0]), 1);
        for (int i = 0; i < 3; i++) {
            fw_frame_unref(&held[i]);
        }
        held[0] = rig_frame(render, 7, 0);
        fw_frame_unref(&held[0]);
        rig_destroy(render);
    }
}

static void *unref_later(void *arg)
{
    struct fw_frame *frame = arg;
    volatile uint8_t sink = frame->plane[1].data[0];
    (void)sink;
    fw_frame_unref(&frame);
    return NULL;
}

static void test_release_elsewhere(void **state)
{
    (void)state;
    struct fw_render *render = rig_create((struct fw_render_params){ 0 });
    rig_open(render, "testcard", 320, 240);
    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        struct fw_frame *frame = rig_frame(render, (uint64_t)i, 0);
        assert_int_equal(pthread_create(&thread, NULL, unref_later, frame), 0);
        assert_int_equal(fw_render_resize(render, 320 + i, 240), FW_OK);
        frame = rig_frame(render, (uint64_t)i, 0);
        fw_frame_unref(&frame);
        pthread_join(thread, NULL);
    }
    rig_destroy(render);
}

static void test_resize_loop(void **state)
{
    (void)state;
    for (int p = 0; p < PATHS; p++) {
        struct fw_render *render = rig_create(paths[p]);
        rig_open(render, "testcard", 640, 360);
        struct fw_frame *frame = rig_frame(render, 1, 1);
        fw_frame_unref(&frame);
        struct fw_render_info before, after;
        fw_render_get_info(render, &before);
        uint32_t seed = 99;
        for (int i = 0; i < 30; i++) {
            seed = seed * 1664525u + 1013904223u;
            const int width = 16 + (int)(seed >> 8) % 900, height = 16 + (int)(seed >> 20) % 700;
            assert_int_equal(fw_render_resize(render, width, height), FW_OK);
            if (i % 3) {
                frame = rig_frame(render, 2, 1);
                fw_frame_unref(&frame);
            }
        }
        // Out of range: refused, and nothing has changed.
        assert_int_equal(fw_render_resize(render, 0, 0), FW_ERR_INVALID);
        assert_int_equal(fw_render_resize(render, -5, 720), FW_ERR_INVALID);
        assert_int_equal(fw_render_resize(render, 15, 720), FW_ERR_INVALID);
        assert_int_equal(fw_render_resize(render, 3841, 720), FW_ERR_INVALID);
        assert_int_equal(fw_render_resize(render, 640, 1 << 30), FW_ERR_INVALID);
        assert_int_equal(fw_render_resize(render, 640, 360), FW_OK);
        frame = rig_frame(render, 3, 1);
        assert_int_equal(frame->width, 640);
        fw_frame_unref(&frame);
        fw_render_get_info(render, &after);
        assert_memory_equal(before.used_bytes, after.used_bytes,
                            sizeof(before.used_bytes)); // nothing has leaked
        rig_destroy(render);
    }
}

static void test_largest(void **state)
{
    (void)state;
    for (int p = 0; p < 4; p++) {
        struct fw_render *render = rig_create(paths[p]);
        rig_open(render, "testcard", 3840, 2160);
        struct fw_frame *frame = rig_frame(render, 4711, 1);
        assert_int_equal(read_id(frame), 4711);
        fw_frame_unref(&frame);
        rig_destroy(render);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    struct fw_render *render = rig_create((struct fw_render_params){ 0 });
    struct fw_frame *frame;
    int64_t next_ns;
    bool animating;
    const struct fw_source_arg unknown = { "colour", "1" }, wrong = { "animate", "maybe" };
    assert_int_equal(rig_open_args(render, "nothing", 640, 360, NULL), FW_ERR_NOT_FOUND);
    assert_int_equal(rig_open_args(render, NULL, 640, 360, NULL), FW_ERR_NOT_FOUND);
    assert_int_equal(rig_open_args(render, "testcard", 8, 360, NULL), FW_ERR_INVALID);
    assert_int_equal(rig_open_args(render, "testcard", 640, 2161, NULL), FW_ERR_INVALID);
    assert_int_equal(rig_open_args(render, "testcard", 640, 360, &unknown), FW_ERR_INVALID);
    assert_int_equal(rig_open_args(render, "testcard", 640, 360, &wrong), FW_ERR_INVALID);
    // With nothing open, nothing happens.
    assert_int_equal(fw_render_frame(render, 1, 0, &frame), FW_ERR_INVALID);
    assert_int_equal(fw_render_resize(render, 640, 360), FW_ERR_INVALID);
    assert_false(fw_render_wants_frame(render, 0, &next_ns, &animating));
    fw_render_input(render, &(struct fw_input_event){ .kind = FW_INPUT_MOTION });
    assert_string_equal(fw_render_describe(render), "{}");
    // And the render is as good as new.
    rig_open(render, "testcard", 640, 360);
    assert_non_null(strstr(fw_render_describe(render), "triangles"));
    rig_open(render, "testcard", 320, 200); // opening again closes the first
    frame = rig_frame(render, 1, 0);
    assert_int_equal(frame->width, 320);
    fw_frame_unref(&frame);
    rig_destroy(render);

    const struct fw_render_params lost = { .gpu = "no such card", .log = &rig_log };
    assert_int_equal(fw_render_create(&render, &lost), FW_ERR_NOT_FOUND);
    const struct fw_render_params typo = { .force_target = "magic", .log = &rig_log };
    assert_int_equal(fw_render_create(&render, &typo), FW_ERR_INVALID);
}

static void test_null_source(void **state)
{
    (void)state;
    struct fw_render *render = rig_create((struct fw_render_params){ .no_device = true });
    struct fw_render_info info;
    fw_render_get_info(render, &info);
    assert_string_equal(info.gpu, "none");
    assert_int_equal(rig_open_args(render, "testcard", 640, 360, NULL), FW_ERR_UNSUPPORTED);
    rig_open(render, "null", 641, 479);
    struct fw_frame *frame = rig_frame(render, 123456789, 0);
    assert_int_equal(read_id(frame), 123456789);
    assert_int_equal(frame->coded_width, 642);
    const uint8_t before = frame->plane[0].data[300];
    fw_frame_unref(&frame);
    assert_false(wants(render, 1));
    assert_true(wants(render, FW_NS_PER_S / 2)); // it moves
    frame = rig_frame(render, 2, FW_NS_PER_S / 2);
    assert_int_not_equal(frame->plane[0].data[300], before);
    fw_frame_unref(&frame);
    assert_int_equal(fw_render_resize(render, 100, 17), FW_OK);
    frame = rig_frame(render, 3, FW_NS_PER_S / 2);
    assert_int_equal(read_id(frame), 3);
    assert_int_equal(frame->height, 17);
    fw_frame_unref(&frame);
    rig_destroy(render);

    // Beside a device it works as well.
    render = rig_create((struct fw_render_params){ 0 });
    rig_open(render, "testcard", 64, 64);
    rig_open(render, "null", 64, 64);
    frame = rig_frame(render, 9, 0);
    assert_int_equal(read_id(frame), 9);
    fw_frame_unref(&frame);
    rig_destroy(render);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_card),
        cmocka_unit_test(test_still_until_input),
        cmocka_unit_test(test_animation_beat),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_slots),
        cmocka_unit_test(test_release_elsewhere),
        cmocka_unit_test(test_resize_loop),
        cmocka_unit_test(test_largest),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_null_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
