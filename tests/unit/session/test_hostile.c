// SPDX-License-Identifier: MIT
// The front against workers that break the rules: it kills the one, says why, and goes on. The real
// manager, link and ring; only the workers are made up.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/clock.h"
#include "session/manager.h"
#include "tests/unit/session/hostile_worker.h"

enum { LIMIT_MS = 20000 };

static struct {
    uv_loop_t loop;
    uv_timer_t nudge; // so that a wait looks again
    char dir[64];
    struct fw_server *server;
    struct fw_manager *manager;
    bool stopped;
} front;

static const struct fw_api_ops *ops;

// Freed memory is given back at once, so that the resident size means something.
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "quarantine_size_mb=1";
}

static enum fw_err on_admit(void *user, const char *id, const char *token, const char **message)
{
    (void)user, (void)id, (void)token;
    *message = "";
    return FW_OK;
}

static void on_http(void *user, const struct fw_http_request *req, struct fw_http_response *res)
{
    (void)user, (void)req;
    res->status = 404;
}

static void on_stopped(void *user)
{
    (void)user;
    front.stopped = true;
}

static void on_nudge(uv_timer_t *timer)
{
    (void)timer;
}

static int start(void **state)
{
    (void)state;
    ops = fw_manager_api_ops();
    snprintf(front.dir, sizeof(front.dir), "%s/fwhostile.XXXXXX", P_tmpdir);
    assert_non_null(mkdtemp(front.dir));
    uv_loop_init(&front.loop);
    uv_timer_init(&front.loop, &front.nudge);
    uv_timer_start(&front.nudge, on_nudge, 5, 5);
    assert_int_equal(
        fw_manager_create(&front.manager,
                          &(struct fw_manager_params){
                              .loop = &front.loop,
                              .log = getenv("FW_TEST_LOG") ? fw_log_stderr(FW_LOG_DEBUG) : NULL,
                              .log_level = "error",
                              .max_sessions = 64,
                              .idle_timeout_ns = 600 * (int64_t)FW_NS_PER_S,
                              .seat_grace_ns = 600 * (int64_t)FW_NS_PER_S,
                              .admit = on_admit,
                              .http = on_http,
                              .stopped = on_stopped,
                          }),
        FW_OK);
    struct fw_server_handler handler;
    fw_manager_handler(front.manager, &handler);
    assert_int_equal(
        fw_server_create(&front.server, &(struct fw_server_params){ .loop = &front.loop,
                                                                    .host = "127.0.0.1",
                                                                    .static_dir = front.dir,
                                                                    .handler = &handler }),
        FW_OK);
    fw_manager_set_server(front.manager, front.server);
    fw_manager_set_encoder(front.manager, "nvenc");
    return 0;
}

static int stop(void **state)
{
    (void)state;
    fw_manager_stop(front.manager);
    for (int64_t from = fw_now_ns(); !front.stopped;) {
        assert_true(fw_now_ns() - from < LIMIT_MS * (int64_t)FW_NS_PER_MS);
        uv_run(&front.loop, UV_RUN_ONCE);
    }
    fw_server_destroy(&front.server);
    fw_manager_destroy(&front.manager);
    uv_close((uv_handle_t *)&front.nudge, NULL);
    for (int i = 0; i < 1000 && uv_loop_close(&front.loop) == UV_EBUSY; i++) {
        uv_run(&front.loop, UV_RUN_NOWAIT);
        usleep(1000);
    }
    rmdir(front.dir);
    return 0;
}

static void create(const char *part, char *id)
{
    struct fw_session_request request = {
        .source = "testcard", .title = part, .owner = "", .width = 64, .height = 48, .fps = 60
    };
    const char *made;
    snprintf(request.args[0].key, sizeof(request.args[0].key), "part");
    snprintf(request.args[0].value, sizeof(request.args[0].value), "%s", part);
    request.arg_count = 1;
    assert_int_equal(ops->create(front.manager, &request, &made), FW_OK);
    snprintf(id, FW_SESSION_ID_SIZE, "%s", made);
}

static struct fw_session_view view(const char *id)
{
    struct fw_session_view v;
    assert_true(ops->get(front.manager, id, &v));
    return v;
}

static bool runs(const char *id)
{
    const struct fw_session_view v = view(id);
    return strcmp(v.state, "running") == 0 && v.frames > 0;
}

static bool restarted(const char *id)
{
    return view(id).restarts > 0;
}

static bool wait_for(bool (*what)(const char *id), const char *id)
{
    for (int64_t from = fw_now_ns(); !what(id);) {
        if (fw_now_ns() - from > LIMIT_MS * (int64_t)FW_NS_PER_MS)
            return false;
        uv_run(&front.loop, UV_RUN_ONCE);
    }
    return true;
}

static unsigned open_files(void)
{
    unsigned n = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

static long resident_kb(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%*d %ld", &pages), 1);
    fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static bool no_worker(const char *id)
{
    (void)id;
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0;
}

// `part` breaks a rule; its session says so, and a good one beside it notices nothing.
static void only_it_ends(const char *part, const char *reason, const char *good)
{
    char id[FW_SESSION_ID_SIZE];
    const struct fw_session_view before = view(good);
    create(part, id);
    if (!wait_for(restarted, id))
        fail_msg("%s: its worker was let be (%s)", part, view(id).state);
    const struct fw_session_view v = view(id);
    if (strcmp(v.code, "worker_lost") != 0 || !strstr(v.message, reason))
        fail_msg("%s: code %s, message %s", part, v.code, v.message);
    ops->end(front.manager, id);
    const struct fw_session_view after = view(good);
    assert_int_equal(after.pid, before.pid);
    assert_int_equal(after.restarts, 0);
}

static void rules_are_kept(void **state)
{
    static const char *const broken[] = {
        "short",
        "wrong length",
        "body too short",
        "huge",
        "unknown type",
        "type of the front",
        "warm twice",
        "endless string",
        "head too far",
        "head backwards",
        "record endless",
        "record wraps",
        "record half written",
        "record too small",
        "record less than a length",
        "payload size lies",
        "payload size huge",
        "picture of no size",
        "codec with quotes",
        "frame twice",
        "last frame of all",
        "times of another age",
        "view too long",
        "changes while read",
    };
    char good[FW_SESSION_ID_SIZE];
    (void)state;
    create("good", good);
    assert_true(wait_for(runs, good));
    const uint64_t frames = view(good).frames;
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
        only_it_ends(broken[i], "broke the rules of the link", good);
    assert_true(view(good).frames > frames);
    // Those that just go.
    only_it_ends("ends", "ended by itself with status 3", good);
    only_it_ends("empty", "ended by signal 9", good);
    only_it_ends("hangs up and stays", "ended by signal 9", good);
    ops->end(front.manager, good);
}

// A flood ends soon, and the front has time for others meanwhile.
static void floods_end(void **state)
{
    static const char *const floods[] = { "flood of progress", "flood of ready",
                                          "flood of announcements", "flood of packets",
                                          "flood of bytes" };
    char good[FW_SESSION_ID_SIZE];
    (void)state;
    create("good", good);
    assert_true(wait_for(runs, good));
    for (size_t i = 0; i < sizeof(floods) / sizeof(floods[0]); i++)
        only_it_ends(floods[i], "broke the rules of the link", good);
    ops->end(front.manager, good);
}

// What is left of all those workers: no process, no file, no memory.
static unsigned files_before;

static bool files_are_closed(const char *id)
{
    (void)id;
    return no_worker(id) && open_files() == files_before;
}

static void nothing_is_left(void **state)
{
    char good[FW_SESSION_ID_SIZE];
    (void)state;
    assert_true(wait_for(no_worker, ""));
    for (int i = 0; i < 10; i++) // their handles close
        uv_run(&front.loop, UV_RUN_ONCE);
    files_before = open_files();
    create("good", good);
    assert_true(wait_for(runs, good));
    for (int i = 0; i < 20; i++)
        only_it_ends("flood of announcements", "broke the rules", good);
    const long before = resident_kb();
    for (int i = 0; i < 20; i++)
        only_it_ends(i % 2 ? "flood of ready" : "head too far", "broke the rules", good);
    ops->end(front.manager, good);
    assert_true(wait_for(files_are_closed, ""));
    assert_in_range(resident_kb(), 0, before + 4096);
}

static void the_encoder_in_use_is_told(void **state)
{
    char id[FW_SESSION_ID_SIZE];
    struct fw_node_view node;
    (void)state;
    create("falls back", id);
    assert_true(wait_for(runs, id));
    assert_string_equal(view(id).encoder, "x264");
    ops->node(front.manager, &node);
    assert_string_equal(node.encoder, "x264");
    ops->end(front.manager, id);
}

static bool has_failed(const char *id)
{
    return strcmp(view(id).state, "failed") == 0;
}

static void a_crash_while_opening_is_tried_twice(void **state)
{
    char id[FW_SESSION_ID_SIZE];
    (void)state;
    create("crashes while it opens", id);
    assert_true(wait_for(has_failed, id));
    const struct fw_session_view v = view(id);
    assert_int_equal(v.restarts, 1);
    assert_string_equal(v.code, "crash_loop");
    assert_non_null(strstr(v.message, "crashes while it opens"));
    ops->end(front.manager, id);
}

static bool has_view(const char *id)
{
    return strcmp(view(id).encoder, "view") == 0;
}

static void the_next_worker_gets_the_view(void **state)
{
    char id[FW_SESSION_ID_SIZE], other[FW_SESSION_ID_SIZE];
    (void)state;
    create("leaves a view", id);
    create("ends", other);
    assert_true(wait_for(has_view, id));
    assert_int_equal(view(id).restarts, 1);
    assert_false(has_view(other));
    ops->end(front.manager, id);
    ops->end(front.manager, other);
}

static bool is_slow(const char *id)
{
    const struct fw_session_view v = view(id);
    return strcmp(v.state, "running") == 0 && strcmp(v.code, "slow") == 0 && v.message[0];
}

static bool has_no_code(const char *id)
{
    return runs(id) && !view(id).code[0] && !view(id).message[0];
}

static void silence_is_told(void **state)
{
    char id[FW_SESSION_ID_SIZE];
    (void)state;
    create("falls silent", id);
    assert_true(wait_for(runs, id));
    assert_true(has_no_code(id));
    assert_true(wait_for(is_slow, id));
    assert_true(wait_for(has_no_code, id)); // heard again
    assert_int_equal(view(id).restarts, 0);
    ops->end(front.manager, id);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "worker") == 0)
        return hostile_worker_main();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_are_kept),
        cmocka_unit_test(floods_end),
        cmocka_unit_test(the_encoder_in_use_is_told),
        cmocka_unit_test(the_next_worker_gets_the_view),
        cmocka_unit_test(silence_is_told),
        cmocka_unit_test(a_crash_while_opening_is_tried_twice),
        cmocka_unit_test(nothing_is_left),
    };
    return cmocka_run_group_tests_name("hostile", tests, start, stop);
}
