// SPDX-License-Identifier: MIT
// The report of a go-live check as one page that needs nothing else.
#include <math.h>
#include <string.h>

#include "session/cli/bench_verify.h"

static const char style[] =
    ":root{color-scheme:light dark;--fg:#1c2430;--dim:#5b6675;--bg:#fff;--card:#f5f7fa;"
    "--line:#dde3ea;--pass:#1a7f46;--warn:#9a6700;--fail:#b4232c;--unknown:#5b6675;--bar:#3b78d8}"
    "@media(prefers-color-scheme:dark){:root{--fg:#e6eaf0;--dim:#9aa7b5;--bg:#12161c;"
    "--card:#1a2029;--line:#2c3541;--pass:#4cc27f;--warn:#e0b040;--fail:#ff7b78;"
    "--unknown:#9aa7b5;--bar:#5b96f0}}"
    "*{box-sizing:border-box}body{margin:0 auto;padding:32px 20px 64px;max-width:980px;"
    "font:16px/1.5 system-ui,sans-serif;color:var(--fg);background:var(--bg)}"
    "h1{font-size:26px;margin:0 0 4px}h2{font-size:19px;margin:36px 0 10px;"
    "}h2:first-letter{text-transform:uppercase}.dim{color:var(--dim)}p{margin:4px 0}"
    ".verdict{margin:20px 0;padding:16px 20px;border-radius:10px;background:var(--card);"
    "border-left:6px solid var(--pass);font-size:19px;font-weight:600}"
    ".verdict.warn{border-color:var(--warn)}.verdict.fail{border-color:var(--fail)}"
    "table{width:100%;border-collapse:collapse}th{text-align:left;color:var(--dim);"
    "font-weight:500;font-size:14px}td,th{padding:8px 10px;border-bottom:1px solid var(--line);"
    "vertical-align:top}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;"
    "white-space:nowrap}.tag{display:inline-block;min-width:64px;padding:1px 8px;"
    "border-radius:6px;border:1px solid currentColor;font-size:13px;text-align:center}"
    ".pass{color:var(--pass)}.warn{color:var(--warn)}.fail{color:var(--fail)}"
    ".unknown{color:var(--unknown)}.note{color:var(--dim);font-size:14px}"
    ".bar{height:10px;border-radius:3px;background:var(--bar);min-width:1px}"
    "svg{width:100%;height:auto;display:block;background:var(--card);border-radius:10px}"
    "svg text{fill:var(--dim);font:13px system-ui,sans-serif}"
    ".axis{stroke:var(--line)}.curve{fill:none;stroke:var(--bar);stroke-width:2}"
    ".scroll{overflow-x:auto}";

static void escape(FILE *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '&': fputs("&amp;", out); break;
        case '"': fputs("&quot;", out); break;
        default: fputc(*text, out);
        }
    }
}

static void part(FILE *out, const struct fw_verify *v, enum fw_verify_part which)
{
    static const char *const words[FW_VERDICTS] = { "ok", "warning", "failed", "unknown" };
    bool any = false;
    for (unsigned i = 0; i < v->count; i++)
        any |= v->check[i].part == which;
    fprintf(out, "<h2>%s</h2>\n", fw_verify_part_names[which]);
    if (!any) {
        fprintf(out, "<p class=dim>Not part of this check.</p>\n");
        return;
    }
    fprintf(out, "<div class=scroll><table><tr><th style=\"width:100px\">Result"
                 "<th style=\"width:24%%\">Check<th>Found<th style=\"width:22%%\">Wanted</tr>\n");
    for (unsigned i = 0; i < v->count; i++) {
        const struct fw_check *c = &v->check[i];
        if (c->part != which)
            continue;
        fprintf(out, "<tr><td><span class=\"tag %s\">%s</span><td>", fw_verdict_names[c->verdict],
                words[c->verdict]);
        escape(out, c->name);
        fprintf(out, "<td>");
        escape(out, c->found);
        if (c->note[0]) {
            fprintf(out, "<div class=note>");
            escape(out, c->note);
            fprintf(out, "</div>");
        }
        fprintf(out, "<td>");
        escape(out, c->wanted);
        fprintf(out, "</tr>\n");
    }
    fprintf(out, "</table></div>\n");
}

static double ms(const struct fw_histogram *h, double q)
{
    return (double)fw_histogram_quantile(h, q) / 1000;
}

static void stage_row(FILE *out, const char *name, const char *words, const struct fw_histogram *h,
                      double whole)
{
    fprintf(out, "<tr><td>%s<div class=note>%s</div>", name, words);
    if (!h->count) {
        fprintf(out, "<td class=n>–<td class=n>–<td class=n>–<td class=n>–<td></tr>\n");
        return;
    }
    fprintf(out, "<td class=n>%.2f<td class=n>%.2f<td class=n>%.2f<td class=n>%.2f<td>", ms(h, 0.5),
            ms(h, 0.95), ms(h, 0.99), (double)h->max_us / 1000);
    if (whole > 0)
        fprintf(out, "<div class=bar style=\"width:%.1f%%\"></div>",
                fmin(100, 100 * (double)h->sum_us / whole));
    fprintf(out, "</tr>\n");
}

static void stages(FILE *out, const struct fw_verify *v)
{
    const struct fw_bench_figures *f = &v->performance.all;
    const double whole = (double)f->total.sum_us;
    fprintf(out, "<h2>Where the milliseconds go</h2>\n<div class=scroll><table><tr><th>Stage"
                 "<th class=n>P50 ms<th class=n>P95 ms<th class=n>P99 ms<th class=n>max ms"
                 "<th style=\"width:24%%\">share of the whole</tr>\n");
    for (int i = 0; i < FW_STAGE_COUNT; i++)
        if (f->stage[i].count)
            stage_row(out, fw_stages[i].name, fw_stages[i].ends, &f->stage[i], whole);
    stage_row(out, "total", "from the input, or the frame's beginning, to the screen", &f->total,
              0);
    stage_row(out, "input to photon", "counted from when an input was due", &f->input, 0);
    stage_row(out, "age of the picture", "how old what is seen is, at any moment", &f->aoi, 0);
    fprintf(out,
            "</table></div>\n<p class=dim>%u session%s for %.0f s: %.1f pictures per second, "
            "%.2f Mbit/s each, %.1f %% of frames not shown.</p>\n",
            v->performance.sessions, v->performance.sessions == 1 ? "" : "s",
            v->performance.seconds, fw_bench_fps(f),
            f->seconds > 0 ? (double)f->received_bytes * 8 / 1e6 / f->seconds : 0,
            100 * fw_bench_drops(f));
}

// Memory over a soak.
static void curve(FILE *out, const struct fw_verify *v)
{
    enum { WIDTH = 900, HEIGHT = 220, LEFT = 70, RIGHT = 20, TOP = 20, BOTTOM = 36 };
    double most = 0, length = 0;
    for (unsigned i = 0; i < v->soak_count; i++) {
        most = fmax(most, v->soak[i].memory_mb);
        length = fmax(length, v->soak[i].at_s);
    }
    if (most <= 0 || length <= 0)
        return;
    const double step = pow(10, floor(log10(most))) / 2, top = ceil(most / step) * step;
    fprintf(out,
            "<h2>Memory over the soak</h2>\n<svg viewBox=\"0 0 %d %d\" role=img "
            "aria-label=\"memory of the server over time\">",
            WIDTH, HEIGHT);
    for (int i = 0; i <= 2; i++) {
        const double y = TOP + (HEIGHT - TOP - BOTTOM) * i / 2.0;
        fprintf(out, "<line class=axis x1=%d x2=%d y1=%.1f y2=%.1f />", LEFT, WIDTH - RIGHT, y, y);
        fprintf(out, "<text x=%d y=%.1f text-anchor=end>%.0f MB</text>", LEFT - 8, y + 4,
                top * (2 - i) / 2);
    }
    fprintf(out, "<text x=%d y=%d>0</text><text x=%d y=%d text-anchor=end>%.0f s</text>", LEFT,
            HEIGHT - 12, WIDTH - RIGHT, HEIGHT - 12, length);
    fprintf(out, "<polyline class=curve points=\"");
    for (unsigned i = 0; i < v->soak_count; i++)
        if (v->soak[i].memory_mb >= 0)
            fprintf(out, "%.1f,%.1f ", LEFT + (WIDTH - LEFT - RIGHT) * v->soak[i].at_s / length,
                    TOP + (HEIGHT - TOP - BOTTOM) * (1 - v->soak[i].memory_mb / top));
    fprintf(out, "\"/></svg>\n");
}

void fw_verify_html(FILE *out, const struct fw_verify *v)
{
    const enum fw_verdict verdict = fw_verify_verdict(v);
    char when[64];
    struct tm tm;
    gmtime_r(&v->when, &tm);
    strftime(when, sizeof(when), "%Y-%m-%d %H:%M UTC", &tm);
    fprintf(out, "<!doctype html>\n<html lang=en><meta charset=utf-8>\n"
                 "<meta name=viewport content=\"width=device-width\">\n<title>");
    escape(out, v->plan->name);
    fprintf(out, "</title>\n<style>%s</style>\n<h1>", style);
    escape(out, v->plan->name);
    fprintf(out, "</h1>\n<p class=dim>");
    escape(out, v->bench->remote.target.origin);
    fprintf(out, " · framewire %s · %s<p class=dim>", v->bench->version, when);
    escape(out, v->bench->machine);
    fprintf(out, "</p>\n<div class=\"verdict %s\">%s</div>\n", fw_verdict_names[verdict],
            v->interrupted       ? "Interrupted: no verdict"
            : verdict == FW_FAIL ? "Not ready to go live"
            : verdict == FW_WARN ? "Ready to go live, with warnings"
                                 : "Ready to go live");
    for (int i = 0; i < FW_VERIFY_PARTS; i++)
        part(out, v, (enum fw_verify_part)i);
    if (v->has_performance)
        stages(out, v);
    curve(out, v);
    fprintf(out, "</html>\n");
}
