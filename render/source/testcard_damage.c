// SPDX-License-Identifier: MIT
// How much of the test card differs from the one before: the places of all that changed, each with
// what it left behind. Places that overlap count twice: never too few.
#include "render/source/testcard.h"
#include "render/source/testcard_priv.h"

static uint64_t area(struct fw_testcard_rect r, int by)
{
    return (uint64_t)(r.x1 - r.x0 + 2 * by) * (uint64_t)(r.y1 - r.y0 + 2 * by);
}

static uint64_t patch(const struct card *c, enum fw_testcard_patch which)
{
    return area(fw_testcard_place(which, c->width, c->height), 1);
}

// The lines of text, over the whole width: their length varies.
static uint64_t text_rows(const struct card *c)
{
    return (uint64_t)c->width * (uint64_t)(fw_testcard_text_cell(c) * (FW_GEO_GLYPH_H + 1) + 2);
}

static uint64_t pointer(const struct card *c)
{
    const int half = (int)(14 * fw_testcard_text_cell(c)) + FW_TESTCARD_POINTER + 2;
    return (uint64_t)(2 * half) * (uint64_t)(2 * half);
}

// A square that holds the hand whichever way it points.
static uint64_t hand(const struct card *c)
{
    const int edge = (c->width < c->height ? c->width : c->height) / 12 + 4;
    return (uint64_t)edge * (uint64_t)edge;
}

uint64_t fw_testcard_damage(struct fw_source *source)
{
    struct card *c = (struct card *)source;
    const uint64_t all = (uint64_t)c->width * (uint64_t)c->height;
    const struct card_shown before = c->shown, now = { c->pointer_x, c->pointer_y, c->pointer_seen,
                                                       c->clicks,    c->level,     c->key };
    c->shown = now;
    if (c->full) {
        return all;
    }
    // The frame's number stands there in blocks and in words.
    uint64_t px = area(fw_testcard_id_place(c->width, c->height), 1) + text_rows(c);
    if (c->animate) {
        px += patch(c, FW_TESTCARD_TRACK) + 2 * hand(c);
    }
    if (now.pointer_seen != before.pointer_seen || now.pointer_x != before.pointer_x ||
        now.pointer_y != before.pointer_y) {
        px += 2 * pointer(c);
    }
    if (now.clicks != before.clicks) {
        px += patch(c, FW_TESTCARD_CLICK);
    }
    if (now.key != before.key) {
        px += patch(c, FW_TESTCARD_KEY) + text_rows(c);
    }
    if (now.level != before.level) {
        px += patch(c, FW_TESTCARD_METER);
    }
    return px < all ? px : all;
}
