// SPDX-License-Identifier: MIT
#include "session/cli/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "session/cli/bench_modes.h"
#include "session/cli/bench_report.h"
#include "stream/client/text.h"

enum { EXIT_USAGE = 2, SOURCES_SHOWN = 400 };

static volatile sig_atomic_t stop;

// The first one ends the run in order, a later one at once. `timeout` and terminals that pass it on
// tell the process and its group: two within a second are one.
static void on_signal(int number)
{
    static volatile sig_atomic_t first_s;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (stop && now.tv_sec - first_s > 1) {
        signal(number, SIG_DFL);
        raise(number);
    }
    if (!stop)
        first_s = (sig_atomic_t)now.tv_sec;
    stop = 1;
}

static void catch_signals(void)
{
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

void fw_bench_complain(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fw_bench_progress_end();
    fprintf(stderr, "framewire bench: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
}

// ---- the server

bool fw_bench_aim(struct fw_bench *b, const char *url)
{
    char message[400];
    if (fw_target_parse(&b->remote.target, url, message, sizeof(message))) {
        fw_bench_complain("%s", message);
        return false;
    }
    b->remote.ca_file = b->options->tls_ca;
    b->remote.hurry = b->stop;
    if (b->options->token_file &&
        fw_target_read_token(b->options->token_file, b->remote.token, message, sizeof(message))) {
        fw_bench_complain("%s", message);
        return false;
    }
    return true;
}

// Is it on the list? `names` gets the list.
static bool has_source(const json_t *list, const char *wanted, char *names, size_t size)
{
    size_t used = 0;
    bool found = false;
    names[0] = '\0';
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_object_get(json_array_get(list, i), "source"));
        if (!name)
            continue;
        found |= strcmp(name, wanted) == 0;
        char plain[64];
        fw_text_copy(plain, sizeof(plain), name);
        if (used < size && !strstr(names, plain))
            used += (size_t)snprintf(names + used, size - used, "%s%s", used ? ", " : "", plain);
    }
    return found;
}

void fw_bench_name_machine(struct fw_bench *b, const char *gpu, const char *encoder)
{
    struct fw_bench_machine machine;
    char cores[160] = "", cpu[128], drawn_by[121], encoded_by[31];
    fw_bench_machine_cpu_name(&b->remote, cpu, sizeof(cpu));
    fw_bench_machine_read(&b->remote, &machine);
    if (machine.cores > 0)
        snprintf(cores, sizeof(cores), "%.0f cores%s%s, ", machine.cores, *cpu ? " of " : "", cpu);
    b->named = gpu && *gpu;
    fw_text_copy(drawn_by, sizeof(drawn_by), b->named ? gpu : "no GPU known");
    fw_text_copy(encoded_by, sizeof(encoded_by),
                 encoder && *encoder ? encoder : "no encoder known");
    snprintf(b->machine, sizeof(b->machine), "%.80s (%s%s, %s)", b->remote.target.host, cores,
             drawn_by, encoded_by);
}

bool fw_bench_greet(struct fw_bench *b)
{
    struct fw_remote_error error;
    json_t *json = NULL;
    char names[SOURCES_SHOWN];
    const char *source = b->options->load.source;
    if (fw_remote_call(&b->remote, "GET", "/sources", NULL, &json, &error)) {
        fw_bench_complain("%s", error.message);
        return false;
    }
    const char *version = json_string_value(json_object_get(json, "version"));
    const char *gpu = json_string_value(json_object_get(json, "gpu"));
    const char *encoder = json_string_value(json_object_get(json, "encoder"));
    const json_t *limits = json_object_get(json, "limits");
    b->max_sessions = (int)json_integer_value(json_object_get(limits, "maxSessions"));
    fw_text_copy(b->version, sizeof(b->version), version ? version : "");
    fw_bench_name_machine(b, gpu, encoder);
    const bool found = has_source(json_object_get(json, "sources"), source, names, sizeof(names));
    json_decref(json);
    if (!found)
        fw_bench_complain("%s has no source '%.60s'; it has %s", b->remote.target.origin, source,
                          names);
    return found;
}

// ---- a plain run

static bool start(struct fw_bench *b, struct fw_bench_load **load)
{
    struct fw_remote_error error = { .status = 0 };
    if (fw_bench_load_create(load, &b->remote, &b->options->load, b->stop)) {
        fw_bench_complain("out of memory or of threads");
        return false;
    }
    fw_bench_progress("sessions start");
    const enum fw_err err = fw_bench_load_resize(*load, (unsigned)b->options->sessions, &error);
    if (err == FW_ERR_CLOSED)
        fw_bench_complain("stopped before anything was measured");
    else if (err && strcmp(error.code, "max_sessions") == 0)
        fw_bench_complain(
            "the server takes %d sessions and no more (%u of %d were started): ask for "
            "fewer, or start it with --max-sessions %d",
            b->max_sessions, fw_bench_load_count(*load), b->options->sessions,
            b->options->sessions);
    else if (err)
        fw_bench_complain("%s", error.message);
    return !err;
}

static int compare_to(const char *path, const json_t *now)
{
    char message[400];
    json_t *base = fw_bench_read_report(path, message, sizeof(message));
    const bool ok = base && !fw_bench_compare(stdout, base, now, message, sizeof(message));
    if (!ok)
        fw_bench_complain("%s", message);
    json_decref(base);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

// Says what it measured; the exit code.
static int report(struct fw_bench *b, const struct fw_bench_result *r)
{
    const struct fw_bench_options *o = b->options;
    json_t *json = fw_bench_report_json(b, r);
    int rc = json ? EXIT_SUCCESS : EXIT_FAILURE;
    // Standard output is for one of the two.
    const bool json_only = o->json && strcmp(o->json, "-") == 0;
    if (!json_only)
        fw_bench_report_table(stdout, b, r);
    if (json && o->json && fw_bench_write_json(o->json, json))
        rc = EXIT_FAILURE;
    if (json && o->compare && !json_only) {
        printf("\n");
        rc = compare_to(o->compare, json) ? EXIT_FAILURE : rc;
    }
    json_decref(json);
    if (r->all.ids_wrong || r->all.sums_wrong || r->said.ended == r->sessions)
        rc = EXIT_FAILURE;
    return r->interrupted ? FW_BENCH_EXIT_INTERRUPTED : rc;
}

static int run(struct fw_bench *b)
{
    static struct fw_bench_result result;
    struct fw_bench_load *load = NULL;
    int rc = EXIT_FAILURE;
    if (!fw_bench_aim(b, b->options->url) || !fw_bench_greet(b))
        return rc;
    if (start(b, &load) &&
        fw_bench_measure(b, load, b->options->warmup, b->options->seconds, "", &result))
        rc = report(b, &result);
    else if (stop)
        rc = FW_BENCH_EXIT_INTERRUPTED;
    fw_bench_result_finish(&result);
    fw_bench_load_destroy(&load);
    return rc;
}

static int compare_files(const struct fw_bench_options *o)
{
    char message[400];
    json_t *now = fw_bench_read_report(o->url, message, sizeof(message));
    const int rc = now ? compare_to(o->compare, now) : EXIT_FAILURE;
    if (!now)
        fw_bench_complain("%s", message);
    json_decref(now);
    return rc;
}

// Could a file be written there? Said before hours of measuring, not after.
static bool writable(const char *path)
{
    struct stat st;
    if (!path || strcmp(path, "-") == 0)
        return true;
    const bool there = stat(path, &st) == 0;
    if (there && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return true; // who reads a pipe would take our look for the end
    const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0) {
        fw_bench_complain("can't write %s: %s", path, strerror(errno));
        return false;
    }
    close(fd);
    if (!there)
        unlink(path);
    return true;
}

static bool files_fit(const struct fw_bench_options *o)
{
    char message[400];
    if (!writable(o->json) || !writable(o->html))
        return false;
    json_t *base = o->compare ? fw_bench_read_report(o->compare, message, sizeof(message)) : NULL;
    if (o->compare && !base)
        fw_bench_complain("%s", message);
    json_decref(base);
    return base || !o->compare;
}

int fw_bench_main(int argc, char **argv)
{
    static struct fw_bench_options options;
    static char text[4096];
    if (fw_bench_options_parse(&options, argc - 1, argv + 1, text, sizeof(text))) {
        fw_bench_complain("%s", text);
        return EXIT_USAGE;
    }
    if (options.help) {
        fw_bench_options_help(text, sizeof(text));
        fputs(text, stdout);
        return EXIT_SUCCESS;
    }
    if (!files_fit(&options))
        return EXIT_FAILURE;
    struct fw_bench bench = { .options = &options, .stop = &stop };
    catch_signals();
    switch (options.mode) {
    case FW_BENCH_RUN: return run(&bench);
    case FW_BENCH_CAPACITY: return fw_bench_find_capacity(&bench);
    case FW_BENCH_VERIFY: return fw_bench_verify(&bench, options.url);
    case FW_BENCH_COMPARE: return compare_files(&options);
    }
    return EXIT_FAILURE;
}
