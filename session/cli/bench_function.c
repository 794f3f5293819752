// SPDX-License-Identifier: MIT
// Does it work at all: pictures that are what they should be, and that answer to a person.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "render/source/testcard.h"
#include "session/cli/bench_probe.h"
#include "session/cli/bench_verify.h"

enum {
    FIRST_MS = 60000,
    PICTURE_MS = 5000,
    ANSWER_PICTURES = 240, // after a click, until it must be seen
    SHARP_PICTURES = 30,   // the first may be coarse
};

static const enum fw_testcard_patch still[] = {
    FW_TESTCARD_RED,      FW_TESTCARD_GREEN,    FW_TESTCARD_BLUE,     FW_TESTCARD_CYAN,
    FW_TESTCARD_MAGENTA,  FW_TESTCARD_YELLOW,   FW_TESTCARD_GREY_0,   FW_TESTCARD_GREY_16,
    FW_TESTCARD_GREY_128, FW_TESTCARD_GREY_235, FW_TESTCARD_GREY_255,
};
enum { STILL = sizeof(still) / sizeof(still[0]) };

static double clamp(double v)
{
    return v < 0 ? 0 : v > 255 ? 255 : v;
}

// The colour of a pixel, BT.709 limited as the stream says.
static void pixel(const struct fw_frame *f, int x, int y, double rgb[3])
{
    const uint8_t *luma = f->plane[0].data + (size_t)y * f->plane[0].stride + x;
    const uint8_t *chroma = f->plane[1].data + (size_t)(y / 2) * f->plane[1].stride + (x & ~1);
    const double l = (*luma - 16) * 255.0 / 219, u = (chroma[0] - 128) * 255.0 / 224,
                 v = (chroma[1] - 128) * 255.0 / 224;
    rgb[0] = clamp(l + 1.5748 * v);
    rgb[1] = clamp(l - 0.1873 * u - 0.4681 * v);
    rgb[2] = clamp(l + 1.8556 * u);
}

// How far the quarter-way point of a patch (the pointer may stand in its middle) is off `rgb`.
static double patch_error(const struct fw_bench_picture *p, enum fw_testcard_patch patch,
                          const uint8_t want[3])
{
    double rgb[3], worst = 0;
    const struct fw_testcard_rect r = fw_testcard_place(patch, p->head.width, p->head.height);
    pixel(p->frame, (3 * r.x0 + r.x1) / 4, (3 * r.y0 + r.y1) / 4, rgb);
    for (int i = 0; i < 3; i++)
        worst = fmax(worst, fabs(rgb[i] - want[i]));
    return worst;
}

static double card_error(const struct fw_bench_picture *p)
{
    double worst = 0;
    for (int i = 0; i < STILL; i++)
        worst = fmax(worst, patch_error(p, still[i], fw_testcard_entries[still[i]].rgb));
    return worst;
}

// ---- the test card

static void check_ids(struct fw_verify *v, unsigned looked, unsigned wrong,
                      const struct fw_bench_picture *last_wrong, uint64_t painted)
{
    struct fw_check *c = fw_verify_add(v, FW_VERIFY_FUNCTION, wrong ? FW_FAIL : FW_PASS,
                                       "number painted in the picture");
    fw_check_found(c, "right in %u of %u pictures", looked - wrong, looked);
    fw_check_wanted(c, "that of the header, in all");
    if (wrong)
        fw_check_note(c,
                      "for example header %llu, painted %llu: pictures and their headers are "
                      "mixed up, and no latency can be trusted",
                      (unsigned long long)last_wrong->drawn_id, (unsigned long long)painted);
}

static void check_colours(struct fw_verify *v, double error)
{
    const int most = v->plan->function.colour_error;
    struct fw_check *c = fw_verify_add(v, FW_VERIFY_FUNCTION, error <= most ? FW_PASS : FW_FAIL,
                                       "colours of the test card");
    fw_check_found(c, "%d patches, off by %.0f of 255 at most", STILL, error);
    fw_check_wanted(c, "off by %d at most", most);
    if (error > most)
        fw_check_note(c, "the conversion or the decoder changes colours");
}

// Numbers and colours, over as many pictures as the plan wants. False: it broke off.
static bool look_at_card(struct fw_verify *v, struct fw_bench_probe *probe)
{
    struct fw_bench_picture p, bad = { .frame = NULL };
    unsigned wrong = 0, looked = 0;
    uint64_t painted = 0, bad_painted = 0;
    double error = 255;
    const unsigned frames = (unsigned)v->plan->function.frames;
    enum fw_err err = FW_OK;
    while (looked < frames && !err) {
        err = fw_bench_probe_next(probe, PICTURE_MS, &p);
        if (err)
            break;
        painted = fw_testcard_read_id(p.frame->plane[0].data, (int)p.frame->plane[0].stride,
                                      p.head.width, p.head.height);
        looked++;
        if (p.drawn_id && painted != p.drawn_id) {
            wrong++;
            bad = p;
            bad_painted = painted;
        }
        if (looked <= SHARP_PICTURES || error > v->plan->function.colour_error)
            error = fmin(error, card_error(&p));
        else
            error = fmax(error, card_error(&p));
    }
    if (looked) {
        check_ids(v, looked, wrong, &bad, bad_painted);
        check_colours(v, error);
    }
    if (looked == frames || *v->bench->stop)
        return looked == frames;
    struct fw_check *c = fw_verify_add(v, FW_VERIFY_FUNCTION, FW_FAIL, "pictures come");
    fw_check_found(c, "%u of %u, then %s", looked, frames,
                   err == FW_ERR_FORMAT ? "one that can't be decoded" : "no more");
    return false;
}

// ---- input

// The mean difference of luma, 0-255.
static double difference(const struct fw_frame *a, const struct fw_frame *b)
{
    uint64_t sum = 0, count = 0;
    if (a->width != b->width || a->height != b->height)
        return 255;
    for (int y = 0; y < a->height; y += 2)
        for (int x = 0; x < a->width; x += 2, count++)
            sum += (uint64_t)abs(a->plane[0].data[(size_t)y * a->plane[0].stride + (size_t)x] -
                                 b->plane[0].data[(size_t)y * b->plane[0].stride + (size_t)x]);
    return count ? (double)sum / (double)count : 0;
}

static void say_answer(struct fw_verify *v, bool answered, double ms, const char *how)
{
    struct fw_check *c = fw_verify_add(v, FW_VERIFY_FUNCTION, answered ? FW_PASS : FW_FAIL,
                                       "input moves the picture");
    fw_check_wanted(c, "a picture that shows it");
    if (answered)
        fw_check_found(c, "%s after %.0f ms", how, ms);
    else
        fw_check_found(c, "nothing to be seen after %d pictures or %d s", ANSWER_PICTURES,
                       PICTURE_MS / 1000);
    if (!answered)
        fw_check_note(c, "is this a source that answers to the mouse, and is input allowed?");
}

static void click_card(struct fw_verify *v, struct fw_bench_probe *probe)
{
    const struct fw_bench_load_options *o = &v->plan->load;
    struct fw_bench_picture p;
    const int64_t begin = fw_now_ns();
    bool answered = false;
    fw_bench_probe_button(probe, true, (float)o->width / 2, (float)o->height / 2);
    for (int i = 0; i < ANSWER_PICTURES && !answered; i++) {
        if (fw_bench_probe_next(probe, PICTURE_MS, &p))
            break;
        // Nearer to the colour of a click than to that of before.
        answered = patch_error(&p, FW_TESTCARD_CLICK, fw_testcard_clicked) <
                   patch_error(&p, FW_TESTCARD_CLICK, fw_testcard_entries[FW_TESTCARD_CLICK].rgb);
    }
    fw_bench_probe_button(probe, false, (float)o->width / 2, (float)o->height / 2);
    say_answer(v, answered, (double)(p.shown_ns - begin) / FW_NS_PER_MS,
               "the patch has changed its colour");
}

// Any other source: drags, and wants a picture that is not the one before.
static void drag_source(struct fw_verify *v, struct fw_bench_probe *probe)
{
    const struct fw_bench_load_options *o = &v->plan->load;
    struct fw_bench_picture p;
    struct fw_frame *before = NULL;
    bool answered = false;
    if (fw_bench_probe_next(probe, FIRST_MS, &p))
        return;
    before = fw_frame_ref(p.frame);
    const int64_t begin = fw_now_ns();
    fw_bench_probe_button(probe, true, (float)o->width / 2, (float)o->height / 2);
    fw_bench_probe_button(probe, true, (float)o->width / 4, (float)o->height / 2);
    for (int i = 0; i < ANSWER_PICTURES && !answered; i++) {
        if (fw_bench_probe_next(probe, PICTURE_MS, &p))
            break;
        answered = p.head.input_id && difference(before, p.frame) > 1;
    }
    fw_bench_probe_button(probe, false, (float)o->width / 4, (float)o->height / 2);
    fw_frame_unref(&before);
    say_answer(v, answered, (double)(p.shown_ns - begin) / FW_NS_PER_MS, "another picture");
}

static void check_content(struct fw_verify *v, const struct fw_bench_picture *p)
{
    uint64_t sum = 0, squares = 0, count = 0;
    for (int y = 0; y < p->head.height; y += 4)
        for (int x = 0; x < p->head.width; x += 4, count++) {
            const uint64_t l =
                p->frame->plane[0].data[(size_t)y * p->frame->plane[0].stride + (size_t)x];
            sum += l;
            squares += l * l;
        }
    const double mean = (double)sum / (double)count;
    const double spread = sqrt(fmax(0, (double)squares / (double)count - mean * mean));
    struct fw_check *c = fw_verify_add(v, FW_VERIFY_FUNCTION, spread > 1 ? FW_PASS : FW_FAIL,
                                       "there is something in the picture");
    fw_check_found(c, "brightness %.0f ± %.0f", mean, spread);
    c = fw_verify_add(v, FW_VERIFY_FUNCTION, FW_UNKNOWN, "painted number and colours");
    fw_check_note(c, "only the test card has them; plan with source: testcard to check them");
}

// ---- the part

static void check_ready(struct fw_verify *v)
{
    struct fw_remote_error error;
    char *text = NULL;
    size_t size;
    const bool ready = !fw_remote_text(&v->bench->remote, "/readyz", &text, &size, &error);
    free(text);
    struct fw_check *c =
        fw_verify_add(v, FW_VERIFY_FUNCTION, ready ? FW_PASS : FW_FAIL, "the server is ready");
    fw_check_found(c, "%s",
                   ready                 ? "it is"
                   : error.status == 503 ? "it says it is not"
                                         : error.message);
    if (!ready)
        fw_check_note(c, "GET /readyz names the reason");
}

void fw_verify_function(struct fw_verify *v)
{
    struct fw_bench_probe *probe = NULL;
    struct fw_remote_error error = { .status = 0 };
    struct fw_bench_picture p;
    const int64_t begin = fw_now_ns();
    check_ready(v);
    enum fw_err err =
        fw_bench_probe_create(&probe, &v->bench->remote, &v->plan->load, v->bench->stop, &error);
    const bool started = !err;
    if (started)
        err = fw_bench_probe_next(probe, FIRST_MS, &p);
    const double ms = (double)(fw_now_ns() - begin) / FW_NS_PER_MS;
    struct fw_check *c =
        fw_verify_add(v, FW_VERIFY_FUNCTION, err ? FW_FAIL : FW_PASS, "a session starts");
    if (!err)
        fw_check_found(c, "first picture after %.0f ms", ms);
    else
        fw_check_found(c, "%.150s",
                       !started ? error.message
                       : fw_watch_info(fw_bench_probe_watch(probe))->message[0]
                           ? fw_watch_info(fw_bench_probe_watch(probe))->message
                           : "no picture comes");
    fw_check_wanted(c, "a picture");
    if (!err && strcmp(v->plan->load.source, "testcard") == 0) {
        if (look_at_card(v, probe))
            click_card(v, probe);
    } else if (!err) {
        check_content(v, &p);
        drag_source(v, probe);
    }
    fw_bench_probe_destroy(&probe);
}
