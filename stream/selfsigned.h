// SPDX-License-Identifier: MIT
// A certificate for --tls-self-signed: made once, kept, renewed when it is about to expire.
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/log.h"

enum { FW_FINGERPRINT_SIZE = 32 * 3, FW_CERT_PATH_SIZE = 4096 };

struct fw_selfsigned {
    char cert_path[FW_CERT_PATH_SIZE], key_path[FW_CERT_PATH_SIZE]; // PEM files, mode 0600
    char fingerprint[FW_FINGERPRINT_SIZE]; // SHA-256, "AB:CD:…", as browsers show it
};

// Makes sure that `dir` (created with mode 0700; its parent must exist) holds a certificate (EC
// P-256, 825 days) for all of `names` (DNS names and numeric addresses; "localhost", 127.0.0.1 and
// ::1 are added). An existing one that lacks a name or ends within 14 days is replaced.
enum fw_err fw_selfsigned_ensure(const char *dir, const char *const *names, unsigned name_count,
                                 struct fw_log *log, struct fw_selfsigned *out);
