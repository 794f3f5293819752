// SPDX-License-Identifier: MIT
#include "stream/client/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream/client/http.h"
#include "stream/client/text.h"

enum { HEAD_ROOM = 2048, TIMEOUT_MS = 10000, HURRY_MS = 2000 };

struct fw_client_params fw_remote_connect(const struct fw_remote *remote)
{
    const int limit = remote->hurry && *remote->hurry ? HURRY_MS : TIMEOUT_MS;
    return (struct fw_client_params){
        .host = remote->target.host,
        .port = remote->target.port,
        .tls = remote->target.tls,
        .ca_file = remote->ca_file,
        .system_ca = true,
        .timeout_ms = remote->timeout_ms && remote->timeout_ms < limit ? remote->timeout_ms : limit,
    };
}

// ---- what went wrong, in words

static enum fw_err say(struct fw_remote_error *error, enum fw_err err, const char *code,
                       const char *message)
{
    fw_text_copy(error->code, sizeof(error->code), code);
    fw_text_copy(error->message, sizeof(error->message), message);
    return err;
}

// No answer came.
static enum fw_err say_unreached(const struct fw_remote *remote, enum fw_err err,
                                 struct fw_remote_error *error)
{
    char origin[200];
    snprintf(origin, sizeof(origin), "%.190s", remote->target.origin);
    char text[sizeof(error->message)];
    const char *code = "unreachable";
    switch (err) {
    case FW_ERR_NOT_FOUND:
        snprintf(text, sizeof(text), "there is no host '%.100s': check the address %s",
                 remote->target.host, origin);
        break;
    case FW_ERR_DENIED:
        code = "untrusted";
        snprintf(text, sizeof(text),
                 "%s does not show a certificate to be trusted, or speaks no TLS: give the "
                 "certificate (or its authority's) with --tls-ca FILE",
                 origin);
        break;
    case FW_ERR_INVALID:
        code = "untrusted";
        snprintf(text, sizeof(text), "%s can't be read as PEM certificates",
                 remote->ca_file ? remote->ca_file : "the system's list");
        break;
    case FW_ERR_TIMEOUT: snprintf(text, sizeof(text), "%s does not answer in time", origin); break;
    case FW_ERR_FORMAT:
    case FW_ERR_CLOSED:
        snprintf(text, sizeof(text), "%s does not answer as a framewire server%s", origin,
                 remote->target.tls ? "" : " (does it want https?)");
        break;
    default:
        snprintf(text, sizeof(text), "nobody listens at %s: is `framewire serve` running there?",
                 origin);
    }
    return say(error, err, code, text);
}

// The server said no.
static enum fw_err say_refused(const struct fw_remote *remote, const struct fw_http_answer *answer,
                               struct fw_remote_error *error)
{
    json_t *json = json_loadb(answer->body, answer->size, 0, NULL);
    const json_t *said = json_object_get(json, "error");
    const char *code = json_string_value(json_object_get(said, "code"));
    const char *message = json_string_value(json_object_get(said, "message"));
    error->status = answer->status;
    error->retry_after_s = answer->retry_after_s;
    char text[sizeof(error->message)];
    if (code && answer->status == 401)
        snprintf(text, sizeof(text), "%s %s", remote->target.origin,
                 remote->token[0] ? "does not know this token: check --token-file"
                                  : "wants a token: give --token-file FILE");
    else if (code)
        snprintf(text, sizeof(text), "%.380s", message && *message ? message : code);
    else
        snprintf(text, sizeof(text), "%s answers with HTTP status %d: is that a framewire server?",
                 remote->target.origin, answer->status);
    const enum fw_err err = say(error, FW_ERR_DENIED, code ? code : "no_api", text);
    json_decref(json);
    return err;
}

// ---- requests

static enum fw_err request(const struct fw_remote *remote, const char *method, const char *path,
                           const char *body, struct fw_http_answer *answer,
                           struct fw_remote_error *error)
{
    const size_t body_size = body ? strlen(body) : 0;
    const size_t room = HEAD_ROOM + strlen(path) + body_size;
    char *text = malloc(room);
    *error = (struct fw_remote_error){ .status = 0 };
    if (!text)
        return say(error, FW_ERR_NOMEM, "nomem", "out of memory");
    const char *authority = strstr(remote->target.origin, "://") + 3;
    char length[96] = "";
    if (body)
        snprintf(length, sizeof(length),
                 "Content-Type: application/json\r\nContent-Length: %zu\r\n", body_size);
    const int size =
        snprintf(text, room,
                 "%s %s HTTP/1.1\r\nHost: %s\r\nAccept: */*\r\nConnection: close\r\n"
                 "%s%s%s%s\r\n%s",
                 method, path, authority, remote->token[0] ? "Authorization: Bearer " : "",
                 remote->token, remote->token[0] ? "\r\n" : "", length, body ? body : "");
    const struct fw_client_params params = fw_remote_connect(remote);
    enum fw_err err = fw_http_exchange(&params, text, (size_t)size, answer);
    free(text);
    if (err)
        return say_unreached(remote, err, error);
    if (answer->status < 200 || answer->status > 299) {
        err = say_refused(remote, answer, error);
        free(answer->body);
        answer->body = NULL;
    }
    return err;
}

enum fw_err fw_remote_call(const struct fw_remote *remote, const char *method, const char *path,
                           const json_t *body, json_t **out, struct fw_remote_error *error)
{
    char whole[512];
    struct fw_http_answer answer;
    if (out)
        *out = NULL;
    snprintf(whole, sizeof(whole), "/api/v1%.480s", path);
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    enum fw_err err = request(remote, method, whole, text, &answer, error);
    free(text);
    if (err)
        return err;
    json_t *json = answer.size ? json_loadb(answer.body, answer.size, 0, NULL) : NULL;
    if (answer.size && !json)
        err = say_unreached(remote, FW_ERR_FORMAT, error);
    free(answer.body);
    if (out)
        *out = json;
    else
        json_decref(json);
    return err;
}

enum fw_err fw_remote_text(const struct fw_remote *remote, const char *path, char **text,
                           size_t *size, struct fw_remote_error *error)
{
    struct fw_http_answer answer;
    *text = NULL;
    const enum fw_err err = request(remote, "GET", path, NULL, &answer, error);
    if (err)
        return err;
    *text = answer.body;
    *size = answer.size;
    return FW_OK;
}

// ---- sessions

static enum fw_err take_session(const struct fw_remote *remote, const json_t *json, const char *id,
                                struct fw_remote_session *session, struct fw_remote_error *error)
{
    const char *named = id ? id : json_string_value(json_object_get(json, "id"));
    const char *token = json_string_value(json_object_get(json, "token"));
    if (!named || !token || strlen(named) >= sizeof(session->id) ||
        strlen(token) >= sizeof(session->token))
        return say_unreached(remote, FW_ERR_FORMAT, error);
    snprintf(session->id, sizeof(session->id), "%s", named);
    snprintf(session->token, sizeof(session->token), "%s", token);
    return FW_OK;
}

enum fw_err fw_remote_create(const struct fw_remote *remote, const json_t *wanted,
                             struct fw_remote_session *session, struct fw_remote_error *error)
{
    json_t *json;
    enum fw_err err = fw_remote_call(remote, "POST", "/sessions", wanted, &json, error);
    if (!err)
        err = take_session(remote, json, NULL, session, error);
    json_decref(json);
    return err;
}

enum fw_err fw_remote_delete(const struct fw_remote *remote, const char *id,
                             struct fw_remote_error *error)
{
    char path[128];
    snprintf(path, sizeof(path), "/sessions/%.80s", id);
    return fw_remote_call(remote, "DELETE", path, NULL, NULL, error);
}

enum fw_err fw_remote_exchange(const struct fw_remote *remote, const char *id, const char *code,
                               struct fw_remote_session *session, struct fw_remote_error *error)
{
    char path[128];
    json_t *json = NULL, *body = json_pack("{s:s}", "code", code);
    snprintf(path, sizeof(path), "/sessions/%.80s/exchange", id);
    enum fw_err err = fw_remote_call(remote, "POST", path, body, &json, error);
    if (!err)
        err = take_session(remote, json, id, session, error);
    json_decref(json);
    json_decref(body);
    return err;
}
