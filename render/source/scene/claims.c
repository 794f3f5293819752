// SPDX-License-Identifier: MIT
#include "render/source/scene/claims.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

struct text {
    const char *at, *end;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

// Blanks, and comments up to the end of their line.
static void skip_blanks(struct text *t)
{
    while (t->at < t->end && (is_blank(*t->at) || *t->at == '#')) {
        const bool comment = *t->at == '#';
        while (comment && t->at < t->end && *t->at != '\n')
            t->at++;
        if (t->at < t->end)
            t->at++;
    }
}

// The next word; its length, 0 at the end.
static size_t next_word(struct text *t, const char **word)
{
    skip_blanks(t);
    *word = t->at;
    while (t->at < t->end && !is_blank(*t->at))
        t->at++;
    return (size_t)(t->at - *word);
}

// False: no number. What is too large for 64 bits stays at the largest.
static bool next_count(struct text *t, uint64_t *count)
{
    const char *word;
    const size_t length = next_word(t, &word);
    *count = 0;
    for (size_t i = 0; i < length; i++) {
        const uint64_t digit = (uint64_t)word[i] - '0';
        if (digit > 9)
            return false;
        *count = *count > (UINT64_MAX - digit) / 10 ? UINT64_MAX : *count * 10 + digit;
    }
    return length > 0;
}

static bool word_is(const char *word, size_t length, const char *what)
{
    return length == strlen(what) && !memcmp(word, what, length);
}

// "OFF" or a variant of it, then how many vertices, faces and edges. Each vertex and face is a line
// of numbers.
static bool off_fits(struct text t, size_t size)
{
    const char *word;
    const size_t length = next_word(&t, &word);
    uint64_t vertices, faces;
    if (length < 3 || memcmp(word + length - 3, "OFF", 3) != 0)
        return true; // for the reader to refuse
    if (!next_count(&t, &vertices) || !next_count(&t, &faces))
        return true;
    return vertices <= size / 2 && faces <= size / 2;
}

// "element NAME COUNT" in the header; each of them takes a byte at least.
static bool ply_fits(struct text t, size_t size)
{
    const char *word;
    size_t length;
    while ((length = next_word(&t, &word)) && !word_is(word, length, "end_header")) {
        uint64_t count;
        if (word_is(word, length, "comment") || word_is(word, length, "obj_info")) {
            while (t.at < t.end && *t.at != '\n')
                t.at++;
        } else if (word_is(word, length, "element")) {
            next_word(&t, &word);
            if (next_count(&t, &count) && count > size)
                return false;
        }
    }
    return true;
}

// Binary: 80 bytes for anybody, a count, 50 bytes for each triangle. Readers that reckon in 32 bits
// take a count for sound that wraps round.
static bool stl_fits(struct text t, size_t size)
{
    const uint8_t *head = (const uint8_t *)t.at;
    if (size < 84)
        return true;
    const uint32_t count =
        head[80] | (uint32_t)head[81] << 8 | (uint32_t)head[82] << 16 | (uint32_t)head[83] << 24;
    const uint64_t need = 84 + UINT64_C(50) * count;
    if (need <= size)
        return true;
    skip_blanks(&t);
    const bool text = t.end - t.at >= 5 && !strncasecmp(t.at, "solid", 5);
    return text && (uint32_t)need != (uint32_t)size;
}

enum fw_err fw_scene_check_claims(const char *name, const void *data, size_t size,
                                  const struct fw_scene_note *note)
{
    static const struct {
        const char *suffix;
        bool (*fits)(struct text t, size_t size);
    } kinds[] = { { ".off", off_fits }, { ".ply", ply_fits }, { ".stl", stl_fits } };
    const char *dot = strrchr(name, '.');
    const struct text t = { data, (const char *)data + size };
    for (size_t i = 0; dot && i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (!strcasecmp(dot, kinds[i].suffix) && !kinds[i].fits(t, size))
            return fw_scene_fail(note, FW_ERR_FORMAT,
                                 "\"%s\" is broken: it claims to hold more vertices or faces than "
                                 "its %zu bytes can.",
                                 name, size);
    return FW_OK;
}
