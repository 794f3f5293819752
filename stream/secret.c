// SPDX-License-Identifier: MIT
#include "stream/secret.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <string.h>
#include <sys/random.h>

enum fw_err fw_random(void *out, size_t size)
{
    uint8_t *p = out;
    while (size) {
        const ssize_t n = getrandom(p, size, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return FW_ERR_IO;
        p += n;
        size -= (size_t)n;
    }
    return FW_OK;
}

void fw_hex(const uint8_t *data, size_t size, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++) {
        *out++ = digits[data[i] >> 4];
        *out++ = digits[data[i] & 15];
    }
    *out = '\0';
}

enum fw_err fw_random_hex(char *out, size_t bytes)
{
    uint8_t raw[64];
    out[0] = '\0';
    if (bytes > sizeof(raw))
        return FW_ERR_INVALID;
    const enum fw_err err = fw_random(raw, bytes);
    if (!err)
        fw_hex(raw, bytes, out);
    OPENSSL_cleanse(raw, sizeof(raw));
    return err;
}

void fw_sha256(const void *data, size_t size, uint8_t out[FW_SHA256_SIZE])
{
    SHA256(data, size, out);
}

bool fw_secret_equal(const char *given, const char *expected)
{
    if (!given || !expected)
        return false;
    uint8_t a[FW_SHA256_SIZE], b[FW_SHA256_SIZE];
    fw_sha256(given, strlen(given), a);
    fw_sha256(expected, strlen(expected), b);
    return CRYPTO_memcmp(a, b, sizeof(a)) == 0;
}
