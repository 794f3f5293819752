// SPDX-License-Identifier: MIT
#include "session/cli/view_options.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum kind { FLAG, TEXT, WHOLE, REAL, SIZE, LEVEL };

struct option {
    const char *name, *value, *help;
    enum kind kind;
    size_t offset;   // into struct fw_view_options
    double min, max; // of WHOLE and REAL
};

#define AT(field) offsetof(struct fw_view_options, field)

static const struct option list[] = {
    { "--source", "NAME", "what to start: demo, testcard, or a file of the models folder [demo]",
      TEXT, AT(source), 0, 0 },
    { "--token-file", "FILE", "the token that opens the server", TEXT, AT(token_file), 0, 0 },
    { "--tls-ca", "FILE", "certificate (PEM) to trust: that of --tls-self-signed, or of your CA",
      TEXT, AT(tls_ca), 0, 0 },
    { "--size", "WxH", "of the window [1280x720]", SIZE, AT(width), 0, 0 },
    { "--fps", "N", "pictures a second of a session it starts, 1-240 [60]", WHOLE, AT(fps), 1,
      240 },
    { "--fullscreen", NULL, "cover the screen (F11 toggles)", FLAG, AT(fullscreen), 0, 0 },
    { "--hud", NULL, "show the figures (F2: small, full, off)", FLAG, AT(hud), 0, 0 },
    { "--record", "FILE",
      "keep the stream as it comes: .mp4, .mov, or .mkv, which survives a crash", TEXT, AT(record),
      0, 0 },
    { "--force", NULL, "overwrite the file of --record", FLAG, AT(force), 0, 0 },
    { "--decoder", "NAME", "auto, cpu, vaapi or cuda [auto]", TEXT, AT(decoder), 0, 0 },
    { "--gpu", "NAME", "part of the name of the device that presents", TEXT, AT(gpu), 0, 0 },
    { "--convert", "WHERE", "pictures become RGB on the cpu or the gpu [auto]", TEXT, AT(convert),
      0, 0 },
    { "--seconds", "S", "end by itself, so long after the first picture", REAL, AT(seconds), 0.001,
      1e7 },
    { "--frames", "N", "end by itself after so many pictures", WHOLE, AT(frames), 1, 1e9 },
    { "--stats", "FILE", "write what was measured as JSON at the end", TEXT, AT(stats), 0, 0 },
    { "--validation", NULL, "Vulkan validation layers; a message makes the exit code 1", FLAG,
      AT(validation), 0, 0 },
    { "--log-level", "L", "error, warn, info, debug or trace [warn]", LEVEL, AT(log_level), 0, 0 },
    { "--help", NULL, "this text", FLAG, AT(help), 0, 0 },
};
enum { OPTIONS = sizeof(list) / sizeof(list[0]) };

void fw_view_options_help(FILE *out)
{
    fputs("framewire view URL [option…]\n\n"
          "A window of its own for a session: the server's address starts a new one, the address\n"
          "of a session's page (…/s/ID, with its #code or a token file) joins that one.\n\n",
          out);
    for (int i = 0; i < OPTIONS; i++)
        fprintf(out, "  %-13s %-6s %s\n", list[i].name, list[i].value ? list[i].value : "",
                list[i].help);
    fputs(
        "\nIn the window: F1 keys, F2 figures, F11 full screen. Ctrl-C in the terminal ends it.\n",
        out);
}

static bool set_number(void *field, const struct option *o, const char *value)
{
    char *end;
    const double number = strtod(value, &end);
    if (end == value || *end || !(number >= o->min && number <= o->max))
        return false;
    if (o->kind == REAL)
        *(double *)field = number;
    else if (number != floor(number))
        return false;
    else if (o->offset == AT(frames))
        *(long *)field = (long)number;
    else
        *(int *)field = (int)number;
    return true;
}

static bool set_size(struct fw_view_options *options, const char *value)
{
    char after;
    return sscanf(value, "%5dx%5d%c", &options->width, &options->height, &after) == 2 &&
           options->width >= 16 && options->width <= 3840 && options->height >= 16 &&
           options->height <= 2160;
}

static bool set(struct fw_view_options *options, const struct option *o, const char *value)
{
    void *field = (char *)options + o->offset;
    switch (o->kind) {
    case FLAG: *(bool *)field = true; return true;
    case TEXT: *(const char **)field = value; return *value != '\0';
    case SIZE: return set_size(options, value);
    case LEVEL: {
        const int level = fw_log_level_from_name(value);
        options->log_level = (enum fw_log_level)level;
        return level >= 0;
    }
    default: return set_number(field, o, value);
    }
}

static const struct option *find(const char *name, size_t length)
{
    for (int i = 0; i < OPTIONS; i++)
        if (strlen(list[i].name) == length && strncmp(list[i].name, name, length) == 0)
            return &list[i];
    return NULL;
}

static enum fw_err refuse(char *message, size_t size, const struct option *o, const char *value)
{
    if (o->kind == SIZE)
        snprintf(message, size, "--size %.40s: a size looks like 1280x720, 16x16 to 3840x2160",
                 value);
    else if (o->kind == WHOLE || o->kind == REAL)
        snprintf(message, size, "%s %.40s: must be a %s from %g to %g", o->name, value,
                 o->kind == WHOLE ? "whole number" : "number", o->min, o->max);
    else if (o->kind == LEVEL)
        snprintf(message, size, "--log-level %.40s: one of error, warn, info, debug, trace", value);
    else
        snprintf(message, size, "%s: its value is empty", o->name);
    return FW_ERR_INVALID;
}

enum fw_err fw_view_options_parse(struct fw_view_options *options, int argc, char **argv,
                                  char *message, size_t size)
{
    *options = (struct fw_view_options){ .width = 1280,
                                         .height = 720,
                                         .fps = 60,
                                         .decoder = "auto",
                                         .convert = "auto",
                                         .log_level = FW_LOG_WARN };
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (strcmp(arg, "-h") == 0)
            arg = "--help";
        if (arg[0] != '-') {
            if (options->url) {
                snprintf(message, size, "%.100s: there is an address already, %.100s", arg,
                         options->url);
                return FW_ERR_INVALID;
            }
            options->url = arg;
            continue;
        }
        const char *equals = strchr(arg, '=');
        const struct option *o = find(arg, equals ? (size_t)(equals - arg) : strlen(arg));
        if (!o || (equals && !o->value)) {
            snprintf(message, size, "%.100s: there is no such option; --help lists them", arg);
            return FW_ERR_INVALID;
        }
        const char *value = equals ? equals + 1 : o->value ? argv[++i] : "";
        if (!value) {
            snprintf(message, size, "%s needs a value (%s)", o->name, o->value);
            return FW_ERR_INVALID;
        }
        if (!set(options, o, value))
            return refuse(message, size, o, value);
    }
    if (strcmp(options->convert, "auto") != 0 && strcmp(options->convert, "cpu") != 0 &&
        strcmp(options->convert, "gpu") != 0) {
        snprintf(message, size, "--convert %.40s: one of auto, cpu, gpu", options->convert);
        return FW_ERR_INVALID;
    }
    if (options->url || options->help)
        return FW_OK;
    snprintf(message, size,
             "the address is missing, for example: framewire view http://127.0.0.1:8080");
    return FW_ERR_INVALID;
}
