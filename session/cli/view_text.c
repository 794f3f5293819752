// SPDX-License-Identifier: MIT
#include "session/cli/view_text.h"

#include <stdlib.h>
#include <string.h>

#include "session/cli/view_font.h"

bool fw_view_canvas_begin(struct fw_view_canvas *c, int width, int height, uint32_t color)
{
    if (width != c->width || height != c->height || !c->pixels) {
        uint32_t *pixels = malloc((size_t)width * (size_t)height * sizeof(*pixels));
        if (!pixels)
            return false;
        free(c->pixels);
        c->pixels = pixels;
        c->width = width;
        c->height = height;
    }
    fw_view_fill(c, 0, 0, width, height, color);
    return true;
}

void fw_view_canvas_done(struct fw_view_canvas *c)
{
    c->version++;
}

void fw_view_canvas_finish(struct fw_view_canvas *c)
{
    free(c->pixels);
    *c = (struct fw_view_canvas){ 0 };
}

void fw_view_fill(struct fw_view_canvas *c, int x, int y, int width, int height, uint32_t color)
{
    const int x1 = x + width < c->width ? x + width : c->width;
    const int y1 = y + height < c->height ? y + height : c->height;
    for (int row = y < 0 ? 0 : y; row < y1; row++)
        for (int i = x < 0 ? 0 : x; i < x1; i++)
            c->pixels[(size_t)row * (size_t)c->width + (size_t)i] = color;
}

// One letter's code; `*text` moves on. What is no UTF-8 counts as one unknown letter.
static uint32_t next_code(const char **text)
{
    const unsigned char *s = (const unsigned char *)*text;
    const int more = s[0] < 0x80 ? 0 : s[0] >= 0xf0 ? 3 : s[0] >= 0xe0 ? 2 : s[0] >= 0xc0 ? 1 : -1;
    uint32_t code = more <= 0 ? s[0] : s[0] & (0x3fu >> more);
    int i = 1;
    for (; i <= more && (s[i] & 0xc0) == 0x80; i++)
        code = code << 6 | (s[i] & 0x3f);
    *text += i;
    return more < 0 || i <= more ? 0xfffd : code;
}

static const uint8_t *glyph(uint32_t code)
{
    if (code >= FW_VIEW_GLYPH_FIRST && code <= FW_VIEW_GLYPH_LAST)
        return fw_view_glyphs[code - FW_VIEW_GLYPH_FIRST];
    for (size_t i = 0; i < sizeof(fw_view_more_glyphs) / sizeof(fw_view_more_glyphs[0]); i++)
        if (fw_view_more_glyphs[i].code == code)
            return fw_view_more_glyphs[i].rows;
    return fw_view_glyphs['?' - FW_VIEW_GLYPH_FIRST];
}

int fw_view_text(struct fw_view_canvas *c, int x, int y, int dot, uint32_t color, const char *text)
{
    while (*text) {
        const uint8_t *rows = glyph(next_code(&text));
        for (int row = 0; row < FW_VIEW_GLYPH_HEIGHT; row++)
            for (int column = 0; column < FW_VIEW_GLYPH_WIDTH; column++)
                if (rows[row] & 1 << (FW_VIEW_GLYPH_WIDTH - 1 - column))
                    fw_view_fill(c, x + column * dot, y + row * dot, dot, dot, color);
        x += FW_VIEW_CELL_WIDTH * dot;
    }
    return x;
}

int fw_view_text_width(const char *text, int dot)
{
    int letters = 0;
    while (*text) {
        next_code(&text);
        letters++;
    }
    return letters ? (letters * FW_VIEW_CELL_WIDTH - 1) * dot : 0;
}

int fw_view_text_wrap(struct fw_view_canvas *c, const struct fw_view_paragraph *p, const char *text)
{
    int lines = 0;
    while (*text == ' ')
        text++;
    while (*text) {
        // As many words as fit, one at least.
        char line[256];
        size_t taken = 0;
        for (size_t end = 0; text[end];) {
            size_t word = end + strspn(text + end, " ");
            word += strcspn(text + word, " ");
            if (word >= sizeof(line))
                break;
            memcpy(line, text, word);
            line[word] = '\0';
            if (taken && fw_view_text_width(line, p->dot) > p->width)
                break;
            taken = end = word;
        }
        if (!taken)
            taken = strlen(text) < sizeof(line) ? strlen(text) : sizeof(line) - 1;
        memcpy(line, text, taken);
        line[taken] = '\0';
        const int space = p->centred ? (p->width - fw_view_text_width(line, p->dot)) / 2 : 0;
        if (c)
            fw_view_text(c, p->x + space, p->y + lines * FW_VIEW_LINE_HEIGHT * p->dot, p->dot,
                         p->color, line);
        lines++;
        text += taken + strspn(text + taken, " ");
    }
    return lines;
}
