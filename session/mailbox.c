// SPDX-License-Identifier: MIT
#include "session/mailbox.h"

#include "base/clock.h"

enum fw_err fw_mailbox_init(struct fw_mailbox *box)
{
    *box = (struct fw_mailbox){ .full = false };
    if (pthread_mutex_init(&box->lock, NULL) != 0) {
        return FW_ERR_NOMEM;
    }
    if (pthread_cond_init(&box->filled, NULL) != 0) {
        goto error;
    }
    pthread_condattr_t monotonic;
    if (pthread_condattr_init(&monotonic) != 0) {
        pthread_cond_destroy(&box->filled);
        goto error;
    }
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    const int failed = pthread_cond_init(&box->emptied, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (failed) {
        pthread_cond_destroy(&box->filled);
        goto error;
    }
    return FW_OK;
error:
    pthread_mutex_destroy(&box->lock);
    return FW_ERR_NOMEM;
}

void fw_mailbox_finish(struct fw_mailbox *box)
{
    if (box->full) {
        fw_frame_unref(&box->job.frame);
    }
    pthread_cond_destroy(&box->filled);
    pthread_cond_destroy(&box->emptied);
    pthread_mutex_destroy(&box->lock);
}

bool fw_mailbox_put(struct fw_mailbox *box, const struct fw_job *job)
{
    struct fw_frame *dropped = NULL;
    pthread_mutex_lock(&box->lock);
    if (box->closed) {
        dropped = job->frame;
    } else {
        dropped = box->full ? box->job.frame : NULL;
        box->job = *job;
        box->full = true;
        pthread_cond_signal(&box->filled);
    }
    pthread_mutex_unlock(&box->lock);

    const bool replaced = dropped != NULL;
    fw_frame_unref(&dropped); // outside the lock: it may run the pool's code
    return replaced;
}

enum fw_err fw_mailbox_take(struct fw_mailbox *box, struct fw_job *job)
{
    pthread_mutex_lock(&box->lock);
    while (!box->full && !box->closed) {
        pthread_cond_wait(&box->filled, &box->lock);
    }
    const bool closed = box->closed;
    if (!closed) {
        *job = box->job;
        box->job = (struct fw_job){ .frame = NULL };
        box->full = false;
        pthread_cond_signal(&box->emptied);
    }
    pthread_mutex_unlock(&box->lock);
    return closed ? FW_ERR_CLOSED : FW_OK;
}

void fw_mailbox_settle(struct fw_mailbox *box, int64_t limit_ns)
{
    const int64_t until = fw_now_ns() + limit_ns;
    const struct timespec ts = { .tv_sec = until / FW_NS_PER_S, .tv_nsec = until % FW_NS_PER_S };
    pthread_mutex_lock(&box->lock);
    int rc = 0;
    while (box->full && !box->closed && rc == 0) {
        rc = pthread_cond_timedwait(&box->emptied, &box->lock, &ts);
    }
    pthread_mutex_unlock(&box->lock);
}

bool fw_mailbox_full(struct fw_mailbox *box)
{
    pthread_mutex_lock(&box->lock);
    const bool full = box->full;
    pthread_mutex_unlock(&box->lock);
    return full;
}

void fw_mailbox_close(struct fw_mailbox *box)
{
    pthread_mutex_lock(&box->lock);
    box->closed = true;
    pthread_cond_broadcast(&box->filled);
    pthread_cond_broadcast(&box->emptied);
    pthread_mutex_unlock(&box->lock);
}
