// SPDX-License-Identifier: MIT
#include "session/api_sources.h"

#include <stdio.h>
#include <string.h>

struct source_option {
    const char *name, *description;
    bool model; // a name from the models folder, handed on as a path
    // The values allowed; NULL = free text.
    const char *const *values;
};

struct source_type {
    const char *name, *title, *kind, *description;
    const struct source_option *options;
    unsigned option_count;
};

static const struct source_option scene_options[] = {
    { "model", "a file of the models folder, as listed here; none = the demo scene", true, NULL },
};

static const char *const motions[] = { "0", "1", "full", NULL };

static const struct source_option testcard_options[] = {
    { "animate", "1 = the bar moves, 0 = changes on input only, full = all of the picture moves",
      false, motions },
};

static const struct source_type types[] = {
    { "scene", "Demo scene", "demo",
      "A scene made for framewire: metals, glass and light, to orbit and zoom", scene_options, 1 },
    { "testcard", "Test card", "testcard",
      "Colour patches, one-pixel grids and a moving bar: to judge picture, motion and delay",
      testcard_options, 1 },
};

enum { TYPES = sizeof(types) / sizeof(types[0]) };

static const struct source_type *find_type(const char *name)
{
    for (unsigned i = 0; i < TYPES; i++)
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
    return NULL;
}

static json_t *options_json(const struct source_type *type)
{
    json_t *options = json_object();
    for (unsigned i = 0; i < type->option_count; i++) {
        const struct source_option *o = &type->options[i];
        json_t *one = json_pack("{s:s, s:s}", "type", "string", "description", o->description);
        if (o->values) {
            json_t *values = json_array();
            for (const char *const *v = o->values; *v; v++)
                json_array_append_new(values, json_string(*v));
            json_object_set_new(one, "values", values);
        }
        json_object_set_new(options, o->name, one);
    }
    return options;
}

json_t *fw_sources_json(struct fw_models *models, int64_t now_ns)
{
    json_t *list = json_array();
    for (unsigned i = 0; i < TYPES; i++) {
        const struct source_type *t = &types[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:{}, s:o}", "source", t->name,
                                              "title", t->title, "description", t->description,
                                              "kind", t->kind, "args", "options", options_json(t)));
    }
    unsigned count;
    const struct fw_model *model = fw_models_list(models, now_ns, &count);
    for (unsigned i = 0; i < count; i++)
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:{s:s}, s:o}", "source", "scene",
                            "title", model[i].title, "description", "", "kind", "model", "file",
                            model[i].name, "bytes", (json_int_t)model[i].bytes, "args", "model",
                            model[i].name, "options", options_json(find_type("scene"))));
    return list;
}

static enum fw_err check_arg(struct fw_models *models, const struct source_option *option,
                             const char *value, struct fw_session_request *request, char *message,
                             size_t size)
{
    struct fw_session_arg *shown = &request->shown[request->arg_count];
    struct fw_session_arg *arg = &request->args[request->arg_count];
    const int n = snprintf(shown->value, sizeof(shown->value), "%s", value);
    snprintf(shown->key, sizeof(shown->key), "%s", option->name);
    *arg = *shown;
    enum fw_err err = n < (int)sizeof(shown->value) ? FW_OK : FW_ERR_INVALID;
    if (!err && option->model) {
        err = fw_models_path(models, value, arg->value, sizeof(arg->value));
        request->title = strrchr(value, '/') ? strrchr(value, '/') + 1 : value;
    }
    for (unsigned i = 0; !err && option->values; i++) {
        if (!option->values[i])
            err = FW_ERR_INVALID;
        else if (strcmp(option->values[i], value) == 0)
            break;
    }
    if (err)
        snprintf(message, size,
                 option->model
                     ? "args.%s: no such file in the models folder; GET /api/v1/sources lists them"
                     : "args.%s: not one of the values GET /api/v1/sources lists",
                 option->name);
    else
        request->arg_count++;
    return err;
}

enum fw_err fw_sources_check(struct fw_models *models, const char *source, json_t *args,
                             struct fw_session_request *request, char *message, size_t size)
{
    const struct source_type *type = find_type(source);
    if (!type) {
        snprintf(message, size, "source: unknown; GET /api/v1/sources lists what there is");
        return FW_ERR_INVALID;
    }
    request->source = type->name;
    request->title = type->title;
    request->arg_count = 0;
    const char *key;
    json_t *value;
    json_object_foreach(args, key, value)
    {
        const struct source_option *option = NULL;
        for (unsigned i = 0; i < type->option_count; i++)
            if (strcmp(type->options[i].name, key) == 0)
                option = &type->options[i];
        if (!option) {
            snprintf(message, size, "args.%.40s: %s takes no such argument", key, type->name);
            return FW_ERR_INVALID;
        }
        if (!json_is_string(value) ||
            strlen(json_string_value(value)) != json_string_length(value)) {
            snprintf(message, size, "args.%s: must be a string", option->name);
            return FW_ERR_INVALID;
        }
        const enum fw_err err =
            check_arg(models, option, json_string_value(value), request, message, size);
        if (err)
            return err;
    }
    return FW_OK;
}
