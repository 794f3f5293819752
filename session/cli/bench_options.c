// SPDX-License-Identifier: MIT
#include "session/cli/bench_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { FLAG, TEXT, INT, SIZE, DURATION, ARG, INPUT, SLO };

struct option {
    const char *name, *value; // value: what the help calls it; NULL for flags
    enum kind kind;
    size_t offset;
    int min, max;
    const char *help;
};

#define AT(field) offsetof(struct fw_bench_options, field)

// The only list of options.
static const struct option table[] = {
    { "token-file", "FILE", TEXT, AT(token_file), 0, 0,
      "with `name:token` or a token, for servers that want one" },
    { "tls-ca", "FILE", TEXT, AT(tls_ca), 0, 0, "PEM certificate to trust (the system's list)" },
    { "sessions", "N", INT, AT(sessions), 1, FW_BENCH_SESSIONS_MAX, "sessions at a time (1)" },
    { "source", "NAME", TEXT, AT(load.source), 0, 0, "what they show (testcard)" },
    { "arg", "KEY=VALUE", ARG, 0, 0, 0,
      "argument of the source, as model=Duck.glb; may be repeated" },
    { "size", "WxH", SIZE, 0, 0, 0, "of the picture (1280x720)" },
    { "fps", "N", INT, AT(load.fps), 1, 240, "pictures per second (60)" },
    { "seconds", "S", DURATION, AT(seconds), 1, 604800,
      "how long to measure, as 30, 5m or 2h (30)" },
    { "warmup", "S", DURATION, AT(warmup), 0, 600, "run before anything counts (2)" },
    { "input", "KIND", INPUT, 0, 0, 0, "orbit (60 moves a second), clicks or none (orbit)" },
    { "decode", NULL, FLAG, AT(load.decode), 0, 0,
      "decode each picture and check the frame number painted in it" },
    { "json", "FILE", TEXT, AT(json), 0, 0,
      "write all figures there, with histograms; - is standard output" },
    { "compare", "BASE.json", TEXT, AT(compare), 0, 0,
      "print ratios to an earlier run; with a file instead of URL, of that one" },
    { "find-capacity", NULL, FLAG, AT(find_capacity), 0, 0,
      "find how many sessions keep the promise of --slo" },
    { "slo", "PROMISE", SLO, AT(slo_text), 0, 0,
      "as \"aoi_p99<=50ms, fps>=55\": aoi, i2p, total or a stage with _p50 … _max; fps; drops (aoi_p99<=50ms)" },
    { "max-sessions", "N", INT, AT(max_sessions), 1, FW_BENCH_SESSIONS_MAX, "never try more (64)" },
    { "step-seconds", "S", DURATION, AT(step_seconds), 1, 3600,
      "how long to look at each number of sessions (8)" },
    { "verify", "PLAN.yaml", TEXT, AT(verify), 0, 0,
      "go-live check: function, performance, resources, stability" },
    { "soak", "TIME", DURATION, AT(soak), 1, 604800,
      "with --verify: watch for slow growth that long, as 4h" },
    { "drill", NULL, FLAG, AT(drill), 0, 0, "with --verify: kill a worker and time the recovery" },
    { "html", "FILE", TEXT, AT(html), 0, 0, "with --verify: write the report there" },
    { "help", NULL, FLAG, AT(help), 0, 0, "this text" },
};

enum { OPTIONS = sizeof(table) / sizeof(table[0]) };

static const struct option *find(const char *name, size_t length)
{
    for (int i = 0; i < OPTIONS; i++)
        if (strlen(table[i].name) == length && memcmp(table[i].name, name, length) == 0)
            return &table[i];
    return NULL;
}

static bool parse_int(const char *text, char **end, int *out)
{
    errno = 0;
    const long value = strtol(text, end, 10);
    if (errno || *end == text || value < 0 || value > 1000000000)
        return false;
    *out = (int)value;
    return true;
}

bool fw_bench_parse_size(const char *text, int *width, int *height)
{
    char *end;
    return parse_int(text, &end, width) && *end == 'x' && parse_int(end + 1, &end, height) &&
           !*end && *width >= 16 && *width <= 3840 && *height >= 16 && *height <= 2160;
}

bool fw_bench_parse_duration(const char *text, int *seconds)
{
    char *end;
    if (!parse_int(text, &end, seconds))
        return false;
    const int factor = *end == 'h' ? 3600 : *end == 'm' ? 60 : 1;
    if (*end && (!strchr("hms", *end) || end[1]))
        return false;
    if (*seconds > 1000000000 / factor)
        return false;
    *seconds *= factor;
    return true;
}

bool fw_bench_parse_input(const char *text, enum fw_bench_input *input)
{
    static const char *const names[] = { "none", "orbit", "clicks" };
    for (int i = 0; i < 3; i++)
        if (strcmp(names[i], text) == 0) {
            *input = (enum fw_bench_input)i;
            return true;
        }
    return false;
}

// ---- values

// What a value should be like; NULL = it is.
static const char *take_value(struct fw_bench_options *o, const struct option *opt,
                              const char *value, char *note, size_t size)
{
    char *field = (char *)o + opt->offset, *end;
    int number;
    switch (opt->kind) {
    case INT:
        snprintf(note, size, "a number from %d to %d", opt->min, opt->max);
        if (!parse_int(value, &end, &number) || *end || number < opt->min || number > opt->max)
            return note;
        *(int *)(void *)field = number;
        return NULL;
    case DURATION:
        snprintf(note, size, "a time from %d s to %d s, as 30, 90s, 5m or 4h", opt->min, opt->max);
        if (!fw_bench_parse_duration(value, &number) || number < opt->min || number > opt->max)
            return note;
        *(int *)(void *)field = number;
        return NULL;
    case SIZE:
        return fw_bench_parse_size(value, &o->load.width, &o->load.height)
                   ? NULL
                   : "WIDTHxHEIGHT from 16x16 to 3840x2160, as 1280x720";
    case INPUT: return fw_bench_parse_input(value, &o->load.input) ? NULL : "orbit, clicks or none";
    case ARG:
        if (o->load.arg_count == FW_BENCH_ARGS_MAX || !strchr(value, '=') || *value == '=')
            return "KEY=VALUE, eight times at most";
        o->load.args[o->load.arg_count++] = value;
        return NULL;
    case SLO:
    case TEXT:
        if (!*value)
            return "a value; leave it out for the default";
        *(const char **)(void *)field = value;
        return NULL;
    case FLAG: break;
    }
    return NULL;
}

static enum fw_err take_option(struct fw_bench_options *o, int argc, char **argv, int *i,
                               char *message, size_t size)
{
    char note[96];
    const char *arg = strcmp(argv[*i], "-h") == 0 ? "--help" : argv[*i];
    const char *equals = strchr(arg, '=');
    const size_t length = equals ? (size_t)(equals - arg) : strlen(arg);
    const struct option *opt = strncmp(arg, "--", 2) == 0 ? find(arg + 2, length - 2) : NULL;
    const char *value = equals ? equals + 1 : NULL;
    if (!opt) {
        snprintf(message, size, "unknown argument '%.80s'; `framewire bench --help` lists all",
                 arg);
        return FW_ERR_INVALID;
    }
    if (opt->kind == FLAG) {
        *(bool *)(void *)((char *)o + opt->offset) = true;
        if (!value)
            return FW_OK;
        snprintf(message, size, "--%s takes no value: write just --%s", opt->name, opt->name);
        return FW_ERR_INVALID;
    }
    if (!value && (*i + 1 == argc || strncmp(argv[*i + 1], "--", 2) == 0)) {
        snprintf(message, size, "--%s wants a value: --%s %s", opt->name, opt->name, opt->value);
        return FW_ERR_INVALID;
    }
    if (!value)
        value = argv[++*i];
    const char *wanted = take_value(o, opt, value, note, sizeof(note));
    if (!wanted)
        return FW_OK;
    snprintf(message, size, "--%s wants %s, not '%.80s'", opt->name, wanted, value);
    return FW_ERR_INVALID;
}

// ---- what goes with what

static enum fw_err check(struct fw_bench_options *o, char *message, size_t size)
{
    char why[256];
    const size_t length = o->url ? strlen(o->url) : 0;
    const char *wrong = NULL;
    o->mode = o->verify          ? FW_BENCH_VERIFY
              : o->find_capacity ? FW_BENCH_CAPACITY
              : o->compare && length > 5 && !strcmp(o->url + length - 5, ".json") ? FW_BENCH_COMPARE
                                                                                  : FW_BENCH_RUN;
    if (o->help)
        return FW_OK;
    if (o->verify && o->find_capacity)
        wrong = "--verify and --find-capacity exclude each other: drop one";
    else if (!o->verify && (o->soak >= 0 || o->drill || o->html))
        wrong = "--soak, --drill and --html belong to --verify PLAN.yaml";
    else if (o->compare && o->mode != FW_BENCH_RUN && o->mode != FW_BENCH_COMPARE)
        wrong = "--compare is for plain runs: drop it";
    else if (o->slo_text && !o->find_capacity)
        wrong = "--slo belongs to --find-capacity (a plan has its own promise)";
    else if (!o->url && !o->verify)
        wrong = "where is the server? `framewire bench http://HOST:PORT`, "
                "for example http://127.0.0.1:8080";
    if (wrong) {
        snprintf(message, size, "%s", wrong);
        return FW_ERR_INVALID;
    }
    if (fw_slo_parse(&o->slo, o->slo_text ? o->slo_text : "aoi_p99<=50ms", why, sizeof(why))) {
        snprintf(message, size, "--slo: %s", why);
        return FW_ERR_INVALID;
    }
    if (o->load.input != FW_BENCH_NONE || !fw_slo_needs_input(&o->slo))
        return FW_OK;
    snprintf(message, size, "--slo promises i2p, and --input none sends nothing: drop one");
    return FW_ERR_INVALID;
}

enum fw_err fw_bench_options_parse(struct fw_bench_options *o, int argc, char **argv, char *message,
                                   size_t size)
{
    *o = (struct fw_bench_options){
        .load = { .source = "testcard",
                  .width = 1280,
                  .height = 720,
                  .fps = 60,
                  .input = FW_BENCH_ORBIT },
        .sessions = 1,
        .seconds = 30,
        .warmup = 2,
        .max_sessions = 64,
        .step_seconds = 8,
        .soak = -1,
    };
    message[0] = '\0';
    for (int i = 0; i < argc; i++) {
        if (argv[i][0] != '-' && !o->url) {
            o->url = argv[i];
            continue;
        }
        const enum fw_err err = take_option(o, argc, argv, &i, message, size);
        if (err)
            return err;
    }
    return check(o, message, size);
}

size_t fw_bench_options_help(char *out, size_t size)
{
    size_t used = (size_t)snprintf(
        out, size,
        "framewire bench URL [option…]: sessions under load, measured from the input to the\n"
        "screen of a client without one. Without --decode a picture counts as shown when it is\n"
        "there. Ends sessions it began, also on Ctrl-C.\n\n");
    for (int i = 0; i < OPTIONS; i++) {
        char left[64];
        snprintf(left, sizeof(left), "--%s%s%s", table[i].name, table[i].value ? " " : "",
                 table[i].value ? table[i].value : "");
        used += (size_t)snprintf(used < size ? out + used : NULL, used < size ? size - used : 0,
                                 "  %-22s %s\n", left, table[i].help);
    }
    return used;
}
