// SPDX-License-Identifier: MIT
#include "session/cli/bench_decode.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/frame.h"
#include "render/source/testcard.h"

struct queue {
    struct fw_bench_job *first, **last;
};

struct lane {
    struct fw_bench_decoders *all;
    pthread_t thread;
    bool running;
    struct queue todo; // --- protected by lock
    pthread_cond_t more;
};

struct fw_bench_decoders {
    int wake_fd;
    pthread_mutex_t lock;
    struct queue done; // --- protected by lock
    bool stop;
    // ---
    unsigned count;
    struct lane lane[];
};

static void put(struct queue *q, struct fw_bench_job *job)
{
    job->next = NULL;
    *q->last = job;
    q->last = &job->next;
}

static struct fw_bench_job *pop(struct queue *q)
{
    struct fw_bench_job *job = q->first;
    if (!job)
        return NULL;
    q->first = job->next;
    if (!q->first)
        q->last = &q->first;
    return job;
}

static void work(struct fw_bench_job *job)
{
    struct fw_frame *frame = NULL;
    job->err = fw_decoder_decode(job->decoder, job->data, job->size, &frame);
    job->decoded_ns = fw_now_ns();
    if (!job->err && job->width <= frame->width && job->height <= frame->height)
        job->painted = fw_testcard_read_id(frame->plane[0].data, (int)frame->plane[0].stride,
                                           job->width, job->height);
    fw_frame_unref(&frame);
}

static void *run(void *user)
{
    struct lane *lane = user;
    struct fw_bench_decoders *all = lane->all;
    pthread_mutex_lock(&all->lock);
    while (!all->stop) {
        struct fw_bench_job *job = pop(&lane->todo);
        if (!job) {
            pthread_cond_wait(&lane->more, &all->lock);
            continue;
        }
        pthread_mutex_unlock(&all->lock);
        work(job);
        pthread_mutex_lock(&all->lock);
        put(&all->done, job);
        const uint64_t one = 1;
        if (write(all->wake_fd, &one, sizeof(one)) < 0)
            continue; // it is full: the reader knows already
    }
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

enum fw_err fw_bench_decoders_create(struct fw_bench_decoders **out, unsigned threads, int wake_fd)
{
    struct fw_bench_decoders *d = calloc(1, sizeof(*d) + threads * sizeof(d->lane[0]));
    *out = d;
    if (!d)
        return FW_ERR_NOMEM;
    d->wake_fd = wake_fd;
    d->count = threads;
    d->done.last = &d->done.first;
    pthread_mutex_init(&d->lock, NULL);
    for (unsigned i = 0; i < threads; i++) {
        struct lane *lane = &d->lane[i];
        lane->all = d;
        lane->todo.last = &lane->todo.first;
        pthread_cond_init(&lane->more, NULL);
    }
    for (unsigned i = 0; i < threads; i++) {
        d->lane[i].running = pthread_create(&d->lane[i].thread, NULL, run, &d->lane[i]) == 0;
        if (!d->lane[i].running) {
            fw_bench_decoders_destroy(out);
            return FW_ERR_NOMEM;
        }
    }
    return FW_OK;
}

static void drop_all(struct queue *q)
{
    for (struct fw_bench_job *job; (job = pop(q));)
        free(job);
}

void fw_bench_decoders_destroy(struct fw_bench_decoders **decoders)
{
    struct fw_bench_decoders *d = *decoders;
    *decoders = NULL;
    if (!d)
        return;
    pthread_mutex_lock(&d->lock);
    d->stop = true;
    for (unsigned i = 0; i < d->count; i++)
        pthread_cond_signal(&d->lane[i].more);
    pthread_mutex_unlock(&d->lock);
    for (unsigned i = 0; i < d->count; i++) {
        if (d->lane[i].running)
            pthread_join(d->lane[i].thread, NULL);
        drop_all(&d->lane[i].todo);
        pthread_cond_destroy(&d->lane[i].more);
    }
    drop_all(&d->done);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

struct fw_bench_job *fw_bench_job_create(const uint8_t *data, size_t size)
{
    struct fw_bench_job *job = calloc(1, sizeof(*job) + size);
    if (!job)
        return NULL;
    job->size = size;
    memcpy(job->data, data, size);
    return job;
}

void fw_bench_decoders_submit(struct fw_bench_decoders *d, unsigned stream,
                              struct fw_bench_job *job)
{
    struct lane *lane = &d->lane[stream % d->count];
    pthread_mutex_lock(&d->lock);
    put(&lane->todo, job);
    pthread_cond_signal(&lane->more);
    pthread_mutex_unlock(&d->lock);
}

struct fw_bench_job *fw_bench_decoders_take(struct fw_bench_decoders *d)
{
    pthread_mutex_lock(&d->lock);
    struct fw_bench_job *jobs = d->done.first;
    d->done.first = NULL;
    d->done.last = &d->done.first;
    pthread_mutex_unlock(&d->lock);
    return jobs;
}
