// SPDX-License-Identifier: MIT
#include "tests/unit/session/api_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

struct fake fake;
static struct fw_tokens *tokens;
static struct fw_models *models;
struct fw_api *api;
char models_dir[64];
struct fw_http_response res;
json_t *answer;
int64_t now;

static void start(bool with_tokens, bool allow_faults)
{
    char path[128], message[256];
    snprintf(models_dir, sizeof(models_dir), "/tmp/fw-api-XXXXXX");
    assert_non_null(mkdtemp(models_dir));
    snprintf(path, sizeof(path), "%s/Duck.glb", models_dir);
    FILE *f = fopen(path, "w");
    fputs("duck", f);
    fclose(f);
    assert_int_equal(fw_models_create(&models, models_dir, message, sizeof(message)), FW_OK);
    snprintf(path, sizeof(path), "%s/tokens", models_dir);
    f = fopen(path, "w");
    fputs("alice:" ALICE "\nbob:" BOB "\n", f);
    fclose(f);
    chmod(path, 0600);
    assert_int_equal(
        fw_tokens_load(&tokens, with_tokens ? path : NULL, NULL, message, sizeof(message)), FW_OK);
    fake = (struct fake){ 0 };
    now = 0;
    assert_int_equal(fw_api_create(&api, &(struct fw_api_params){ .ops = &fake_ops,
                                                                  .user = &fake,
                                                                  .tokens = tokens,
                                                                  .models = models,
                                                                  .allow_faults = allow_faults }),
                     FW_OK);
}

int setup_open(void **state)
{
    (void)state;
    start(false, false);
    return 0;
}

int setup_tokens(void **state)
{
    (void)state;
    start(true, false);
    return 0;
}

int setup_faults(void **state)
{
    (void)state;
    start(true, true);
    return 0;
}

static void forget(void)
{
    json_decref(answer);
    answer = NULL;
    free(res.body && res.headroom ? res.body - FW_HTTP_HEADROOM : res.body);
    res = (struct fw_http_response){ 0 };
}

int teardown(void **state)
{
    (void)state;
    char path[128];
    forget();
    fw_api_destroy(&api);
    fw_records_destroy(&fake.records);
    fw_models_destroy(&models);
    fw_tokens_destroy(&tokens);
    snprintf(path, sizeof(path), "%s/Duck.glb", models_dir);
    unlink(path);
    snprintf(path, sizeof(path), "%s/tokens", models_dir);
    unlink(path);
    return rmdir(models_dir);
}

int ask_as(const char *bearer, const char *type, const char *method, const char *path,
           const char *body)
{
    forget();
    char plain[256];
    const char *query = strchr(path, '?');
    snprintf(plain, sizeof(plain), "%.*s", (int)strcspn(path, "?"), path);
    const struct fw_http_request req = { .method = method,
                                         .path = plain,
                                         .query = query ? query + 1 : "",
                                         .bearer = bearer,
                                         .content_type = type,
                                         .body = body,
                                         .body_size = strlen(body) };
    fw_api_http(api, &req, now, &res);
    struct fw_http_work *work = res.work;
    if (work) { // as the server does it on a thread
        work->run(work, &res);
        work->free(work);
    }
    if (res.body)
        answer = json_loadb(res.body, res.body_size, 0, NULL);
    return res.status;
}

int ask(const char *bearer, const char *method, const char *path, const char *body)
{
    return ask_as(bearer, strcmp(method, "POST") == 0 ? "application/json" : "", method, path,
                  body);
}

const char *error_code(void)
{
    const char *code = json_string_value(json_object_get(json_object_get(answer, "error"), "code"));
    return code ? code : "";
}

const char *error_message(void)
{
    const char *m = json_string_value(json_object_get(json_object_get(answer, "error"), "message"));
    return m ? m : "";
}

const char *text_of(const char *key)
{
    const char *text = json_string_value(json_object_get(answer, key));
    return text ? text : "";
}

struct made make(const char *bearer)
{
    struct made m = { 0 };
    assert_int_equal(ask(bearer, "POST", "/api/v1/sessions", "{\"source\":\"testcard\"}"), 201);
    assert_int_equal(strncmp(res.location, "/api/v1/sessions/id", 19), 0);
    snprintf(m.id, sizeof(m.id), "%s", text_of("id"));
    snprintf(m.page, sizeof(m.page), "%s", text_of("page"));
    snprintf(m.ws, sizeof(m.ws), "%s", text_of("ws"));
    snprintf(m.token, sizeof(m.token), "%s", text_of("token"));
    const char *hash = strchr(m.page, '#');
    assert_non_null(hash);
    snprintf(m.code, sizeof(m.code), "%s", hash + 1);
    return m;
}
