// SPDX-License-Identifier: MIT
// What a person names on the command line: a server's address (or that of a session's page there)
// and a file with a token. Pure, but for reading the file.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum { FW_TARGET_TOKEN_SIZE = 264 };

struct fw_target {
    char host[256]; // without brackets
    int port;
    bool tls;
    char session[80]; // of …/s/{id}; "" = the address names no session
    char code[80];    // the single-use code behind "#"; "" = none
    char origin[300]; // "http://host:port", for messages
};

// "http://host:port", "https://host", "host:port", "…/s/{id}#code". FW_ERR_INVALID with a sentence.
enum fw_err fw_target_parse(struct fw_target *target, const char *url, char *message, size_t size);
// The first token of the file, written as the server's token file has them: `name:token` or
// `token`, "#" starts a comment. FW_ERR_IO, FW_ERR_FORMAT with a sentence.
enum fw_err fw_target_read_token(const char *path, char token[FW_TARGET_TOKEN_SIZE], char *message,
                                 size_t size);
