// SPDX-License-Identifier: MIT
#include "render/source/scene/model.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#define STBI_NO_STDIO
#define STBI_NO_HDR
#define STBI_NO_LINEAR
#define STBI_NO_PIC
#define STBI_NO_PNM
#define STBI_NO_PSD
#define STBI_NO_GIF
#define STBI_MAX_DIMENSIONS FW_SCENE_MAX_TEXTURE
#pragma GCC diagnostic ignored "-Wunused-function" // what we leave out leaves declarations behind
#include <stb_image.h>

enum { MAX_WORKERS = 8 };

struct pixels {
    uint32_t width, height;
    uint8_t *rgba; // NULL = none
};

struct job {
    struct fw_scene_model *model;
    const struct fw_scene_picture *pictures;
    struct pixels *decoded;
    bool *srgb; // per picture
    unsigned count, picture_count;
    uint32_t max_side;
    atomic_uint next;
    pthread_mutex_t big; // one very large picture in memory at a time
    void (*work)(struct job *job, unsigned index);
};

// sRGB bytes to 16-bit linear and back, made once.
static uint16_t to_linear[256];
static uint8_t to_srgb[4097];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
    for (int i = 0; i < 256; i++) {
        double c = i / 255.0;
        double l = c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
        to_linear[i] = (uint16_t)lrint(l * 65535);
    }
    for (int i = 0; i <= 4096; i++) {
        double l = i / 4096.0;
        double c = l <= 0.0031308 ? l * 12.92 : 1.055 * pow(l, 1 / 2.4) - 0.055;
        to_srgb[i] = (uint8_t)lrint(c * 255);
    }
}

// Halves a picture (2x2 box; colours averaged as light).
static void halve(const uint8_t *src, uint32_t w, uint32_t h, bool srgb, uint8_t *dst)
{
    uint32_t nw = w > 1 ? w / 2 : 1, nh = h > 1 ? h / 2 : 1;
    for (uint32_t y = 0; y < nh; y++) {
        const uint8_t *top = src + (size_t)(y * 2) * w * 4;
        const uint8_t *low = y * 2 + 1 < h ? top + (size_t)w * 4 : top;
        for (uint32_t x = 0; x < nw; x++, dst += 4) {
            const uint8_t *a = top + (size_t)x * 8, *c = low + (size_t)x * 8;
            const uint8_t *b = x * 2 + 1 < w ? a + 4 : a, *d = x * 2 + 1 < w ? c + 4 : c;
            for (int k = 0; k < 3; k++) {
                if (srgb) {
                    uint32_t sum =
                        to_linear[a[k]] + to_linear[b[k]] + to_linear[c[k]] + to_linear[d[k]];
                    dst[k] = to_srgb[(sum + 32) >> 6];
                } else {
                    dst[k] = (uint8_t)((a[k] + b[k] + c[k] + d[k] + 2) / 4);
                }
            }
            dst[3] = (uint8_t)((a[3] + b[3] + c[3] + d[3] + 2) / 4);
        }
    }
}

static void shrink_to(struct pixels *p, uint32_t max_side, bool srgb)
{
    while (p->rgba && (p->width > max_side || p->height > max_side)) {
        // In place: a row is written only where it has been read already.
        halve(p->rgba, p->width, p->height, srgb, p->rgba);
        p->width = p->width > 1 ? p->width / 2 : 1;
        p->height = p->height > 1 ? p->height / 2 : 1;
        uint8_t *less = realloc(p->rgba, (size_t)p->width * p->height * 4);
        if (less)
            p->rgba = less;
    }
}

static void decode_one(struct job *job, unsigned i)
{
    const struct fw_scene_picture *in = &job->pictures[i];
    struct pixels *out = &job->decoded[i];
    int w = 0, h = 0, n = 0;
    if (in->raw_width) {
        size_t count = (size_t)in->raw_width * in->raw_height;
        out->rgba = malloc(count * 4);
        for (size_t k = 0; out->rgba && k < count; k++) {
            const uint8_t *s = in->bytes + k * 4; // assimp's texels are b, g, r, a
            uint8_t *d = out->rgba + k * 4;
            d[0] = s[2], d[1] = s[1], d[2] = s[0], d[3] = s[3];
        }
        w = (int)in->raw_width, h = (int)in->raw_height;
    } else if (in->bytes && in->size <= INT32_MAX &&
               stbi_info_from_memory(in->bytes, (int)in->size, &w, &h, &n)) {
        bool big = (int64_t)w * h > 4096 * 4096;
        if (big)
            pthread_mutex_lock(&job->big);
        out->rgba = stbi_load_from_memory(in->bytes, (int)in->size, &w, &h, &n, 4);
        out->width = (uint32_t)w, out->height = (uint32_t)h;
        shrink_to(out, job->max_side, job->srgb[i]);
        if (big)
            pthread_mutex_unlock(&job->big);
        return;
    }
    out->width = (uint32_t)w, out->height = (uint32_t)h;
    shrink_to(out, job->max_side, job->srgb[i]);
}

static const uint8_t *nearest(const struct pixels *p, uint32_t x, uint32_t y, uint32_t w,
                              uint32_t h)
{
    uint32_t sx = (uint32_t)((uint64_t)x * p->width / w);
    uint32_t sy = (uint32_t)((uint64_t)y * p->height / h);
    return p->rgba + ((size_t)sy * p->width + sx) * 4;
}

static void build_one(struct job *job, unsigned i)
{
    struct fw_scene_texture *t = &job->model->textures[i];
    const struct pixels none = { 0 };
    const struct pixels *a = t->picture >= 0 ? &job->decoded[t->picture] : &none;
    const struct pixels *o = t->occlusion >= 0 ? &job->decoded[t->occlusion] : &none;
    if (!a->rgba && !o->rgba)
        return;
    t->width = a->width > o->width ? a->width : o->width;
    t->height = a->height > o->height ? a->height : o->height;
    if (!a->rgba)
        t->width = o->width, t->height = o->height;
    size_t bytes = 0;
    for (uint32_t w = t->width, h = t->height;; w = w > 1 ? w / 2 : 1, h = h > 1 ? h / 2 : 1) {
        bytes += (size_t)w * h * 4;
        t->mips++;
        if (w == 1 && h == 1)
            break;
    }
    uint8_t *out = malloc(bytes);
    if (!out)
        return;
    if (a->rgba && t->occlusion < 0) {
        memcpy(out, a->rgba, (size_t)t->width * t->height * 4);
    } else {
        uint8_t *d = out;
        for (uint32_t y = 0; y < t->height; y++) {
            for (uint32_t x = 0; x < t->width; x++, d += 4) {
                const uint8_t *rm = a->rgba ? nearest(a, x, y, t->width, t->height) : NULL;
                d[0] = o->rgba ? nearest(o, x, y, t->width, t->height)[0] : 255;
                d[1] = rm ? rm[1] : 255;
                d[2] = rm ? rm[2] : 255;
                d[3] = 255;
            }
        }
    }
    uint8_t *level = out;
    for (uint32_t w = t->width, h = t->height; w > 1 || h > 1;) {
        uint8_t *next = level + (size_t)w * h * 4;
        halve(level, w, h, t->srgb, next);
        w = w > 1 ? w / 2 : 1;
        h = h > 1 ? h / 2 : 1;
        level = next;
    }
    t->texels = out;
    t->bytes = bytes;
}

static void *worker(void *arg)
{
    struct job *job = arg;
    for (unsigned i; (i = atomic_fetch_add(&job->next, 1)) < job->count;)
        job->work(job, i);
    return NULL;
}

static void run(struct job *job, void (*work)(struct job *, unsigned), unsigned count)
{
    job->work = work;
    job->count = count;
    atomic_store(&job->next, 0);
    pthread_t threads[MAX_WORKERS];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned want = cores > MAX_WORKERS ? MAX_WORKERS : cores < 1 ? 1 : (unsigned)cores;
    unsigned started = 0;
    for (unsigned i = 1; i < want && i < count; i++)
        if (!pthread_create(&threads[started], NULL, worker, job))
            started++;
    worker(job);
    for (unsigned i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}

// Sizes of all pictures, without decoding them. Lowers job->max_side to the budget.
static enum fw_err check_sizes(struct job *job, const struct fw_scene_note *note)
{
    uint64_t total;
    do {
        total = 0;
        for (unsigned i = 0; i < job->picture_count; i++) {
            const struct fw_scene_picture *in = &job->pictures[i];
            int w = (int)in->raw_width, h = (int)in->raw_height, n;
            if (!w && (!in->bytes || in->size > INT32_MAX ||
                       !stbi_info_from_memory(in->bytes, (int)in->size, &w, &h, &n)))
                continue;
            if (w > FW_SCENE_MAX_TEXTURE || h > FW_SCENE_MAX_TEXTURE)
                return fw_scene_fail(note, FW_ERR_TOO_LARGE,
                                     "A texture is %d x %d pixels; the limit is %d per side.", w, h,
                                     FW_SCENE_MAX_TEXTURE);
            while (w > (int)job->max_side || h > (int)job->max_side)
                w = w > 1 ? w / 2 : 1, h = h > 1 ? h / 2 : 1;
            total += (uint64_t)w * (uint64_t)h * 4;
        }
    } while (total > FW_SCENE_TEXTURE_BUDGET && (job->max_side /= 2) > 1);
    return FW_OK;
}

enum fw_err fw_scene_decode(struct fw_scene_model *model, const struct fw_scene_picture *pictures,
                            unsigned picture_count, uint32_t max_side,
                            const struct fw_scene_note *note)
{
    if (!picture_count || !model->texture_count)
        return FW_OK;
    pthread_once(&tables_once, make_tables);
    struct job job = {
        .model = model,
        .pictures = pictures,
        .picture_count = picture_count,
        .max_side = max_side,
        .decoded = calloc(picture_count, sizeof(*job.decoded)),
        .srgb = calloc(picture_count, sizeof(*job.srgb)),
    };
    enum fw_err err = FW_ERR_NOMEM;
    pthread_mutex_init(&job.big, NULL);
    if (!job.decoded || !job.srgb)
        goto error;
    for (uint32_t i = 0; i < model->texture_count; i++)
        if (model->textures[i].srgb && model->textures[i].picture >= 0)
            job.srgb[model->textures[i].picture] = true;
    err = check_sizes(&job, note);
    if (err)
        goto error;
    run(&job, decode_one, picture_count);
    run(&job, build_one, model->texture_count);
    for (uint32_t i = 0; i < model->texture_count; i++)
        if (!model->textures[i].texels)
            model->missing_textures++;
error:
    for (unsigned i = 0; job.decoded && i < picture_count; i++)
        free(job.decoded[i].rgba);
    free(job.decoded);
    free(job.srgb);
    pthread_mutex_destroy(&job.big);
    return err;
}
