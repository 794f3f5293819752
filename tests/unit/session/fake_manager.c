// SPDX-License-Identifier: MIT
#include "tests/unit/session/fake_manager.h"

#include <stdio.h>
#include <string.h>

static void fake_view(struct fake *f, int i, struct fw_session_view *v)
{
    *v = (struct fw_session_view){ .id = f->session[i].id,
                                   .source = "scene",
                                   .title = "t",
                                   .state = "running",
                                   .code = "",
                                   .message = "",
                                   .gpu = "g",
                                   .encoder = "x264",
                                   .no_parts = "",
                                   .faults = &f->fault.faults,
                                   .args = f->session[i].request.shown,
                                   .arg_count = f->session[i].request.arg_count,
                                   .width = f->session[i].request.width,
                                   .height = f->session[i].request.height,
                                   .fps = f->session[i].request.fps,
                                   .pid = 42,
                                   .created = 86400,
                                   .access = &f->session[i].access,
                                   .records = f->records,
                                   .marks = &f->marks };
}

static enum fw_err fake_create(void *user, const struct fw_session_request *r, const char **id)
{
    struct fake *f = user;
    if (f->draining)
        return FW_ERR_CLOSED;
    for (int i = 0; i < FAKE_ROOM; i++) {
        if (f->session[i].used)
            continue;
        f->session[i].used = true;
        f->session[i].request = *r;
        snprintf(f->session[i].id, sizeof(f->session[i].id), "id%u", f->made++);
        *id = f->session[i].id;
        return fw_access_init(&f->session[i].access, r->owner, 0);
    }
    return FW_ERR_AGAIN;
}

static bool fake_get(void *user, const char *id, struct fw_session_view *v)
{
    struct fake *f = user;
    for (int i = 0; i < FAKE_ROOM; i++) {
        if (!f->session[i].used || strcmp(f->session[i].id, id) != 0)
            continue;
        fake_view(f, i, v);
        return true;
    }
    return false;
}

static bool fake_at(void *user, unsigned index, struct fw_session_view *v)
{
    struct fake *f = user;
    for (int i = 0; i < FAKE_ROOM; i++) {
        if (!f->session[i].used || index-- != 0)
            continue;
        fake_view(f, i, v);
        return true;
    }
    return false;
}

static void fake_end(void *user, const char *id)
{
    struct fake *f = user;
    for (int i = 0; i < FAKE_ROOM; i++)
        if (f->session[i].used && strcmp(f->session[i].id, id) == 0)
            f->session[i].used = false;
}

static void fake_node(void *user, struct fw_node_view *node)
{
    const struct fake *f = user;
    *node = (struct fw_node_view){ .ready = !f->draining,
                                   .reason = f->draining ? "draining" : "",
                                   .gpu = "g",
                                   .encoder = "x264",
                                   .max_sessions = FAKE_ROOM };
}

static enum fw_err fake_fault(void *user, const char *id, const struct fw_fault_request *fault)
{
    struct fake *f = user;
    (void)id;
    f->fault = *fault;
    f->faults++;
    return f->no_worker ? FW_ERR_AGAIN : FW_OK;
}

static void fake_machine(void *user, int64_t now_ns, struct fw_machine *machine)
{
    const struct fake *f = user;
    (void)now_ns;
    fw_machine_clear(machine);
    if (f->machine)
        *machine = *f->machine;
}

static void fake_metrics(void *user, int64_t now_ns, struct fw_exposition *out)
{
    const struct fake *f = user;
    (void)now_ns;
    if (f->metrics)
        fw_metrics_write(f->metrics, f->now, out);
}

const struct fw_api_ops fake_ops = {
    .create = fake_create,
    .get = fake_get,
    .at = fake_at,
    .end = fake_end,
    .node = fake_node,
    .fault = fake_fault,
    .machine = fake_machine,
    .metrics = fake_metrics,
};
