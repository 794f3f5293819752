// SPDX-License-Identifier: MIT
// The model viewer: a file (or the built-in scene) under a hand.
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "render/source/impls.h"
#include "render/source/scene/camera.h"
#include "render/source/scene/draw.h"
#include "render/source/scene/env.h"
#include "render/source/scene/model.h"
#include "render/source/scene/picture.h"

// How long the picture must have rested before it is drawn once more, smoothly (CPU devices).
#define REST_NS (120 * (int64_t)FW_NS_PER_MS)

struct scene {
    struct fw_source base;
    struct fw_log *log;
    struct fw_camera camera;
    struct fw_draw draw;
    int fps;
    bool always_smooth; // the device has the strength for four samples at any time
    bool refined;       // the picture on screen is the smooth one
    bool drawn;         // a frame was recorded
    int64_t last_ns;    // of the last frame recorded
    char *facts;
};

static struct scene *scene_of(struct fw_source *source)
{
    return (struct scene *)source;
}

static void close_scene(struct fw_source *source)
{
    struct scene *s = scene_of(source);
    if (!s)
        return;
    fw_draw_finish(&s->draw);
    free(s->facts);
    free(s);
}

static enum fw_err read_args(const struct fw_source_params *params, const char **model, int *orbit)
{
    const struct fw_scene_note note = { params->message, params->message_size };
    *model = NULL;
    *orbit = -1;
    for (unsigned i = 0; i < params->arg_count; i++) {
        const struct fw_source_arg *arg = &params->args[i];
        if (!strcmp(arg->key, "model")) {
            *model = arg->value[0] ? arg->value : NULL;
        } else if (!strcmp(arg->key, "orbit")) {
            if (strcmp(arg->value, "0") != 0 && strcmp(arg->value, "1") != 0)
                return fw_scene_fail(&note, FW_ERR_INVALID, "\"orbit\" is 0 or 1, not \"%.64s\".",
                                     arg->value);
            *orbit = arg->value[0] == '1';
        } else {
            return fw_scene_fail(&note, FW_ERR_INVALID, "There is no argument \"%.64s\".",
                                 arg->key);
        }
    }
    return FW_OK;
}

static char *make_facts(const struct fw_scene_model *model)
{
    json_t *root =
        json_pack("{s:I,s:I,s:I,s:I,s:I}", "triangles", (json_int_t)model->triangles, "materials",
                  (json_int_t)model->material_count, "textures",
                  (json_int_t)(model->texture_count - model->missing_textures), "missing_textures",
                  (json_int_t)model->missing_textures, "meshes", (json_int_t)model->mesh_count);
    if (!root)
        return NULL;
    json_t *name = json_string(model->name); // NULL when it is no UTF-8
    json_object_set_new(root, "name", name ? name : json_string("model"));
    char *text = json_dumps(root, JSON_COMPACT | JSON_ENSURE_ASCII);
    json_decref(root);
    return text;
}

static enum fw_err load(struct scene *s, const struct fw_source_params *params,
                        struct fw_scene_model *model)
{
    const struct fw_scene_note note = { params->message, params->message_size };
    const char *path;
    int orbit;
    enum fw_err err = read_args(params, &path, &orbit);
    if (err)
        return err;
    uint32_t side = params->gpu->props.limits.maxImageDimension2D;
    if (side > FW_SCENE_MAX_TEXTURE)
        side = FW_SCENE_MAX_TEXTURE;
    if (params->gpu->is_cpu)
        side = FW_SCENE_MAX_SIDE_CPU;
    const struct fw_scene_progress progress = { params->progress, params->progress_user };
    int64_t begun = fw_now_ns();
    if (path)
        err = fw_scene_import(model, path, side, &progress, &note);
    else
        err = fw_scene_demo(model);
    if (err)
        return err;
    int64_t loaded = fw_now_ns();
    if (params->progress)
        params->progress(params->progress_user, 80, "upload");
    float low[3], high[3];
    for (int k = 0; k < 3; k++) {
        // The built-in scene is round: nothing stands in the corners of its box.
        float trim = !path && k != 1 ? (model->max[k] - model->min[k]) * 0.19f : 0;
        low[k] = model->min[k] + trim;
        high[k] = model->max[k] - trim;
    }
    if (!path)
        low[1] -= 0.35f; // what is near stands low in the picture
    fw_camera_init(&s->camera, low, high, params->width, params->height);
    s->camera.turntable = orbit < 0 ? !path : orbit == 1;
    VkFormat format =
        params->tone_mapped ? VK_FORMAT_R8G8B8A8_UNORM : VK_FORMAT_R16G16B16A16_SFLOAT;
    err = fw_draw_init(&s->draw, params->gpu, model, format, params->tone_mapped);
    if (err)
        return fw_scene_fail(&note, err, "The model does not fit the graphics device (%s).",
                             fw_err_name(err));
    s->facts = make_facts(model);
    fw_log(s->log, FW_LOG_INFO, "scene", "%s: %llu triangles, loaded in %lld ms, uploaded in %lld",
           model->name, (unsigned long long)model->triangles,
           (long long)((loaded - begun) / FW_NS_PER_MS),
           (long long)((fw_now_ns() - loaded) / FW_NS_PER_MS));
    if (model->missing_textures || model->damaged_pictures)
        fw_log(s->log, FW_LOG_WARN, "scene", "%u damaged pictures (%s), %u textures drawn plain",
               model->damaged_pictures,
               model->picture_trouble[0] ? model->picture_trouble : "none read",
               model->missing_textures);
    if (params->progress)
        params->progress(params->progress_user, 100, "ready");
    return FW_OK;
}

static void warm_up_scene(void)
{
    size_t bytes;
    fw_env_cube(&bytes);
    fw_scene_tables();
}

static enum fw_err open_scene(struct fw_source **source, const struct fw_source_params *params)
{
    *source = NULL;
    if (params->message && params->message_size)
        params->message[0] = 0;
    struct scene *s = calloc(1, sizeof(*s));
    if (!s)
        return FW_ERR_NOMEM;
    s->base.impl = &fw_source_scene;
    s->log = params->log;
    s->fps = params->fps > 0 ? params->fps : 60;
    s->always_smooth = !params->gpu->is_cpu;
    struct fw_scene_model model = { 0 };
    enum fw_err err = load(s, params, &model);
    fw_scene_model_finish(&model);
    if (err) {
        close_scene(&s->base);
        return err;
    }
    *source = &s->base;
    return FW_OK;
}

static void input_scene(struct fw_source *source, const struct fw_input_event *event)
{
    fw_camera_input(&scene_of(source)->camera, event);
}

static enum fw_err resize_scene(struct fw_source *source, int width, int height)
{
    fw_camera_resize(&scene_of(source)->camera, width, height);
    return FW_OK;
}

static bool wants_frame(struct fw_source *source, int64_t now_ns, int64_t *next_ns, bool *animating)
{
    struct scene *s = scene_of(source);
    *animating = s->camera.turntable;
    *next_ns = INT64_MAX;
    // What a hand did shows at once; what moves by itself keeps the beat.
    if (!s->drawn || s->camera.dirty)
        return true;
    if (fw_camera_wants_step(&s->camera)) {
        *next_ns = s->last_ns + FW_NS_PER_S / s->fps - FW_NS_PER_MS / 2;
        return now_ns >= *next_ns;
    }
    if (s->refined)
        return false;
    *next_ns = s->last_ns + REST_NS;
    return now_ns >= *next_ns;
}

static enum fw_err record_scene(struct fw_source *source, const struct fw_record *record)
{
    struct scene *s = scene_of(source);
    bool moved = fw_camera_step(&s->camera, record->now_ns);
    struct fw_draw_frame frame = {
        .cmd = record->cmd,
        .view = record->view,
        .format = record->format,
        .extent = record->extent,
        .tone_mapped = record->tone_mapped,
        // Asked for a picture with nothing to move: the time for a smooth one.
        .smooth = s->always_smooth || !moved,
        .grid = s->camera.grid,
        .turn = s->camera.turn,
    };
    memcpy(frame.centre, s->camera.centre, sizeof(frame.centre));
    fw_camera_matrices(&s->camera, frame.view_matrix, frame.projection, frame.eye);
    enum fw_err err = fw_draw_record(&s->draw, &frame);
    if (err)
        return err;
    s->refined = frame.smooth;
    s->drawn = true;
    s->last_ns = record->now_ns;
    return FW_OK;
}

static const char *describe_scene(struct fw_source *source)
{
    const struct scene *s = scene_of(source);
    return s->facts ? s->facts : "{}";
}

static size_t save_scene(struct fw_source *source, void *out, size_t room)
{
    return fw_camera_save(&scene_of(source)->camera, out, room);
}

static void restore_scene(struct fw_source *source, const void *data, size_t size)
{
    struct scene *s = scene_of(source);
    if (!fw_camera_restore(&s->camera, data, size))
        fw_log(s->log, FW_LOG_WARN, "scene", "the view of the last worker is not to be understood");
}

const struct fw_source_impl fw_source_scene = {
    .name = "scene",
    .hdr = true,
    .warm_up = warm_up_scene,
    .open = open_scene,
    .close = close_scene,
    .input = input_scene,
    .resize = resize_scene,
    .wants_frame = wants_frame,
    .record = record_scene,
    .describe = describe_scene,
    .save = save_scene,
    .restore = restore_scene,
};
