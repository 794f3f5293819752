// SPDX-License-Identifier: MIT
#include <pthread.h>

#include "base/clock.h"
#include "bench/floor.h"

enum { BUFFERS = 3, WIDTH_STEPS = 80 };

// Thread: the drawing thread puts, the encoding thread takes; two pictures wait at most.
struct pipeline {
    struct floor_encode *encode;
    struct fw_frame **buffers;
    int frames;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    // --- protected by lock
    int drawn, encoded;
    bool failed;
};

static void *encode_main(void *arg)
{
    struct pipeline *p = arg;
    for (int i = 0; i < p->frames; i++) {
        pthread_mutex_lock(&p->lock);
        while (p->drawn == i && !p->failed)
            pthread_cond_wait(&p->moved, &p->lock);
        bool good = !p->failed;
        pthread_mutex_unlock(&p->lock);

        good = good && floor_encode_frame(p->encode, p->buffers[i % BUFFERS]) >= 0;
        pthread_mutex_lock(&p->lock);
        p->encoded++;
        p->failed = p->failed || !good;
        pthread_cond_signal(&p->moved);
        pthread_mutex_unlock(&p->lock);
    }
    return NULL;
}

static bool draw(struct pipeline *p, struct floor_render *render, int i, bool drag)
{
    if (drag)
        floor_render_input(render, &(struct fw_input_event){
                                       .kind = FW_INPUT_MOTION,
                                       .x = (float)(600 + i % WIDTH_STEPS),
                                       .y = 360,
                                       .dx = i % WIDTH_STEPS ? 1 : 1 - WIDTH_STEPS,
                                   });
    const bool drawn = floor_render_draw(render);
    pthread_mutex_lock(&p->lock);
    while (p->drawn - p->encoded == BUFFERS && !p->failed)
        pthread_cond_wait(&p->moved, &p->lock);
    const bool good = drawn && !p->failed;
    pthread_mutex_unlock(&p->lock);

    if (good)
        floor_render_convert(render, p->buffers[i % BUFFERS]);
    pthread_mutex_lock(&p->lock);
    p->drawn++;
    p->failed = p->failed || !good;
    pthread_cond_signal(&p->moved);
    pthread_mutex_unlock(&p->lock);
    return good;
}

double floor_pipeline_fps(struct floor_render *render, struct floor_encode *encode,
                          struct fw_frame **buffers, int frames, bool drag)
{
    struct pipeline p = {
        .encode = encode,
        .buffers = buffers,
        .frames = frames,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .moved = PTHREAD_COND_INITIALIZER,
    };
    pthread_t thread;
    if (pthread_create(&thread, NULL, encode_main, &p) != 0)
        return -1;
    const int64_t begin = fw_now_ns();
    for (int i = 0; i < frames && draw(&p, render, i, drag); i++) {
    }
    pthread_join(thread, NULL);
    return p.failed ? -1 : (double)frames * FW_NS_PER_S / (double)(fw_now_ns() - begin);
}
