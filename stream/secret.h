// SPDX-License-Identifier: MIT
// Small tools for ids and secrets, so that OpenSSL stays inside stream/.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { FW_SHA256_SIZE = 32, FW_ID_BYTES = 16, FW_ID_SIZE = 2 * FW_ID_BYTES + 1 };

// Thread: any, all of them.
// `size` bytes from the kernel's generator. FW_ERR_IO when it refuses (never seen on Linux).
enum fw_err fw_random(void *out, size_t size);
// `bytes` (at most 64) random bytes as lower-case hex, NUL-terminated: 2 * bytes + 1 of room.
enum fw_err fw_random_hex(char *out, size_t bytes);
void fw_sha256(const void *data, size_t size, uint8_t out[FW_SHA256_SIZE]);
// Lower-case hex, NUL-terminated: 2 * size + 1 of room.
void fw_hex(const uint8_t *data, size_t size, char *out);
// Equality in time that depends on nothing but the length of `given` (both are hashed first).
// NULL equals nothing, "" only "".
bool fw_secret_equal(const char *given, const char *expected);
