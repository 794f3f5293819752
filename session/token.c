// SPDX-License-Identifier: MIT
#include "session/token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream/secret.h"

enum { FILE_MAX = 512 << 10 };

struct entry {
    char name[FW_TOKEN_NAME_MAX];
    char token[FW_TOKEN_MAX + 1];
};

struct fw_tokens {
    bool required;
    unsigned count;
    struct entry *entries;
};

// One line, blanks already trimmed: "name:token" or "token".
static enum fw_err add_line(struct fw_tokens *t, char *line, unsigned number, char *message,
                            size_t size)
{
    char *colon = strchr(line, ':');
    const char *token = colon ? colon + 1 : line;
    char name[FW_TOKEN_NAME_MAX];
    if (colon)
        *colon = '\0';
    const int n = colon ? snprintf(name, sizeof(name), "%s", line)
                        : snprintf(name, sizeof(name), "token-%u", number);
    if (n <= 0 || n >= (int)sizeof(name)) {
        snprintf(message, size, "line %u: the name before ':' is empty or longer than %d", number,
                 FW_TOKEN_NAME_MAX - 1);
        return FW_ERR_INVALID;
    }
    const size_t length = strlen(token);
    if (length < FW_TOKEN_MIN || length > FW_TOKEN_MAX) {
        snprintf(message, size,
                 "line %u: a token has %d to %d characters, this one %zu "
                 "(`openssl rand -hex 32` makes a good one)",
                 number, FW_TOKEN_MIN, FW_TOKEN_MAX, length);
        return FW_ERR_INVALID;
    }
    for (const char *c = token; *c; c++)
        if (*c <= ' ' || *c > '~') {
            snprintf(message, size, "line %u: a token is printable ASCII without blanks", number);
            return FW_ERR_INVALID;
        }
    for (unsigned i = 0; i < t->count; i++)
        if (strcmp(t->entries[i].name, name) == 0 || strcmp(t->entries[i].token, token) == 0) {
            snprintf(message, size, "line %u: this name or token was given before", number);
            return FW_ERR_INVALID;
        }
    if (t->count == FW_TOKEN_COUNT_MAX) {
        snprintf(message, size, "more than %d tokens", FW_TOKEN_COUNT_MAX);
        return FW_ERR_TOO_LARGE;
    }
    struct entry *grown = realloc(t->entries, (t->count + 1) * sizeof(*grown));
    if (!grown)
        return FW_ERR_NOMEM;
    t->entries = grown;
    struct entry *e = &grown[t->count++];
    memset(e, 0, sizeof(*e));
    memcpy(e->name, name, (size_t)n + 1);
    memcpy(e->token, token, length + 1);
    return FW_OK;
}

static enum fw_err parse(struct fw_tokens *t, char *text, char *message, size_t size)
{
    unsigned number = 0;
    char *save = text;
    for (char *line; (line = strsep(&save, "\n"));) {
        number++;
        line += strspn(line, " \t");
        size_t length = strlen(line);
        while (length && strchr(" \t\r", line[length - 1]))
            line[--length] = '\0';
        if (!length || *line == '#')
            continue;
        const enum fw_err err = add_line(t, line, number, message, size);
        if (err)
            return err;
    }
    if (t->count)
        return FW_OK;
    snprintf(message, size, "no token in it; write one `name:token` per line");
    return FW_ERR_INVALID;
}

static enum fw_err read_file(const char *path, struct fw_log *log, char **text, char *message,
                             size_t size)
{
    enum fw_err err = FW_ERR_IO;
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    *text = NULL;
    if (fd < 0 || fstat(fd, &st) < 0) {
        snprintf(message, size, "%s", strerror(errno));
        err = errno == ENOENT ? FW_ERR_NOT_FOUND : FW_ERR_IO;
        goto error;
    }
    if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX) {
        snprintf(message, size, "not a regular file of at most %d KiB", FILE_MAX >> 10);
        err = FW_ERR_INVALID;
        goto error;
    }
    if (st.st_mode & (S_IROTH | S_IWOTH))
        fw_log(log, FW_LOG_WARN, "token", "%s is open to every user of this machine: chmod 600 it",
               path);
    *text = calloc(1, (size_t)st.st_size + 1);
    if (!*text) {
        err = FW_ERR_NOMEM;
        goto error;
    }
    const ssize_t got = read(fd, *text, (size_t)st.st_size);
    if (got < 0 || memchr(*text, '\0', (size_t)got)) {
        snprintf(message, size, "%s", got < 0 ? strerror(errno) : "not a text file");
        goto error;
    }
    close(fd);
    return FW_OK;
error:
    if (fd >= 0)
        close(fd);
    free(*text);
    *text = NULL;
    return err;
}

enum fw_err fw_tokens_load(struct fw_tokens **tokens, const char *path, struct fw_log *log,
                           char *message, size_t size)
{
    message[0] = '\0';
    struct fw_tokens *t = calloc(1, sizeof(*t));
    if (!t)
        return FW_ERR_NOMEM;
    enum fw_err err = FW_OK;
    if (path) {
        char reason[192] = "out of memory", *text = NULL;
        t->required = true;
        err = read_file(path, log, &text, reason, sizeof(reason));
        if (!err) {
            const size_t length = strlen(text);
            err = parse(t, text, reason, sizeof(reason));
            explicit_bzero(text, length);
        }
        free(text);
        if (err) {
            snprintf(message, size, "--token-file %s: %s", path, reason);
            fw_tokens_destroy(&t);
        }
    }
    *tokens = t;
    return err;
}

void fw_tokens_destroy(struct fw_tokens **tokens)
{
    struct fw_tokens *t = *tokens;
    *tokens = NULL;
    if (!t)
        return;
    if (t->entries)
        explicit_bzero(t->entries, t->count * sizeof(*t->entries));
    free(t->entries);
    free(t);
}

bool fw_tokens_required(const struct fw_tokens *tokens)
{
    return tokens->required;
}

unsigned fw_tokens_count(const struct fw_tokens *tokens)
{
    return tokens->count;
}

const char *fw_tokens_name(const struct fw_tokens *tokens, const char *token)
{
    const char *name = NULL;
    for (unsigned i = 0; i < tokens->count; i++) // all of them, always: no early way out
        if (fw_secret_equal(token, tokens->entries[i].token))
            name = tokens->entries[i].name;
    return name;
}

enum fw_err fw_access_init(struct fw_access *access, const char *owner, int64_t now_ns)
{
    memset(access, 0, sizeof(*access));
    snprintf(access->owner, sizeof(access->owner), "%s", owner ? owner : "");
    access->code_expires_ns = now_ns + INT64_C(1000000000) * FW_CODE_LIFE_S;
    const enum fw_err err = fw_random_hex(access->token, 32);
    return err ? err : fw_random_hex(access->code, 16);
}

bool fw_access_token_ok(const struct fw_access *access, const char *token)
{
    return access->token[0] && fw_secret_equal(token, access->token);
}

bool fw_access_redeem(struct fw_access *access, const char *code, int64_t now_ns)
{
    const bool right = access->code[0] && fw_secret_equal(code, access->code);
    if (!right || now_ns >= access->code_expires_ns)
        return false;
    explicit_bzero(access->code, sizeof(access->code));
    return true;
}
