// SPDX-License-Identifier: MIT
#include "session/api.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "session/api_fault.h"
#include "session/api_machine.h"
#include "session/api_request.h"
#include "session/api_session.h"
#include "session/api_sources.h"
#include "session/api_trace.h"

#include "openapi_yaml.h"

enum { RETRY_FULL_S = 5, RETRY_START_S = 1 };

struct fw_api {
    struct fw_api_params p;
};

// What the caller has shown to be.
struct caller {
    bool anybody;       // no token file: this machine's user
    const char *owner;  // a token of the file
    const char *bearer; // else perhaps a session's token
};

// ---- answers

static void answer_json(struct fw_http_response *res, int status, json_t *json)
{
    char *text = json ? json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(json);
    res->status = text ? status : 500;
    res->content_type = "application/json";
    res->body = text;
    res->body_size = text ? strlen(text) : 0;
}

static void answer_error(struct fw_http_response *res, int status, const char *code,
                         const char *message)
{
    answer_json(res, status,
                json_pack("{s:{s:s, s:s}}", "error", "code", code, "message", message));
}

static void answer_unauthorized(struct fw_http_response *res)
{
    answer_error(res, 401, "unauthorized",
                 "a valid token is needed: send \"Authorization: Bearer …\"");
}

static void answer_no_session(struct fw_http_response *res)
{
    answer_error(res, 404, "no_such_session", "there is no such session");
}

// ---- who asks

static void who(const struct fw_api *api, const struct fw_http_request *req, struct caller *caller)
{
    *caller = (struct caller){ .bearer = req->bearer };
    caller->anybody = !fw_tokens_required(api->p.tokens);
    if (!caller->anybody)
        caller->owner = fw_tokens_name(api->p.tokens, req->bearer);
}

static bool may_see(const struct caller *c, const struct fw_session_view *v)
{
    return c->anybody || (c->owner && strcmp(c->owner, v->access->owner) == 0) ||
           (!c->owner && fw_access_token_ok(v->access, c->bearer));
}

// Does the bearer hold the token of any session here? All are compared.
static bool holds_session(struct fw_api *api, const struct caller *c)
{
    bool found = false;
    struct fw_session_view v;
    for (unsigned i = 0; api->p.ops->at(api->p.user, i, &v); i++)
        found |= fw_access_token_ok(v.access, c->bearer);
    return found;
}

static bool is_known(struct fw_api *api, const struct caller *c)
{
    return c->anybody || c->owner || holds_session(api, c);
}

// ---- routes

static void get_sources(struct fw_api *api, int64_t now_ns, struct fw_http_response *res)
{
    struct fw_node_view node;
    api->p.ops->node(api->p.user, &node);
    answer_json(res, 200,
                json_pack("{s:o, s:s, s:o, s:b, s:o, s:{s:i, s:i, s:i, s:i, s:i, s:i, s:i}}",
                          "sources", fw_sources_json(api->p.models, now_ns), "version", FW_VERSION,
                          "gpu", fw_json_text(node.gpu), "gpuIsCpu", (int)node.gpu_is_cpu,
                          "encoder", fw_json_text(node.encoder), "limits", "maxSessions",
                          (int)node.max_sessions, "sessions", (int)node.sessions, "minSize", 16,
                          "maxWidth", 3840, "maxHeight", 2160, "minFps", 1, "maxFps", 240));
}

static void list_sessions(struct fw_api *api, const struct fw_http_request *req,
                          const struct caller *c, int64_t now_ns, struct fw_http_response *res)
{
    const bool figures = strcmp(req->query, "figures=1") == 0;
    if (*req->query && !figures) {
        answer_error(res, 400, "invalid_argument", "the query can only be figures=1");
        return;
    }
    json_t *list = json_array();
    struct fw_session_view v;
    for (unsigned i = 0; api->p.ops->at(api->p.user, i, &v); i++) {
        if (!may_see(c, &v))
            continue;
        json_t *session = fw_session_json(&v);
        if (figures)
            json_object_set_new(session, "figures", fw_figures_json(&v, now_ns));
        json_array_append_new(list, session);
    }
    answer_json(res, 200, json_pack("{s:o}", "sessions", list));
}

// Of the node, so not for those who hold no more than a session's token.
static bool may_see_node(const struct caller *c, struct fw_http_response *res)
{
    if (c->anybody || c->owner)
        return true;
    answer_error(res, 403, "forbidden",
                 "a session's token does not open this; one of the file does");
    return false;
}

static void machine(struct fw_api *api, const struct caller *c, int64_t now_ns,
                    struct fw_http_response *res)
{
    struct fw_machine m;
    if (!may_see_node(c, res))
        return;
    api->p.ops->machine(api->p.user, now_ns, &m);
    answer_json(res, 200, fw_machine_json(&m, now_ns));
}

static bool is_json(const char *content_type)
{
    const size_t n = strlen("application/json");
    return strncasecmp(content_type, "application/json", n) == 0 &&
           (content_type[n] == '\0' || content_type[n] == ';' || content_type[n] == ' ');
}

// The body as an object, or NULL with the answer given.
static json_t *body_object(const struct fw_http_request *req, struct fw_http_response *res)
{
    if (!is_json(req->content_type)) {
        answer_error(res, 415, "unsupported_media_type",
                     "send JSON with \"Content-Type: application/json\"");
        return NULL;
    }
    json_error_t error;
    json_t *body = json_loadb(req->body, req->body_size, JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(body)) {
        char message[256];
        snprintf(message, sizeof(message), "body: %s", body ? "must be a JSON object" : error.text);
        answer_error(res, 400, "invalid_argument", message);
        json_decref(body);
        return NULL;
    }
    return body;
}

static void create_session(struct fw_api *api, const struct fw_http_request *req,
                           const struct caller *c, struct fw_http_response *res)
{
    if (!c->anybody && !c->owner) {
        answer_error(res, 403, "forbidden", "a session's token does not allow new sessions");
        return;
    }
    json_t *body = body_object(req, res);
    if (!body)
        return;
    char message[256] = "";
    struct fw_session_request request = { .owner = c->owner ? c->owner : "" };
    const char *id = NULL;
    struct fw_session_view v;
    enum fw_err err = fw_api_request_read(api->p.models, body, &request, message, sizeof(message));
    if (err) {
        answer_error(res, 400, "invalid_argument", message);
        goto out;
    }
    err = api->p.ops->create(api->p.user, &request, &id);
    if (err == FW_ERR_AGAIN || err == FW_ERR_CLOSED) {
        const bool full = err == FW_ERR_AGAIN;
        answer_error(res, 503, full ? "max_sessions" : "draining",
                     full ? "all seats are taken; end a session or try again later"
                          : "this server is shutting down");
        res->retry_after_s = RETRY_FULL_S;
    } else if (err || !api->p.ops->get(api->p.user, id, &v)) {
        answer_error(res, 500, "internal", "the session could not be made; the log says why");
    } else {
        char page[160], ws[96];
        snprintf(page, sizeof(page), "/s/%s#%s", v.id, v.access->code);
        snprintf(ws, sizeof(ws), "/s/%s/ws", v.id);
        answer_json(res, 201,
                    json_pack("{s:s, s:s, s:s, s:s}", "id", v.id, "page", page, "ws", ws, "token",
                              v.access->token));
        snprintf(res->location, sizeof(res->location), "/api/v1/sessions/%s", v.id);
    }
out:
    json_decref(body);
}

// False with the answer given: there is none, or none that the caller may see.
static bool find(struct fw_api *api, const struct caller *c, const char *id,
                 struct fw_session_view *v, struct fw_http_response *res)
{
    const bool found = api->p.ops->get(api->p.user, id, v) && may_see(c, v);
    if (!found)
        answer_no_session(res);
    return found;
}

static void one_session(struct fw_api *api, const struct fw_http_request *req,
                        const struct caller *c, const char *id, struct fw_http_response *res)
{
    struct fw_session_view v;
    if (!find(api, c, id, &v, res))
        return;
    if (strcmp(req->method, "DELETE") == 0) {
        api->p.ops->end(api->p.user, id);
        res->status = 204;
    } else {
        answer_json(res, 200, fw_session_json(&v));
    }
}

static void trace(struct fw_api *api, const struct fw_http_request *req, const struct caller *c,
                  const char *id, int64_t now_ns, struct fw_http_response *res)
{
    struct fw_session_view v;
    char message[128];
    if (!find(api, c, id, &v, res))
        return;
    if (!FW_TRACE_ON) {
        answer_error(res, 501, "no_trace", "this server was built without the trace");
        return;
    }
    const enum fw_err err = fw_api_trace(&v, req->query, now_ns, res, message, sizeof(message));
    if (err == FW_ERR_INVALID)
        answer_error(res, 400, "invalid_argument", message);
    else if (err)
        answer_error(res, 500, "internal", "out of memory");
}

static void fault(struct fw_api *api, const struct fw_http_request *req, const struct caller *c,
                  const char *id, struct fw_http_response *res)
{
    struct fw_session_view v;
    struct fw_fault_request request;
    char message[256];
    if (!find(api, c, id, &v, res))
        return;
    if (!api->p.allow_faults) {
        answer_error(res, 403, "faults_not_allowed",
                     "this server breaks nothing on purpose: it was started without "
                     "--allow-faults");
        return;
    }
    json_t *body = body_object(req, res);
    if (!body)
        return;
    const enum fw_err err = fw_api_fault_read(body, &request, message, sizeof(message));
    json_decref(body);
    if (err)
        answer_error(res, 400, "invalid_argument", message);
    else if (api->p.ops->fault(api->p.user, id, &request) == FW_OK)
        res->status = 204;
    else
        answer_error(res, 409, "no_worker", "the session has no worker now; try again");
}

static void figures(struct fw_api *api, const struct caller *c, const char *id, int64_t now_ns,
                    struct fw_http_response *res)
{
    struct fw_session_view v;
    if (find(api, c, id, &v, res) && fw_api_figures(&v, now_ns, res))
        answer_error(res, 500, "internal", "out of memory");
}

// The code is the credential here. Unknown session, used code, late code: all look alike.
static void exchange(struct fw_api *api, const struct fw_http_request *req, const char *id,
                     int64_t now_ns, struct fw_http_response *res)
{
    json_t *body = body_object(req, res);
    if (!body)
        return;
    const char *code = json_string_value(json_object_get(body, "code"));
    struct fw_session_view v;
    if (!code)
        answer_error(res, 400, "invalid_argument", "code: must be a string");
    else if (api->p.ops->get(api->p.user, id, &v) && fw_access_redeem(v.access, code, now_ns))
        answer_json(res, 200, json_pack("{s:s}", "token", v.access->token));
    else
        answer_error(res, 401, "invalid_code",
                     "this code is not valid (any more): give the token instead");
    json_decref(body);
}

static void readyz(struct fw_api *api, struct fw_http_response *res)
{
    struct fw_node_view node;
    api->p.ops->node(api->p.user, &node);
    answer_json(
        res, node.ready ? 200 : 503,
        json_pack("{s:b, s:s}", "ready", (int)node.ready, "reason", node.ready ? "" : node.reason));
    res->retry_after_s = node.ready ? 0 : RETRY_START_S;
}

// ---- dispatch

enum method { GET = 1, POST = 2, DELETE = 4, OTHER = 0 };

static enum method method_of(const char *name)
{
    if (strcmp(name, "GET") == 0 || strcmp(name, "HEAD") == 0)
        return GET;
    return strcmp(name, "POST") == 0 ? POST : strcmp(name, "DELETE") == 0 ? DELETE : OTHER;
}

static bool allowed(const struct fw_http_request *req, unsigned methods,
                    struct fw_http_response *res)
{
    if (method_of(req->method) & methods)
        return true;
    answer_error(res, 405, "method_not_allowed", "this address does not know that method");
    res->allow = methods == GET            ? "GET, HEAD"
                 : methods == POST         ? "POST"
                 : methods == (GET | POST) ? "GET, HEAD, POST"
                                           : "GET, HEAD, DELETE";
    return false;
}

// "{id}", "{id}/trace", "{id}/figures", "{id}/fault" or "{id}/exchange" below /api/v1/sessions/.
static void below_sessions(struct fw_api *api, const struct fw_http_request *req,
                           const struct caller *c, const char *rest, int64_t now_ns,
                           struct fw_http_response *res)
{
    char id[FW_SESSION_ID_SIZE];
    const char *slash = strchr(rest, '/');
    const size_t length = slash ? (size_t)(slash - rest) : strlen(rest);
    snprintf(id, sizeof(id), "%.*s", length < sizeof(id) ? (int)length : 0, rest);
    res->route = !slash                            ? "/api/v1/sessions/{id}"
                 : strcmp(slash, "/exchange") == 0 ? "/api/v1/sessions/{id}/exchange"
                 : strcmp(slash, "/trace") == 0    ? "/api/v1/sessions/{id}/trace"
                 : strcmp(slash, "/figures") == 0  ? "/api/v1/sessions/{id}/figures"
                 : strcmp(slash, "/fault") == 0    ? "/api/v1/sessions/{id}/fault"
                                                   : NULL;
    if (slash && strcmp(slash, "/exchange") == 0) {
        if (allowed(req, POST, res))
            exchange(api, req, id, now_ns, res);
    } else if (!is_known(api, c)) {
        answer_unauthorized(res);
    } else if (slash && strcmp(slash, "/trace") == 0) {
        if (allowed(req, GET, res))
            trace(api, req, c, id, now_ns, res);
    } else if (slash && strcmp(slash, "/figures") == 0) {
        if (allowed(req, GET, res))
            figures(api, c, id, now_ns, res);
    } else if (slash && strcmp(slash, "/fault") == 0) {
        if (allowed(req, POST, res))
            fault(api, req, c, id, res);
    } else if (slash) {
        answer_error(res, 404, "not_found", "there is nothing at this address");
    } else if (allowed(req, GET | DELETE, res)) {
        one_session(api, req, c, id, res);
    }
}

static void api_http(struct fw_api *api, const struct fw_http_request *req, const char *path,
                     int64_t now_ns, struct fw_http_response *res)
{
    static const char *const routes[] = { "/api/v1/sources", "/api/v1/sessions", "/api/v1/machine",
                                          "/api/v1/openapi.yaml" };
    struct caller c;
    who(api, req, &c);
    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
        if (strcmp(routes[i] + strlen("/api/v1"), path) == 0)
            res->route = routes[i];
    if (strncmp(path, "/sessions/", 10) == 0) {
        below_sessions(api, req, &c, path + 10, now_ns, res);
    } else if (!is_known(api, &c)) {
        answer_unauthorized(res);
    } else if (strcmp(path, "/sources") == 0) {
        if (allowed(req, GET, res))
            get_sources(api, now_ns, res);
    } else if (strcmp(path, "/sessions") == 0) {
        if (!allowed(req, GET | POST, res))
            return;
        if (method_of(req->method) == POST)
            create_session(api, req, &c, res);
        else
            list_sessions(api, req, &c, now_ns, res);
    } else if (strcmp(path, "/machine") == 0) {
        if (allowed(req, GET, res))
            machine(api, &c, now_ns, res);
    } else if (strcmp(path, "/openapi.yaml") == 0) {
        if (!allowed(req, GET, res))
            return;
        res->status = 200;
        res->content_type = "application/yaml";
        res->body = strdup(openapi_yaml);
        res->body_size = res->body ? strlen(res->body) : 0;
    } else {
        answer_error(res, 404, "not_found", "there is nothing at this address");
    }
}

static void metrics(struct fw_api *api, const struct fw_http_request *req, int64_t now_ns,
                    struct fw_http_response *res)
{
    struct caller c;
    struct fw_exposition e = { 0 };
    who(api, req, &c);
    res->route = "/metrics";
    if (!is_known(api, &c)) {
        answer_unauthorized(res);
        return;
    }
    if (!allowed(req, GET, res) || !may_see_node(&c, res))
        return;
    api->p.ops->metrics(api->p.user, now_ns, &e);
    if (e.failed) {
        free(e.text);
        answer_error(res, 500, "internal", "out of memory");
        return;
    }
    res->status = 200;
    res->content_type = "text/plain; version=0.0.4; charset=utf-8";
    res->body = e.text;
    res->body_size = e.size;
}

// The page asks for a token itself. Whether a session exists is told only where that is no secret.
static void session_page(struct fw_api *api, const struct fw_http_request *req, const char *id,
                         struct fw_http_response *res)
{
    struct fw_session_view v;
    if (!allowed(req, GET, res))
        return;
    res->status = 200;
    if (!fw_tokens_required(api->p.tokens) && !api->p.ops->get(api->p.user, id, &v)) {
        res->status = 404;
        res->file = "404.html";
        return;
    }
    res->file = "session.html";
}

void fw_api_http(struct fw_api *api, const struct fw_http_request *req, int64_t now_ns,
                 struct fw_http_response *res)
{
    const char *path = req->path;
    if (strncmp(path, "/api/v1/", 8) == 0) {
        api_http(api, req, path + 7, now_ns, res);
    } else if (strncmp(path, "/s/", 3) == 0 && path[3] && !strchr(path + 3, '/')) {
        res->route = "/s/{id}";
        session_page(api, req, path + 3, res);
    } else if (strcmp(path, "/metrics") == 0) {
        metrics(api, req, now_ns, res);
    } else if (strcmp(path, "/ops") == 0) {
        res->route = "/ops";
        if (!allowed(req, GET, res))
            return;
        res->status = 200;
        res->file = "ops.html";
    } else if (strcmp(path, "/healthz") == 0) {
        res->route = "/healthz";
        if (allowed(req, GET, res))
            answer_json(res, 200, json_pack("{s:s}", "status", "ok"));
    } else if (strcmp(path, "/readyz") == 0) {
        res->route = "/readyz";
        if (allowed(req, GET, res))
            readyz(api, res);
    } else if (method_of(req->method) & GET) { // somebody who looks
        res->status = 404;
        res->file = "404.html";
    } else {
        answer_error(res, 404, "not_found", "there is nothing at this address");
    }
}

enum fw_err fw_api_admit(struct fw_api *api, const char *id, const char *token,
                         const char **message)
{
    const struct caller c = { .anybody = !fw_tokens_required(api->p.tokens),
                              .owner = fw_tokens_name(api->p.tokens, token),
                              .bearer = token };
    struct fw_session_view v;
    const bool found = api->p.ops->get(api->p.user, id, &v);
    *message = "";
    if (found && may_see(&c, &v))
        return FW_OK;
    if (!c.anybody && !c.owner && !holds_session(api, &c)) {
        *message = "a valid token is needed";
        return FW_ERR_DENIED;
    }
    *message = "there is no such session";
    return FW_ERR_NOT_FOUND;
}

enum fw_err fw_api_create(struct fw_api **api, const struct fw_api_params *params)
{
    *api = calloc(1, sizeof(**api));
    if (!*api)
        return FW_ERR_NOMEM;
    (*api)->p = *params;
    return FW_OK;
}

void fw_api_destroy(struct fw_api **api)
{
    free(*api);
    *api = NULL;
}
