// SPDX-License-Identifier: MIT
// Who may do what: the operator's tokens from a file, and what each session carries: its own token
// and the single-use code by which a freshly created page gets it. Pure but for reading the file
// and the kernel's random numbers; time is an argument.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"

enum {
    FW_TOKEN_MIN = 16, // characters of a token in the file
    FW_TOKEN_MAX = 256,
    FW_TOKEN_NAME_MAX = 64,
    FW_TOKEN_COUNT_MAX = 1024,
    FW_CODE_LIFE_S = 60,
};

struct fw_tokens; // the token file; none = everybody on this machine may do everything

// `path` NULL: no tokens are required. FW_ERR_INVALID, FW_ERR_IO, FW_ERR_NOT_FOUND with a sentence.
enum fw_err fw_tokens_load(struct fw_tokens **tokens, const char *path, struct fw_log *log,
                           char *message, size_t message_size);
void fw_tokens_destroy(struct fw_tokens **tokens);
bool fw_tokens_required(const struct fw_tokens *tokens);
unsigned fw_tokens_count(const struct fw_tokens *tokens);
// The name that goes with `token`, NULL when it is none of ours. The time taken does not depend on
// which characters are right.
const char *fw_tokens_name(const struct fw_tokens *tokens, const char *token);

// What one session's page needs.
struct fw_access {
    char owner[FW_TOKEN_NAME_MAX]; // name of the token that created it; "" without a token file
    char token[65];                // 256 random bits, hex
    char code[33];                 // 128 random bits, hex; "" once used
    int64_t code_expires_ns;
};

enum fw_err fw_access_init(struct fw_access *access, const char *owner, int64_t now_ns);
bool fw_access_token_ok(const struct fw_access *access, const char *token);
// True once, with the right code, within FW_CODE_LIFE_S.
bool fw_access_redeem(struct fw_access *access, const char *code, int64_t now_ns);
