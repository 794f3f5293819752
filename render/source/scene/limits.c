// SPDX-License-Identifier: MIT
#include "render/source/scene/limits.h"

#include <stdarg.h>
#include <stdio.h>

enum fw_err fw_scene_fail(const struct fw_scene_note *note, enum fw_err err, const char *fmt, ...)
{
    if (note && note->text && note->size && !note->text[0]) {
        va_list args;
        va_start(args, fmt);
        vsnprintf(note->text, note->size, fmt, args);
        va_end(args);
        // Names from files end up here; the sentence travels as JSON and is shown in a page.
        for (char *c = note->text; *c; c++)
            if ((unsigned char)*c < 0x20 || *c == 0x7f)
                *c = ' ';
    }
    return err;
}
