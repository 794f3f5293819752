// SPDX-License-Identifier: MIT
#include "session/cli/view_hud.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define BACK   FW_VIEW_RGBA(13, 15, 18, 215)
#define TEXT   FW_VIEW_RGBA(236, 238, 241, 255)
#define SOFT   FW_VIEW_RGBA(163, 171, 182, 255)
#define ACCENT FW_VIEW_RGBA(255, 180, 84, 255)
#define GROOVE FW_VIEW_RGBA(38, 43, 51, 235)

// The server's blue and violet, the network's amber, ours green, as in the page.
static const uint32_t stage_colors[FW_VIEW_STAGE_COUNT] = {
    FW_VIEW_RGBA(77, 141, 255, 255),  // render
    FW_VIEW_RGBA(86, 200, 240, 255),  // convert
    FW_VIEW_RGBA(100, 116, 143, 255), // wait
    FW_VIEW_RGBA(169, 123, 255, 255), // encode
    FW_VIEW_RGBA(240, 124, 192, 255), // send
    FW_VIEW_RGBA(255, 180, 84, 255),  // network
    FW_VIEW_RGBA(123, 216, 143, 255), // decode
    FW_VIEW_RGBA(38, 184, 162, 255),  // present
};

// In dots of the letters.
enum { COLUMNS = 37, EDGE = 8, GRAPH_HEIGHT = 44, BIG = 2 };

struct pen {
    struct fw_view_canvas *canvas;
    int dot, y; // next line
};

static int column(const struct pen *p, int letters)
{
    return (EDGE + letters * FW_VIEW_CELL_WIDTH) * p->dot;
}

static void right(const struct pen *p, int end, uint32_t color, const char *text)
{
    fw_view_text(p->canvas, end - fw_view_text_width(text, p->dot), p->y, p->dot, color, text);
}

static void next_line(struct pen *p)
{
    p->y += FW_VIEW_LINE_HEIGHT * p->dot;
}

static void row(struct pen *p, const char *label, const char *value)
{
    fw_view_text(p->canvas, column(p, 0), p->y, p->dot, SOFT, label);
    right(p, column(p, COLUMNS), TEXT, value);
    next_line(p);
}

static void ms_words(double ms, char *out, size_t size)
{
    if (!(ms >= 0))
        snprintf(out, size, "–");
    else
        snprintf(out, size, "%.*f", ms < 9.95 ? 1 : 0, ms);
}

static void row_ms(struct pen *p, const char *label, double ms)
{
    char text[32], number[24];
    ms_words(ms, number, sizeof(number));
    snprintf(text, sizeof(text), "%s%s", number, ms >= 0 ? " ms" : "");
    row(p, label, text);
}

static void row_percentiles(struct pen *p, const char *label, const struct fw_view_percentiles *v)
{
    const double ms[3] = { v->p50, v->p95, v->p99 };
    fw_view_text(p->canvas, column(p, 0), p->y, p->dot, SOFT, label);
    for (int i = 0; i < 3; i++) {
        char text[24];
        ms_words(ms[i], text, sizeof(text));
        right(p, column(p, 23 + 7 * i), TEXT, text);
    }
    next_line(p);
}

static const char *codec_name(const char *codec)
{
    if (strncmp(codec, "avc1.42", 7) == 0)
        return "H.264 Baseline";
    if (strncmp(codec, "avc1.4d", 7) == 0)
        return "H.264 Main";
    if (strncmp(codec, "avc1.64", 7) == 0)
        return "H.264 High";
    return codec[0] ? codec : "–";
}

// A column per picture, its stages one on another; as high as the slowest of them.
static void graph(struct pen *p, const struct fw_view_reading *r)
{
    const int height = GRAPH_HEIGHT * p->dot, left = column(p, 0);
    const int step = (column(p, COLUMNS) - left) / FW_VIEW_GRAPH;
    const int width = step * FW_VIEW_GRAPH;
    double top = 20;
    char text[32];
    for (unsigned i = 0; i < r->graph_count; i++) {
        double sum = 0;
        for (int s = 0; s < FW_VIEW_STAGE_COUNT; s++)
            sum += r->graph[i].ms[s];
        top = sum > top ? sum : top;
    }
    fw_view_fill(p->canvas, left, p->y, width, height, GROOVE);
    for (unsigned i = 0; i < r->graph_count; i++) {
        const int x = left + width - (int)(r->graph_count - i) * step;
        double sum = 0;
        for (int s = 0; s < FW_VIEW_STAGE_COUNT; s++) {
            const int low = (int)lround(sum / top * height);
            sum += r->graph[i].ms[s];
            const int high = (int)lround(sum / top * height);
            fw_view_fill(p->canvas, x, p->y + height - high, step > 1 ? step - 1 : 1, high - low,
                         stage_colors[s]);
        }
    }
    snprintf(text, sizeof(text), "%.0f ms", top);
    fw_view_text(p->canvas, left + 2 * p->dot, p->y + 2 * p->dot, p->dot, SOFT, text);
    p->y += height + 6 * p->dot;
}

// The one thing to know, in words.
static void verdict(struct pen *p, const struct fw_view_reading *r)
{
    char text[64];
    double sum = 0;
    int most = 0;
    for (int i = 0; i < FW_VIEW_STAGE_COUNT; i++) {
        sum += r->stage_ms[i] > 0 ? r->stage_ms[i] : 0;
        most = r->stage_ms[i] > r->stage_ms[most] ? i : most;
    }
    if (sum > 0) {
        snprintf(text, sizeof(text), "Most of it is %s (%.0f %%).", fw_view_stage_names[most],
                 100 * r->stage_ms[most] / sum);
        fw_view_text(p->canvas, column(p, 0), p->y, p->dot, TEXT, text);
    }
    next_line(p);
}

// What each stage takes, two to a line.
static void legend(struct pen *p, const struct fw_view_reading *r)
{
    for (int i = 0; i < FW_VIEW_STAGE_COUNT; i++) {
        char text[24];
        const int x = column(p, i % 2 ? COLUMNS / 2 + 1 : 0);
        ms_words(r->stage_ms[i], text, sizeof(text));
        fw_view_fill(p->canvas, x, p->y, 6 * p->dot, 7 * p->dot, stage_colors[i]);
        fw_view_text(p->canvas, x + 2 * FW_VIEW_CELL_WIDTH * p->dot, p->y, p->dot, SOFT,
                     fw_view_stage_names[i]);
        right(p, x + 17 * FW_VIEW_CELL_WIDTH * p->dot, TEXT, text);
        if (i % 2 || i == FW_VIEW_STAGE_COUNT - 1)
            next_line(p);
    }
}

static void lead(const struct pen *p, int at, const char *label, const char *value)
{
    const int big = BIG * p->dot;
    fw_view_text(p->canvas, column(p, at), p->y, p->dot, SOFT, label);
    fw_view_text(p->canvas, column(p, at), p->y + FW_VIEW_LINE_HEIGHT * p->dot, big, TEXT, value);
}

// What matters most, large.
static void headline(struct pen *p, const struct fw_view_reading *r)
{
    char text[32];
    ms_words(r->age_ms, text, sizeof(text));
    lead(p, 0, "Age, ms", text);
    ms_words(r->input.p50, text, sizeof(text));
    lead(p, 12, "Input, ms", text);
    snprintf(text, sizeof(text), "%.0f", r->fps);
    lead(p, 27, "Shown, fps", text);
    p->y += (FW_VIEW_LINE_HEIGHT + 24) * p->dot;
}

static void percentile_table(struct pen *p, const struct fw_view_reading *r)
{
    static const char *const names[3] = { "P50", "P95", "P99" };
    p->y += 4 * p->dot;
    fw_view_text(p->canvas, column(p, 0), p->y, p->dot, ACCENT, "ms");
    for (int i = 0; i < 3; i++)
        right(p, column(p, 23 + 7 * i), ACCENT, names[i]);
    next_line(p);
    row_percentiles(p, "Age of picture", &r->age);
    row_percentiles(p, "Input to screen", &r->input);
    row_percentiles(p, "Begun to screen", &r->total);
    p->y += 4 * p->dot;
}

static void facts(struct pen *p, const struct fw_view_reading *r,
                  const struct fw_view_hud_words *words)
{
    char text[96];
    snprintf(text, sizeof(text), "%lu of %lu", r->dropped, r->received);
    row(p, "Dropped here", text);
    snprintf(text, sizeof(text), r->kbps < 1000 ? "%.0f kbit/s" : "%.1f Mbit/s",
             r->kbps < 1000 ? r->kbps : r->kbps / 1000);
    row(p, "Bitrate", text);
    row_ms(p, "Round trip", r->rtt_ms);
    snprintf(text, sizeof(text), "%.1f ms at most", r->clock_error_ms);
    row(p, "Clock error", r->clock_error_ms >= 0 ? text : "–");
    snprintf(text, sizeof(text), "%d × %d", r->width, r->height);
    row(p, "Picture", r->width ? text : "–");
    row(p, "Codec", codec_name(r->codec));
    row(p, "Encoder", words->encoder[0] ? words->encoder : "–");
    row(p, "Decoder", words->decoder);
    row(p, "Shown", words->present);
    if (words->recording)
        row(p, "Recording", words->recording);
}

void fw_view_hud_draw(struct fw_view_canvas *canvas, const struct fw_view_reading *r,
                      const struct fw_view_hud_words *words, bool full, int dot)
{
    struct pen p = { canvas, dot, EDGE * dot };
    const int lines =
        (full ? 14 : 1) + (full ? (words->recording != NULL) + (FW_VIEW_STAGE_COUNT + 1) / 2 : 0);
    const int height = 2 * EDGE + FW_VIEW_LINE_HEIGHT + 24 + GRAPH_HEIGHT;
    if (!fw_view_canvas_begin(canvas, (2 * EDGE + COLUMNS * FW_VIEW_CELL_WIDTH) * dot,
                              (height + lines * FW_VIEW_LINE_HEIGHT + (full ? 14 : 0)) * dot, BACK))
        return;
    headline(&p, r);
    graph(&p, r);
    verdict(&p, r);
    if (full) {
        legend(&p, r);
        percentile_table(&p, r);
        facts(&p, r, words);
    }
    fw_view_canvas_done(canvas);
}

void fw_view_help_draw(struct fw_view_canvas *canvas, int dot)
{
    static const char *const keys[][2] = {
        { "Turn", "drag with the left button" },
        { "Move", "drag right, or Shift and drag" },
        { "Closer, farther", "wheel" },
        { "Start view", "R" },
        { "Turntable, grid", "T, G" },
        { "Figures", "F2: small, full, off" },
        { "This help", "F1" },
        { "Full screen", "F11" },
    };
    enum { KEYS = sizeof(keys) / sizeof(keys[0]), HELP_COLUMNS = 46 };
    struct pen p = { canvas, dot, EDGE * dot };
    if (!fw_view_canvas_begin(canvas, (2 * EDGE + HELP_COLUMNS * FW_VIEW_CELL_WIDTH) * dot,
                              (2 * EDGE + KEYS * FW_VIEW_LINE_HEIGHT - 4) * dot, BACK))
        return;
    for (int i = 0; i < KEYS; i++) {
        fw_view_text(canvas, column(&p, 0), p.y, dot, SOFT, keys[i][0]);
        fw_view_text(canvas, column(&p, 17), p.y, dot, TEXT, keys[i][1]);
        next_line(&p);
    }
    fw_view_canvas_done(canvas);
}
