// SPDX-License-Identifier: MIT
#include <signal.h>

#include "session/manager_impl.h"

#include <string.h>

static struct session *find(const struct fw_manager *m, const char *id)
{
    struct session *s = m->sessions;
    while (s && strcmp(s->id, id) != 0)
        s = s->next;
    return s;
}

static void set_delays(struct session *s, const struct fw_faults *faults)
{
    char text[128];
    s->faults = *faults;
    fw_log(s->manager->p.log, FW_LOG_WARN, "manager", "session %.10s: delayed on purpose: %s",
           s->id, *fw_faults_print(faults, text, sizeof(text)) ? text : "not any more");
    fw_session_announce(s);
    if (s->child) {
        s->child->faults_due = true;
        fw_child_flush(s->child);
    }
}

// What comes of it is up to those who watch over workers, as with any that dies or hangs.
static enum fw_err strike(const struct session *s, int sig)
{
    const struct child *c = s->child;
    if (!c || c->reaped || c->state == CHILD_STOPPING)
        return FW_ERR_AGAIN;
    fw_log(s->manager->p.log, FW_LOG_WARN, "manager", "session %.10s: worker %d gets %s on purpose",
           s->id, (int)c->pid, sig == SIGKILL ? "SIGKILL" : "SIGSTOP");
    return kill(c->pid, sig) == 0 ? FW_OK : FW_ERR_AGAIN;
}

enum fw_err fw_manager_fault(void *manager, const char *id, const struct fw_fault_request *fault)
{
    struct session *s = find(manager, id);
    if (!s)
        return FW_ERR_NOT_FOUND;
    if (fault->delays)
        set_delays(s, &fault->faults);
    if (fault->kill || fault->hang)
        return strike(s, fault->kill ? SIGKILL : SIGSTOP);
    return FW_OK;
}
