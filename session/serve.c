// SPDX-License-Identifier: MIT
#include "session/serve.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "base/clock.h"
#include "session/api.h"
#include "session/manager.h"
#include "session/models.h"
#include "session/options.h"
#include "session/probe_child.h"
#include "session/serve_setup.h"
#include "session/telemetry.h"
#include "session/token.h"
#include "stream/selfsigned.h"
#include "stream/server.h"

enum { EXIT_USAGE = 2, START_MAX_MS = 10000, CLOSE_TURNS = 500 };

// Thread: the one there is.
struct front {
    struct fw_serve_options o;
    struct fw_serve_paths paths;
    struct fw_log *log;
    uv_loop_t loop;
    uv_signal_t sigint, sigterm;
    uv_timer_t start_limit;
    bool handles_open;
    struct fw_tokens *tokens;
    struct fw_models *models;
    struct fw_telemetry *telemetry;
    struct fw_api *api;
    struct fw_manager *manager;
    struct fw_server *server;
    struct fw_probe_child *probe;
    char cert[PATH_MAX], key[PATH_MAX], fingerprint[128];
    char gpu[256], encoder[768];
    struct fw_faults faults;
    bool gpu_is_cpu, warm, encoder_known, announced, stopping, gone;
    int status;
};

static int fail(int status, const char *message)
{
    fprintf(stderr, "framewire: %s\n", message);
    return status;
}

// ---- start-up block

static void announce(struct front *f)
{
    char addresses[1024], faults[128];
    unsigned models = 0;
    const bool tls = f->cert[0];
    if (f->announced || f->stopping || !f->encoder_known)
        return;
    f->announced = true;
    uv_timer_stop(&f->start_limit);
    fw_serve_addresses(f->o.host, fw_server_port(f->server), tls, "                  ", addresses,
                       sizeof(addresses));
    fw_models_list(f->models, fw_now_ns(), &models);
    printf("framewire " FW_VERSION "  %s\n", addresses);
    printf("  gpu      %s%s\n",
           f->warm     ? f->gpu
           : f->o.warm ? "(not known yet: the first worker is slow)"
                       : "(not known before the first session: --warm 0)",
           f->gpu_is_cpu ? ": software, on the CPU" : "");
    printf("  encoder  %s\n", f->encoder);
    if (fw_models_dir(f->models))
        printf("  models   %u in %s\n", models, fw_models_dir(f->models));
    else
        printf("  models   none (give --models DIR)\n");
    if (fw_tokens_required(f->tokens))
        printf("  access   %u token%s in %s\n", fw_tokens_count(f->tokens),
               fw_tokens_count(f->tokens) == 1 ? "" : "s", f->o.token_file);
    else
        printf("  access   %s\n",
               fw_host_is_loopback(f->o.host) ? "this machine only" : "EVERYBODY who can connect");
    if (f->fingerprint[0])
        printf("  sha-256  %s\n", f->fingerprint);
    if (f->o.allow_faults)
        printf("  faults   %s\n", *fw_faults_print(&f->faults, faults, sizeof(faults))
                                      ? faults
                                      : "allowed (--allow-faults), none yet");
    fflush(stdout);
}

// ---- stopping

static void stop(struct front *f, int status)
{
    if (f->stopping)
        return;
    f->stopping = true;
    f->status = status;
    uv_timer_stop(&f->start_limit);
    fw_probe_child_destroy(&f->probe);
    fw_manager_stop(f->manager);
}

static void on_signal(uv_signal_t *signal, int number)
{
    struct front *f = signal->data;
    if (f->stopping) {
        fw_manager_kill(f->manager);
        _exit(128 + number);
    }
    fw_log(f->log, FW_LOG_INFO, "serve", "stopping (once more to stop at once)");
    stop(f, EXIT_SUCCESS);
}

static void on_stopped(void *user)
{
    struct front *f = user;
    f->gone = true;
    uv_stop(&f->loop);
}

// ---- what the manager and the probe tell

static void on_warm_first(void *user, const char *gpu, bool is_cpu)
{
    struct front *f = user;
    f->warm = true;
    f->gpu_is_cpu = is_cpu;
    snprintf(f->gpu, sizeof(f->gpu), "%s", gpu);
    announce(f);
}

static void on_hopeless(void *user, const char *message)
{
    struct front *f = user;
    if (f->stopping)
        return;
    char text[768];
    if (f->o.gpu)
        snprintf(text, sizeof(text),
                 "--gpu %s can't be used: the lines above say why, and `framewire gpus` lists "
                 "what there is",
                 f->o.gpu);
    else
        snprintf(text, sizeof(text), "%s", message);
    fail(EXIT_FAILURE, text);
    stop(f, EXIT_FAILURE);
}

static void on_probed(void *user, const char *name, const char *text)
{
    struct front *f = user;
    if (!name) {
        char message[1024];
        const bool chosen = strcmp(f->o.encoder, "auto") != 0;
        snprintf(message, sizeof(message), "%s%s%s: %s", chosen ? "--encoder " : "no encoder",
                 chosen ? f->o.encoder : " works here", chosen ? " can't be used" : "", text);
        fail(EXIT_FAILURE, message);
        stop(f, EXIT_FAILURE);
        return;
    }
    snprintf(f->encoder, sizeof(f->encoder), "%s", text);
    f->encoder_known = true;
    fw_manager_set_encoder(f->manager, name);
    if (f->warm || !f->o.warm)
        announce(f);
}

static void on_start_limit(uv_timer_t *timer)
{
    announce(timer->data); // it serves; sessions wait for their worker
}

static enum fw_err on_admit(void *user, const char *id, const char *token, const char **message)
{
    struct front *f = user;
    return fw_api_admit(f->api, id, token, message);
}

static void on_http(void *user, const struct fw_http_request *req, struct fw_http_response *res)
{
    struct front *f = user;
    fw_api_http(f->api, req, fw_now_ns(), res);
}

// ---- starting

static enum fw_err prepare(struct front *f, char *message, size_t size)
{
    enum fw_err err = fw_serve_find_paths(&f->o, &f->paths, message, size);
    if (!err)
        err = fw_tokens_load(&f->tokens, f->o.token_file, f->log, message, size);
    if (!err)
        err = fw_models_create(&f->models, f->o.models, message, size);
    if (!err && f->o.tls_self_signed) {
        struct fw_selfsigned made;
        err = fw_serve_self_signed(&f->o, &f->paths, f->log, &made);
        if (err) {
            snprintf(message, size, "--tls-self-signed: no certificate could be made below %s (%s)",
                     f->paths.state, fw_err_name(err));
            return err;
        }
        snprintf(f->cert, sizeof(f->cert), "%s", made.cert_path);
        snprintf(f->key, sizeof(f->key), "%s", made.key_path);
        snprintf(f->fingerprint, sizeof(f->fingerprint), "%s", made.fingerprint);
    } else if (!err && f->o.tls_cert) {
        const char *bad = !realpath(f->o.tls_cert, f->cert) ? "--tls-cert"
                          : !realpath(f->o.tls_key, f->key) ? "--tls-key"
                                                            : NULL;
        if (bad) {
            snprintf(message, size, "%s: %s", bad, strerror(errno));
            err = FW_ERR_NOT_FOUND;
        }
    }
    return err;
}

static enum fw_err create_parts(struct front *f, char *message, size_t size)
{
    enum fw_err err =
        fw_telemetry_create(&f->telemetry, &(struct fw_telemetry_params){ .log = f->log });
    if (err)
        return err;
    err = fw_manager_create(&f->manager,
                            &(struct fw_manager_params){
                                .loop = &f->loop,
                                .log = f->log,
                                .gpu = f->o.gpu,
                                .cache_dir = f->paths.cache,
                                .log_level = f->o.log_level,
                                .validation = f->o.validation,
                                .allow_faults = f->o.allow_faults,
                                .faults = f->faults,
                                .telemetry = f->telemetry,
                                .max_sessions = f->o.max_sessions,
                                .warm = f->o.warm,
                                .seat_grace_ns = f->o.seat_grace * (int64_t)FW_NS_PER_S,
                                .idle_timeout_ns = f->o.idle_timeout * (int64_t)FW_NS_PER_S,
                                .warm_first = on_warm_first,
                                .hopeless = on_hopeless,
                                .admit = on_admit,
                                .http = on_http,
                                .stopped = on_stopped,
                                .user = f,
                            });
    if (!err)
        err = fw_api_create(&f->api, &(struct fw_api_params){ .ops = fw_manager_api_ops(),
                                                              .user = f->manager,
                                                              .tokens = f->tokens,
                                                              .models = f->models,
                                                              .allow_faults = f->o.allow_faults });
    if (err)
        return err;
    struct fw_server_handler handler;
    fw_manager_handler(f->manager, &handler);
    err = fw_server_create(&f->server, &(struct fw_server_params){
                                           .loop = &f->loop,
                                           .host = f->o.host,
                                           .port = f->o.port,
                                           .static_dir = f->paths.web,
                                           .chart_js = f->o.chart_js,
                                           .tls_cert = f->cert[0] ? f->cert : NULL,
                                           .tls_key = f->key[0] ? f->key : NULL,
                                           .origins = f->o.origins,
                                           .origin_count = f->o.origin_count,
                                           .handler = &handler,
                                           .log = f->log,
                                       });
    if (err) {
        snprintf(message, size, "can't listen on %s: %s", f->o.listen, strerror(errno));
        return err;
    }
    fw_manager_set_server(f->manager, f->server);
    return fw_probe_child_start(&f->probe, &(struct fw_probe_child_params){ .loop = &f->loop,
                                                                            .log = f->log,
                                                                            .encoder = f->o.encoder,
                                                                            .done = on_probed,
                                                                            .user = f });
}

static void open_handles(struct front *f)
{
    uv_signal_init(&f->loop, &f->sigint);
    uv_signal_init(&f->loop, &f->sigterm);
    uv_timer_init(&f->loop, &f->start_limit);
    f->sigint.data = f->sigterm.data = f->start_limit.data = f;
    uv_signal_start(&f->sigint, on_signal, SIGINT);
    uv_signal_start(&f->sigterm, on_signal, SIGTERM);
    uv_timer_start(&f->start_limit, on_start_limit, START_MAX_MS, 0);
    f->handles_open = true;
}

static void close_all(struct front *f)
{
    fw_server_destroy(&f->server);
    fw_manager_destroy(&f->manager);
    uv_close((uv_handle_t *)&f->sigint, NULL);
    uv_close((uv_handle_t *)&f->sigterm, NULL);
    uv_close((uv_handle_t *)&f->start_limit, NULL);
    // Closing takes a few turns, some of them by timers of a millisecond.
    for (int i = 0; i < CLOSE_TURNS && uv_loop_close(&f->loop) == UV_EBUSY; i++) {
        uv_run(&f->loop, UV_RUN_NOWAIT);
        nanosleep(&(struct timespec){ .tv_nsec = FW_NS_PER_MS }, NULL);
    }
}

static int run(struct front *f)
{
    char message[1024] = "";
    enum fw_err err = prepare(f, message, sizeof(message));
    if (err)
        return fail(EXIT_FAILURE, message[0] ? message : fw_err_name(err));
    if (uv_loop_init(&f->loop) < 0)
        return fail(EXIT_FAILURE, "the event loop can't be made");
    open_handles(f);
    err = create_parts(f, message, sizeof(message));
    if (err) {
        fail(EXIT_FAILURE, message[0] ? message : fw_err_name(err));
        if (f->manager)
            stop(f, EXIT_FAILURE);
    }
    while (f->manager && !f->gone && uv_run(&f->loop, UV_RUN_DEFAULT))
        ;
    if (err)
        f->status = EXIT_FAILURE;
    close_all(f);
    return f->status;
}

static void print_help(void)
{
    char text[8192];
    fw_serve_options_help(text, sizeof(text));
    fputs(text, stdout);
}

int fw_serve_main(int argc, char **argv)
{
    char message[1024];
    struct front *f = calloc(1, sizeof(*f));
    if (!f)
        return fail(EXIT_FAILURE, "out of memory");
    int status = EXIT_SUCCESS;
    if (fw_serve_options_parse(&f->o, argc, argv, message, sizeof(message)) != FW_OK) {
        status = fail(EXIT_USAGE, message);
    } else if (f->o.help) {
        print_help();
    } else if (fw_serve_faults(&f->o, &f->faults, message, sizeof(message)) != FW_OK) {
        status = fail(EXIT_USAGE, message);
    } else if (fw_serve_options_check(&f->o, message, sizeof(message)) != FW_OK) {
        status = fail(EXIT_USAGE, message);
    } else {
        if (message[0])
            fprintf(stderr, "framewire: WARNING: %s\n", message);
        f->log = fw_log_stderr((enum fw_log_level)fw_log_level_from_name(f->o.log_level));
        fw_serve_settle_process();
        status = run(f);
    }
    fw_api_destroy(&f->api);
    fw_telemetry_destroy(&f->telemetry);
    fw_models_destroy(&f->models);
    fw_tokens_destroy(&f->tokens);
    free(f);
    return status;
}
