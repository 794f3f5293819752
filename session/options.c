// SPDX-License-Identifier: MIT
#include "session/options.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

enum kind { FLAG, TEXT, LIST, INT, LISTEN, LEVEL };

struct option {
    const char *name, *value; // value: what the help calls it; NULL for flags
    enum kind kind;
    size_t offset;
    int min, max;
    const char *help;
};

#define AT(field) offsetof(struct fw_serve_options, field)

// The only list of options.
static const struct option table[] = {
    { "listen", "ADDR:PORT", LISTEN, AT(listen), 0, 65535,
      "where to listen (127.0.0.1:8080; port 0 takes a free one)" },
    { "models", "DIR", TEXT, AT(models), 0, 0, "folder whose 3D models are offered" },
    { "encoder", "NAME", TEXT, AT(encoder), 0, 0,
      "auto (best that works), nvenc, vaapi, x264; `framewire encoders` tries them" },
    { "gpu", "NAME", TEXT, AT(gpu), 0, 0,
      "UUID, index or part of the name; `framewire gpus` shows them (best real GPU first)" },
    { "state", "DIR", TEXT, AT(state), 0, 0,
      "caches and certificates ($XDG_STATE_HOME/framewire or ~/.local/state/framewire)" },
    { "static", "DIR", TEXT, AT(static_dir), 0, 0, "web pages (found beside the binary)" },
    { "chart-js", "FILE", TEXT, AT(chart_js), 0, 0,
      "Chart.js for the charts of /ops (/usr/share/javascript/chart.js/chart.min.js)" },
    { "tls-cert", "FILE", TEXT, AT(tls_cert), 0, 0, "certificate chain, PEM; with --tls-key" },
    { "tls-key", "FILE", TEXT, AT(tls_key), 0, 0, "private key, PEM; with --tls-cert" },
    { "tls-self-signed", NULL, FLAG, AT(tls_self_signed), 0, 0,
      "serve https with a certificate made once and kept; prints its fingerprint" },
    { "token-file", "FILE", TEXT, AT(token_file), 0, 0,
      "who may come in: one `name:token` or token (16 characters or more) per line" },
    { "public-origin", "URL", LIST, AT(origins), 0, 0,
      "an address people use through a proxy, as https://host; may be repeated" },
    { "insecure", NULL, FLAG, AT(insecure), 0, 0,
      "listen beyond this machine without TLS or tokens; everybody who can connect may use it" },
    { "max-sessions", "N", INT, AT(max_sessions), 1, 256, "sessions at a time (8)" },
    { "warm", "N", INT, AT(warm), 0, 16, "workers kept ready, so that sessions start at once (1)" },
    { "idle-timeout", "S", INT, AT(idle_timeout), 5, 86400,
      "end a session nobody watches after S seconds (300)" },
    { "seat-grace", "S", INT, AT(seat_grace), 1, 86400,
      "when all seats are taken, the session unwatched for longest, and S seconds, gives its (30)" },
    { "log-level", "LEVEL", LEVEL, AT(log_level), 0, 0,
      "error, warn, info, debug or trace (info)" },
    { "validation", NULL, FLAG, AT(validation), 0, 0,
      "run workers under the Vulkan validation layer (slow)" },
    { "allow-faults", NULL, FLAG, AT(allow_faults), 0, 0,
      "for drills: obey FRAMEWIRE_FAULT (encode:20ms,...) and POST /api/v1/sessions/{id}/fault" },
    { "help", NULL, FLAG, AT(help), 0, 0, "this text" },
};

static const struct option *find(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (strlen(table[i].name) == length && memcmp(table[i].name, name, length) == 0)
            return &table[i];
    return NULL;
}

static bool parse_int(const char *text, int min, int max, int *out)
{
    char *end;
    errno = 0;
    const long value = strtol(text, &end, 10);
    if (errno || end == text || *end || value < min || value > max)
        return false;
    *out = (int)value;
    return true;
}

static bool parse_listen(struct fw_serve_options *o, const char *text)
{
    const char *colon = strrchr(text, ':');
    if (!colon || colon == text || !parse_int(colon + 1, 0, 65535, &o->port))
        return false;
    const char *start = text, *end = colon;
    if (*start == '[') { // [::1]:8080
        if (end[-1] != ']')
            return false;
        start++, end--;
    } else if (memchr(start, ':', (size_t)(end - start))) {
        return false; // an IPv6 address without brackets: which colon is meant?
    }
    if (end <= start || (size_t)(end - start) >= sizeof(o->host))
        return false;
    memcpy(o->host, start, (size_t)(end - start));
    o->host[end - start] = '\0';
    o->listen = text;
    return true;
}

static enum fw_err apply(struct fw_serve_options *o, const struct option *opt, const char *value,
                         char *message, size_t size)
{
    char *field = (char *)o + opt->offset;
    switch (opt->kind) {
    case FLAG: *(bool *)(void *)field = true; return FW_OK;
    case LIST:
        if (o->origin_count == FW_OPTIONS_MAX_ORIGINS) {
            snprintf(message, size, "--%s can be given %d times at most", opt->name,
                     FW_OPTIONS_MAX_ORIGINS);
            return FW_ERR_INVALID;
        }
        if (strncmp(value, "http://", 7) != 0 && strncmp(value, "https://", 8) != 0) {
            snprintf(message, size, "--%s wants an address like https://host.example, not '%s'",
                     opt->name, value);
            return FW_ERR_INVALID;
        }
        o->origins[o->origin_count++] = value;
        return FW_OK;
    case INT:
        if (parse_int(value, opt->min, opt->max, (int *)(void *)field))
            return FW_OK;
        snprintf(message, size, "--%s wants a number from %d to %d, not '%s'", opt->name, opt->min,
                 opt->max, value);
        return FW_ERR_INVALID;
    case LISTEN:
        if (parse_listen(o, value))
            return FW_OK;
        snprintf(message, size,
                 "--%s wants ADDR:PORT, for example 127.0.0.1:8080 or [::1]:8080, not '%s'",
                 opt->name, value);
        return FW_ERR_INVALID;
    case LEVEL:
        if (fw_log_level_from_name(value) < 0) {
            snprintf(message, size, "--%s wants error, warn, info, debug or trace, not '%s'",
                     opt->name, value);
            return FW_ERR_INVALID;
        }
        break;
    case TEXT:
        if (!*value) {
            snprintf(message, size, "--%s wants a value; leave it out for the default", opt->name);
            return FW_ERR_INVALID;
        }
        break;
    }
    *(const char **)(void *)field = value;
    return FW_OK;
}

static enum fw_err check_pairs(const struct fw_serve_options *o, char *message, size_t size)
{
    if (!o->tls_cert != !o->tls_key) {
        snprintf(message, size, "--tls-cert and --tls-key belong together: give %s too",
                 o->tls_cert ? "--tls-key FILE" : "--tls-cert FILE");
        return FW_ERR_INVALID;
    }
    if (o->tls_cert && o->tls_self_signed) {
        snprintf(message, size, "--tls-self-signed and --tls-cert exclude each other: drop one");
        return FW_ERR_INVALID;
    }
    return FW_OK;
}

enum fw_err fw_serve_options_parse(struct fw_serve_options *o, int argc, char **argv, char *message,
                                   size_t size)
{
    *o = (struct fw_serve_options){ .encoder = "auto",
                                    .chart_js = "/usr/share/javascript/chart.js/chart.min.js",
                                    .max_sessions = 8,
                                    .warm = 1,
                                    .idle_timeout = 300,
                                    .seat_grace = 30,
                                    .log_level = "info" };
    parse_listen(o, "127.0.0.1:8080");
    message[0] = '\0';

    for (int i = 0; i < argc; i++) {
        const char *arg = argv[i];
        if (strcmp(arg, "-h") == 0)
            arg = "--help";
        const char *equals = strchr(arg, '=');
        const size_t length = equals ? (size_t)(equals - arg) : strlen(arg);
        const struct option *opt = strncmp(arg, "--", 2) == 0 ? find(arg + 2, length - 2) : NULL;
        if (!opt) {
            snprintf(message, size, "unknown argument '%s'; `framewire serve --help` lists all",
                     arg);
            return FW_ERR_INVALID;
        }
        const char *value = equals ? equals + 1 : NULL;
        if (opt->kind == FLAG && value) {
            snprintf(message, size, "--%s takes no value: write just --%s", opt->name, opt->name);
            return FW_ERR_INVALID;
        }
        if (opt->kind != FLAG && !value) {
            if (i + 1 == argc || strncmp(argv[i + 1], "--", 2) == 0) {
                snprintf(message, size, "--%s wants a value: --%s %s", opt->name, opt->name,
                         opt->value);
                return FW_ERR_INVALID;
            }
            value = argv[++i];
        }
        const enum fw_err err = apply(o, opt, value, message, size);
        if (err)
            return err;
    }
    return check_pairs(o, message, size);
}

bool fw_host_is_loopback(const char *host)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    if (inet_pton(AF_INET6, host, &v6) == 1)
        return IN6_IS_ADDR_LOOPBACK(&v6);
    return strcmp(host, "localhost") == 0;
}

enum fw_err fw_serve_options_check(const struct fw_serve_options *o, char *message, size_t size)
{
    message[0] = '\0';
    const bool tls = o->tls_self_signed || o->tls_cert;
    if (fw_host_is_loopback(o->host)) {
        // What a proxy brings in comes from everywhere.
        if (o->origin_count && !o->token_file)
            snprintf(message, size,
                     "--public-origin %s without --token-file: everybody the proxy lets through "
                     "can see and control every session",
                     o->origins[0]);
        return FW_OK;
    }
    if (tls && o->token_file)
        return FW_OK;
    const char *lacks = !tls && !o->token_file ? "neither TLS nor tokens"
                        : !tls                 ? "no TLS"
                                               : "no tokens";
    if (o->insecure) {
        snprintf(message, size, "INSECURE: %s can be reached from other machines with %s: %s",
                 o->listen, lacks,
                 !o->token_file ? "everybody who can connect can see and control every session"
                                : "tokens and pictures can be read on the way");
        return FW_OK;
    }
    snprintf(message, size,
             "--listen %s can be reached from other machines, with %s. Give%s%s%s "
             "(or listen on 127.0.0.1; --insecure overrides this)",
             o->listen, lacks, !tls ? " --tls-self-signed (or --tls-cert and --tls-key)" : "",
             !tls && !o->token_file ? " and" : "", !o->token_file ? " --token-file FILE" : "");
    return FW_ERR_DENIED;
}

size_t fw_serve_options_help(char *out, size_t out_size)
{
    size_t used = (size_t)snprintf(out, out_size,
                                   "framewire serve [option…]: streams rendered pictures to "
                                   "browsers.\n\n");
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        char left[64];
        snprintf(left, sizeof(left), "--%s%s%s", table[i].name, table[i].value ? " " : "",
                 table[i].value ? table[i].value : "");
        const int n =
            snprintf(used < out_size ? out + used : NULL, used < out_size ? out_size - used : 0,
                     "  %-24s %s\n", left, table[i].help);
        used += (size_t)n;
    }
    return used;
}
