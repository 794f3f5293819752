// SPDX-License-Identifier: MIT
// Where the session thread and the encode thread meet: room for one job, the newest wins.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/frame.h"

// One picture to be encoded. `frame` is a reference the holder of the job owns.
struct fw_job {
    struct fw_frame *frame;
    uint64_t id;    // of the packet to come; an old picture encoded again gets a new id
    bool again;     // the picture went out before: refinement, or a key frame on an idle picture
    int64_t now_ns; // when the job was made
};

// Thread: one that puts, one that takes; close and full from any.
struct fw_mailbox {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    pthread_cond_t emptied;
    // --- protected by lock
    struct fw_job job;
    bool full;
    bool closed;
};

enum fw_err fw_mailbox_init(struct fw_mailbox *box);
// Drops a job that waits. No thread may be inside any more.
void fw_mailbox_finish(struct fw_mailbox *box);

// Takes over `job->frame`. A job that still waited is replaced, its frame dropped, and true is
// returned. After close the job is dropped too (and true returned): nobody would come for it.
bool fw_mailbox_put(struct fw_mailbox *box, const struct fw_job *job);
// Waits for a job. FW_ERR_CLOSED once closed, even when a job waits.
enum fw_err fw_mailbox_take(struct fw_mailbox *box, struct fw_job *job);
// Waits until no job waits, `limit_ns` at most. For the thread that puts: a job that is only late
// in being taken need not be thrown away.
void fw_mailbox_settle(struct fw_mailbox *box, int64_t limit_ns);
bool fw_mailbox_full(struct fw_mailbox *box);
void fw_mailbox_close(struct fw_mailbox *box);
