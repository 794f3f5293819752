// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "render/source/scene/model.h"
#include "render/source/scene/picture.h"

enum { MAX_WORKERS = 8 };

// More pixels than this, or a format that needs all coefficients at once, add up to gigabytes when
// every core decodes one: they take turns.
#define BIG_PIXELS (4096ull * 4096)

struct job {
    struct fw_scene_model *model;
    const struct fw_scene_picture *pictures;
    struct fw_scene_pixels *decoded;
    bool *srgb;      // per picture
    unsigned *users; // per picture: textures made of it
    unsigned *order; // of decoding: what takes longest comes first
    unsigned count, picture_count;
    uint32_t max_side;
    atomic_uint next;
    pthread_mutex_t big; // one very large picture in memory at a time
    void (*work)(struct job *job, unsigned index);

    pthread_mutex_t lock;
    // --- protected by lock: model->damaged_pictures, model->picture_trouble
};

static void note_trouble(struct job *job, unsigned i, const char *text)
{
    struct fw_scene_model *model = job->model;
    pthread_mutex_lock(&job->lock);
    const struct fw_scene_note note = { model->picture_trouble, sizeof(model->picture_trouble) };
    model->damaged_pictures++;
    fw_scene_fail(&note, FW_OK, "picture %u: %s", i + 1, text);
    pthread_mutex_unlock(&job->lock);
}

static void decode_one(struct job *job, unsigned turn)
{
    const unsigned i = job->order[turn];
    const struct fw_scene_picture *in = &job->pictures[i];
    char text[200] = "";
    const struct fw_scene_note trouble = { text, sizeof(text) };
    uint32_t w = 0, h = 0;
    const bool big = fw_scene_picture_size(in, &w, &h) && (uint64_t)w * h > BIG_PIXELS;
    if (big)
        pthread_mutex_lock(&job->big);
    fw_scene_picture_decode(in, job->max_side, job->srgb[i], &job->decoded[i], &trouble);
    if (big)
        pthread_mutex_unlock(&job->big);
    if (text[0])
        note_trouble(job, i, text);
}

static const uint8_t *nearest(const struct fw_scene_pixels *p, uint32_t x, uint32_t y, uint32_t w,
                              uint32_t h)
{
    const uint32_t sx = p->width == w ? x : (uint32_t)((uint64_t)x * p->width / w);
    const uint32_t sy = p->height == h ? y : (uint32_t)((uint64_t)y * p->height / h);
    return p->rgba + ((size_t)sy * p->width + sx) * 4;
}

// Occlusion from one picture, roughness and metal from another, of whatever sizes.
static void combine(const struct fw_scene_texture *t, const struct fw_scene_pixels *a,
                    const struct fw_scene_pixels *o, uint8_t *out)
{
    for (uint32_t y = 0; y < t->height; y++) {
        for (uint32_t x = 0; x < t->width; x++, out += 4) {
            const uint8_t *rm = a->rgba ? nearest(a, x, y, t->width, t->height) : NULL;
            out[0] = o->rgba ? nearest(o, x, y, t->width, t->height)[0] : 255;
            out[1] = rm ? rm[1] : 255;
            out[2] = rm ? rm[2] : 255;
            out[3] = 255;
        }
    }
}

// The first level with room for all others behind it: the picture's own memory where nobody else
// needs it.
static uint8_t *first_level(struct job *job, const struct fw_scene_texture *t, size_t bytes)
{
    const struct fw_scene_pixels none = { 0 };
    struct fw_scene_pixels *a = t->picture >= 0 ? &job->decoded[t->picture] : NULL;
    const struct fw_scene_pixels *o = t->occlusion >= 0 ? &job->decoded[t->occlusion] : &none;
    if (a && a->rgba && t->occlusion < 0 && job->users[t->picture] == 1) {
        uint8_t *grown = realloc(a->rgba, bytes);
        if (grown)
            a->rgba = NULL;
        return grown;
    }
    uint8_t *out = malloc(bytes);
    if (!out)
        return NULL;
    if (a && a->rgba && t->occlusion < 0)
        memcpy(out, a->rgba, (size_t)t->width * t->height * 4);
    else
        combine(t, a ? a : &none, o, out);
    return out;
}

static void build_one(struct job *job, unsigned i)
{
    struct fw_scene_texture *t = &job->model->textures[i];
    const struct fw_scene_pixels none = { 0 };
    const struct fw_scene_pixels *a = t->picture >= 0 ? &job->decoded[t->picture] : &none;
    const struct fw_scene_pixels *o = t->occlusion >= 0 ? &job->decoded[t->occlusion] : &none;
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
    uint8_t *level = t->texels = first_level(job, t, bytes);
    if (!level)
        return;
    t->bytes = bytes;
    for (uint32_t w = t->width, h = t->height; w > 1 || h > 1;) {
        uint8_t *next = level + (size_t)w * h * 4;
        fw_scene_halve(level, w, h, t->srgb, next);
        w = w > 1 ? w / 2 : 1;
        h = h > 1 ? h / 2 : 1;
        level = next;
    }
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
            uint32_t w, h;
            if (!fw_scene_picture_size(&job->pictures[i], &w, &h))
                continue;
            if (w > FW_SCENE_MAX_TEXTURE || h > FW_SCENE_MAX_TEXTURE)
                return fw_scene_fail(note, FW_ERR_TOO_LARGE,
                                     "A texture is %u x %u pixels; the limit is %d per side.", w, h,
                                     FW_SCENE_MAX_TEXTURE);
            const unsigned halvings = fw_scene_halvings(w, h, job->max_side);
            w = w >> halvings ? w >> halvings : 1;
            h = h >> halvings ? h >> halvings : 1;
            total += (uint64_t)w * h * 4;
        }
    } while (total > FW_SCENE_TEXTURE_BUDGET && (job->max_side /= 2) > 1);
    return FW_OK;
}

static void plan(struct job *job)
{
    const struct fw_scene_model *model = job->model;
    for (uint32_t i = 0; i < model->texture_count; i++) {
        const struct fw_scene_texture *t = &model->textures[i];
        if (t->srgb && t->picture >= 0)
            job->srgb[t->picture] = true;
        if (t->picture >= 0)
            job->users[t->picture]++;
        if (t->occlusion >= 0)
            job->users[t->occlusion]++;
    }
    for (unsigned i = 0; i < job->picture_count; i++) {
        unsigned at = i;
        for (; at && job->pictures[job->order[at - 1]].size < job->pictures[i].size; at--)
            job->order[at] = job->order[at - 1];
        job->order[at] = i;
    }
}

enum fw_err fw_scene_decode(struct fw_scene_model *model, const struct fw_scene_picture *pictures,
                            unsigned picture_count, uint32_t max_side,
                            const struct fw_scene_note *note)
{
    if (!picture_count || !model->texture_count)
        return FW_OK;
    struct job job = {
        .model = model,
        .pictures = pictures,
        .picture_count = picture_count,
        .max_side = max_side,
        .decoded = calloc(picture_count, sizeof(*job.decoded)),
        .srgb = calloc(picture_count, sizeof(*job.srgb)),
        .users = calloc(picture_count, sizeof(*job.users)),
        .order = calloc(picture_count, sizeof(*job.order)),
    };
    enum fw_err err = FW_ERR_NOMEM;
    pthread_mutex_init(&job.big, NULL);
    pthread_mutex_init(&job.lock, NULL);
    if (!job.decoded || !job.srgb || !job.users || !job.order)
        goto error;
    err = check_sizes(&job, note);
    if (err)
        goto error;
    plan(&job);
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
    free(job.users);
    free(job.order);
    pthread_mutex_destroy(&job.lock);
    pthread_mutex_destroy(&job.big);
    return err;
}
