// SPDX-License-Identifier: MIT
// The parts of the viewer that need no window.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "session/cli/view_figures.h"
#include "session/cli/view_options.h"
#include "session/cli/view_rgb.h"
#include "session/cli/view_status.h"
#include "session/cli/view_text.h"
#include "session/cli/view_window.h"

// ---- colour

static int level(double v)
{
    return (int)lround(fmin(fmax(v, 0), 1) * 255);
}

// BT.709 in floating point, as the shader has it.
static void reference(int y, int cb, int cr, bool full, int rgb[3])
{
    const double l = full ? y / 255.0 : (y - 16) / 219.0;
    const double b = (cb - 128) / (full ? 255.0 : 224.0), r = (cr - 128) / (full ? 255.0 : 224.0);
    rgb[0] = level(l + 1.5748 * r);
    rgb[1] = level(l - 0.1873 * b - 0.4681 * r);
    rgb[2] = level(l + 1.8556 * b);
}

static void colours_are_those_of_bt709(void **state)
{
    enum { WIDTH = 19, HEIGHT = 3, CODED = 20, ROWS = 4 }; // odd: the last pixel stands alone
    uint8_t luma[CODED * ROWS], cb[CODED * ROWS / 4], cr[CODED * ROWS / 4], both[CODED * ROWS / 2];
    uint32_t out[WIDTH * HEIGHT];
    (void)state;
    srand(7);
    for (int round = 0; round < 2000; round++) {
        for (int i = 0; i < CODED * ROWS; i++)
            luma[i] = (uint8_t)rand();
        for (int i = 0; i < CODED * ROWS / 4; i++) {
            both[2 * i] = cb[i] = (uint8_t)rand();
            both[2 * i + 1] = cr[i] = (uint8_t)rand();
        }
        const bool bgr = round & 1, full = round & 2, interleaved = round & 4;
        const struct fw_view_picture picture = {
            .plane = { luma, interleaved ? both : cb, cr },
            .stride = { CODED, interleaved ? CODED : CODED / 2, CODED / 2 },
            .interleaved = interleaved,
            .full_range = full,
            .width = WIDTH,
            .height = HEIGHT,
            .coded_width = CODED,
            .coded_height = ROWS,
        };
        fw_view_rgb_convert(&picture, bgr, out);
        for (int i = 0; i < WIDTH * HEIGHT; i++) {
            const int x = i % WIDTH, y = i / WIDTH, c = y / 2 * (CODED / 2) + x / 2;
            int want[3];
            reference(luma[y * CODED + x], cb[c], cr[c], full, want);
            for (int k = 0; k < 3; k++) {
                const int got = (int)(out[i] >> (bgr ? 16 - 8 * k : 8 * k) & 0xff);
                assert_in_range(got + 1 - want[k], 0, 2); // one level of rounding
            }
            assert_int_equal(out[i] >> 24, 0xff);
        }
    }
}

// ---- places

static void a_picture_is_fitted_into_the_window(void **state)
{
    (void)state;
    struct fw_view_box b = fw_view_fit(640, 360, 640, 360);
    assert_true(b.x == 0 && b.y == 0 && b.width == 640 && b.height == 360);
    b = fw_view_fit(1000, 360, 640, 360); // bars left and right
    assert_true(b.x == 180 && b.y == 0 && b.width == 640 && b.height == 360);
    b = fw_view_fit(640, 1000, 320, 180); // bars above and below
    assert_true(b.x == 0 && b.y == 320 && b.width == 640 && b.height == 360);
    b = fw_view_fit(640, 360, 0, 0); // no picture yet
    assert_true(b.width == 640 && b.height == 360);
}

static void keys_go_by_their_place(void **state)
{
    (void)state;
    assert_int_equal(fw_view_key_code(GLFW_KEY_A), 30);
    assert_int_equal(fw_view_key_code(GLFW_KEY_Z), 44);
    assert_int_equal(fw_view_key_code(GLFW_KEY_LEFT), 105);
    assert_int_equal(fw_view_key_code(GLFW_KEY_F24), 194);
    assert_int_equal(fw_view_key_code(GLFW_KEY_UNKNOWN), 0);
    assert_int_equal(fw_view_key_code(GLFW_KEY_LAST + 1), 0);
    // No two keys are one.
    bool seen[256] = { false };
    for (int key = 0; key <= GLFW_KEY_LAST; key++) {
        const int code = fw_view_key_code(key);
        assert_in_range(code, 0, 255);
        assert_false(code && seen[code]);
        seen[code] = true;
    }
}

// ---- words

static void words_stay_inside(void **state)
{
    struct fw_view_canvas canvas = { 0 };
    (void)state;
    static const char *const texts[] = {
        "",
        "a",
        "one two three four five six seven eight nine ten",
        "averyveryverylongwordwithoutany",
        "ümläuts · × – …",
        "broken \xff\xc3",
        "  spaces   between  ",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        // The canvas is smaller than what is drawn: nothing beside it may be touched.
        assert_true(fw_view_canvas_begin(&canvas, 60, 20, 0));
        const struct fw_view_paragraph p = { -5, -5, 50, 2, 0xffffffff, i % 2 };
        const int lines = fw_view_text_wrap(&canvas, &p, texts[i]);
        assert_int_equal(lines, fw_view_text_wrap(NULL, &p, texts[i]));
        assert_true(lines <= 40);
    }
    assert_int_equal(fw_view_text_width("abc", 2), 34);
    assert_int_equal(fw_view_text_width("×·–", 2), 34); // letters, not bytes
    fw_view_canvas_finish(&canvas);
}

static void status(const char *state, const char *code, enum fw_view_phase phase, uint64_t pictures,
                   struct fw_view_status *out)
{
    struct fw_view_link_state link = { .phase = phase, .info.percent = -1 };
    snprintf(link.info.state, sizeof(link.info.state), "%s", state);
    snprintf(link.code, sizeof(link.code), "%s", code);
    snprintf(link.info.code, sizeof(link.info.code), "%s", code);
    fw_view_status_of(&link, pictures, out);
}

static void each_state_has_its_words(void **state)
{
    struct fw_view_status s;
    (void)state;
    status("running", "", FW_VIEW_OPEN, 5, &s);
    assert_int_equal(s.level, FW_VIEW_LEVEL_OK);
    status("running", "", FW_VIEW_OPEN, 0, &s);
    assert_int_equal(s.level, FW_VIEW_LEVEL_VEIL);
    status("restarting", "", FW_VIEW_OPEN, 5, &s);
    assert_int_equal(s.level, FW_VIEW_LEVEL_BANNER);
    assert_string_equal(s.title, "The renderer is restarting");
    status("running", "slow", FW_VIEW_OPEN, 5, &s);
    assert_string_equal(s.title, "Waiting for the renderer");
    status("running", "", FW_VIEW_WAITING, 5, &s);
    assert_int_equal(s.level, FW_VIEW_LEVEL_BANNER);
    assert_string_equal(s.title, "Reconnecting");
    assert_false(s.over);
    status("", "unauthorized", FW_VIEW_ENDED, 0, &s);
    assert_true(s.over);
    assert_non_null(strstr(s.text, "--token-file"));
    status("failed", "", FW_VIEW_OPEN, 5, &s);
    assert_string_equal(s.title, "The session has failed");
    status("closing", "", FW_VIEW_ENDED, 5, &s);
    assert_true(s.over);
    assert_int_equal(s.level, FW_VIEW_LEVEL_VEIL);
}

// ---- figures

static void stages_add_up(void **state)
{
    struct fw_view_figures *f = fw_view_figures_create();
    const struct fw_client_clock clock = { .count = 1,
                                           .rtt_ns = 2 * FW_NS_PER_MS,
                                           .best = { 0, 2 * FW_NS_PER_MS, 1000 * 1000000LL } };
    static struct fw_view_reading r;
    (void)state;
    fw_view_figures_clock(f, &clock); // the server is a second ahead
    for (uint64_t i = 1; i <= 200; i++) {
        const int64_t t = (int64_t)i * 16 * FW_NS_PER_MS, server = t + 1000 * 1000000LL;
        const struct fw_wire_video v = {
            .frame_id = i,
            .input_id = i,
            .begun_ns = server,
            .change_ns = server,
            .render_us = 3000,
            .convert_us = 1000,
            .encode_us = 4000,
            .encoded_ns = server + 8 * FW_NS_PER_MS,
            .width = 64,
            .height = 48,
        };
        const struct fw_wire_stamp stamp = { i, server + 9 * FW_NS_PER_MS,
                                             server + 10 * FW_NS_PER_MS };
        fw_view_figures_received(f, &v, 1000, t + 12 * FW_NS_PER_MS);
        fw_view_figures_decoded(f, i, t + 14 * FW_NS_PER_MS);
        if (i % 2) // stamps may come before or after
            fw_view_figures_stamp(f, &stamp);
        fw_view_figures_presented(f, i, t + 15 * FW_NS_PER_MS);
        if (!(i % 2))
            fw_view_figures_stamp(f, &stamp);
        fw_view_figures_input(f, t, t + 15 * FW_NS_PER_MS);
    }
    fw_view_figures_read(f, 200LL * 16 * FW_NS_PER_MS + 15 * FW_NS_PER_MS, &r);
    static const float want[FW_VIEW_STAGE_COUNT] = { 2, 1, 1, 4, 2, 2, 2, 1 };
    assert_int_equal(r.graph_count, FW_VIEW_GRAPH);
    for (int i = 0; i < FW_VIEW_STAGE_COUNT; i++) {
        assert_true(fabs(r.stage_ms[i] - want[i]) < 0.01);
        assert_true(fabsf(r.graph[0].ms[i] - want[i]) < 0.01f);
    }
    assert_true(fabs(r.total.p50 - 15) < 0.01 && fabs(r.total.p99 - 15) < 0.01);
    assert_true(fabs(r.input.p95 - 15) < 0.01);
    assert_true(r.fps >= 62 && r.fps <= 63);
    assert_int_equal(r.presented, 200);
    assert_int_equal(r.last_input, 200);
    fw_view_figures_destroy(&f);
}

static void nothing_that_contradicts_makes_a_stage_negative(void **state)
{
    struct fw_view_figures *f = fw_view_figures_create();
    const struct fw_client_clock clock = { .count = 1 };
    static struct fw_view_reading r;
    (void)state;
    fw_view_figures_clock(f, &clock);
    // Stamps of a server whose clock is said to be behind: all of it after we had shown it.
    const struct fw_wire_video v = { .frame_id = 1,
                                     .begun_ns = 50 * FW_NS_PER_MS,
                                     .encoded_ns = 60 * FW_NS_PER_MS,
                                     .render_us = 1000,
                                     .encode_us = 1000 };
    fw_view_figures_received(f, &v, 1, 10 * FW_NS_PER_MS);
    fw_view_figures_decoded(f, 1, 11 * FW_NS_PER_MS);
    fw_view_figures_stamp(f, &(struct fw_wire_stamp){ 1, 70 * FW_NS_PER_MS, 71 * FW_NS_PER_MS });
    fw_view_figures_presented(f, 1, 12 * FW_NS_PER_MS);
    fw_view_figures_read(f, 12 * FW_NS_PER_MS, &r);
    assert_int_equal(r.graph_count, 1);
    for (int i = 0; i < FW_VIEW_STAGE_COUNT; i++)
        assert_true(r.graph[0].ms[i] >= 0);
    assert_true(r.total.p50 >= 0);
    fw_view_figures_destroy(&f);
}

// ---- the command line

static enum fw_err parse(struct fw_view_options *o, char *message, int argc, ...)
{
    char *argv[16] = { "view" };
    va_list list;
    va_start(list, argc);
    for (int i = 1; i <= argc; i++)
        argv[i] = va_arg(list, char *);
    va_end(list);
    return fw_view_options_parse(o, argc + 1, argv, message, 256);
}

static void options_are_read(void **state)
{
    struct fw_view_options o;
    char message[256];
    (void)state;
    assert_int_equal(parse(&o, message, 5, "--size=800x601", "http://h", "--frames", "12", "--hud"),
                     FW_OK);
    assert_int_equal(o.width, 800);
    assert_int_equal(o.height, 601);
    assert_int_equal(o.frames, 12);
    assert_true(o.hud && !o.fullscreen);
    assert_string_equal(o.url, "http://h");
    assert_int_equal(parse(&o, message, 1, "-h"), FW_OK);
    assert_true(o.help);
    static const char *const bad[][2] = {
        { "--fps", "0" },        { "--fps", "1.5" },       { "--frames", "x" },
        { "--size", "10x10" },   { "--size", "800x600x" }, { "--size", "800" },
        { "--seconds", "nan" },  { "--record", "" },       { "--log-level", "loud" },
        { "--convert", "both" }, { "--nonsense", "1" },    { "--hud=1", "http://i" },
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        message[0] = '\0';
        assert_int_equal(parse(&o, message, 3, "http://h", bad[i][0], bad[i][1]), FW_ERR_INVALID);
        assert_true(strlen(message) > 10);
    }
    assert_int_equal(parse(&o, message, 2, "http://h", "--size"), FW_ERR_INVALID);
    assert_int_equal(parse(&o, message, 2, "http://h", "http://i"), FW_ERR_INVALID);
    assert_int_equal(parse(&o, message, 0), FW_ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(colours_are_those_of_bt709),
        cmocka_unit_test(a_picture_is_fitted_into_the_window),
        cmocka_unit_test(keys_go_by_their_place),
        cmocka_unit_test(words_stay_inside),
        cmocka_unit_test(each_state_has_its_words),
        cmocka_unit_test(stages_add_up),
        cmocka_unit_test(nothing_that_contradicts_makes_a_stage_negative),
        cmocka_unit_test(options_are_read),
    };
    return cmocka_run_group_tests_name("view", tests, NULL, NULL);
}
