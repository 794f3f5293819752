// SPDX-License-Identifier: MIT
// What `framewire serve` needs of its surroundings before it starts.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/fault.h"
#include "base/log.h"
#include "session/options.h"
#include "stream/selfsigned.h"

struct fw_serve_paths {
    char state[PATH_MAX], cache[PATH_MAX], web[PATH_MAX];
};

// Makes the state folder (0700) and finds the web pages. On error `message` says what to do.
enum fw_err fw_serve_find_paths(const struct fw_serve_options *options,
                                struct fw_serve_paths *paths, char *message, size_t message_size);
// The certificate of --tls-self-signed, for all names this server may be reached under.
enum fw_err fw_serve_self_signed(const struct fw_serve_options *options,
                                 const struct fw_serve_paths *paths, struct fw_log *log,
                                 struct fw_selfsigned *out);
// What FRAMEWIRE_FAULT says; without --allow-faults a warning that nobody listens to it. On
// FW_ERR_INVALID `message` says what is wrong with it.
enum fw_err fw_serve_faults(const struct fw_serve_options *options, struct fw_faults *faults,
                            char *message, size_t message_size);
// As many open files as allowed, a dead reader is an error code and not a signal, a name in `ps`.
void fw_serve_settle_process(void);
// The addresses to open, one per line of `out`, each with `indent` in front but the first.
void fw_serve_addresses(const char *host, int port, bool tls, const char *indent, char *out,
                        size_t out_size);
