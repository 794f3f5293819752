// SPDX-License-Identifier: MIT
#include "stream/http_work.h"

#include <stdlib.h>

struct fw_http_works {
    uv_loop_t *loop;
    unsigned running;
    bool left; // the last one that runs frees it
};

struct fw_http_job {
    uv_work_t request;
    struct fw_http_works *works;
    struct fw_http_work *work;
    struct fw_http_response res;
    void (*tell)(void *user); // NULL: left
    void *user;
    bool done;
};

struct fw_http_works *fw_http_works_create(uv_loop_t *loop)
{
    struct fw_http_works *works = calloc(1, sizeof(*works));
    if (works)
        works->loop = loop;
    return works;
}

void fw_http_works_destroy(struct fw_http_works **pointer)
{
    struct fw_http_works *works = *pointer;
    *pointer = NULL;
    if (works && works->running)
        works->left = true;
    else
        free(works);
}

void fw_http_free_body(struct fw_http_response *res)
{
    free(res->body && res->headroom ? res->body - FW_HTTP_HEADROOM : res->body);
    res->body = NULL;
}

static void free_job(struct fw_http_job *job)
{
    fw_http_free_body(&job->res);
    job->work->free(job->work);
    free(job);
}

static void on_work(uv_work_t *request)
{
    struct fw_http_job *job = request->data;
    job->work->run(job->work, &job->res);
}

static void on_worked(uv_work_t *request, int status)
{
    struct fw_http_job *job = request->data;
    struct fw_http_works *works = job->works;
    (void)status; // none is ever cancelled
    job->done = true;
    works->running--;
    if (works->left)
        fw_http_works_destroy(&works);
    if (job->tell)
        job->tell(job->user);
    else
        free_job(job);
}

enum fw_err fw_http_job_start(struct fw_http_job **out, struct fw_http_works *works,
                              struct fw_http_work *work, void (*done)(void *user), void *user)
{
    *out = NULL;
    if (works->running >= FW_HTTP_WORKS_MAX) {
        work->free(work);
        return FW_ERR_AGAIN;
    }
    struct fw_http_job *job = calloc(1, sizeof(*job));
    if (!job) {
        work->free(work);
        return FW_ERR_NOMEM;
    }
    *job = (struct fw_http_job){ .works = works, .work = work, .tell = done, .user = user };
    job->request.data = job;
    if (uv_queue_work(works->loop, &job->request, on_work, on_worked) < 0) {
        free_job(job);
        return FW_ERR_NOMEM;
    }
    works->running++;
    *out = job;
    return FW_OK;
}

struct fw_http_response *fw_http_job_answer(struct fw_http_job *job)
{
    return job->done ? &job->res : NULL;
}

void fw_http_job_leave(struct fw_http_job **pointer)
{
    struct fw_http_job *job = *pointer;
    *pointer = NULL;
    if (job && job->done)
        free_job(job);
    else if (job)
        job->tell = NULL;
}
