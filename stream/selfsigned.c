// SPDX-License-Identifier: MIT
#include "stream/selfsigned.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DAYS = 825, RENEW_DAYS = 14, DAY_S = 24 * 60 * 60, NAMES_MAX = 64 };

static bool is_ip(const char *name)
{
    struct in6_addr addr;
    return inet_pton(AF_INET, name, &addr) == 1 || inet_pton(AF_INET6, name, &addr) == 1;
}

static bool name_sound(const char *name)
{
    if (is_ip(name))
        return true;
    const size_t size = strlen(name);
    return size >= 1 && size <= 253 &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") ==
               size;
}

static int add_extension(X509 *cert, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, cert, cert, NULL, NULL, 0);
    X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    if (!ext)
        return 0;
    const int ok = X509_add_ext(cert, ext, -1);
    X509_EXTENSION_free(ext);
    return ok;
}

// "DNS:localhost,IP:127.0.0.1,…"; the caller frees it.
static char *alt_names(const char *const *names, unsigned count)
{
    size_t size = 1;
    for (unsigned i = 0; i < count; i++)
        size += strlen(names[i]) + 5;
    char *text = calloc(1, size);
    for (unsigned i = 0; text && i < count; i++) {
        if (i)
            strcat(text, ",");
        strcat(text, is_ip(names[i]) ? "IP:" : "DNS:");
        strcat(text, names[i]);
    }
    return text;
}

static X509 *make_cert(EVP_PKEY *key, const char *const *names, unsigned count)
{
    unsigned char serial[16];
    char *sans = alt_names(names, count);
    BIGNUM *number = NULL;
    X509 *cert = X509_new();
    if (!cert || !sans || RAND_bytes(serial, sizeof(serial)) != 1)
        goto error;
    serial[0] &= 0x7f;
    number = BN_bin2bn(serial, sizeof(serial), NULL);
    if (!number || !BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert)))
        goto error;
    // An hour back, for clocks that differ a little.
    if (!X509_set_version(cert, 2) || !X509_gmtime_adj(X509_getm_notBefore(cert), -3600) ||
        !X509_gmtime_adj(X509_getm_notAfter(cert), (long)DAYS * DAY_S) ||
        !X509_set_pubkey(cert, key))
        goto error;
    X509_NAME *subject = X509_get_subject_name(cert);
    if (!X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                    (const unsigned char *)"framewire self-signed", -1, -1, 0) ||
        !X509_set_issuer_name(cert, subject) ||
        !add_extension(cert, NID_basic_constraints, "critical,CA:FALSE") ||
        !add_extension(cert, NID_key_usage, "critical,digitalSignature") ||
        !add_extension(cert, NID_ext_key_usage, "serverAuth") ||
        !add_extension(cert, NID_subject_alt_name, sans) || !X509_sign(cert, key, EVP_sha256()))
        goto error;
    BN_free(number);
    free(sans);
    return cert;
error:
    BN_free(number);
    free(sans);
    X509_free(cert);
    return NULL;
}

// Written aside and moved into place, so that nobody ever reads half a file.
static FILE *open_aside(const char *path, char *aside, size_t size)
{
    if (snprintf(aside, size, "%s.new", path) >= (int)size)
        return NULL;
    unlink(aside);
    const int fd = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return NULL;
    FILE *file = fdopen(fd, "w");
    if (!file)
        close(fd);
    return file;
}

static bool close_aside(FILE *file, bool ok, const char *aside, const char *path)
{
    ok = ok && !fflush(file) && !fsync(fileno(file));
    ok = !fclose(file) && ok;
    if (ok && !rename(aside, path))
        return true;
    unlink(aside);
    return false;
}

static bool write_pair(const struct fw_selfsigned *out, EVP_PKEY *key, X509 *cert)
{
    char aside[FW_CERT_PATH_SIZE + 8];
    FILE *file = open_aside(out->key_path, aside, sizeof(aside));
    if (!file)
        return false;
    const bool key_ok = PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL) == 1;
    if (!close_aside(file, key_ok, aside, out->key_path))
        return false;
    file = open_aside(out->cert_path, aside, sizeof(aside));
    if (!file)
        return false;
    return close_aside(file, PEM_write_X509(file, cert) == 1, aside, out->cert_path);
}

static X509 *read_cert(const char *path)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return NULL;
    X509 *cert = PEM_read_X509(file, NULL, NULL, NULL);
    fclose(file);
    return cert;
}

static bool key_matches(const char *path, X509 *cert)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    EVP_PKEY *key = PEM_read_PrivateKey(file, NULL, NULL, NULL);
    fclose(file);
    const bool same = key && X509_check_private_key(cert, key) == 1;
    EVP_PKEY_free(key);
    return same;
}

static bool still_good(const struct fw_selfsigned *out, X509 *cert, const char *const *names,
                       unsigned count)
{
    time_t soon = time(NULL) + (time_t)RENEW_DAYS * DAY_S;
    if (X509_cmp_time(X509_get0_notAfter(cert), &soon) <= 0 ||
        X509_cmp_current_time(X509_get0_notBefore(cert)) > 0 || !key_matches(out->key_path, cert))
        return false;
    for (unsigned i = 0; i < count; i++) {
        const int has = is_ip(names[i]) ? X509_check_ip_asc(cert, names[i], 0)
                                        : X509_check_host(cert, names[i], 0, 0, NULL);
        if (has != 1)
            return false;
    }
    return true;
}

static bool fingerprint(X509 *cert, char out[FW_FINGERPRINT_SIZE])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (!X509_digest(cert, EVP_sha256(), digest, &size) || size != 32)
        return false;
    for (unsigned i = 0; i < size; i++)
        snprintf(out + 3 * i, 4, i + 1 < size ? "%02X:" : "%02X", digest[i]);
    return true;
}

enum fw_err fw_selfsigned_ensure(const char *dir, const char *const *names, unsigned name_count,
                                 struct fw_log *log, struct fw_selfsigned *out)
{
    const char *all[NAMES_MAX] = { "localhost", "127.0.0.1", "::1" };
    unsigned count = 3;
    memset(out, 0, sizeof(*out));
    for (unsigned i = 0; i < name_count; i++) {
        if (!name_sound(names[i])) {
            fw_log(log, FW_LOG_ERROR, "tls", "\"%s\" is no name for a certificate", names[i]);
            return FW_ERR_INVALID;
        }
        if (count < NAMES_MAX)
            all[count++] = names[i];
    }
    if (snprintf(out->cert_path, sizeof(out->cert_path), "%s/cert.pem", dir) >=
            (int)sizeof(out->cert_path) ||
        snprintf(out->key_path, sizeof(out->key_path), "%s/key.pem", dir) >=
            (int)sizeof(out->key_path))
        return FW_ERR_TOO_LARGE;
    if (mkdir(dir, 0700) && errno != EEXIST) {
        fw_log(log, FW_LOG_ERROR, "tls", "can't make %s: %s", dir, strerror(errno));
        return FW_ERR_IO;
    }
    enum fw_err err = FW_ERR_IO;
    EVP_PKEY *key = NULL;
    X509 *cert = read_cert(out->cert_path);
    if (cert && !still_good(out, cert, all, count)) {
        X509_free(cert);
        cert = NULL;
    }
    if (!cert) {
        key = EVP_EC_gen("P-256");
        cert = key ? make_cert(key, all, count) : NULL;
        if (!cert || !write_pair(out, key, cert)) {
            fw_log(log, FW_LOG_ERROR, "tls", "can't write a certificate into %s", dir);
            goto done;
        }
    }
    err = fingerprint(cert, out->fingerprint) ? FW_OK : FW_ERR_INTERNAL;
done:
    EVP_PKEY_free(key);
    X509_free(cert);
    return err;
}
