// SPDX-License-Identifier: MIT
// For the manager's own files: sessions, children and who calls whom.
//   manager.c          create, stop, timers, what the API sees
//   manager_session.c  one session's life
//   manager_stream.c   what viewers want
//   manager_child.c    one worker process: spawn, messages out, reaping
//   manager_link.c     what a worker says, all of it untrusted
//   manager_fault.c    what goes wrong on purpose
//   manager_metrics.c  what monitoring gets
#pragma once

#include <sys/types.h>

#include "base/ring.h"
#include "session/input_queue.h"
#include "session/link.h"
#include "session/manager.h"
#include "session/metrics.h"
#include "session/restart.h"

enum { FAILED_KEPT = 64, SPAWN_FAILS_MAX = 5 };

enum child_state {
    CHILD_BOOTING, // no WARM yet
    CHILD_WARM,
    CHILD_STARTED, // START sent, no READY yet
    CHILD_READY,
    CHILD_STOPPING, // told to end, or killed
};

// One worker process. Freed when it is reaped and its handle is closed.
struct child {
    struct child *next;
    struct fw_manager *manager;
    struct session *session; // NULL: warm, or stopping without one
    enum child_state state;
    pid_t pid;
    int fd; // the link; -1 once closed
    uv_poll_t poll;
    bool poll_open; // the handle is not closed yet
    bool reaped;
    bool hung_up; // its end of the link is closed
    bool writable_wanted;
    struct fw_ring ring;
    int64_t since_ns; // of the state
    int64_t spawned_ns;
    int64_t heard_ns; // last message
    int64_t start_ns; // START sent
    // --- waiting to be sent, newest wins
    struct fw_input_queue input;
    bool resize_due, keyframe_due, credit_due, faults_due;
    // --- since START
    uint64_t written;        // packets taken from the ring
    uint64_t published_base; // of the session at START
    struct fw_link_beacon beacon;
    struct fw_link_memory memory; // as said last, since WARM
    // --- what it may say in a second, see manager_link.c
    int64_t budget_ns;
    unsigned said;
    size_t said_bytes;
};

enum session_state { SESSION_STARTING, SESSION_RUNNING, SESSION_RESTARTING, SESSION_FAILED };

struct session {
    struct session *next; // in order of creation
    struct fw_manager *manager;
    char id[FW_SESSION_ID_SIZE];
    char title[128], gpu[256], encoder[32];
    char no_parts[96];           // why the trace has no parts of a pass
    char code[32], message[512]; // why it failed, or runs no longer as it should
    bool ran;                    // has been running
    bool slow;                   // its worker has not been heard for a while; `code` says so
    const char *source;
    struct fw_session_arg shown[FW_API_ARGS_MAX], args[FW_API_ARGS_MAX];
    unsigned arg_count;
    int width, height, fps;
    enum session_state state;
    struct fw_access access;
    struct fw_channel *channel;
    struct child *child; // NULL: waits for one from `due_ns` on, unless failed
    int64_t due_ns, created_ns;
    time_t created;
    struct fw_restart restart;
    unsigned opening_crashes; // of workers that had not opened the source yet
    uint64_t published, last_frame, bytes;
    uint64_t allowed; // by the channel, absolute
    bool active;
    char lost_reason[512];    // what ended the last worker
    struct fw_link_blob view; // as the newest worker said last
    struct fw_marks marks;    // since when figures are told
    struct fw_faults faults;  // under --allow-faults
};

struct fw_manager {
    struct fw_manager_params p;
    struct fw_server *server;
    struct session *sessions;
    struct child *children;
    char gpu[256], encoder[32], node_tag[5];
    char encoder_in_use[32]; // what the newest session really got; "" = none ran yet
    bool gpu_is_cpu, gpu_known, stopping, stopped_told;
    unsigned spawn_fails;   // in a row, before WARM
    int64_t spawn_after_ns; // back-off
    int64_t stop_ns;
    uv_timer_t tick, due; // tick: watchdog; due: the next thing that waits
    uv_signal_t sigchld;
    unsigned handles_open;
    struct fw_metrics metrics;
    _Alignas(16) uint8_t buffer[FW_LINK_MAX_BYTES]; // one message at a time
};

// ---- manager.c
// Gives waiting sessions their workers and keeps the pool filled. Call after any change.
void fw_manager_schedule(struct fw_manager *m);
void fw_manager_boot_failed(struct fw_manager *m); // a worker ended before it was warm: back off
unsigned fw_manager_live_sessions(const struct fw_manager *m);

// ---- manager_session.c
void fw_session_assign(struct session *s, struct child *c);
void fw_session_set_state(struct session *s, enum session_state state, const char *code,
                          const char *message);
// Says so once to those who watch, and once more when it is over. Only of a running session.
void fw_session_set_slow(struct session *s, bool slow);
const char *fw_session_state_name(const struct session *s);
void fw_session_fail(struct session *s, const char *code, const char *message);
// Its worker is gone or will be: restart or fail.
void fw_session_lost(struct session *s, enum fw_lost how, const char *reason);
void fw_session_announce(struct session *s);                                   // channel info
void fw_session_end(struct session *s, const char *code, const char *message); // frees it

// ---- manager_child.c
enum fw_err fw_child_spawn(struct fw_manager *m);
// Sends what waits; on EAGAIN the rest goes when the socket takes it.
void fw_child_flush(struct child *c);
enum fw_err fw_child_start(struct child *c, const struct session *s);
void fw_child_stop(struct child *c); // asks; the watchdog kills after 2 s
void fw_child_kill(struct child *c); // SIGKILL to it and its apps; detached from its session
void fw_child_signal_kill(const struct child *c); // only that: SIGKILL to it and its apps
void fw_child_reap(struct fw_manager *m);
void fw_child_close_link(struct child *c);
// Its end of the link is closed: it must end now, SIGCHLD tells how it did.
void fw_child_hung_up(struct child *c);

// ---- manager_link.c
void fw_child_readable(struct child *c);
// The packets that lie in the ring. False: nonsense in it, the child was killed.
bool fw_child_drain(struct child *c);

// ---- manager_fault.c
enum fw_err fw_manager_fault(void *manager, const char *id, const struct fw_fault_request *fault);

// ---- manager_metrics.c
void fw_manager_machine(void *manager, int64_t now_ns, struct fw_machine *machine);
void fw_manager_metrics(void *manager, int64_t now_ns, struct fw_exposition *out);

// ---- manager_stream.c
extern const struct fw_server_handler fw_manager_stream_handler;
