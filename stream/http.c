// SPDX-License-Identifier: MIT
#include <arpa/inet.h>
#include <assert.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"
#include "stream/http_work.h"
#include "stream/server_priv.h"
#include "stream/static_files.h"

enum {
    PATH_MAX_BYTES = 1024,
    QUERY_MAX = 2048,
    HEAD_ROOM = 4096,
    SEND_CHUNK = 64 << 10,
    WORK_MAX_S = 60
};

// One request and its answer. Kept between callbacks of its connection.
struct fw_txn {
    char method[8];
    char path[PATH_MAX_BYTES + 1];
    char query[QUERY_MAX + 1];
    char bearer[512];
    char content_type[128];
    char none_match[128], modified_since[64];
    char *body;
    size_t body_size, body_room;   // bytes so far, bytes announced
    struct fw_http_totals *totals; // of its route; NULL = not known yet
    int64_t complete_ns;           // all of the request was there
    int64_t begun_ns;              // lws starts its clock anew with each byte of a body
    bool head;                     // the answer has no body
    bool answered;
    bool hang_up;            // after the answer
    struct fw_http_job *job; // an answer that a thread works on
    // --- answer body still to be sent: room for LWS_PRE bytes or more, then `out_size` from
    // `out_at`
    uint8_t *out;
    size_t out_at, out_size, out_sent;
};

static_assert(FW_HTTP_HEADROOM >= LWS_PRE, "lws writes in front of a body");

static struct fw_server *server_of(struct lws *wsi)
{
    return lws_context_user(lws_get_context(wsi));
}

bool fw_http_header(struct lws *wsi, enum lws_token_indexes token, char *out, size_t size)
{
    out[0] = '\0';
    if (!lws_hdr_total_length(wsi, token))
        return true;
    return lws_hdr_copy(wsi, out, (int)size, token) >= 0;
}

// ---- answering

struct answer {
    int status;
    const char *content_type;
    const char *etag, *last_modified, *allow, *location, *disposition;
    int retry_after_s;
    size_t length;
    bool hang_up;
};

static int add(struct lws *wsi, const char *name, const char *value, uint8_t **p, uint8_t *end)
{
    if (!value)
        return 0;
    return lws_add_http_header_by_name(wsi, (const uint8_t *)name, (const uint8_t *)value,
                                       (int)strlen(value), p, end);
}

// Status line and headers. Nonzero: the connection is to be closed.
static int send_head(struct lws *wsi, const struct answer *a)
{
    uint8_t buf[LWS_PRE + HEAD_ROOM];
    uint8_t *start = buf + LWS_PRE, *p = start, *end = buf + sizeof(buf) - 1;
    char retry[16];
    snprintf(retry, sizeof(retry), "%d", a->retry_after_s);
    if (lws_add_http_header_status(wsi, (unsigned)a->status, &p, end) ||
        add(wsi, "content-type:", a->content_type, &p, end) ||
        add(wsi, "etag:", a->etag, &p, end) ||
        add(wsi, "last-modified:", a->last_modified, &p, end) ||
        add(wsi, "allow:", a->allow, &p, end) || add(wsi, "location:", a->location, &p, end) ||
        add(wsi, "content-disposition:", a->disposition, &p, end) ||
        add(wsi, "retry-after:", a->retry_after_s > 0 ? retry : NULL, &p, end) ||
        add(wsi, "connection:", a->hang_up ? "close" : NULL, &p, end))
        return -1;
    if (a->status != 304 && lws_add_http_header_content_length(wsi, a->length, &p, end))
        return -1;
    if (lws_finalize_http_header(wsi, &p, end))
        return -1;
    const int size = (int)(p - start);
    return lws_write(wsi, start, (size_t)size, LWS_WRITE_HTTP_HEADERS) < 0 ? -1 : 0;
}

static int finish(struct lws *wsi, struct fw_txn *txn)
{
    fw_bins_add(&txn->totals->seconds, fw_now_ns() - txn->complete_ns, 1);
    if (txn->hang_up)
        return -1;
    fw_waiting_set(server_of(wsi), wsi, true); // for the next request
    return lws_http_transaction_completed(wsi) ? -1 : 0;
}

static void count(struct fw_stream_totals *totals, struct fw_txn *txn, int status)
{
    if (!txn->totals)
        txn->totals = fw_totals_route(totals, NULL);
    fw_totals_status(txn->totals, status);
    totals->refused[FW_REFUSAL_UNAUTHORIZED] += status == 401;
}

// `txn->out` (may be NULL) becomes the body.
static int answer(struct lws *wsi, struct fw_txn *txn, struct answer *a)
{
    txn->answered = true;
    count(&server_of(wsi)->totals, txn, a->status);
    fw_waiting_set(server_of(wsi), wsi, false);
    a->length = txn->out_size;
    a->hang_up = txn->hang_up;
    if (send_head(wsi, a))
        return -1;
    if (txn->head || a->status == 304 || !txn->out_size)
        return finish(wsi, txn);
    lws_callback_on_writable(wsi);
    return 0;
}

static int send_more(struct lws *wsi, struct fw_txn *txn)
{
    size_t chunk = txn->out_size - txn->out_sent;
    if (chunk > SEND_CHUNK)
        chunk = SEND_CHUNK;
    const bool last = txn->out_sent + chunk == txn->out_size;
    // lws wants LWS_PRE scratch bytes in front: they are sent already.
    if (lws_write(wsi, txn->out + txn->out_at + txn->out_sent, chunk,
                  last ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) < 0)
        return -1;
    txn->out_sent += chunk;
    if (last) {
        free(txn->out);
        txn->out = NULL;
        txn->out_size = txn->out_sent = 0;
        return finish(wsi, txn);
    }
    lws_set_timeout(wsi, PENDING_TIMEOUT_HTTP_CONTENT, 30);
    lws_callback_on_writable(wsi);
    return 0;
}

static int answer_error(struct lws *wsi, struct fw_txn *txn, int status, const char *allow,
                        const char *message)
{
    char text[512];
    const int n = snprintf(text, sizeof(text), "{\"error\":{\"code\":\"%s\",\"message\":\"%s\"}}\n",
                           fw_http_reason(status), message);
    free(txn->out);
    txn->out_size = (size_t)n;
    txn->out_sent = 0;
    txn->out_at = LWS_PRE;
    txn->out = malloc(LWS_PRE + txn->out_size);
    if (!txn->out)
        return -1;
    memcpy(txn->out + LWS_PRE, text, txn->out_size);
    return answer(
        wsi, txn,
        &(struct answer){ .status = status, .content_type = "application/json", .allow = allow });
}

// ---- files

// FW_ERR_NOT_FOUND: there is no such file, nothing was sent. Else `*ret` is for lws.
static enum fw_err answer_below(struct lws *wsi, struct fw_txn *txn, int root_fd, const char *name,
                                int status, int *ret)
{
    struct fw_static_file file;
    const enum fw_err err = fw_static_read(root_fd, name, LWS_PRE, &file);
    if (err == FW_ERR_NOT_FOUND)
        return err;
    if (err) {
        *ret = answer_error(wsi, txn, 503, NULL, "The file can not be read now.");
        return FW_OK;
    }
    struct answer a = {
        .status = status,
        .content_type = file.content_type,
        .etag = file.etag,
        .last_modified = file.last_modified,
    };
    const bool same = txn->none_match[0]
                          ? strstr(txn->none_match, file.etag) || !strcmp(txn->none_match, "*")
                          : !strcmp(txn->modified_since, file.last_modified);
    if (status == 200 && same) {
        a.status = 304;
        free(file.data);
    } else {
        txn->out = file.data;
        txn->out_at = LWS_PRE;
        txn->out_size = file.size;
    }
    if (!txn->totals)
        txn->totals = fw_totals_route(&server_of(wsi)->totals, "static");
    *ret = answer(wsi, txn, &a);
    return FW_OK;
}

static enum fw_err answer_file(struct lws *wsi, struct fw_txn *txn, const char *name, int status,
                               int *ret)
{
    return answer_below(wsi, txn, server_of(wsi)->root_fd, name, status, ret);
}

// A package's file: where that leads is looked up anew, as it may be installed at any time.
static int answer_chart_js(struct lws *wsi, struct fw_txn *txn)
{
    const char *installed = server_of(wsi)->chart_js;
    char path[PATH_MAX];
    int root_fd = -1, ret = 0;
    enum fw_err err = FW_ERR_NOT_FOUND;
    if (installed && realpath(installed, path)) {
        char *name = strrchr(path, '/');
        *name++ = '\0';
        if (!fw_static_root(*path ? path : "/", &root_fd))
            err = answer_below(wsi, txn, root_fd, name, 200, &ret);
    }
    if (root_fd >= 0)
        close(root_fd);
    return err ? answer_error(wsi, txn, 404, NULL,
                              "Chart.js is not here: install libjs-chart.js, or start the server "
                              "with --chart-js FILE.")
               : ret;
}

static bool is_get(const struct fw_txn *txn)
{
    return !strcmp(txn->method, "GET") || txn->head;
}

// ---- routing

// The body becomes the transaction's.
static bool take_body(struct fw_txn *txn, struct fw_http_response *res)
{
    if (res->body_size && res->headroom) {
        txn->out = (uint8_t *)res->body - FW_HTTP_HEADROOM;
        txn->out_at = FW_HTTP_HEADROOM;
        res->body = NULL;
    } else if (res->body_size) {
        txn->out = malloc(LWS_PRE + res->body_size);
        if (!txn->out)
            return false;
        memcpy(txn->out + LWS_PRE, res->body, res->body_size);
        txn->out_at = LWS_PRE;
    }
    txn->out_size = res->body_size;
    return true;
}

static int answer_response(struct lws *wsi, struct fw_txn *txn, struct fw_http_response *res)
{
    char disposition[sizeof(res->save_as) + 32];
    int ret = 0;
    txn->totals = fw_totals_route(&server_of(wsi)->totals, res->route);
    if (!res->status) {
        ret = answer_error(wsi, txn, 404, NULL, "There is nothing here.");
    } else if (res->file) {
        if (answer_file(wsi, txn, res->file, res->status, &ret))
            ret = answer_error(wsi, txn, 404, NULL, "The page is missing from the web files.");
    } else if (!take_body(txn, res)) {
        ret = -1;
    } else {
        snprintf(disposition, sizeof(disposition), "attachment; filename=\"%s\"", res->save_as);
        ret = answer(wsi, txn,
                     &(struct answer){
                         .status = res->status,
                         .content_type = res->content_type ? res->content_type : "application/json",
                         .allow = res->allow,
                         .location = res->location[0] ? res->location : NULL,
                         .disposition = res->save_as[0] ? disposition : NULL,
                         .retry_after_s = res->retry_after_s,
                     });
    }
    fw_http_free_body(res);
    return ret;
}

static void on_answer(void *user)
{
    lws_callback_on_writable(user); // it is sent from there
}

static int answer_later(struct lws *wsi, struct fw_txn *txn, struct fw_http_work *work)
{
    struct fw_server *server = server_of(wsi);
    const enum fw_err err = fw_http_job_start(&txn->job, server->works, work, on_answer, wsi);
    if (err)
        return err == FW_ERR_AGAIN
                   ? answer_error(wsi, txn, 503, NULL, "Too many answers like this are being made.")
                   : -1;
    txn->answered = true; // what else comes of the request is not looked at
    fw_waiting_set(server, wsi, false);
    lws_set_timeout(wsi, PENDING_TIMEOUT_HTTP_CONTENT, WORK_MAX_S);
    return 0;
}

static int on_writable(struct lws *wsi, struct fw_txn *txn)
{
    struct fw_http_response *res = txn->job ? fw_http_job_answer(txn->job) : NULL;
    if (!res)
        return txn->out ? send_more(wsi, txn) : 0;
    const int ret = answer_response(wsi, txn, res);
    fw_http_job_leave(&txn->job);
    return ret;
}

static int answer_handler(struct lws *wsi, struct fw_txn *txn)
{
    struct fw_server *server = server_of(wsi);
    const struct fw_http_request req = {
        .method = txn->method,
        .path = txn->path,
        .query = txn->query,
        .bearer = txn->bearer,
        .content_type = txn->content_type,
        .body = txn->body ? txn->body : "",
        .body_size = txn->body_size,
    };
    struct fw_http_response res = { 0 };
    server->handler.http(server->handler.user, &req, &res);
    return res.work ? answer_later(wsi, txn, res.work) : answer_response(wsi, txn, &res);
}

static bool starts(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

// The request is complete: find who answers it.
static int dispatch(struct lws *wsi, struct fw_txn *txn)
{
    const bool handlers = starts(txn->path, "/api/") || starts(txn->path, "/s/") ||
                          !strcmp(txn->path, "/healthz") || !strcmp(txn->path, "/readyz") ||
                          !strcmp(txn->path, "/metrics");
    txn->complete_ns = fw_now_ns();
    if (!strcmp(txn->path, "/vendor/chart.js") && is_get(txn))
        return answer_chart_js(wsi, txn);
    if (!handlers && is_get(txn)) {
        const char *name = !strcmp(txn->path, "/") ? "index.html" : txn->path + 1;
        int ret;
        if (!answer_file(wsi, txn, name, 200, &ret))
            return ret;
    } else if (!handlers) {
        struct fw_static_file file;
        const char *name = !strcmp(txn->path, "/") ? "index.html" : txn->path + 1;
        if (!fw_static_read(server_of(wsi)->root_fd, name, 0, &file)) {
            free(file.data);
            return answer_error(wsi, txn, 405, "GET, HEAD", "This can only be read.");
        }
    }
    return answer_handler(wsi, txn);
}

// ---- reading the request

static void free_txn(struct fw_txn **pointer)
{
    struct fw_txn *txn = *pointer;
    *pointer = NULL;
    if (!txn)
        return;
    fw_http_job_leave(&txn->job);
    free(txn->body);
    free(txn->out);
    free(txn);
}

// What the client says about its body. 0, or the status to refuse it with.
static int read_length(struct lws *wsi, struct fw_txn *txn)
{
    char text[24];
    if (lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING))
        return 501;
    if (!fw_http_header(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH, text, sizeof(text)))
        return 400;
    const bool wants = !strcmp(txn->method, "POST") || !strcmp(txn->method, "PUT");
    if (!text[0])
        return wants ? 411 : 0;
    if (text[strspn(text, "0123456789")])
        return 400; // also two of them that differ: lws joins them
    if (strlen(text) > 9 || atol(text) > FW_HTTP_BODY_MAX)
        return 413;
    txn->body_room = (size_t)atol(text);
    return 0;
}

// lws has cut the query at each '&'.
static bool read_query(struct lws *wsi, struct fw_txn *txn)
{
    size_t size = 0;
    if (lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_URI_ARGS) >= (int)sizeof(txn->query) - 64)
        return false;
    for (int i = 0;; i++) {
        const int n = lws_hdr_copy_fragment(wsi, txn->query + size + (i > 0),
                                            (int)(sizeof(txn->query) - size - (i > 0)),
                                            WSI_TOKEN_HTTP_URI_ARGS, i);
        if (n < 0) { // none is left
            txn->query[size] = '\0';
            return true;
        }
        if (i > 0)
            txn->query[size++] = '&';
        size += (size_t)n;
        if (size + 2 >= sizeof(txn->query))
            return false;
    }
}

static bool read_headers(struct lws *wsi, struct fw_txn *txn)
{
    char auth[sizeof(txn->bearer) + 16];
    if (!read_query(wsi, txn) ||
        !fw_http_header(wsi, WSI_TOKEN_HTTP_CONTENT_TYPE, txn->content_type,
                        sizeof(txn->content_type)) ||
        !fw_http_header(wsi, WSI_TOKEN_HTTP_AUTHORIZATION, auth, sizeof(auth)))
        return false;
    // Too long to be one of ours: as if absent.
    fw_http_header(wsi, WSI_TOKEN_HTTP_IF_NONE_MATCH, txn->none_match, sizeof(txn->none_match));
    fw_http_header(wsi, WSI_TOKEN_HTTP_IF_MODIFIED_SINCE, txn->modified_since,
                   sizeof(txn->modified_since));
    if (!strncasecmp(auth, "Bearer ", 7))
        snprintf(txn->bearer, sizeof(txn->bearer), "%s", auth + 7 + strspn(auth + 7, " "));
    return true;
}

// lws has decoded and normalised the path; it is not decoded a second time.
static bool read_path(struct fw_txn *txn, const char *uri)
{
    const size_t size = strlen(uri);
    if (size > PATH_MAX_BYTES || uri[0] != '/')
        return false;
    for (const char *p = uri; *p; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f || *p == '\\')
            return false;
    }
    memcpy(txn->path, uri, size + 1);
    return strstr(uri, "/../") == NULL;
}

// Host and Origin. NULL when fine, else why not.
static const char *check_origin(struct fw_server *server, struct lws *wsi)
{
    char host[300], origin[300], ip[64];
    struct sockaddr_storage addr;
    socklen_t size = sizeof(addr);
    ip[0] = '\0';
    if (!getsockname(lws_get_socket_fd(wsi), (struct sockaddr *)&addr, &size)) {
        const void *raw = addr.ss_family == AF_INET
                              ? (const void *)&((struct sockaddr_in *)&addr)->sin_addr
                              : (const void *)&((struct sockaddr_in6 *)&addr)->sin6_addr;
        inet_ntop(addr.ss_family, raw, ip, sizeof(ip));
    }
    if (!fw_http_header(wsi, WSI_TOKEN_HOST, host, sizeof(host)) ||
        !fw_host_allowed(&server->policy, host, ip))
        return "This host name is not served here; the server allows it with --public-origin.";
    if (!fw_http_header(wsi, WSI_TOKEN_ORIGIN, origin, sizeof(origin)) ||
        !fw_origin_allowed(&server->policy,
                           lws_hdr_total_length(wsi, WSI_TOKEN_ORIGIN) ? origin : NULL, host))
        return "This origin is not allowed; the server allows it with --public-origin.";
    return NULL;
}

static int begin(struct lws *wsi, struct fw_txn **slot, const char *uri)
{
    struct fw_server *server = server_of(wsi);
    free_txn(slot);
    struct fw_txn *txn = calloc(1, sizeof(*txn));
    if (!txn)
        return -1;
    *slot = txn;
    txn->begun_ns = txn->complete_ns = fw_now_ns();
    snprintf(txn->method, sizeof(txn->method), "%s", fw_http_method(wsi));
    txn->head = !strcmp(txn->method, "HEAD");
    const int refused = read_length(wsi, txn);
    if (refused) {
        // What follows on this connection can't be told apart from a body: hang up.
        txn->hang_up = true;
        return answer_error(wsi, txn, refused, NULL,
                            refused == 413   ? "The body is over 64 KiB."
                            : refused == 411 ? "A Content-Length is needed."
                            : refused == 501 ? "Bodies in chunks are not taken."
                                             : "The Content-Length is not a number.");
    }
    if (!read_headers(wsi, txn) || !read_path(txn, uri))
        return answer_error(wsi, txn, 400, NULL, "The request is not sound.");
    const bool probe = !strcmp(txn->path, "/healthz") || !strcmp(txn->path, "/readyz");
    const char *why = probe ? NULL : check_origin(server, wsi);
    if (why) {
        server->totals.refused[FW_REFUSAL_ORIGIN]++;
        return answer_error(wsi, txn, 403, NULL, why);
    }
    if (!txn->method[0])
        return answer_error(wsi, txn, 405, "GET, HEAD, POST, PUT, DELETE",
                            "This method is not used here.");
    if (!txn->body_room) {
        // lws announces the end of an empty POST on its own.
        return strcmp(txn->method, "POST") ? dispatch(wsi, txn) : 0;
    }
    txn->body = malloc(txn->body_room + 1);
    return txn->body ? 0 : -1;
}

static int add_body(struct fw_txn *txn, const char *data, size_t size)
{
    if (!txn || txn->answered || !size)
        return 0;
    if (!txn->body || size > txn->body_room - txn->body_size ||
        fw_now_ns() - txn->begun_ns > FW_BODY_TIMEOUT_MS * (int64_t)FW_NS_PER_MS)
        return -1;
    memcpy(txn->body + txn->body_size, data, size);
    txn->body_size += size;
    txn->body[txn->body_size] = '\0';
    return 0;
}

// ---- upgrades

static int refuse_upgrade(struct lws *wsi, int status, const char *message)
{
    uint8_t buf[LWS_PRE + 512];
    const int n = snprintf((char *)buf + LWS_PRE, sizeof(buf) - LWS_PRE,
                           "{\"error\":{\"code\":\"%s\",\"message\":\"%s\"}}\n",
                           fw_http_reason(status), message);
    const struct answer a = {
        .status = status,
        .content_type = "application/json",
        .length = (size_t)n,
        .hang_up = true,
    };
    if (!send_head(wsi, &a))
        lws_write(wsi, buf + LWS_PRE, (size_t)n, LWS_WRITE_HTTP_FINAL);
    return -1;
}

static int confirm_upgrade(struct lws *wsi, const char *to)
{
    struct fw_stream_totals *totals = &server_of(wsi)->totals;
    const char *message = check_origin(server_of(wsi), wsi);
    if (strcasecmp(to, "websocket"))
        return -1;
    totals->refused[FW_REFUSAL_ORIGIN] += message != NULL;
    const int status = message ? 403 : fw_ws_check_upgrade(server_of(wsi), wsi, &message);
    fw_totals_status(fw_totals_route(totals, "/s/{id}/ws"), status ? status : 101);
    return status ? refuse_upgrade(wsi, status, message) : 0;
}

int fw_http_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                     size_t len)
{
    struct fw_txn **slot = user;
    switch (reason) {
    case LWS_CALLBACK_WSI_CREATE: server_of(wsi)->wsi_count++; return 0;
    case LWS_CALLBACK_WSI_DESTROY:
        server_of(wsi)->wsi_count--;
        fw_waiting_end(server_of(wsi), wsi);
        return 0;
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE: return confirm_upgrade(wsi, in);
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION: return -1; // no WebSocket without its protocol
    case LWS_CALLBACK_HTTP: return begin(wsi, slot, in);
    case LWS_CALLBACK_HTTP_BODY: return slot ? add_body(*slot, in, len) : 0;
    case LWS_CALLBACK_HTTP_BODY_COMPLETION:
        if (!slot || !*slot || (*slot)->answered)
            return 0;
        return dispatch(wsi, *slot);
    case LWS_CALLBACK_HTTP_WRITEABLE: return slot && *slot ? on_writable(wsi, *slot) : 0;
    case LWS_CALLBACK_HTTP_DROP_PROTOCOL:
    case LWS_CALLBACK_CLOSED_HTTP:
        if (slot)
            free_txn(slot);
        return 0;
    case LWS_CALLBACK_GET_THREAD_ID: return 0;
    default: return 0;
    }
}
