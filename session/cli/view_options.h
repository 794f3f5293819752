// SPDX-License-Identifier: MIT
// The command line of the viewer.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "base/log.h"

struct fw_view_options {
    const char *url;
    const char *token_file, *tls_ca;
    const char *source; // "demo", "testcard" or a file of the models folder; NULL = not given
    int width, height;  // logical pixels of the window
    int fps;            // of a session it creates
    bool fullscreen, hud;
    const char *record, *stats; // files; NULL = none
    bool force;                 // overwrite `record`
    const char *decoder;        // "auto", "cpu", or a kind of hardware
    const char *gpu;            // part of a name; NULL = best
    const char *convert;        // "auto", "cpu", "gpu"
    bool validation;
    long frames;    // ends after so many pictures on screen, 0 = does not
    double seconds; // … after so long with a picture, 0 = does not
    enum fw_log_level log_level;
    bool help;
};

// FW_ERR_INVALID with a sentence in `message`.
enum fw_err fw_view_options_parse(struct fw_view_options *options, int argc, char **argv,
                                  char *message, size_t size);
void fw_view_options_help(FILE *out);
