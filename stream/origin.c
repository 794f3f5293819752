// SPDX-License-Identifier: MIT
#include "stream/origin.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct authority {
    char host[256]; // lower case, without brackets
    int port;       // 0 = not given
    bool v6;
};

static bool parse_port(const char *text, int *port)
{
    const size_t digits = strspn(text, "0123456789");
    if (!digits || digits > 5 || text[digits])
        return false;
    *port = atoi(text);
    return *port >= 1 && *port <= 65535;
}

static bool parse_authority(const char *text, struct authority *out)
{
    const char *start = text, *end;
    memset(out, 0, sizeof(*out));
    if (*text == '[') {
        out->v6 = true;
        start = text + 1;
        end = strchr(start, ']');
        if (!end)
            return false;
        text = end + 1;
    } else {
        end = start + strcspn(start, ":");
        text = end;
    }
    const size_t size = (size_t)(end - start);
    if (!size || size >= sizeof(out->host))
        return false;
    for (size_t i = 0; i < size; i++) {
        const unsigned char c = (unsigned char)start[i];
        if (!isalnum(c) && c != '-' && c != '.' && c != '_' && !(out->v6 && c == ':'))
            return false;
        out->host[i] = (char)tolower(c);
    }
    if (!*text)
        return true;
    return *text == ':' && parse_port(text + 1, &out->port);
}

static bool parse_origin(const char *text, bool *tls, struct authority *out)
{
    if (!strncasecmp(text, "https://", 8)) {
        *tls = true;
        text += 8;
    } else if (!strncasecmp(text, "http://", 7)) {
        *tls = false;
        text += 7;
    } else {
        return false;
    }
    if (!parse_authority(text, out))
        return false;
    if (!out->port)
        out->port = *tls ? 443 : 80;
    return true;
}

bool fw_origin_valid(const char *text)
{
    bool tls;
    struct authority a;
    return text && parse_origin(text, &tls, &a);
}

// Both as 16 bytes; IPv4 as its mapped form, so that "::ffff:1.2.3.4" and "1.2.3.4" are one.
static bool ip_bytes(const char *text, struct in6_addr *out)
{
    char mapped[300];
    if (inet_pton(AF_INET6, text, out) == 1)
        return true;
    struct in_addr v4;
    if (inet_pton(AF_INET, text, &v4) != 1)
        return false;
    snprintf(mapped, sizeof(mapped), "::ffff:%s", text);
    return inet_pton(AF_INET6, mapped, out) == 1;
}

static bool same_ip(const char *a, const char *b)
{
    struct in6_addr x, y;
    return ip_bytes(a, &x) && ip_bytes(b, &y) && !memcmp(&x, &y, sizeof(x));
}

static bool is_loopback(const char *host)
{
    struct in_addr v4;
    if (!strcmp(host, "localhost") || same_ip(host, "::1"))
        return true;
    return inet_pton(AF_INET, host, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127;
}

static bool host_in_origins(const struct fw_origin_policy *policy, const struct authority *host)
{
    for (unsigned i = 0; i < policy->origin_count; i++) {
        bool tls;
        struct authority o;
        if (!parse_origin(policy->origins[i], &tls, &o) || strcmp(o.host, host->host))
            continue;
        // A proxy may or may not spell the default port out.
        if (host->port == o.port || (!host->port && o.port == (tls ? 443 : 80)))
            return true;
    }
    return false;
}

bool fw_host_allowed(const struct fw_origin_policy *policy, const char *host, const char *local_ip)
{
    struct authority a;
    if (!host || !parse_authority(host, &a))
        return false;
    if (is_loopback(a.host) || (local_ip && same_ip(a.host, local_ip)))
        return true;
    if (policy->bound_host && !strcasecmp(a.host, policy->bound_host))
        return true;
    return host_in_origins(policy, &a);
}

bool fw_origin_allowed(const struct fw_origin_policy *policy, const char *origin, const char *host)
{
    if (!origin)
        return true;
    bool tls;
    struct authority o, h;
    if (!parse_origin(origin, &tls, &o))
        return false;
    // Behind a proxy the Host is a public name: which scheme belongs to it only the list knows.
    if (host && parse_authority(host, &h) && !host_in_origins(policy, &h)) {
        if (!h.port)
            h.port = policy->tls ? 443 : 80;
        if (tls == policy->tls && o.port == h.port && !strcmp(o.host, h.host))
            return true;
    }
    for (unsigned i = 0; i < policy->origin_count; i++) {
        bool t;
        struct authority a;
        if (parse_origin(policy->origins[i], &t, &a) && t == tls && a.port == o.port &&
            !strcmp(a.host, o.host))
            return true;
    }
    return false;
}
