// SPDX-License-Identifier: MIT
// One binary; the first argument says what it is to be.
#include <stdio.h>
#include <string.h>

#include "session/cli/bench.h"
#include "session/cli/list.h"
#include "session/cli/view.h"
#include "session/serve.h"
#include "session/worker.h"

enum { EXIT_USAGE = 2 };

static int print_version(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    printf("framewire " FW_VERSION "\n");
    return 0;
}

static int serve(int argc, char **argv)
{
    return fw_serve_main(argc - 1, argv + 1);
}

// `main` gets argv from the sub-command's name on.
static const struct command {
    const char *name, *help; // help NULL: not for people
    int (*main)(int argc, char **argv);
} commands[] = {
    { "serve", "serve sessions to browsers (--help lists its options)", serve },
    { "bench", "put a server under load and measure it (--help lists its options)", fw_bench_main },
    { "view", "watch and steer a session in a window of its own", fw_view_main },
    { "gpus", "list the Vulkan devices of this machine", fw_list_gpus_main },
    { "encoders", "try the video encoders and say which work", fw_list_encoders_main },
    { "version", "print the version", print_version },
    { "worker", NULL, fw_worker_main },
};

enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void usage(FILE *out)
{
    fprintf(out, "framewire " FW_VERSION ": renders on this machine, live in a browser.\n\n"
                 "framewire COMMAND [option…]\n\n");
    for (int i = 0; i < COMMANDS; i++)
        if (commands[i].help)
            fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        usage(stderr);
        return EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        usage(stdout);
        return 0;
    }
    if (strcmp(name, "--version") == 0)
        name = "version";
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return commands[i].main(argc - 1, argv + 1);
    fprintf(stderr, "framewire: there is no command '%s'; `framewire --help` lists them\n", name);
    return EXIT_USAGE;
}
