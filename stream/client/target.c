// SPDX-License-Identifier: MIT
#include "stream/client/target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HTTP_PORT = 80, HTTPS_PORT = 443, PLAIN_PORT = 8080 };

static bool copy(char *out, size_t room, const char *text, size_t length)
{
    if (length >= room)
        return false;
    memcpy(out, text, length);
    out[length] = '\0';
    return true;
}

// "host", "host:port", "[::1]:port" of `length` bytes.
static bool parse_place(struct fw_target *t, const char *text, size_t length)
{
    const char *host = text, *end = text + length, *colon = NULL;
    size_t host_length;
    if (length && *text == '[') {
        const char *bracket = memchr(text, ']', length);
        if (!bracket)
            return false;
        host = text + 1;
        host_length = (size_t)(bracket - host);
        if (bracket + 1 < end && bracket[1] != ':')
            return false;
        colon = bracket + 1 < end ? bracket + 1 : NULL;
    } else {
        colon = memchr(text, ':', length);
        host_length = colon ? (size_t)(colon - text) : length;
        if (colon && memchr(colon + 1, ':', (size_t)(end - colon - 1)))
            return false; // an IPv6 address without brackets: which colon is meant?
    }
    if (!host_length || !copy(t->host, sizeof(t->host), host, host_length))
        return false;
    if (!colon)
        return true;
    char port[6];
    if (colon + 1 == end || !copy(port, sizeof(port), colon + 1, (size_t)(end - colon - 1)) ||
        strspn(port, "0123456789") != strlen(port))
        return false;
    t->port = atoi(port);
    return t->port > 0 && t->port < 65536;
}

static bool parse_path(struct fw_target *t, const char *path)
{
    const size_t length = strcspn(path, "?#");
    const char *fragment = strchr(path, '#');
    if (fragment && !copy(t->code, sizeof(t->code), fragment + 1, strlen(fragment + 1)))
        return false;
    if (length <= 1)
        return true;
    if (strncmp(path, "/s/", 3) != 0)
        return false;
    const size_t id = strspn(path + 3, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV"
                                       "WXYZ-_");
    return id && (id + 3 == length || (id + 4 == length && path[id + 3] == '/')) &&
           copy(t->session, sizeof(t->session), path + 3, id);
}

enum fw_err fw_target_parse(struct fw_target *t, const char *url, char *message, size_t size)
{
    *t = (struct fw_target){ .port = PLAIN_PORT };
    const char *place = url;
    bool known = true;
    if (strncmp(url, "http://", 7) == 0) {
        place += 7;
        t->port = HTTP_PORT;
    } else if (strncmp(url, "https://", 8) == 0) {
        place += 8;
        t->port = HTTPS_PORT;
        t->tls = true;
    } else {
        known = !strstr(url, "://");
    }
    const size_t length = strcspn(place, "/?#");
    if (!known || !parse_place(t, place, length) || !parse_path(t, place + length)) {
        snprintf(message, size,
                 "'%.200s' is no address of a server: write http://HOST:PORT or https://HOST:PORT, "
                 "for example http://127.0.0.1:8080",
                 url);
        return FW_ERR_INVALID;
    }
    const char *open = strchr(t->host, ':') ? "[" : "", *close = *open ? "]" : "";
    snprintf(t->origin, sizeof(t->origin), "%s://%s%s%s:%d", t->tls ? "https" : "http", open,
             t->host, close, t->port);
    return FW_OK;
}

// What goes into a header line must not end it.
static bool fits_header(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] < 0x21 || text[i] > 0x7e)
            return false;
    return length > 0;
}

enum fw_err fw_target_read_token(const char *path, char token[FW_TARGET_TOKEN_SIZE], char *message,
                                 size_t size)
{
    char line[1024];
    FILE *f = fopen(path, "re");
    if (!f) {
        snprintf(message, size, "can't read the token file %.200s: %s", path, strerror(errno));
        return FW_ERR_IO;
    }
    enum fw_err err = FW_ERR_FORMAT;
    while (fgets(line, sizeof(line), f)) {
        const char *start = line + strspn(line, " \t");
        size_t length = strcspn(start, "\r\n");
        while (length && strchr(" \t", start[length - 1]))
            length--;
        if (!length || *start == '#')
            continue;
        const char *colon = memchr(start, ':', length);
        if (colon) {
            length -= (size_t)(colon + 1 - start);
            start = colon + 1;
        }
        if (fits_header(start, length) && copy(token, FW_TARGET_TOKEN_SIZE, start, length))
            err = FW_OK;
        break;
    }
    fclose(f);
    if (err)
        snprintf(message, size,
                 "%.200s holds no usable token: write `name:token` or the token alone", path);
    return err;
}
