// SPDX-License-Identifier: MIT
#include "stream/client/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool continues(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

void fw_text_copy(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%s", text);
    size_t end = strlen(out);
    if (continues(text[end])) { // a character was cut: not its first bytes either
        while (end && continues(out[end - 1]))
            end--;
        out[end ? end - 1 : 0] = '\0';
    }
    for (; *out; out++) {
        const unsigned char c = (unsigned char)out[0], next = (unsigned char)out[1];
        if (c < 0x20 || c == 0x7f)
            *out = '?';
        else if (c == 0xc2 && next >= 0x80 && next < 0xa0) // U+0080 to U+009F
            out[0] = out[1] = '?';
    }
}
