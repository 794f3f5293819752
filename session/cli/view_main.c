// SPDX-License-Identifier: MIT
// The program behind `framewire view`. It is one of its own so that the server and its workers do
// not load GLFW and libavformat, which takes longer than all the rest of their start.
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "session/cli/view_options.h"
#include "session/cli/view_run.h"
#include "stream/client/remote.h"

enum { EXIT_USAGE = 2, LEFT_TRIES = 10, LEFT_MS = 30 };

static int fail(const char *message)
{
    fprintf(stderr, "framewire view: %s\n", message);
    return 1;
}

// The session that the address names, or a new one.
static enum fw_err find_session(const struct fw_view_options *options,
                                const struct fw_view_run *run, struct fw_remote *remote,
                                struct fw_remote_session *session, struct fw_remote_error *error)
{
    const struct fw_target *target = &remote->target;
    int width, height;
    if (target->session[0]) {
        snprintf(session->id, sizeof(session->id), "%s", target->session);
        return target->code[0] && !remote->token[0]
                   ? fw_remote_exchange(remote, target->session, target->code, session, error)
                   : FW_OK;
    }
    const char *source = options->source ? options->source : "demo";
    const bool model = strcmp(source, "demo") != 0 && strcmp(source, "testcard") != 0;
    fw_view_run_size(run, &width, &height);
    json_t *request = json_pack("{s:s, s:i, s:i, s:i}", "source",
                                strcmp(source, "testcard") == 0 ? source : "scene", "width", width,
                                "height", height, "fps", options->fps);
    if (model)
        json_object_set_new(request, "args", json_pack("{s:s}", "model", source));
    const enum fw_err err = fw_remote_create(remote, request, session, error);
    json_decref(request);
    return err;
}

// A session that it made and nobody else watches would only take a seat. The server may take a
// moment to see that we have gone.
static void end_session(const struct fw_remote *remote, const char *id)
{
    char path[120];
    json_int_t viewers = 1;
    struct fw_remote_error error;
    snprintf(path, sizeof(path), "/sessions/%s", id);
    for (int i = 0; i < LEFT_TRIES && viewers; i++) {
        json_t *answer = NULL;
        if (i)
            poll(NULL, 0, LEFT_MS);
        if (fw_remote_call(remote, "GET", path, NULL, &answer, &error))
            return;
        viewers = json_integer_value(json_object_get(answer, "viewers"));
        json_decref(answer);
    }
    if (!viewers)
        fw_remote_delete(remote, id, &error);
}

static int run_viewer(const struct fw_view_options *options, struct fw_remote *remote)
{
    struct fw_remote_session session = { .id = "" };
    struct fw_remote_error error = { .status = 0 };
    struct fw_view_run *run = NULL;
    char message[512] = "";
    int code = 1;
    if (fw_view_run_create(&run, options, message, sizeof(message)))
        return fail(message);
    if (find_session(options, run, remote, &session, &error)) {
        const bool source = strcmp(error.code, "invalid_argument") == 0;
        snprintf(message, sizeof(message), "%s%s", source ? "--source: " : "", error.message);
        fail(message);
    } else {
        code = fw_view_run_session(run, remote, &session);
        if (!remote->target.session[0])
            end_session(remote, session.id);
    }
    fw_view_run_destroy(&run);
    return code;
}

// Before any other thread is there: all of them leave signals to the one that waits for them.
static void hold_signals(void)
{
    sigset_t set;
    fw_view_run_signals(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
}

int main(int argc, char **argv)
{
    static struct fw_remote remote;
    struct fw_view_options options;
    char message[512];
    if (fw_view_options_parse(&options, argc, argv, message, sizeof(message))) {
        fail(message);
        return EXIT_USAGE;
    }
    if (options.help) {
        fw_view_options_help(stdout);
        return 0;
    }
    if (fw_target_parse(&remote.target, options.url, message, sizeof(message))) {
        fail(message);
        return EXIT_USAGE;
    }
    if (remote.target.session[0] && options.source) {
        fail("--source: the address is that of a session; give the server's to start another one");
        return EXIT_USAGE;
    }
    if (options.token_file &&
        fw_target_read_token(options.token_file, remote.token, message, sizeof(message)))
        return fail(message);
    remote.ca_file = options.tls_ca;
    hold_signals();
    return run_viewer(&options, &remote);
}
