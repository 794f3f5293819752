// SPDX-License-Identifier: MIT
// Golden pictures: renders the cases of cases.c through the whole path (source, merge, NV12), takes
// the planes back to RGB and compares with ref/NAME.png. On a mismatch the picture and a difference
// picture are written beside each other.
//
//   golden [--update] [--ref DIR] [--out DIR] [--models DIR] [NAME]...
//
// Exit code: 0 all match, 1 some do not, 77 there is no Vulkan device on this machine.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <stb/stb_image.h>
#include <stb/stb_image_write.h>

#include "base/frame.h"
#include "render/render.h"
#include "render/source.h"
#include "tests/golden/golden.h"

enum { EXIT_SKIP = 77, MAX_ARGS = 8 };

struct options {
    bool update;
    const char *ref, *out, *models;
    char **names;
    int name_count;
};

static uint8_t clamp(double v)
{
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v + 0.5);
}

// BT.709 limited to RGB, true size, tightly packed. The caller frees it.
static uint8_t *to_rgb(const struct fw_frame *f)
{
    uint8_t *rgb = malloc((size_t)f->width * (size_t)f->height * 3);
    for (int y = 0; rgb && y < f->height; y++) {
        const uint8_t *luma = f->plane[0].data + (size_t)y * f->plane[0].stride;
        const uint8_t *chroma = f->plane[1].data + (size_t)(y / 2) * f->plane[1].stride;
        for (int x = 0; x < f->width; x++) {
            const double l = 255.0 / 219.0 * (luma[x] - 16);
            const double cb = 255.0 / 224.0 * (chroma[x & ~1] - 128);
            const double cr = 255.0 / 224.0 * (chroma[(x & ~1) + 1] - 128);
            uint8_t *px = rgb + ((size_t)y * (size_t)f->width + (size_t)x) * 3;
            px[0] = clamp(l + 1.5748 * cr);
            px[1] = clamp(l - 0.1873243 * cb - 0.4681243 * cr);
            px[2] = clamp(l + 1.8556 * cb);
        }
    }
    return rgb;
}

// Where models may lie, the first that has it wins: $FW_MODELS, --models, the folder shared between
// checkouts, the distribution's test models. Writes an absolute path.
static bool find_model(const char *name, const struct options *options, char *path, size_t size)
{
    char beside[PATH_MAX], raw[PATH_MAX + 256], real[PATH_MAX];
    snprintf(beside, sizeof(beside), "%s/../../../../shared/models", options->models);
    const char *const folders[] = { getenv("FW_MODELS"), options->models, beside,
                                    "/usr/share/assimp/models" };
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        if (!folders[i]) {
            continue;
        }
        snprintf(raw, sizeof(raw), "%s/%s", folders[i], name);
        if (realpath(raw, real)) {
            snprintf(path, size, "%s", real);
            return true;
        }
    }
    return false;
}

// The model this case asks for is nowhere; says so. An optional one is no failure.
static bool lacks_model(const struct golden_case *c, const struct options *options)
{
    char path[PATH_MAX];
    for (unsigned i = 0; i < MAX_ARGS && c->args[i].key; i++) {
        if (strcmp(c->args[i].key, "model") == 0 &&
            !find_model(c->args[i].value, options, path, sizeof(path))) {
            printf("%s: %s: %s is not on this machine\n", c->name,
                   c->optional_model ? "skipped" : "FAILED", c->args[i].value);
            return true;
        }
    }
    return false;
}

static bool open_case(struct fw_render *render, const struct golden_case *c,
                      const struct options *options)
{
    char message[256] = "", model[PATH_MAX];
    struct fw_source_arg args[MAX_ARGS];
    unsigned count = 0;
    for (; count < MAX_ARGS && c->args[count].key; count++) {
        args[count] = c->args[count];
        if (strcmp(args[count].key, "model") == 0) {
            find_model(args[count].value, options, model, sizeof(model)); // it was there before
            args[count].value = model;
        }
    }
    const struct fw_render_open_params params = {
        .source = c->source,
        .args = args,
        .arg_count = count,
        .width = c->width,
        .height = c->height,
        .fps = 60,
        .scale_percent = c->scale_percent,
        .message = message,
        .message_size = sizeof(message),
    };
    if (fw_render_open(render, &params)) {
        printf("%s: does not open: %s\n", c->name, message);
        return false;
    }
    return true;
}

static struct fw_frame *render_frame(struct fw_render *render, const struct golden_case *c)
{
    struct fw_frame *frame = NULL;
    for (unsigned i = 0; i < c->input_count; i++) {
        fw_render_input(render, &c->input[i]);
    }
    // The second picture of something at rest is the refined one.
    for (int i = 0; i < (c->at_rest ? 2 : 1); i++) {
        fw_frame_unref(&frame);
        const enum fw_err err = fw_render_frame(render, c->frame_id, c->now_ns, &frame);
        if (err) {
            printf("%s: no frame: %s\n", c->name, fw_err_name(err));
            return NULL;
        }
    }
    return frame;
}

// Renders the case into RGB; NULL on failure. The caller frees it.
static uint8_t *render_case(const struct golden_case *c, const struct options *options, bool *skip)
{
    uint8_t *rgb = NULL;
    struct fw_render *render = NULL;
    struct fw_frame *frame = NULL;
    const struct fw_render_params params = {
        .validation = true,
        .log = fw_log_stderr(FW_LOG_WARN),
        .force_target = c->force_target,
        .force_convert = c->force_convert,
        .force_merge = c->force_merge,
    };
    const enum fw_err err = fw_render_create(&render, &params);
    if (err) {
        printf("%s: no renderer: %s\n", c->name, fw_err_name(err));
        *skip = err == FW_ERR_NOT_FOUND;
        return NULL;
    }
    if (c->overlay.rgba && fw_render_set_overlay(render, &c->overlay)) {
        printf("%s: overlay refused\n", c->name);
        goto error;
    }
    if (!open_case(render, c, options) || !(frame = render_frame(render, c))) {
        goto error;
    }
    rgb = to_rgb(frame);
    struct fw_render_info info;
    fw_render_get_info(render, &info);
    if (info.validation_messages) {
        printf("%s: %u validation messages\n", c->name, info.validation_messages);
        free(rgb);
        rgb = NULL;
    }
error:
    fw_frame_unref(&frame);
    fw_render_destroy(&render);
    return rgb;
}

static void write_png(const char *dir, const char *name, const char *kind, const uint8_t *rgb,
                      int width, int height)
{
    char path[1200];
    snprintf(path, sizeof(path), "%s/%s%s.png", dir, name, kind);
    if (!stbi_write_png(path, width, height, 3, rgb, width * 3)) {
        printf("cannot write %s: %s\n", path, strerror(errno));
    }
}

struct difference {
    int worst;
    double mean;    // levels, over all channels
    double percent; // of the pixels lie beyond the tolerance
};

// Differences, tenfold so that they can be seen.
static struct difference compare(const struct golden_case *c, const uint8_t *a, const uint8_t *b,
                                 uint8_t *diff)
{
    const double pixels = (double)c->width * c->height;
    struct difference out = { 0 };
    long off = 0, sum = 0;
    for (size_t i = 0; i < (size_t)c->width * (size_t)c->height; i++) {
        int most = 0;
        for (size_t k = 3 * i; k < 3 * i + 3; k++) {
            const int d = abs(a[k] - b[k]);
            most = d > most ? d : most;
            sum += d;
            diff[k] = (uint8_t)(d * 10 > 255 ? 255 : d * 10);
        }
        off += most > c->tolerance;
        out.worst = most > out.worst ? most : out.worst;
    }
    out.mean = (double)sum / (3 * pixels);
    out.percent = 100.0 * (double)off / pixels;
    return out;
}

static bool check(const struct golden_case *c, const struct options *options, const uint8_t *rgb)
{
    char path[1200];
    int width = 0, height = 0, channels;
    bool good = false;
    snprintf(path, sizeof(path), "%s/%s.png", options->ref, c->reference ? c->reference : c->name);
    uint8_t *want = stbi_load(path, &width, &height, &channels, 3);
    uint8_t *diff = malloc((size_t)c->width * (size_t)c->height * 3);
    mkdir(options->out, 0777); // may be there already
    if (!want || !diff || width != c->width || height != c->height) {
        printf("%s: %s is missing or has another size; look at the picture in %s, then --update\n",
               c->name, path, options->out);
        write_png(options->out, c->name, ".actual", rgb, c->width, c->height);
        goto error;
    }
    const struct difference d = compare(c, want, rgb, diff);
    good = d.percent <= c->off_percent && (c->mean == 0 || d.mean <= c->mean);
    printf("%s: %s, largest difference %d, mean %.3f, %.3f %% beyond %d\n", c->name,
           good ? "ok" : "DIFFERS", d.worst, d.mean, d.percent, c->tolerance);
    if (!good) {
        write_png(options->out, c->name, ".actual", rgb, width, height);
        write_png(options->out, c->name, ".diff", diff, width, height);
    }
error:
    stbi_image_free(want);
    free(diff);
    return good;
}

static bool chosen(const struct golden_case *c, const struct options *options)
{
    for (int i = 0; i < options->name_count; i++) {
        if (strcmp(options->names[i], c->name) == 0) {
            return true;
        }
    }
    return options->name_count == 0;
}

static bool parse(struct options *o, int argc, char **argv)
{
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        const bool more = i + 1 < argc;
        if (strcmp(argv[i], "--update") == 0) {
            o->update = true;
        } else if (strcmp(argv[i], "--ref") == 0 && more) {
            o->ref = argv[++i];
        } else if (strcmp(argv[i], "--out") == 0 && more) {
            o->out = argv[++i];
        } else if (strcmp(argv[i], "--models") == 0 && more) {
            o->models = argv[++i];
        } else {
            return false;
        }
    }
    o->names = argv + i;
    o->name_count = argc - i;
    return true;
}

int main(int argc, char **argv)
{
    struct options o = { .ref = "tests/golden/ref",
                         .out = "tests/out",
                         .models = "tests/golden/models" };
    if (!parse(&o, argc, argv)) {
        fprintf(stderr, "usage: golden [--update] [--ref DIR] [--out DIR] [--models DIR] "
                        "[NAME]...\n");
        return 2;
    }
    int failed = 0, done = 0;
    for (unsigned i = 0; i < golden_case_count; i++) {
        const struct golden_case *c = &golden_cases[i];
        if (!chosen(c, &o)) {
            continue;
        }
        if (lacks_model(c, &o)) {
            done += !c->optional_model;
            failed += !c->optional_model;
            continue;
        }
        bool skip = false;
        uint8_t *rgb = render_case(c, &o, &skip);
        if (skip) {
            printf("skipped: no Vulkan device on this machine\n");
            return EXIT_SKIP;
        }
        done++;
        if (!rgb) {
            failed++;
        } else if (o.update && !c->reference) {
            write_png(o.ref, c->name, "", rgb, c->width, c->height);
            printf("%s: written\n", c->name);
        } else if (!check(c, &o, rgb)) {
            failed++;
        }
        free(rgb);
    }
    printf("%d of %d pictures match\n", done - failed, done);
    return failed || !done;
}
