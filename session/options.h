// SPDX-License-Identifier: MIT
// What `framewire serve` can be told: one table gives the parser, the help and the checks.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum { FW_OPTIONS_MAX_ORIGINS = 16 };

// Strings point into argv or into static text; nothing is owned except `host`.
struct fw_serve_options {
    const char *listen; // "ADDR:PORT" as given
    char host[64];      // from `listen`, without the brackets of an IPv6 address
    int port;           // 0 = any free one
    const char *models; // NULL = none
    const char *encoder;
    const char *gpu;        // NULL = best
    const char *state;      // NULL = $XDG_STATE_HOME/framewire
    const char *static_dir; // NULL = found beside the binary
    const char *chart_js;   // of Debian's libjs-chart.js; need not be there
    const char *tls_cert, *tls_key;
    bool tls_self_signed;
    const char *token_file;
    const char *origins[FW_OPTIONS_MAX_ORIGINS];
    unsigned origin_count;
    bool insecure;
    int max_sessions; // 1-256
    int warm;         // 0-16 workers kept ready
    int seat_grace;   // s, 1-86400: how long unwatched until a seat can be taken
    int idle_timeout; // s, 5-86400: a session nobody watches is ended after this
    const char *log_level;
    bool validation;
    bool allow_faults; // FRAMEWIRE_FAULT and POST /sessions/{id}/fault are obeyed
    bool help;
};

// Fills `options` with the defaults, then from argv (without the program and sub-command names).
// On error `message` says which option is wrong and what to do.
enum fw_err fw_serve_options_parse(struct fw_serve_options *options, int argc, char **argv,
                                   char *message, size_t message_size);
// An address other machines can reach needs TLS and a token file. FW_ERR_DENIED with `message`
// saying what to give; `insecure` turns that into FW_OK with the same text as a warning in
// `message` ("" when there is nothing to warn of). A proxy's visitors without a token file: a
// warning.
enum fw_err fw_serve_options_check(const struct fw_serve_options *options, char *message,
                                   size_t message_size);
// The help text, one line per option, made from the table. Returns bytes as snprintf does.
size_t fw_serve_options_help(char *out, size_t out_size);
// Is `host` an address only this machine can reach ("127.…", "::1", "localhost")?
bool fw_host_is_loopback(const char *host);
