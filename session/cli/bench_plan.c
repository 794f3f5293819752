// SPDX-License-Identifier: MIT
#include "session/cli/bench_plan.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { DEPTH_MAX = 4, PATH_SIZE = 96 };
enum kind { SECTION, TEXT, INT, DURATION, BOOL, SIZE, INPUT, LIST };

struct key {
    const char *path;
    enum kind kind;
    size_t offset; // of a section: its `on`, 0 = it has none
    int min, max;
};

#define AT(field) offsetof(struct fw_plan, field)

// The only list of keys; a section comes before what is in it.
static const struct key keys[] = {
    { "name", TEXT, AT(name), 0, 0 },
    { "url", TEXT, AT(url), 0, 0 },
    { "load", SECTION, 0, 0, 0 },
    { "load.source", TEXT, AT(load.source), 0, 0 },
    { "load.args", LIST, 0, 0, 0 },
    { "load.size", SIZE, 0, 0, 0 },
    { "load.fps", INT, AT(load.fps), 1, 240 },
    { "load.input", INPUT, 0, 0, 0 },
    { "function", SECTION, AT(function.on), 0, 0 },
    { "function.frames", INT, AT(function.frames), 1, 100000 },
    { "function.colour_error", INT, AT(function.colour_error), 1, 255 },
    { "performance", SECTION, AT(performance.on), 0, 0 },
    { "performance.sessions", INT, AT(performance.sessions), 1, FW_BENCH_SESSIONS_MAX },
    { "performance.seconds", DURATION, AT(performance.seconds), 1, 86400 },
    { "performance.warmup", DURATION, AT(performance.warmup), 0, 600 },
    { "performance.promise", TEXT, AT(performance.promise_text), 0, 0 },
    { "performance.capacity_min", INT, AT(performance.capacity_min), 1, FW_BENCH_SESSIONS_MAX },
    { "performance.capacity_max", INT, AT(performance.capacity_max), 1, FW_BENCH_SESSIONS_MAX },
    { "performance.step_seconds", DURATION, AT(performance.step_seconds), 1, 3600 },
    { "resources", SECTION, AT(resources.on), 0, 0 },
    { "resources.cpu_max", INT, AT(resources.cpu_max), 1, 100 },
    { "resources.memory_max", INT, AT(resources.memory_max), 1, 100 },
    { "resources.gpu_use_min", INT, AT(resources.gpu_use_min), 1, 100 },
    { "resources.gpu_use_max", INT, AT(resources.gpu_use_max), 1, 100 },
    { "resources.gpu_memory_max", INT, AT(resources.gpu_memory_max), 1, 100 },
    { "resources.encoder_use_max", INT, AT(resources.encoder_use_max), 1, 100 },
    { "stability", SECTION, AT(stability.on), 0, 0 },
    { "stability.soak", DURATION, AT(stability.soak), 1, 604800 },
    { "stability.growth_max", INT, AT(stability.growth_max), 1, 1000000 },
    { "stability.restarts_max", INT, AT(stability.restarts_max), 0, 1000000 },
    { "stability.drill", BOOL, AT(stability.drill), 0, 0 },
    { "stability.recovery_max", DURATION, AT(stability.recovery_max), 1, 600 },
};
enum { KEYS = sizeof(keys) / sizeof(keys[0]) };

struct reader {
    struct fw_plan *plan;
    yaml_parser_t parser;
    const char *file;
    char *message;
    size_t size;
    bool seen[KEYS];
};

static enum fw_err wrong(struct reader *r, size_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static enum fw_err wrong(struct reader *r, size_t line, const char *format, ...)
{
    va_list args;
    const int used = snprintf(r->message, r->size, "%.200s:%zu: ", r->file, line + 1);
    va_start(args, format);
    if (used > 0 && (size_t)used < r->size)
        vsnprintf(r->message + used, r->size - (size_t)used, format, args);
    va_end(args);
    return FW_ERR_INVALID;
}

static enum fw_err next_event(struct reader *r, yaml_event_t *event)
{
    if (yaml_parser_parse(&r->parser, event))
        return FW_OK;
    return wrong(r, r->parser.problem_mark.line, "this is not YAML: %s",
                 r->parser.problem ? r->parser.problem : "it can't be read");
}

// ---- values

static const char *keep(struct reader *r, const char *text)
{
    const size_t size = strlen(text) + 1;
    if (r->plan->text_used + size > sizeof(r->plan->text))
        return NULL;
    char *kept = r->plan->text + r->plan->text_used;
    memcpy(kept, text, size);
    r->plan->text_used += size;
    return kept;
}

static bool whole_number(const char *text, int min, int max, int *out)
{
    char *end;
    errno = 0;
    const long value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < min || value > max)
        return false;
    *out = (int)value;
    return true;
}

static bool truth(const char *text, bool *out)
{
    *out = strcmp(text, "yes") == 0 || strcmp(text, "true") == 0;
    return *out || strcmp(text, "no") == 0 || strcmp(text, "false") == 0;
}

static enum fw_err take_scalar(struct reader *r, const struct key *key, const char *text,
                               size_t line)
{
    struct fw_plan *plan = r->plan;
    char *field = (char *)plan + key->offset;
    int number = 0;
    switch (key->kind) {
    case INT:
        if (whole_number(text, key->min, key->max, (int *)(void *)field))
            return FW_OK;
        return wrong(r, line, "%s wants a number from %d to %d, not '%.60s'", key->path, key->min,
                     key->max, text);
    case DURATION:
        if (fw_bench_parse_duration(text, &number) && number >= key->min && number <= key->max) {
            *(int *)(void *)field = number;
            return FW_OK;
        }
        return wrong(r, line, "%s wants a time from %d s to %d s, as 30, 5m or 4h, not '%.60s'",
                     key->path, key->min, key->max, text);
    case BOOL:
        if (truth(text, (bool *)(void *)field))
            return FW_OK;
        return wrong(r, line, "%s wants yes or no, not '%.60s'", key->path, text);
    case SIZE:
        if (fw_bench_parse_size(text, &plan->load.width, &plan->load.height))
            return FW_OK;
        return wrong(r, line, "%s wants WIDTHxHEIGHT, as 1280x720, not '%.60s'", key->path, text);
    case INPUT:
        if (fw_bench_parse_input(text, &plan->load.input))
            return FW_OK;
        return wrong(r, line, "%s wants orbit, clicks or none, not '%.60s'", key->path, text);
    case TEXT: {
        const char *kept = *text ? keep(r, text) : NULL;
        if (!kept)
            return wrong(r, line, "%s wants a text (of reasonable length)", key->path);
        *(const char **)(void *)field = kept;
        return FW_OK;
    }
    case SECTION:
    case LIST: break;
    }
    return wrong(r, line, "%s wants %s", key->path,
                 key->kind == LIST ? "a list, as [model=Duck.glb]" : "keys of its own below it");
}

// The items of load.args, up to the end of the list.
static enum fw_err take_list(struct reader *r, const struct key *key)
{
    struct fw_bench_load_options *load = &r->plan->load;
    for (;;) {
        yaml_event_t event;
        enum fw_err err = next_event(r, &event);
        if (err)
            return err;
        const size_t line = event.start_mark.line;
        const bool end = event.type == YAML_SEQUENCE_END_EVENT;
        const char *text =
            event.type == YAML_SCALAR_EVENT ? (const char *)event.data.scalar.value : NULL;
        if (!end && (!text || !strchr(text, '=') || load->arg_count == FW_BENCH_ARGS_MAX))
            err = wrong(r, line, "%s wants up to %d times KEY=VALUE", key->path, FW_BENCH_ARGS_MAX);
        else if (!end && !(load->args[load->arg_count++] = keep(r, text)))
            err = wrong(r, line, "%s is too long", key->path);
        yaml_event_delete(&event);
        if (err || end)
            return err;
    }
}

// ---- structure

// The key of that name in section `path`; -1 after saying what could stand there.
static int find_key(struct reader *r, const char *path, const char *name, size_t line)
{
    char whole[PATH_SIZE], known[600] = "";
    const size_t prefix = strlen(path);
    snprintf(whole, sizeof(whole), "%s%s%.40s", path, prefix ? "." : "", name);
    size_t used = 0;
    for (int i = 0; i < KEYS; i++) {
        if (strcmp(keys[i].path, whole) == 0)
            return i;
        const char *rest = keys[i].path + prefix + (prefix > 0);
        if (strncmp(keys[i].path, path, prefix) != 0 || (prefix && keys[i].path[prefix] != '.') ||
            strchr(rest, '.') || used >= sizeof(known))
            continue;
        used +=
            (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", used ? ", " : "", rest);
    }
    wrong(r, line, "unknown key '%.40s'; known here are %s", name, known);
    return -1;
}

static enum fw_err read_section(struct reader *r, const char *path, int depth);

static enum fw_err read_value(struct reader *r, const struct key *key, int depth)
{
    yaml_event_t event;
    enum fw_err err = next_event(r, &event);
    if (err)
        return err;
    const size_t line = event.start_mark.line;
    if (event.type == YAML_SCALAR_EVENT)
        err = take_scalar(r, key, (const char *)event.data.scalar.value, line);
    else if (event.type == YAML_SEQUENCE_START_EVENT && key->kind == LIST)
        err = take_list(r, key);
    else if (event.type == YAML_MAPPING_START_EVENT && key->kind == SECTION)
        err = read_section(r, key->path, depth + 1);
    else
        err = wrong(r, line, "%s wants %s", key->path,
                    key->kind == SECTION ? "keys of its own below it"
                    : key->kind == LIST  ? "a list, as [model=Duck.glb]"
                                         : "one value");
    yaml_event_delete(&event);
    return err;
}

// Keys and values up to the end of the mapping.
static enum fw_err read_section(struct reader *r, const char *path, int depth)
{
    for (;;) {
        yaml_event_t event;
        enum fw_err err = next_event(r, &event);
        if (err)
            return err;
        const size_t line = event.start_mark.line;
        const bool end = event.type == YAML_MAPPING_END_EVENT;
        int index = -1;
        if (!end && (event.type != YAML_SCALAR_EVENT || depth >= DEPTH_MAX))
            err = wrong(r, line, "a plain key is wanted here");
        else if (!end)
            index = find_key(r, path, (const char *)event.data.scalar.value, line);
        yaml_event_delete(&event);
        if (err || end)
            return err;
        if (index < 0)
            return FW_ERR_INVALID;
        if (r->seen[index])
            return wrong(r, line, "%s stands there twice", keys[index].path);
        r->seen[index] = true;
        if (keys[index].kind == SECTION && keys[index].offset)
            *(bool *)(void *)((char *)r->plan + keys[index].offset) = true;
        err = read_value(r, &keys[index], depth);
        if (err)
            return err;
    }
}

static enum fw_err read_document(struct reader *r)
{
    yaml_event_t event = { .type = YAML_NO_EVENT };
    enum fw_err err = FW_OK;
    do {
        yaml_event_delete(&event);
        err = next_event(r, &event);
    } while (!err &&
             (event.type == YAML_STREAM_START_EVENT || event.type == YAML_DOCUMENT_START_EVENT));
    if (err)
        return err;
    const bool mapping = event.type == YAML_MAPPING_START_EVENT;
    const size_t line = event.start_mark.line;
    yaml_event_delete(&event);
    if (!mapping)
        return wrong(r, line,
                     "a plan is keys and values; one of the parts function, performance, "
                     "resources, stability must be among them");
    err = read_section(r, "", 0);
    for (int i = 0; i < 2 && !err; i++) { // the end of the document, and of all
        const yaml_event_type_t wanted = i ? YAML_STREAM_END_EVENT : YAML_DOCUMENT_END_EVENT;
        err = next_event(r, &event);
        if (!err && event.type != wanted)
            err = wrong(r, event.start_mark.line, "a plan is one document: drop this one");
        yaml_event_delete(&event);
    }
    return err;
}

static enum fw_err check(struct reader *r)
{
    struct fw_plan *p = r->plan;
    char why[300];
    if (!p->function.on && !p->performance.on && !p->resources.on && !p->stability.on)
        return wrong(r, 0,
                     "nothing is to be checked: add function, performance, resources or "
                     "stability");
    if (p->performance.capacity_min > p->performance.capacity_max)
        return wrong(r, 0, "performance.capacity_min %d is more than capacity_max %d",
                     p->performance.capacity_min, p->performance.capacity_max);
    if (fw_slo_parse(&p->performance.promise, p->performance.promise_text, why, sizeof(why)))
        return wrong(r, 0, "performance.promise: %s", why);
    if (p->load.input == FW_BENCH_NONE && fw_slo_needs_input(&p->performance.promise))
        return wrong(r, 0, "performance.promise has i2p, and load.input none sends nothing");
    return FW_OK;
}

enum fw_err fw_plan_read(struct fw_plan *plan, const char *path, char *message, size_t size)
{
    *plan = (struct fw_plan){
        .name = "go-live check",
        .load = { .source = "testcard",
                  .width = 1280,
                  .height = 720,
                  .fps = 60,
                  .input = FW_BENCH_ORBIT,
                  .decode = true },
        .function = { .frames = 60, .colour_error = 16 },
        .performance = { .sessions = 1,
                         .seconds = 20,
                         .warmup = 2,
                         .capacity_max = 16,
                         .step_seconds = 8,
                         .promise_text = "aoi_p99<=100ms" },
        .stability = { .growth_max = 64, .recovery_max = 5 },
    };
    FILE *f = fopen(path, "re");
    if (!f) {
        snprintf(message, size, "can't read the plan %.200s: %s", path, strerror(errno));
        return FW_ERR_IO;
    }
    struct reader r = { .plan = plan, .file = path, .message = message, .size = size };
    enum fw_err err = FW_ERR_NOMEM;
    if (yaml_parser_initialize(&r.parser)) {
        yaml_parser_set_input_file(&r.parser, f);
        err = read_document(&r);
        yaml_parser_delete(&r.parser);
    }
    fclose(f);
    return err ? err : check(&r);
}
